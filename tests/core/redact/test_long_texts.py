"""Long texts: what was searched once is not searched again, and nothing hides in a long run."""

from __future__ import annotations

from gitcp.core.redact import line_search
from gitcp.core.redact.redactor import Redactor
from tests.core.redact.test_redact import GITHUB, dumped, spelled


def test_what_grew_is_searched_from_where_it_is_new() -> None:
    redactor, line = Redactor(), dumped({"text": "word " * 99}) + b"\n"
    first = line * 500
    assert len(first) > 2 * line_search.BLOCK
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
