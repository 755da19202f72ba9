"""gitcp-clients(7): what it says of a client is what was recorded of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from gitcp import agents
from gitcp.errors import InputError
from tests.form.source import none
from tests.support.paths import TOP

sys.path.insert(0, str(TOP / ".ci"))
matrix: Any = import_module("matrix")
ROWS = {row.name: row for row in matrix.build_rows()}
RECORDED = sorted(name for name in ROWS if (matrix.RECORDINGS / name).is_dir())


def test_each_client_has_an_answer_with_its_reason_in_each_column() -> None:
    assert list(ROWS) == list(agents.CLIENTS)
    none(
        f"{row.name}: {column}: {cell}"
        for row in ROWS.values()
        for column, cell in row.cells.items()
        if cell.answer not in matrix.ANSWERS or not cell.reason
    )
    assert all(set(row.cells) == set(matrix.COLUMNS) for row in ROWS.values())


def read_events(name: str) -> Iterator[Any]:
    """The events that the recorded hooks of a client tell."""
    client = agents.get_client(name)
    for path in sorted((matrix.RECORDINGS / name).glob("*/events.jsonl")):
        for line in path.read_text().splitlines():
            call = json.loads(line)
            if call["event"].startswith("git:") or not isinstance(call.get("payload"), dict):
                continue
            try:
                yield client.read_event(call["event"], call["payload"])
            except InputError:
                continue  # of another client, in whose recording it ran


@pytest.mark.parametrize("name", RECORDED)
def test_a_yes_was_recorded(name: str) -> None:
    events = list(read_events(name))
    ends = [event for event in events if event["event"] == "tool-end"]
    tools = [tool for event in ends for tool in event.get("tools", [event.get("tool")])]
    seen = {
        "prompts": any(event.get("prompt") for event in events if event["event"] == "turn-start"),
        "edits": any(tool["kind"] == "write" for tool in tools),
        "shells": any(tool["kind"] == "shell" for tool in tools),
        "subagents": any(event["event"].startswith("subagent-") for event in events),
    }
    answers = {column: ROWS[name].cells[column] for column in seen}
    none(
        f"{column}: {cell.answer}: {cell.reason}"
        for column, cell in answers.items()
        if cell.answer == matrix.YES and cell.reason == "as recorded" and not seen[column]
    )


def test_only_a_client_that_was_tried_has_a_yes() -> None:
    none(
        f"{row.name}: {column}"
        for row in ROWS.values()
        for column, cell in row.cells.items()
        if not row.tried and cell.answer in (matrix.YES, matrix.PARTLY)
    )
    none(
        row.name for row in ROWS.values() if bool(row.tried) == agents.get_client(row.name).UNTRIED
    )


def test_the_readme_names_those_that_were_tried() -> None:
    assert matrix.build_sentence(list(ROWS.values())) in (TOP / "README.md").read_text()
