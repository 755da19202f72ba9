"""Tasks: what a subagent, or a list of todos, adds to a session's metadata on its stream.

A task is named by the tool_use_id of the call that started it; it is remembered in the
session's state while it runs (behaviour.md §8, E§2.4).
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.message import prompts
from gitcp.store.git.tree import Lookup, walk
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs
from gitcp.store.v1 import redaction, transcript_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from gitcp.core.record_types import State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_write import SessionData

    class Step(TypedDict):
        """What a task checkpoint adds.  files: path below the metadata directory -> bytes."""

        tool_use_id: str
        subject: str
        files: dict[str, bytes]


def note(repo: Repo, state: State, event: dict[str, Any]) -> bool:
    """Remember a task that starts, and the agent a background one runs as; whether it did."""
    tool, running = event.get("tool") or {}, state.setdefault("tasks", {})
    if tool.get("kind") != "task" or not tool.get("id"):
        return False
    if event["event"] == "subagent-start":
        # What a state holds goes into every checkpoint's copy of it.
        about = redaction.text(repo, tool.get("description") or "")
        kind = redaction.text(repo, tool.get("subagent_type") or "")
        details = {"description": about, "started": states.timestamp()}
        running[tool["id"]] = {"subagent_type": kind, **details}
        return True
    if event["event"] == "tool-end" and tool.get("agent_id") and tool["id"] in running:
        running[tool["id"]]["agent_id"] = tool["agent_id"]
        return True
    return False


def step(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], tip: Tip | None
) -> Step | None:
    """What a subagent-end or todo event adds; None when it tells of no task that is known.

    The caller holds the session's lock; a task that ends is forgotten here.
    """
    if event["event"] == "todo":
        return _todo(repo, objects, state, event, tip)
    tool = event.get("tool") or {}
    task_id, agent_id = tool.get("id"), tool.get("agent_id") or event.get("agent_id")
    running = state.get("tasks", {})
    if not task_id:
        named = [t for t, task in running.items() if agent_id and task.get("agent_id") == agent_id]
        if not named:
            return None  # the end of the call itself comes next, with its name
        task_id = named[0]
    task = running.pop(task_id, {})
    kind = redaction.text(repo, tool.get("subagent_type") or task.get("subagent_type", ""))
    about = redaction.text(repo, tool.get("description") or task.get("description", ""))
    details = {
        "session_id": state["session_id"],
        "tool_use_id": task_id,
        "checkpoint_uuid": event.get("turn") or "",
        "agent_id": agent_id or "",
    }
    files = {f"tasks/{task_id}/checkpoint.json": _json(details)}
    transcript = _transcript(repo, state, agent_id, event.get("agent_transcript_path"))
    if transcript is not None:
        files[f"tasks/{task_id}/agent-{agent_id}.jsonl"] = transcript
    subject = prompts.task_subject(True, task_id, kind, about)
    return {"tool_use_id": task_id, "subject": subject, "files": files}


def _todo(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], tip: Tip | None
) -> Step | None:
    tool = event.get("tool") or {}
    task_id = of_agent(state, event.get("agent_id")) or tool.get("id")
    if not task_id:
        return None
    before = stored(objects, tip, state["session_id"])
    inside = f"{task_id}/checkpoints/"
    number = 1 + sum(1 for path in before if path.startswith(inside))
    given = json.dumps(tool.get("todos") or []).encode()
    todos = json.loads(redaction.redactor(repo).document(given))
    details = {
        "type": "todo",
        "tool_use_id": tool.get("id", ""),
        "timestamp": states.timestamp(),
        "data": {"todos": todos},
    }
    return {
        "tool_use_id": task_id,
        "subject": prompts.todo_subject(todos, number, task_id),
        "files": {f"tasks/{inside}{number:03d}-{task_id}.json": _json(details)},
    }


def of_agent(state: State, agent_id: str | None) -> str | None:
    """The running task an event of a subagent belongs to; the only one when it says nothing."""
    running = state.get("tasks", {})
    named = [t for t, task in running.items() if agent_id and task.get("agent_id") == agent_id]
    if named:
        return str(named[0])
    return str(next(iter(running))) if len(running) == 1 else None


def commit(repo: Repo, objects: Objects, state: State, step: Step) -> None:
    """Put a step that left nothing to the stream with the last commit of its turn: it made that
    one, or came after; without a commit there is nothing it belongs to."""
    ids = state.get("turn_checkpoint_ids")
    if ids:
        from gitcp.store.v1 import committed_write

        files = {path.removeprefix("tasks/"): data for path, data in step["files"].items()}
        minimal: SessionData = {
            "session_id": state["session_id"],
            "tasks": files,
            "metadata": {"tasks": [step["tool_use_id"]]},
        }
        committed_write.write(repo, objects, [(ids[-1], minimal)])


def stored(objects: Objects, tip: Tip | None, session_id: str) -> dict[str, str]:
    """The task files a session has on its stream: path below tasks/ -> blob oid."""
    if tip is None:
        return {}
    entry = Lookup(objects, tip["tree"])(f"{shadow_refs.METADATA}{session_id}/tasks")
    return {path: oid for path, (_, oid) in walk(objects, entry[1])} if entry else {}


def _transcript(repo: Repo, state: State, agent_id: str | None, path: str | None) -> bytes | None:
    from gitcp.agents import subagent_transcript
    from gitcp.errors import InputError

    if not agent_id:
        return None
    try:
        session, agent = state.get("transcript_path") or "", state.get("agent_type", "")
        path = path or subagent_transcript(agent, session, agent_id)
        if not path:
            return None
        return redaction.redactor(repo).jsonl(transcript_copy.live(path))
    except (OSError, InputError):
        return None


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"
