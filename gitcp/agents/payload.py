"""Checked access to the payload of a client's hook, and the records made of it.

A field of the wrong type, or an id that is unsafe as a file name, raises InputError.
"""

from __future__ import annotations

import os

from gitcp.core import commit_message, ids, json
from gitcp.errors import OK, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from gitcp.core.record_types import Event, Tool

    Reply = tuple[str, str, int]  # standard output, standard error, status

# key of the payload -> key of the record; texts that may be absent or null
_TEXTS = {
    "agent_type": "agent_type",
    "transcript_path": "transcript_path",
    "agent_transcript_path": "agent_transcript_path",
    "source": "source",
    "reason": "reason",
    "model": "model",
    "prompt_id": "turn",
    "turn_id": "turn",
}
# the keys of contents in a call that writes
_OLD = "old_string", "old_str", "oldString", "old_text", "oldText", "before"
_NEW = "new_string", "new_str", "newString", "new_text", "newText", "after"
_EVERYWHERE = "replace_all", "replaceAll", "change_all"
_CONTENT = "content", "contents", "file_text"
NAMED = "args-"  # begins the id of a call that is named by its input
_OUTPUT = 65536  # characters of a shell's output that an event carries


def make_kinds(**tools: str) -> dict[str, str]:
    """tool -> gitcp's kind of tool; tools: the names of each kind, separated by blanks."""
    return {name: kind for kind, names in tools.items() for name in names.split()}


def build_matcher(kinds: Mapping[str, str], *left_out: str) -> str:
    """A JavaScript matcher for every tool, even an unknown one, except the kinds in left_out.

    It matches the whole name, as Copilot CLI does.
    """
    return f"^(?!(?:{'|'.join(name for name, kind in kinds.items() if kind in left_out)})$).*$"


def name_call(arguments: object) -> str:
    """An id for a call by its input, which its hooks and the transcript have alike; equal calls
    have equal ids."""
    fields = dict(sorted(arguments.items())) if isinstance(arguments, dict) else arguments
    text = json.dumps(fields).encode("utf-8", "surrogatepass")
    return f"{NAMED}{ids.start_sha256(text).hexdigest()[:16]}"


def is_call(key: str, given_id: str, arguments: object) -> bool:
    """Whether an id is that of a call in a transcript, or its name by its input."""
    return key == given_id or (key.startswith(NAMED) and key == name_call(arguments))


def make_unknown(agent: str) -> Event:
    """The record of an unknown hook, without anything of its payload."""
    return {"type": "event", "event": "unknown", "agent": agent}


def read_event(agent: str, name: str, payload: Mapping[str, Any]) -> Event:
    """The record with the fields that all clients have."""
    record: Event = {
        "type": "event",
        "event": name,
        "agent": agent,
        "session_id": ids.check_session_id(payload.get("session_id")),
        "cwd": get_directory(payload),
        "notification": False,
    }
    texts = {ours: get_text(payload, key) for key, ours in _TEXTS.items() if key in payload}
    record.update({key: value for key, value in texts.items() if value})  # type: ignore[typeddict-item]
    for key in ("last_assistant_message", "prompt_response"):
        if payload.get(key):
            record["last_message"] = get_words(payload, key)
    if payload.get("agent_id") is not None:
        record["agent_id"] = ids.check_component(payload["agent_id"], "agent_id")
    if name == "turn-start":
        prompt = get_words(payload, "prompt")
        record["prompt"] = commit_message.clean_prompt(prompt)
        record["notification"] = commit_message.is_notification(prompt)
        if record["notification"]:
            record["ended_tasks"] = commit_message.parse_ended_tasks(prompt)
    elif name == "turn-end" and payload.get("background_tasks"):
        tasks = get_objects(payload, "background_tasks")
        keys = ("id", "status", "command")
        record["background_tasks"] = [{key: get_words(task, key) for key in keys} for task in tasks]
    return record


def read_tool(
    payload: Mapping[str, Any], kinds: Mapping[str, str], keys: tuple[str, ...] = (), cwd: str = ""
) -> Tool:
    """The call of a payload.  keys: the keys of its input for the path of a call that writes,
    relative to cwd; a call that names none is known by its patch."""
    name, arguments = get_text(payload, "tool_name"), get_object(payload, "tool_input")
    if not name:
        raise InputError("'tool_name' is missing")
    key = payload.get("tool_use_id")
    call: Tool = {
        "name": name,
        "id": "" if key is None else ids.check_tool_use_id(key),
        "kind": kinds.get(name) or _guess_kind(name, payload),
        "input_paths": [],
        "failed": False,
    }
    duration, kind = payload.get("duration_ms"), call["kind"]
    if isinstance(duration, int) and duration >= 0:
        call["duration_ms"] = duration
    if any(arguments.get(key) is True for key in ("run_in_background", "is_background")):
        call["background"] = True
    if kind == "write":
        call["input_paths"] = find_paths(arguments, keys, cwd)
        if patch := "" if call["input_paths"] else find_patch(arguments):
            call.update(_describe_patch(patch, cwd))  # type: ignore[typeddict-item]
        else:
            call.update(_describe_write(arguments, payload.get("tool_response")))  # type: ignore[typeddict-item]
    elif kind == "shell":
        call["command"] = get_words(arguments, "command")
    elif kind == "task":
        call["subagent_type"] = get_text(arguments, "subagent_type")
        call["description"] = get_words(arguments, "description")
    elif kind == "todo":
        call["todos"] = get_objects(arguments, "todos")
    return call


def _guess_kind(name: str, payload: Mapping[str, Any]) -> str:
    """The kind of a tool that a client's table does not have."""
    return "mcp" if name.startswith("mcp_") or payload.get("mcp_context") else "other"


def _describe_write(arguments: Mapping[str, Any], response: object) -> dict[str, Any]:
    """The contents before and after a call that writes, as far as its input has them."""
    content, new = _find_value(arguments, _CONTENT), arguments.get("new_text")
    described: dict[str, Any] = {}
    if replacements := _list_replacements(arguments):
        described["edits"] = replacements
    elif isinstance(new, str) and isinstance(arguments.get("insert_line"), int):
        described["inserted"] = [arguments["insert_line"], new]
    elif isinstance(new, str) and arguments.get("insert_line") is None:
        content = new  # of a new file
    if isinstance(content, str):
        described["content"] = content
    if isinstance(response, dict) and isinstance(response.get("originalFile"), str):
        described["original"] = response["originalFile"]
    return described


def _list_replacements(arguments: Mapping[str, Any]) -> list[list[Any]]:
    """[old text, new text, whether everywhere] of each replacement; [] if one lacks a text."""
    listed = arguments.get("edits")
    edits = [
        [_find_value(edit, _OLD), _find_value(edit, _NEW), bool(_find_value(edit, _EVERYWHERE))]
        for edit in (listed if isinstance(listed, list) else [arguments])
        if isinstance(edit, dict)
    ]
    return edits if all(isinstance(text, str) for edit in edits for text in edit[:2]) else []


def find_patch(arguments: Mapping[str, Any]) -> str:
    """The text of a call's input that has a patch; "" without one."""
    texts = (value for value in arguments.values() if isinstance(value, str))
    return next((text for text in texts if "*** Begin Patch" in text), "")


def _describe_patch(patch: str, cwd: str) -> dict[str, Any]:
    """The paths of a patch, and of one of a single file the contents."""

    from gitcp.core import agent_words

    paths, hunks = agent_words.list_paths(patch), list(agent_words.parse_hunks(patch))
    described: dict[str, Any] = {"input_paths": resolve_paths(paths, cwd, "patch")}
    if len(paths) == 1 and hunks and hunks[0][1] is None:
        described["content"] = hunks[0][2]
    elif len(paths) == 1 and hunks:
        described["edits"] = [[old, new, False] for _, old, new in hunks]
    return described


def load_input(arguments: object) -> dict[str, Any]:
    """The input of a call that may be the text of an object, or of a patch."""
    if isinstance(arguments, str):
        from gitcp.core.transcripts import load_entry

        return load_entry(arguments) or {"patch": arguments}
    return get_object({"tool_input": arguments}, "tool_input")


def _find_value(fields: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    return next((fields[key] for key in keys if key in fields), None)


def take_response(tool: Tool, payload: Mapping[str, Any]) -> None:
    """Add a shell's output, and whether the call failed, to its record, by a payload's
    response."""
    response = payload.get("tool_response")
    if isinstance(response, dict):
        display = response.get("returnDisplay") or response.get("llmContent")
        display = display or response.get("output")
        parts = response.get("content") if isinstance(response.get("content"), list) else []
        texts = [part.get("text") for part in parts or () if isinstance(part, dict)]
        add_output(tool, response.get("stdout"), response.get("stderr"), display, *texts)
        wrong = response.get("error") or response.get("is_error")
        tool["failed"] = bool(wrong) or response.get("success") is False
    elif isinstance(response, str):
        add_output(tool, response)


def add_output(tool: Tool, *texts: object) -> None:
    """Add a shell call's output to its record; values that are not texts are left out."""
    printed = "\n".join(
        commit_message.replace_surrogates(text) for text in texts if isinstance(text, str) and text
    )
    if printed and tool["kind"] == "shell":
        tool["output"] = printed[:_OUTPUT]


def get_text(fields: Mapping[str, Any], key: str) -> str:
    """The text under a key; "" if absent or null."""
    value = get_words(fields, key)
    if value and value != fields[key]:
        raise InputError(f"'{key}' is not UTF-8: {ascii(fields[key])[:80]}")
    return value


def get_words(fields: Mapping[str, Any], key: str) -> str:
    """A text for people under a key, "" without one; invalid UTF-8 becomes "?"."""
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"'{key}' is not a text: {ascii(value)[:80]}")
    return commit_message.replace_surrogates(value)


def get_object(fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; empty if absent or null."""
    value = fields.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"'{key}' is not an object: {ascii(value)[:80]}")
    return value


def get_objects(fields: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The list of objects under a key; empty if absent or null."""
    value = fields.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"'{key}' is not a list of objects: {ascii(value)[:80]}")
    return value


def get_first(fields: Mapping[str, Any], key: str) -> Any:
    """The first item of the list under a key; None without one."""
    items = fields.get(key)
    return items[0] if isinstance(items, list) and items else None


def get_directory(payload: Mapping[str, Any]) -> str:
    """The directory in which the hook's call happened."""
    cwd = get_text(payload, "cwd")
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise InputError(f"'cwd' is not an absolute path: {ascii(cwd)[:80]}")
    return cwd


def resolve_path(spelled: str, cwd: str, field: str) -> str:
    """The absolute form of a path in cwd, without `.` and `..`; the disk is not read."""
    if "\0" in spelled:
        raise InputError(f"'{field}' has a NUL: {ascii(spelled)[:80]}")
    return os.path.normpath(os.path.join(cwd, spelled))


def resolve_paths(paths: Iterable[str], cwd: str, field: str) -> list[str]:
    """The absolute forms of paths in cwd, as resolve_path() makes them."""
    return [resolve_path(path, cwd, field) for path in paths]


def find_paths(fields: Mapping[str, Any], keys: tuple[str, ...], cwd: str) -> list[str]:
    """The path under the first of the keys that exists, in a list; [] without one."""
    spelled = ((get_text(fields, key), key) for key in keys)
    return next(([resolve_path(value, cwd, key)] for value, key in spelled if value), [])


# The hooks that most clients have under Claude Code's names.
CORE = {  # the events of all these clients
    "SessionStart": "session-start",
    "UserPromptSubmit": "turn-start",
    "PreToolUse": "tool-start",
    "PostToolUse": "tool-end",
    "Stop": "turn-end",
}
EVENTS = {
    **CORE,
    "PostToolUseFailure": "tool-end",
    "SubagentStop": "subagent-end",
    "PreCompact": "compact",
    "SessionEnd": "session-end",
}


def omit_events(*absent: str) -> dict[str, str]:
    """EVENTS without those that a client does not have."""
    return {name: event for name, event in EVENTS.items() if name not in absent}


def nest_hooks(
    events: Iterable[str], command: Callable[[str], str], seconds: int | None = None
) -> dict[str, Any]:
    """A file of hooks in the form of Claude Code's settings, with the command of each event, and
    the time-out in seconds, if any."""
    hook = {"type": "command"} | ({"timeout": seconds} if seconds else {})
    return {"hooks": {name: [{"hooks": [{**hook, "command": command(name)}]}] for name in events}}


# The answer to a client's hook: standard output, standard error and status.
#
# A refusal is for the model, a message for the person.  A refusal at tool-end stops nothing, but
# the model reads it.  ANSWERS of a client names the form:
#
#     permission   Claude Code, Codex, Qwen Code: hookSpecificOutput
#     decision     Gemini CLI, whose standard output holds nothing but JSON
#     copilot      Copilot CLI: the permission itself; it shows no messages
#     cursor       Cursor: the permission, for a prompt whether to continue
#     cline        Cline, which ignores the status
#     text         opencode: the status and standard error; it shows no messages
#     plain        any other tool: the same, and messages on standard output
# The client's hook of a prompt, by the form of its answers.
_PROMPTS = {"permission": "UserPromptSubmit", "decision": "BeforeAgent"}
REFUSED = 2  # the status of a refusal


def format_refusal(form: str, event: str, message: str) -> Reply:
    """The answer that refuses an event."""
    answer = _REFUSALS[form](message)
    if form == "permission" and event != "tool-start":
        answer = {}
    return _format_line(answer), message + "\n", OK if form == "cline" else REFUSED


def format_message(form: str, message: str, context: str = "") -> str:
    """The output of a hook that shows a message to the person, and a context to the model with the
    prompt; "" if the client supports neither."""
    if form == "plain":
        return "".join(f"{text}\n" for text in (message, context) if text)
    if form not in _PROMPTS:
        return ""
    answer: dict[str, Any] = {"systemMessage": message} if message else {}
    if context:
        hook = {"hookEventName": _PROMPTS[form], "additionalContext": context}
        answer["hookSpecificOutput"] = hook
    return _format_line(answer)


def _deny(message: str) -> dict[str, Any]:
    return {"permissionDecision": "deny", "permissionDecisionReason": message}


_REFUSALS: dict[str, Callable[[str], dict[str, Any]]] = {
    "permission": lambda message: {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", **_deny(message)}
    },
    "decision": lambda message: {"decision": "deny", "reason": message},
    "copilot": _deny,
    "cursor": lambda message: {
        "continue": False,
        "permission": "deny",
        "user_message": message,
        "agent_message": message,
    },
    "cline": lambda message: {"cancel": True, "errorMessage": message},
    "text": lambda message: {},
    "plain": lambda message: {},
}


def _format_line(answer: dict[str, Any]) -> str:
    return json.dumps(answer) + "\n" if answer else ""
