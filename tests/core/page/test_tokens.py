"""The tokens of each turn, by the scanner of the agent that wrote the transcript."""

from __future__ import annotations

import json
from typing import Any

from gitcp.core.page import turns
from gitcp.core.transcript import claude, gemini


def said(role: str, content: Any, **more: Any) -> bytes:
    message = {"role": role, "content": content, **more}
    return json.dumps({"type": role, "message": message}).encode()


def answer(key: str, output: int) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": output}
    return said("assistant", [{"type": "text", "text": key}], id=key, usage=usage)


LINES = [
    b'{"type": "summary"}',
    said("user", "one"),
    answer("a", 10),
    answer("a", 12),  # the same answer goes on: it is counted once
    b"",
    said("user", "two"),
    said("user", "three"),
    answer("b", 5),
    answer("c", 7),
]


def test_each_turn_has_the_tokens_of_its_own_answers() -> None:
    data = b"\n".join(LINES)
    gathered = turns.turns(data)
    turns.spend(data, gathered, claude.scan)
    told = [(turn["prompt"], turn["spent"] and turn["spent"]["output_tokens"]) for turn in gathered]
    assert told == [("one", 12), ("two", 0), ("three", 12)]
    whole = claude.scan(data)["usage"]
    assert whole and whole["output_tokens"] == 24


def test_what_is_one_document_has_no_tokens_by_turn() -> None:
    kinds = (("user", "one"), ("gemini", "yes"))
    messages = [{"id": kind, "type": kind, "content": text} for kind, text in kinds]
    data = json.dumps({"messages": messages}, indent=1).encode()
    gathered = turns.turns(data)
    turns.spend(data, gathered, gemini.scan)
    assert [(turn["prompt"], turn["spent"]) for turn in gathered] == [("one", None)]
