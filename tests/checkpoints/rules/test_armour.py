"""What stands in armour: private keys go, whole or cut off; what is published stays."""

from __future__ import annotations

import re

import pytest

from gitcp.checkpoints.redact import rules
from tests.checkpoints.rules.test_redact import PLAIN, dumped, spelled
from tests.support import paths


def armour(label: str, head: str = "") -> str:
    body = spelled("{b880}")
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {label}-----\n{head}{lines}\n-----END {label}-----"


ENCRYPTED = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"


@pytest.mark.parametrize("cut", [0, 300])
@pytest.mark.parametrize(
    ("label", "head"),
    [
        ("RSA PRIVATE KEY", ENCRYPTED),
        ("ENCRYPTED PRIVATE KEY", ""),
        ("OPENSSH PRIVATE KEY", ""),
        ("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\n\n"),
    ],
)
def test_a_private_key_goes_whole_or_as_far_as_it_is_there(label: str, head: str, cut: int) -> None:
    key = armour(label, head)[: -cut or None]
    assert PLAIN.redact_text(f"a {key} b".encode()).startswith(b"a REDACTED")
    assert len(PLAIN.redact_text(key.encode())) < 20
    assert b"REDACTED" in PLAIN.redact_jsonl(dumped({"text": f"a {key} b"}) + b"\n")


@pytest.mark.parametrize(
    "label", ["CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK", "PGP SIGNATURE"]
)
def test_what_is_published_in_armour_stays(label: str) -> None:
    text = armour(label)
    assert PLAIN.redact_text(text.encode()) == text.encode()
    line = dumped({"text": text}) + b"\n"
    assert PLAIN.redact_jsonl(line) == line


def test_no_pattern_repeats_a_group_possessively() -> None:
    sources = [rule["pattern"] for rule in rules.read_table()]
    sources += [p.read_text() for p in (paths.TOP / "gitcp/checkpoints/redact").glob("*.py")]
    assert not [s for s in sources if re.search(r"\)(?:[*+?]|\{[0-9,]+\})\+", s)]
