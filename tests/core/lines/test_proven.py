"""What a transcript alone proves of the lines of a commit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.core import line_authors

LINE, OTHER = "a line that tells", "another line that tells"


def transcript(*calls: Any) -> bytes:
    """Two prompts of Claude Code, and behind the second the calls, each of which went through."""
    entries: list[Any] = [
        {"type": "user", "message": {"role": "user", "content": text}} for text in ("one", "two")
    ]
    for n, given in enumerate(calls):
        use = {"type": "tool_use", "id": f"u{n}", "name": "Edit", "input": given}
        done = {"type": "tool_result", "tool_use_id": f"u{n}", "content": "ok"}
        entries.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        entries.append({"type": "user", "message": {"role": "user", "content": [done]}})
    return "\n".join(map(json.dumps, entries)).encode()


def patch(text: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n@@\n-old\n+{text}\n*** End Patch"


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "/w/f", "old_string": "old", "new_string": LINE},
        {"file_path": "/w/f", "edits": [{"old_string": "old", "new_string": LINE}]},
        {"input": patch(LINE)},
        patch(LINE),
    ],
)
def test_a_line_is_the_turn_s_whose_call_wrote_it(arguments: Any) -> None:
    record: Any = {"metadata": {"session_id": "s"}}
    content = {"f": ("oid", f"{OTHER}\n{LINE}\n".encode())}
    told = line_authors.add_proven_lines(record, transcript(arguments), content)
    assert told["lines"] == {"f": [{"oid": "oid", "ranges": [[2, 2, "prompt-2", "u0"]]}]}
    turns = {f"prompt-{n}": {"number": n, "prompt": text} for n, text in ((1, "one"), (2, "two"))}
    assert told["metadata"] == {"session_id": "s", "turns": turns}


@pytest.mark.parametrize("arguments", [None, 7, [LINE], "no patch", {"file_path": "/w/g"}])
def test_a_call_that_names_no_change_proves_nothing(arguments: Any) -> None:
    record: Any = {"metadata": {}}
    content = {"f": ("oid", f"{LINE}\n".encode())}
    assert line_authors.add_proven_lines(record, transcript(arguments), content)["lines"] == {}
