"""Many small texts are searched at once, long ones where they grew: no secret is passed over."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.checkpoints import redact
from gitcp.checkpoints.redact import Redactor
from tests.checkpoints.rules.test_redact import GITHUB, dumped, spelled
from tests.support.paths import DATA

REDACTOR = Redactor()
TOKEN = "ghp_" + "a1B2" * 9
ROWS = (DATA / "redact" / "secrets.tsv").read_text().splitlines()
SECRETS = [spelled(row.split("\t")[1]) for row in ROWS]
# What begins something that the next text could be taken into.
OPEN = ["-----BEGIN CERTIFICATE-----\nMIIB", "machine", "password", '{"token":', "SHA256:"]
WORDS = ["", "fix the bug", '{"session_id": "0b5e2c1e-1111-4222-8333-444444444444"}', "a = b"]


def as_json(text: str) -> str:
    return json.dumps({"files": ["a.py"], "prompt": text}, indent=2)


TEXTS = st.lists(
    st.sampled_from([*SECRETS, *OPEN, *WORDS]) | st.sampled_from(SECRETS).map(as_json), max_size=12
)


@given(TEXTS)
def test_no_text_with_a_secret_is_passed_over(texts: list[str]) -> None:
    data = [text.encode() for text in texts]
    hits = {n for n, one in enumerate(data) if REDACTOR.find(one) or REDACTOR.find(one, "document")}
    assert hits <= set(REDACTOR.find_suspects(data))


def test_texts_without_a_secret_are_not_taken_apart() -> None:
    stored = {
        "session_id": "0b5e2c1e-1111-4222-8333-444444444444",
        "files_touched": ["gitcp/checkpoints/redact/__init__.py"],
        "tools": {"toolu_01AbCdEfGhIjKlMnOpQrStUv": {"model": "claude-opus-4"}},
    }
    texts = [json.dumps(stored, indent=2).encode(), b"Please fix the bug", b""] * 20
    assert REDACTOR.find_suspects([*texts, f"use {TOKEN}".encode(), *texts]) == [60]


def test_every_text_counts_where_a_person_has_rules_of_their_own() -> None:
    assert Redactor(rules=["^x$"]).find_suspects([b"a", b"b"]) == [0, 1]


@pytest.mark.parametrize("value", ['["swordfish17"]', ' [ ["swordfish17"] ]', '\t["swordfish17"]'])
def test_a_list_of_secrets_is_redacted_in_a_transcript_as_in_a_document(value: str) -> None:
    line = ('{"a": 1, "db_Password":' + value + "}\n").encode()
    assert REDACTOR.redact_jsonl(line) == REDACTOR.redact_document(line)
    assert b"REDACTED" in REDACTOR.redact_jsonl(line)


@pytest.mark.parametrize(
    "text", ['{"password":\n"hunter2secretX"}', '{"token" : [\n"a1B2c3D4e5"]}']
)
def test_a_value_on_another_line_than_its_name_is_seen(text: str) -> None:
    assert REDACTOR.find(text.encode(), "document")
    assert REDACTOR.find_suspects([b"", text.encode()]) == [1]


def test_a_secret_is_found_on_its_line_among_lines_with_long_signatures() -> None:
    signed = dumped({"thinking": "word", "signature": "aB3/" * 100})
    secret, both = dumped({"text": GITHUB}), dumped({"signature": "x" * 400, "text": GITHUB})
    lines = [signed, secret, b"", signed, signed, both, signed, secret]
    for data in (b"\n".join(lines), b"\n".join(lines) + b"\n"):
        stored = REDACTOR.redact_jsonl(data).split(b"\n")
        assert stored == [REDACTOR.redact_document(line) for line in data.split(b"\n")]
        assert b"".join(stored).count(b"REDACTED") == 3


def test_a_cut_signature_does_not_hide_what_is_on_the_next_line() -> None:
    lines = [b'{"signature": "', f"{'word ' * 20}{GITHUB}".encode(), dumped({"text": GITHUB})]
    assert REDACTOR.redact_jsonl(b"\n".join(lines)).count(b"REDACTED") == 2


def test_what_grew_is_searched_from_where_it_is_new() -> None:
    redactor, line = Redactor(), dumped({"text": "word " * 99}) + b"\n"
    first = line * 500
    assert len(first) > 2 * redact.BLOCK
    assert redactor.find(first, "jsonl") == []
    grown = first + dumped({"text": f"use {GITHUB}"}) + b"\n" + line
    assert [rule for rule, _, _ in redactor.find(grown, "jsonl")] == ["github-token"]
    changed = first.replace(b"word", GITHUB.encode(), 1)
    assert [rule for rule, _, _ in redactor.find(changed, "jsonl")] == ["github-token"]
    assert len(redactor.find(changed, "jsonl")) == 1  # a block with a secret is never passed over


def test_a_token_stands_out_of_a_run_of_many_megabytes() -> None:
    for hidden in (f"-{GITHUB}-", f"/{spelled('AKIA{U16}')}/"):
        run = f"{'x' * (1 << 20)}{hidden}{'y' * (1 << 20)}"
        assert len(Redactor().find(run.encode())) == 1
