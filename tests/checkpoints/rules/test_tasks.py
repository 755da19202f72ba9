"""The tasks that a session gave to others stand in its row."""

from __future__ import annotations

from typing import Any

from gitcp.agents import get_client
from gitcp.checkpoints.format import schema


def part(name: str, parent: str = "", **more: Any) -> Any:
    made: Any = {"session_id": name, "agent": "OpenCode", "asked": [], "files": {}}
    return {**made, **({"parent": parent} if parent else {}), **more}


def test_tasks_are_counted_in_the_row_of_their_session() -> None:
    parts = [
        part("t1", "p"),
        part("p", files={"a": {}}),
        part("t2", "t1", files={"b": {}}),
        part("q"),
    ]
    rows = schema.fold_tasks(parts)
    assert [(row["session_id"], row.get("task_count")) for row in rows] == [("p", 2), ("q", None)]
    assert rows[0]["files"] == {"a": {}, "b": {}}
    assert parts[1]["files"] == {"a": {}}  # the parts are as they were


def test_a_session_that_is_not_there_has_a_row_by_its_tasks() -> None:
    rows = schema.fold_tasks([part("t1", "p", asked=["You are a reviewer"]), part("t2", "p")])
    assert [(r["session_id"], r["agent"], r["asked"], r["task_count"]) for r in rows] == [
        ("p", "OpenCode", [], 2)
    ]


def test_sessions_that_name_each_other_are_rows() -> None:
    rows = schema.fold_tasks([part("a", "b"), part("b", "a")])
    assert {row["session_id"] for row in rows} == {"a", "b"}


def test_the_tokens_of_tasks_are_counted_with_their_session() -> None:
    def usage(count: int) -> dict[str, int]:
        return {"input_tokens": count}

    rows = schema.fold_tasks(
        [
            part("p", token_usage=usage(1)),
            *(part(f"t{n}", "p", token_usage=usage(n)) for n in (2, 4)),
        ]
    )
    total = rows[0]["token_usage"]
    assert (total["input_tokens"], total["subagent_tokens"]["input_tokens"]) == (1, 6)


def test_heads_name_the_session_and_its_title() -> None:
    reader = get_client("opencode").load_head_reader()
    assert reader
    lines = b'{"info": {"id": "s", "parentID": "p", "title": "Look at it"}}\n{"info": {}}\n'
    head = reader.read_head(lines)
    assert (head.parent, head.title) == ("p", "Look at it")
    document = (
        b'{\n  "info": {\n    "id": "s",\n    "title": "New session - 2026"\n  },\n "messages": ['
    )
    head = reader.read_head(document)
    assert (head.parent, head.title) == ("", "")
    for damaged in (b"", b"x", b'{"info": {"id', b'{"info": 3}', b"[]"):
        head = reader.read_head(damaged)
        assert (head.parent, head.title) == ("", "")
    codex = get_client("codex").load_head_reader()
    assert codex
    line = b'{"type": "session_meta", "payload": {"id": "t", "parent_thread_id": "p"}}\n{}'
    assert codex.read_head(line).parent == "p" and codex.read_head(b"{").parent == ""
