"""What came of a prompt: an edit that failed wrote nothing."""

from __future__ import annotations

import json

from gitcp.agents.reading import prompts_done


def build_entry(role: str, *blocks: object) -> bytes:
    message = {"role": role, "content": [*blocks]}
    entry = {"type": role, "uuid": "u", "sessionId": "s", "cwd": "/w", "message": message}
    return json.dumps(entry).encode()


def call(name: str, tool_id: str, **given: str) -> bytes:
    return build_entry(
        "assistant", {"type": "tool_use", "id": tool_id, "name": name, "input": given}
    )


def answer(tool_id: str, *, is_error: bool) -> bytes:
    result = {"type": "tool_result", "tool_use_id": tool_id, "content": "", "is_error": is_error}
    return build_entry("user", result)


def test_an_edit_that_failed_or_was_refused_wrote_nothing() -> None:
    lines = [
        build_entry("user", {"type": "text", "text": "Do it"}),
        call("Write", "1", file_path="/w/never", content="1\n2\n"),
        answer("1", is_error=True),
        call("Edit", "2", file_path="/w/a", old_string="1\n", new_string="2\n3\n"),
        answer("2", is_error=False),
        call("Edit", "3", file_path="/w/a", old_string="4\n", new_string="5\n"),
        answer("3", is_error=True),
    ]
    [prompted] = prompts_done.list_prompted(b"\n".join(lines), "claude-code")
    written = [(deed.text, deed.added, deed.removed) for deed in prompted.list_written()]
    assert written == [("/w/a", 2, 1)]
    assert prompted.count(prompts_done.FAILED) == 2


def test_a_call_has_what_its_subagent_did() -> None:
    lines = [
        build_entry("user", {"type": "text", "text": "Do it"}),
        call("Agent", "1", description="look"),
    ]
    inner = json.loads(call("Bash", "2", command="ls -l"))
    tasks = {"1": json.dumps({**inner, "isSidechain": True}).encode()}
    [prompted] = prompts_done.list_prompted(b"\n".join(lines), "claude-code", tasks)
    [task] = prompted.deeds
    assert (task.kind, task.text) == (prompts_done.TASK, "look")
    assert [(deed.kind, deed.text) for deed in task.inner] == [(prompts_done.SHELL, "ls -l")]
