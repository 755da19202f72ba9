"""Tasks: the part of a subagent or a list of todos in a session's metadata on its stream.

A task's id is the tool_use_id of the call that started it.  The session's state has it in `tasks`
while it runs, then in `ended_tasks` until a checkpoint holds it
(doc/behaviour.md "Tasks", doc/formats.md "Commits of a stream").
"""

from __future__ import annotations

from gitcp.agents import locate_subagent_transcript
from gitcp.checkpoints import transcripts, writing
from gitcp.checkpoints.redactor import Lazy, can_read_rules, get_redactor, redact_text
from gitcp.errors import InputError
from gitcp.git import format_now
from gitcp.git.objects import Lookup
from gitcp.record import get_call, journal
from gitcp.record.journal import credit
from gitcp.record.stream import METADATA
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from typing import Any, TypedDict

    from gitcp.checkpoints.writing import SessionData
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Event, State, Tip

    class Step(TypedDict):
        """The content of a task checkpoint.  files: path below the metadata directory -> bytes."""

        tool_use_id: str
        subject: str
        files: dict[str, bytes]


def note_start(repo: Repo, state: State, event: Event) -> bool:
    """Note in the state a task that starts, or the agent id of a background task; return whether
    the state changed."""
    tool = get_call(event)
    running = state.setdefault("tasks", {})
    if tool.get("kind") != "task" or not tool.get("id"):
        return False
    if event["event"] == "subagent-start":
        # Every checkpoint has a copy of the state, so its texts are redacted.
        description = redact_text(repo, tool.get("description") or "", state["session_id"])
        kind = redact_text(repo, tool.get("subagent_type") or "", state["session_id"])
        details = {"description": description, "started": format_now()}
        running[tool["id"]] = {"subagent_type": kind, **details}
        return True
    if event["event"] == "tool-end" and tool.get("agent_id") and tool["id"] in running:
        running[tool["id"]]["agent_id"] = tool["agent_id"]
        return True
    return False


def build_step(repo: Repo, state: State, event: Event, tip: Tip | None) -> Step | None:
    """The step of a subagent-end or todo event; None if its task is unknown.

    The caller holds the session's lock.  A task that ends moves to `ended_tasks` of the state.
    """
    from gitcp.text import prompt_text

    if event["event"] == "todo":
        return _build_todo_step(repo, state, event, tip)
    tool = get_call(event)
    task_id = tool.get("id")
    agent_id = tool.get("agent_id") or event.get("agent_id")
    running = state.get("tasks", {})
    ended = state.setdefault("ended_tasks", {})
    task_id = task_id or _find_by_agent(running, agent_id)
    if not task_id:
        return None  # the end of the call itself comes next, with its id
    task = running.pop(task_id, None) or ended.get(task_id, {})
    session_id = state["session_id"]
    kind = redact_text(repo, tool.get("subagent_type") or task.get("subagent_type", ""), session_id)
    description = redact_text(
        repo, tool.get("description") or task.get("description", ""), session_id
    )
    details = {"subagent_type": kind, "description": description, "turn": event.get("turn") or ""}
    ended[task_id] = {**details, "agent_id": agent_id or ""}
    if event.get("agent_transcript_path"):
        ended[task_id]["transcript_path"] = event["agent_transcript_path"]
    subject = prompt_text.make_task_subject(task_id, kind, description)
    files = _build_files(repo, state, task_id)
    return {"tool_use_id": task_id, "subject": subject, "files": files}


def _build_files(repo: Repo, state: State, task_id: str) -> dict[str, bytes]:
    """The files of an ended task: path below the metadata directory -> bytes."""
    task = state["ended_tasks"][task_id]
    agent_id = task.get("agent_id") or ""
    details = {
        "session_id": state["session_id"],
        "tool_use_id": task_id,
        "checkpoint_uuid": task.get("turn") or "",
        "agent_id": agent_id,
    }
    files = {f"tasks/{task_id}/checkpoint.json": _dump_json(details)}
    conversation = _read_transcript(repo, state, agent_id, task.get("transcript_path"))
    if conversation is not None:
        files[f"tasks/{task_id}/agent-{agent_id}.jsonl"] = conversation
    return files


def list_ended_files(
    repo: Repo,
    state: State,
    list_written: Callable[[str], set[str]],
    changes: Container[str] = (),
) -> dict[str, bytes]:
    """The files of ended tasks that no checkpoint holds: path below tasks/ -> bytes.

    list_written: the paths that a subagent, by its id, wrote.  A task with uncommitted work waits
    for the commit that takes some of it.  changes: the paths of the commit that is stored.
    """
    files: dict[str, bytes] = {}
    open_paths = {path for stream in state["streams"] for path in stream["files"]}
    for task_id, task in state.get("ended_tasks", {}).items():
        written_paths = list_written(task.get("agent_id") or "")
        if written_paths.isdisjoint(open_paths) or any(path in changes for path in written_paths):
            files |= _build_files(repo, state, task_id)
    return {path.removeprefix("tasks/"): data for path, data in files.items()}


def list_all_ended_files(repo: Repo, state: State) -> dict[str, bytes]:
    """The files of list_ended_files() for a commit that was made before."""
    if not state.get("ended_tasks"):
        return {}
    lines = journal.read_journal(repo)
    return list_ended_files(
        repo, state, lambda agent_id: credit.list_written_paths(lines, agent_id)
    )


def list_tasks(files: Iterable[str]) -> list[str]:
    """The ids of the tasks of paths below tasks/."""
    return sorted({path.split("/")[0] for path in files})


def forget_tasks(repo: Repo, state: State, task_ids: Iterable[str]) -> None:
    """Remove tasks that a checkpoint holds from the state, and the copies of their transcripts."""
    ended = state.get("ended_tasks", {})
    for task_id in task_ids:
        task = ended.pop(task_id, {})
        if task.get("agent_id"):
            transcripts.remove_copy(repo, state["session_id"], task["agent_id"])
    if not ended:
        state.pop("ended_tasks", None)


def _build_todo_step(repo: Repo, state: State, event: Event, tip: Tip | None) -> Step | None:
    from gitcp.text import prompt_text

    tool = get_call(event)
    task_id = find_task(state, event.get("agent_id")) or tool.get("id")
    if not task_id:
        return None
    stored_files = list_stored(repo.objects, tip, state["session_id"])
    folder = f"{task_id}/checkpoints/"
    number = 1 + sum(1 for path in stored_files if path.startswith(folder))
    data = json.dumps(tool.get("todos") or []).encode()
    can_redact = can_read_rules(repo)
    if can_redact:
        todos = json.loads(get_redactor(repo, state["session_id"]).redact_document(data))
    else:
        todos = []
    details = {
        "type": "todo",
        "tool_use_id": tool.get("id", ""),
        "timestamp": format_now(),
        "data": {"todos": todos},
    }
    return {
        "tool_use_id": task_id,
        "subject": prompt_text.make_todo_subject(todos, number, task_id),
        "files": {f"tasks/{folder}{number:03d}-{task_id}.json": _dump_json(details)},
    }


def find_task(state: State, agent_id: str | None) -> str | None:
    """The id of the task of a subagent's event; without an agent id, the only running task."""
    running = state.get("tasks", {})
    task_id = _find_by_agent({**running, **state.get("ended_tasks", {})}, agent_id)
    if task_id:
        return task_id
    if len(running) == 1:
        return str(next(iter(running)))
    return None


def _find_by_agent(tasks: Mapping[str, Any], agent_id: str | None) -> str:
    matching_ids = (t for t, task in tasks.items() if agent_id and task.get("agent_id") == agent_id)
    return next(matching_ids, "")


def store_step(repo: Repo, state: State, step: Step) -> None:
    """Store a step without changes with the checkpoint of the turn's last commit.  Without such a
    commit a todo is dropped, and a task waits."""
    ids = state.get("turn_checkpoint_ids")
    if not ids:
        return
    files = {path.removeprefix("tasks/"): data for path, data in step["files"].items()}
    if step["tool_use_id"] in state.get("ended_tasks", {}):
        files = list_all_ended_files(repo, state)
    done = list_tasks(files)
    minimal: SessionData = {
        "session_id": state["session_id"],
        "tasks": files,
        "metadata": {"tasks": done},
    }
    writing.write_sessions(repo, [(ids[-1], minimal)])
    forget_tasks(repo, state, done)


def list_stored(objects: Objects, tip: Tip | None, session_id: str) -> dict[str, str]:
    """The task files of a session on its stream: path below tasks/ -> blob oid."""
    if tip is None:
        return {}
    entry = Lookup(objects, tip["tree"])(f"{METADATA}{session_id}/tasks")
    from gitcp.git.objects.object_lists import list_files

    if entry:
        return {path: oid for path, (_, oid) in list_files(objects, entry[1])}
    return {}


def _read_transcript(repo: Repo, state: State, agent_id: str, path: str | None) -> bytes | None:
    """The redacted transcript of a subagent; None without one."""
    if not agent_id:
        return None
    try:
        session = state.get("transcript_path") or ""
        agent = state.get("agent_type", "")
        path = path or locate_subagent_transcript(agent, session, agent_id)
        redactor = Lazy(repo, state["session_id"])
        source = transcripts.LiveTranscript(state["session_id"], path, redactor, agent_id=agent_id)
        stored = transcripts.store_transcript(repo, source, complete=True)
    except InputError:
        return None
    return stored.read() if stored else None


def _dump_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"
