"""Secrets that are encoded: in base64, in hex, in a URL, in a document; and what only looks so."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from gitcp.checkpoints.redact import Redactor, encoded
from tests.checkpoints.rules.test_redact import GITHUB, HARMLESS, RANDOM, dumped

PLAIN = Redactor()
ENV = f"# settings\nDEBUG=1\nGITHUB_TOKEN={GITHUB}\n"
PROSE = "# settings\nDEBUG=1\nthe token is read from the environment\n"


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (f"token: {GITHUB.encode().hex()} end", "token: REDACTED end"),
        (f"data:text/plain;base64,{encode(ENV)}", "data:text/plain;base64,REDACTED"),
        (
            f"https://x.example/?q=a%20b&t={GITHUB.replace('_', '%5F')}&u=1",
            "https://x.example/?q=a%20b&t=REDACTED&u=1",
        ),
        (
            "see postgres%3A%2F%2Fbob%3Ahunter22%40db%2Fx",
            "see postgres%3A%2F%2Fbob%3AREDACTED%40db%2Fx",
        ),
    ],
)
def test_a_secret_that_is_encoded_is_redacted(text: str, redacted: str) -> None:
    assert PLAIN.redact_text(text.encode()) == redacted.encode()
    assert PLAIN.redact_jsonl(dumped({"text": text})) == dumped({"text": redacted})


@pytest.mark.parametrize(
    "text",
    [
        PROSE.encode().hex(),
        f"data:text/plain;base64,{'QUJD' * 20}",
        "3371f12587aa4397bbacc1eee7f9ca88aabbccdd",
        "https://x.example/a%20b%2Fc?next=https%3A%2F%2Fx.example%2Fsign-in%3Ftoken%3D%7Btoken%7D",
        "100%25 of 3 % 4, %d%% and %5",
        "$1$ and $6$, s/^.*$1$2$3/, {SHA} of it, $2a$ is bcrypt",
    ],
)
def test_what_is_encoded_and_no_secret_stays(text: str) -> None:
    assert PLAIN.find(text.encode()) == []
    assert PLAIN.redact_jsonl(dumped({"text": text})) == dumped({"text": text})


def test_what_is_no_secret_stays_none_where_a_url_escapes_it() -> None:
    escaped = [quote(line, safe="") for line in HARMLESS]
    assert [
        item for item in PLAIN.find("\n\n".join(escaped).encode()) if item[0] != "entropy"
    ] == []


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_a_document_with_a_secret_is_redacted_and_any_other_stays(kind: str) -> None:
    for text, redacted in ((ENV, True), (PROSE, False), ("", False)):
        source = {"type": "base64", "media_type": kind, "data": encode(text)}
        for value in (source, dict(reversed(source.items()))):
            line = dumped({"type": "document", "source": value})
            stored = json.loads(PLAIN.redact_jsonl(line))["source"]["data"]
            assert stored == ("REDACTED" if redacted else encode(text))


def test_a_signature_is_searched_where_it_is_too_short_for_a_models() -> None:
    assert PLAIN.redact_jsonl(dumped({"signature": GITHUB})) == dumped({"signature": "REDACTED"})
    for stays in ({"signature": RANDOM}, {"signature": GITHUB * 3}):
        assert PLAIN.redact_jsonl(dumped(stays)) == dumped(stays)


def test_what_is_no_text_is_not_decoded() -> None:
    assert encoded.decode_text(encode("caf\u00e9 " * 8).encode()) == ("caf\u00e9 " * 8).encode()
    for run in (b"a" * 23, bytes(range(40)).hex().encode(), b"usr/lib/python3/site-packages/x"):
        assert encoded.decode_text(run) == b""
