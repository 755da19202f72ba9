"""Kinds of secrets that public rule sets know, and what looks like one and is none: by name."""

from __future__ import annotations

import json
import random
import re

import pytest

from gitcp.checkpoints.redact import Redactor
from gitcp.checkpoints.redactor import is_harmless_command
from tests.checkpoints.rules.test_redact import DATA, bare, expected, spelled

# Words that seed phrases have, and a few hundred others.
_WORDS = (
    """abandon ability absent acoustic acquire adapt adjust advance afford agree alarm album
    anchor animal armor arrange artist aspect athlete august avocado bamboo banner basket become
    benefit between blanket blossom bracket brother bubble butter cabbage camera canyon carbon"""
).split()
PLAIN = Redactor()


def read(name: str) -> list[tuple[str, str]]:
    """(kind, text) of each row of a table."""
    rows = [line.split("\t") for line in (DATA / name).read_text().splitlines()]
    return [(kind, text) for kind, text in rows]


def fill(template: str) -> str:
    """A template with its tokens, and {w12} as so many words."""
    rng = random.Random(template)
    words = re.compile(r"\{w(\d+)\}")
    return spelled(words.sub(lambda m: " ".join(rng.choices(_WORDS, k=int(m[1]))), template))


KINDS = [(kind, fill(template)) for kind, template in read("kinds.tsv")]
INNOCENTS = read("innocents.tsv")


@pytest.mark.parametrize(("kind", "text"), KINDS, ids=[kind for kind, _ in KINDS])
def test_a_secret_of_this_kind_is_replaced(kind: str, text: str) -> None:
    assert PLAIN.redact_text(bare(text)) == expected(text)
    line = json.dumps({"message": {"content": [{"text": bare(text).decode()}]}}).encode()
    content = json.loads(PLAIN.redact_jsonl(line))["message"]["content"]
    assert content == [{"text": expected(text).decode()}], "in the string of a transcript's line"
    assert not is_harmless_command(bare(text)), "in the words of a command"


@pytest.mark.parametrize(("kind", "text"), INNOCENTS, ids=[kind for kind, _ in INNOCENTS])
def test_an_innocent_of_this_kind_stays(kind: str, text: str) -> None:
    assert PLAIN.redact_text(text.encode()).decode() == text
    line = json.dumps({"message": {"content": [{"text": text}]}}).encode()
    assert PLAIN.redact_jsonl(line) == line


def test_each_kind_has_a_name_of_its_own() -> None:
    names = [kind for kind, _ in KINDS + INNOCENTS]
    assert len(names) == len(set(names))
    assert len(KINDS) >= 96 and len(INNOCENTS) >= 74
