"""Redaction: what is taken out, what stays, and that it is stable, valid and linear."""

from __future__ import annotations

import itertools
import json
import random
import re
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitcp import errors
from gitcp.checkpoints.redact import Detector, Redactor, flatten, rules
from tests.support import paths

DATA = paths.DATA / "redact"
LETTERS = string.ascii_letters + string.digits
KINDS = {
    "u": LETTERS,
    "b": LETTERS + "+/",
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + "234567",
    "h": "0123456789abcdef",
    "d": string.digits,
}
PLAIN = Redactor()


def spelled(template: str) -> str:
    """Fill {u36} and the like: no token stands in a file where a scanner would find it."""
    rng = random.Random(template)

    def fill(match: re.Match[str]) -> str:
        return "".join(rng.choices(KINDS[match[1]], k=int(match[2])))

    text = re.sub(r"\{([ublUhd])(\d+)\}", fill, template)
    return re.sub(r"(?<!\\)\\n", "\n", text).replace("\\\\n", "\\n")


CORPUS = [line.split("\t") for line in (DATA / "secrets.tsv").read_text().splitlines()]
SECRETS = [(rule, spelled(template)) for rule, template in CORPUS]
HARMLESS = (DATA / "harmless.txt").read_text().splitlines()
GITHUB = spelled("ghp_{u36}")
RANDOM = spelled("{u43}")


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def bare(text: str) -> bytes:
    return text.replace("<<", "").replace(">>", "").encode()


def expected(text: str) -> bytes:
    return re.sub("<<.*?>>", "REDACTED", text, flags=re.S).encode()


@pytest.mark.parametrize(("rule", "text"), SECRETS)
def test_a_secret_is_replaced_and_nothing_else(rule: str, text: str) -> None:
    assert PLAIN.redact_text(bare(text)) == expected(text)
    assert rule in {found[0] for found in Detector().find(flatten(bare(text)))}
    line = dumped({"type": "user", "message": {"content": [{"text": bare(text).decode()}]}})
    content = json.loads(PLAIN.redact_jsonl(line))["message"]["content"]
    assert content == [{"text": expected(text).decode()}], "in the string of a transcript's line"
    nested = dumped({"content": json.dumps({"output": "x\n" + bare(text).decode() + "\n"})})
    stored = PLAIN.redact_jsonl(nested).decode()
    for secret in re.findall("<<(.*?)>>", text, re.S):
        for piece in re.findall(r"[0-9A-Za-z+/]{16,}", secret) or [secret]:
            assert piece not in stored, "in JSON within JSON"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert PLAIN.find(text.encode()) == []
    line = dumped({"text": f"first\n\t{text}\nlast"})
    assert PLAIN.redact_jsonl(line) == line


def test_every_rule_is_complete_and_has_an_example() -> None:
    examples = {rule for rule, _ in SECRETS}
    for rule in rules.read_table():
        assert rule["name"] in examples
        assert rule["source"].startswith("https://")
        assert rule["about"] and rule["in"] in ("run", "near", "text")
        assert bool(rule["keywords"]) == (rule["in"] != "text")
        re.compile(rule["pattern"].encode())


def test_no_rule_for_runs_has_a_keyword_that_a_uuid_may_hold() -> None:
    """A UUID is not searched."""
    for rule in rules.read_table():
        if rule["in"] == "run":
            assert all(set(key) - set("0123456789abcdef-") for key in rule["keywords"])


BEFORE = ["\n", "\t", "\r", "\b", "\f", '"', "\\", "/", "\x1b[32m", "é", "—", "\u2028", "\0", "😀",
          "'", "="]  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
def test_an_escape_before_a_token_neither_hides_it_nor_goes_with_it(before: str) -> None:
    secrets = [GITHUB, RANDOM, spelled("SK{h32}"), spelled("sk-{u48}")]
    for secret, ascii_only in itertools.product(secrets, (True, False)):
        text = f"{before}{secret}{before}"
        line = json.dumps({"text": text}, ensure_ascii=ascii_only).encode()
        stored = json.loads(PLAIN.redact_jsonl(line))["text"]
        assert secret not in stored
        if before not in ("/", "="):  # letters of a run: they may belong to the secret
            assert stored == f"{before}REDACTED{before}"


def test_a_token_written_in_escapes_is_found() -> None:
    escaped = "".join(f"\\u{ord(char):04x}" for char in GITHUB)
    assert PLAIN.redact_jsonl(f'{{"a": "x {escaped} y"}}'.encode()) == b'{"a": "x REDACTED y"}'
    slashed = '{"a": "https:\\/\\/bob:hunter22@example.com\\/x\\u0041"}'
    assert PLAIN.redact_jsonl(slashed.encode()) == (
        b'{"a": "https:\\/\\/bob:REDACTED@example.com\\/x\\u0041"}'
    )


def test_escaped_slashes_do_not_cut_a_secret() -> None:
    secret = spelled("{u18}/{u18}/{u18}")
    assert (
        PLAIN.redact_jsonl(b'{"a": "%b"}' % secret.replace("/", "\\/").encode())
        == b'{"a": "REDACTED"}'
    )


def test_a_key_over_several_strings_is_found_around_what_is_exempt() -> None:
    body = spelled("{d6} {d6} {d6} {d6} {d6} {d6} {d6}")
    value = [
        "-----BEGIN EC PRIVATE KEY-----",
        {"id": "-----"},
        body,
        "-----END EC PRIVATE KEY-----",
    ]
    stored = json.loads(PLAIN.redact_jsonl(dumped({"rows": value})))["rows"]
    assert stored == ["REDACTED", {"id": "-----"}, "REDACTED", "REDACTED"]


def test_the_name_of_a_value_counts_across_json_structure() -> None:
    line = b'{"config" : {"password" :\t"opensesame", "user":"opensesame"}}'
    assert (
        PLAIN.redact_jsonl(line) == b'{"config" : {"password" :\t"REDACTED", "user":"opensesame"}}'
    )


@pytest.mark.parametrize(
    "value",
    [
        {"signature": RANDOM},
        {"thoughtSignature": RANDOM},
        {"signature": GITHUB * 3, "thinking": "x"},
        {"encrypted_content": RANDOM},
        {"sessionId": RANDOM, "UUID": RANDOM, "tool_use_ids": [RANDOM, RANDOM]},
        {"type": "image", "source": {"data": RANDOM}},
        {"source": {"data": RANDOM, "type": "base64"}},
        {"source": {"type": "base64", "media_type": "image/png", "data": GITHUB * 3}},
        {"data": [RANDOM], "type": "image_url"},
        {RANDOM: 1},
        {"n": 12345678901234567890123456789},
    ],
)
def test_ids_signatures_images_and_keys_stay(value: Any) -> None:
    line = dumped({"a": value})
    assert PLAIN.redact_jsonl(line) == line
    assert PLAIN.redact_document(line) == line


def test_an_id_or_a_name_with_the_format_of_a_secret_is_redacted() -> None:
    value = {"AWS_ACCESS_KEY_ID": GITHUB, "ids": [RANDOM, GITHUB], "env": {GITHUB: RANDOM}}
    kept = {"AWS_ACCESS_KEY_ID": "REDACTED", "ids": [RANDOM, "REDACTED"]}
    stored = json.loads(PLAIN.redact_jsonl(dumped(value)))
    assert stored == {**kept, "env": {"REDACTED": "REDACTED"}}


def test_what_stands_beside_something_exempt_is_redacted() -> None:
    value = {"id": RANDOM, "text": RANDOM, "images": [{"type": "image", "data": RANDOM}, RANDOM]}
    stored = json.loads(PLAIN.redact_jsonl(dumped(value)))
    assert stored == {
        "id": RANDOM,
        "text": "REDACTED",
        "images": [{"type": "image", "data": RANDOM}, "REDACTED"],
    }
    nested = PLAIN.redact_jsonl(dumped({"grid": {"cell": RANDOM}, "text": '{"id": "x"}'}))
    assert json.loads(nested)["grid"] == {"cell": "REDACTED"}


def test_the_format_of_a_line_is_kept() -> None:
    line = f'{{ "b":1.50,"a" : "é\\u00e9 {GITHUB}\\t\\u003c" ,"c":[ ] }}\r\n'.encode()
    assert PLAIN.redact_jsonl(line) == line.replace(GITHUB.encode(), b"REDACTED")


def test_a_line_that_is_no_json_is_plain_text() -> None:
    line = f'{{"id": "{GITHUB}", cut off'.encode()
    assert PLAIN.redact_jsonl(line) == b'{"id": "REDACTED", cut off'
    assert PLAIN.redact_jsonl(b"[" * 100_000 + GITHUB.encode()) == b"[" * 100_000 + b"REDACTED"


def test_bytes_that_are_not_utf8_are_kept() -> None:
    line = b'{"id": "%b", "a": "\xff\xfe %b \xc3"}' % (RANDOM.encode(), GITHUB.encode())
    assert PLAIN.redact_jsonl(line) == line.replace(GITHUB.encode(), b"REDACTED")


def test_a_document_of_many_lines_keeps_its_ids() -> None:
    value = {"sessionId": RANDOM, "messages": [{"id": RANDOM, "content": f"it is {GITHUB}"}]}
    stored = PLAIN.redact_document(json.dumps(value, indent=2).encode())
    value["messages"] = [{"id": RANDOM, "content": "it is REDACTED"}]
    assert stored == json.dumps(value, indent=2).encode()


def test_rules_of_the_user_are_applied_to_what_the_strings_say() -> None:
    own = Redactor(rules=[r'name="(\w+)"', r"^top.*$", "é+"])
    line = dumped({"top": "x", "a": 'name="bob" é', "b": "x\ntop secret\ny", "id": "top"})
    assert json.loads(own.redact_jsonl(line)) == {
        "top": "x",
        "a": 'name="REDACTED" REDACTED',
        "b": "x\nREDACTED\ny",
        "id": "top",
    }
    assert own.find(b'name="bob"') == [("custom", 6, 9)]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("[é]+", ["éé"]),
        ("(?i)É+", ["éé"]),
        ("Zo.,", ["Zoë,"]),
        (r"\bo\w{2}", ["oße"]),
        ("[^ -~]", ["éé", "ë", "ß", "\U0001f511\ufffd"]),
        ("key=(.)", ["\U0001f511"]),
        ("(é)!|Z", []),
        (r"[éo](?=(?:.{9}e )?(\w))", ["ë", "ß", "k"]),
    ],
)
def test_a_rule_of_the_user_is_of_characters(rule: str, found: list[str]) -> None:
    text = "éé Zoë, oße key=\U0001f511".encode() + b"\xff"
    own = Redactor(rules=[rule])
    assert [text[a:b].decode(errors="replace") for _, a, b in own.find(text)] == found
    secret = "password=Été-hunter22".encode()
    assert Redactor(allow=["(?i)^éTÉ"]).redact_text(secret) == secret


def test_a_rule_of_the_user_finds_letters_that_json_has_escaped() -> None:
    line = json.dumps({"text": "\u00c9\u00e9 key=\U0001f511"}).encode()
    own = Redactor(rules=["(?i)é+", "\U0001f511"])
    assert json.loads(own.redact_jsonl(line)) == {"text": "REDACTED key=REDACTED"}


def test_a_rule_that_matches_the_replacement_does_not_grow_it() -> None:
    own = Redactor(rules=["[A-Z]", "RED"])
    assert own.redact_text(b"a B RED c") == b"a REDACTED REDACTED c"
    assert own.redact_text(own.redact_text(b"a B RED c")) == own.redact_text(b"a B RED c")


def test_what_is_allowed_stays() -> None:
    some = Redactor(allow=[re.escape(GITHUB), "^hunter"])
    text = f"{GITHUB} password=hunter22 {RANDOM}".encode()
    assert some.redact_text(text) == text.replace(RANDOM.encode(), b"REDACTED")
    assert some.redact_jsonl(dumped({"a": GITHUB})) == dumped({"a": GITHUB})


@pytest.mark.parametrize("name", ["rules", "allow"])
def test_a_broken_pattern_is_named(name: str) -> None:
    with pytest.raises(errors.InputError, match=r"gitcp\.redact.* 'a\(b'"):
        Redactor(["a(b"]) if name == "rules" else Redactor(allow=["a(b"])


def test_find_tells_where_and_why() -> None:
    line = dumped({"id": RANDOM, "a": f"x {GITHUB}"})
    data = b"\n" + line + b"\n" + line
    first = data.index(GITHUB.encode())
    assert PLAIN.find(data, "jsonl") == [
        ("github-token", first, first + 40),
        ("github-token", first + len(line) + 1, first + len(line) + 41),
    ]
    assert [rule for rule, *_ in PLAIN.find(line)] == ["entropy", "github-token"]


FRAGMENTS = st.sampled_from(
    [bare(text).decode() for _, text in SECRETS]
    + HARMLESS[:12]
    + [*' \n\t"\\/=:;,.@é—[]{}', "\x1b[31m", "password", "token: ", "REDACTED", "\\n", '\\"']
)
TEXTS = st.lists(FRAGMENTS, max_size=6).map("".join)
KEYS = st.sampled_from(["text", "id", "password", "type", "signature", "a", "token", "sessionIds"])
VALUES = st.recursive(
    TEXTS | st.integers() | st.none() | st.just("image"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
LINES = st.builds(
    lambda value, tight, wide: json.dumps(
        value, separators=(",", ":") if tight else None, ensure_ascii=wide
    ),
    VALUES,
    st.booleans(),
    st.booleans(),
).map(str.encode) | TEXTS.map(lambda text: text.replace("\n", " ").encode())


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return str if isinstance(value, str) else value


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_a_line_stays_valid_and_of_the_same_structure(line: bytes) -> None:
    try:
        before = json.loads(line)
    except ValueError:
        return
    assert shape(json.loads(PLAIN.redact_jsonl(line))) == shape(before)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_the_fast_search_overlooks_nothing_the_slow_one_finds(line: bytes) -> None:
    assert PLAIN.redact_jsonl(line) == PLAIN.redact_document(line)


@settings(max_examples=200, deadline=None)
@given(LINES, TEXTS)
def test_redacting_again_changes_nothing_and_finds_nothing(line: bytes, text: str) -> None:
    once = PLAIN.redact_jsonl(line)
    assert PLAIN.redact_jsonl(once) == once
    assert PLAIN.find(once, "jsonl") == []
    plain = PLAIN.redact_text(text.encode())
    assert PLAIN.redact_text(plain) == plain


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, max_size=5), st.booleans(), st.lists(LINES, max_size=3))
def test_a_longer_transcript_has_the_same_beginning(
    lines: list[bytes], end: bool, more: list[bytes]
) -> None:
    data = b"\n".join(lines) + (b"\n" if end else b"")
    stored = PLAIN.redact_jsonl(data)
    assert stored == b"\n".join(map(Redactor().redact_jsonl, data.split(b"\n")))
    assert stored.count(b"\n") == data.count(b"\n")
    longer = PLAIN.redact_jsonl(b"\n".join([data.removesuffix(b"\n"), *more]))
    assert longer.startswith(stored.removesuffix(b"\n"))


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [dumped({"id": RANDOM, "a": bare(text).decode()}) for _, text in SECRETS]
    data = b"\n\n".join(lines) + b"\n"
    whole = PLAIN.redact_jsonl(data)
    monkeypatch.setattr("gitcp.checkpoints.redact.BLOCK", 100)
    assert PLAIN.redact_jsonl(data) == whole


NASTY = [
    *("a", "A1b", "a/", "\\", '"', "\\n", "=", "_", "aeiou", "[]{}", "\x1b[1;", "\\u0041"),
    *("token=", 'token="', "password ", "--password ", "key=aaaaaa(", "REDACTED", "password=x("),
    *("://", "://a:", "://a:b@", "curl ", "curl -u ", "bearer ", "basic ", "authorization: basic "),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----" + "a-" * 60, "-----BEGIN "),
    *(
        "eyJ",
        "eyJ" + "a" * 20 + ".",
        "sk-",
        "ghp_",
        "sig=",
        "8Q~",
        "SG.",
        "dp.st.a.",
        "hvs.",
        "xoxb-",
    ),
    *("T3BlbkFJ", "sk-aT3BlbkFJ", "0123456789abcdef-us1", "AKIA", "AccountKey=", "services/T"),
]


@pytest.mark.parametrize("piece", NASTY)
def test_a_long_line_of_the_worst_kind_is_read_in_linear_time(piece: str) -> None:
    # Anything quadratic takes a minute here.
    text = (piece * (100_000 // len(piece)) + " T3BlbkFJ eyJ").encode()
    PLAIN.redact_text(text)
    PLAIN.redact_jsonl(b'{"a": "' + text)
    PLAIN.redact_jsonl(dumped({"a": text.decode()}))


RECORDED = sorted(DATA.parent.glob("recordings/**/transcript*.jsonl"))


def test_nothing_is_taken_for_a_secret_in_recorded_transcripts() -> None:
    assert RECORDED
    for path in RECORDED:
        assert PLAIN.redact_jsonl(path.read_bytes()) == path.read_bytes()


ID, SECRET = "AKIAIOSFODNN7" + "EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"


@pytest.mark.parametrize(
    "text",
    [
        ID,
        f"aws_access_key_id = {ID}\naws_secret_access_key = {SECRET}\n",
        f'AWS_SECRET_ACCESS_KEY="{SECRET}".',
        f'{{"password": "{ID}:{SECRET}"}}',
        f"https://{ID}:{SECRET}@s3.amazonaws.com",
    ],
)
def test_the_keys_of_awss_documentation_are_no_secrets(text: str) -> None:
    assert PLAIN.redact_text(text.encode()) == text.encode()
    assert PLAIN.redact_document(text.encode()) == text.encode()
    assert PLAIN.find(text.replace("EXAMPLE", "EXAMPLF").encode()), "nor is another one let through"
    assert Redactor(rules=["EXAMPLE"]).redact_text(text.encode()) != text.encode(), (
        "a rule of one's own"
    )
