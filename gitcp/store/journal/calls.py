"""Records the starts and ends of tool calls in the journal.

The caller holds the session's lock; the journal's is taken here.
"""

from __future__ import annotations

import os
import time

from gitcp.core.credit import entries
from gitcp.start import late
from gitcp.store.journal.journal import Journal, read_clock
from gitcp.store.session import process, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import JournalLine, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SLACK = 200_000_000  # ns between a call's end and the start of this process on a busy machine
_WINDOWS = ("shell", "mcp", "other")


def take_call(repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> bool:
    """Record the start or end of a tool that can write; return whether the state changed."""
    call, starts = event.get("tool") or {}, event["event"] == "tool-start"
    paths, changed = list(call.get("input_paths", ())), False
    if call.get("kind") not in ("write", *_WINDOWS):
        return False
    if event.get("agent_id"):
        call = event["tool"] = {**call, "agent": event["agent_id"]}
    if call["kind"] == "write" and not all(_is_at_home(repo, path) for path in paths):
        visited = late.visits.group_by_worktree(repo, paths)
        changed = late.visits.take_call(repo, state, call, starts, visited)
        paths = [path for path in paths if not any(path in group for group in visited.values())]
    tool_paths = turn_log.resolve_paths(repo, paths)
    with Journal(repo) as journal:
        at, journal.telling = read_clock(repo), state["session_id"]
        journal.naming = frozenset(tool_paths)
        if call["kind"] == "write" and tool_paths:
            act = late.file_tools.begin_call if starts else late.file_tools.end_call
            act(objects, journal, state, call, tool_paths, at)
        elif call["kind"] != "write" and starts:
            _open_call(objects, journal, state, event, tool_paths, at)
        elif call["kind"] != "write":
            _close_call(objects, journal, state, event, tool_paths, at)
    return changed


def _is_at_home(repo: Repo, path: str) -> bool:
    """Whether a path is in this worktree, with no `.git` between its root and the path."""
    folder = os.path.dirname(path)
    while folder.startswith(repo.worktree + os.sep):
        if os.path.lexists(os.path.join(folder, ".git")):
            return False
        folder = os.path.dirname(folder)
    return folder == repo.worktree or not os.path.isabs(path)


def _open_call(
    objects: Objects,
    journal: Journal,
    state: State,
    event: dict[str, Any],
    paths: list[str],
    at: int,
) -> None:
    call = event["tool"]
    seen, unseen = _look_for_changes(objects, journal, event, at)
    words = [*paths, *_list_words(journal.repo, event, call.get("command") or "")]
    line = {**entries.build_opening(state, call, call["kind"], at), "names": words}
    line |= {key: paths for key, paths in (("seen", seen), ("unseen", unseen)) if paths}
    if "stash" in words:
        line["stashes"] = late.reflog.list_stashes(journal.repo)
    if state.get("transcript_path"):
        line["transcript"] = state["transcript_path"]
    journal.append([line])


def _close_call(
    objects: Objects,
    journal: Journal,
    state: State,
    event: dict[str, Any],
    paths: list[str],
    at: int,
) -> None:
    call = event["tool"]
    _reopen_call(journal, state, event)
    closing: JournalLine = {"close": call.get("id", ""), "session": state["session_id"], "at": at}
    if call.get("duration_ms") is not None:
        # ns since the client began to report the call's end
        age = time.time_ns() - event["came"] if "came" in event else process.measure_age()
        closing["since"] = at - age - int(call["duration_ms"]) * 1_000_000 - _SLACK
    words = _list_words(journal.repo, event, call.get("output") or "")
    output = [w for w in words if "/" in w or "." in w]
    if paths or output:
        closing["names"] = [*paths, *output]
    if call.get("background") or _has_left_running(call, state, journal):
        closing["goes_on"] = "turn"
        closing["task"] = call.get("background_id", "")
    journal.append([closing])
    if "since" in closing:
        begun = int(closing["since"])
        journal.take_back_edits(state["session_id"], str(call.get("id", "")), begun)
    journal.closing = str(call.get("id", ""))
    _look_for_changes(objects, journal, event, at)


def _list_words(repo: Repo, event: dict[str, Any], text: str) -> list[str]:
    """The words of a text that could name a path, and how the disk spells those that exist."""
    words = late.evidence.list_words(text)
    if turn_log.has_many_names(repo):
        folder = os.path.realpath(event.get("cwd") or repo.worktree)
        paths = (os.path.join(folder, word) for word in words)
        spellings = [late.spelling.find_on_disk(repo, p) for p in paths if os.path.lexists(p)]
        words += filter(None, spellings)
    return words


def _look_for_changes(
    objects: Objects, journal: Journal, event: dict[str, Any], at: int
) -> tuple[list[str], list[str]]:
    """Look at the whole worktree; if that costs too much, at what a command may discard.

    Returns the paths that were, and that were not, looked at for a command, as look_at_losses()
    does.
    """
    command = str(event["tool"].get("command") or "")
    if late.look.scan_if_cheap(objects, journal, at) or not command:
        return [], []
    return late.first_look.look_at_losses(objects, journal, command, event.get("cwd") or "", at)


def _reopen_call(journal: Journal, state: State, event: dict[str, Any]) -> None:
    """Open a call whose start was not reported: it began after its session's last event."""
    session_id, tool = state["session_id"], event["tool"]
    lines = [line for line in journal.lines if line.get("session") == session_id]
    baseline = turn_log.read_baseline(journal.repo, session_id)
    if baseline is None or any(line.get("open") == tool.get("id", "") for line in lines):
        return
    times = [int(baseline.get("at") or baseline["time_ns"]), *(int(line["at"]) for line in lines)]
    words = _list_words(journal.repo, event, tool.get("command") or "")
    journal.append(
        [{**entries.build_opening(state, tool, tool["kind"], max(times)), "names": words}]
    )


def _has_left_running(call: JournalLine, state: State, journal: Journal) -> bool:
    """Whether a command left a process running, as `cmd &` does."""
    command = str(call.get("command") or "").replace("&&", "").replace(">&", "").replace("&>", "")
    if "&" not in command:
        return False
    session_id, call_id = state["session_id"], call.get("id", "")
    own = (line for line in journal.lines if line.get("session") == session_id)
    begun = (int(line["at"]) for line in own if line.get("open") == call_id)
    since = max(begun, default=time.time_ns())
    agent = state.get("agent_process")
    return process.has_working_process(journal.repo.worktree, session_id, agent, since)


def close_calls(journal: Journal, state: State, at: int, tasks: set[str] | None = None) -> None:
    """Close the session's calls that no event closed, at its prompt (tasks: None) or its Stop.

    tasks: the tasks that its client reports as running.  A call that runs on stays open past the
    turn, for new paths and for those that it names.
    """
    closings = []
    worktree, session_id = journal.repo.worktree, state["session_id"]
    running: bool | None = None
    for call in entries.list_calls(journal.lines):
        if call["session"] != session_id or call["end"] is not None or call["kind"] == "write":
            continue
        if running is None:
            running = process.has_working_process(worktree, session_id)
        continues = running or call.get("task", "") in (tasks or ())
        if call["goes_on"] and not continues:  # not every client names the session to its children
            agent = state.get("agent_process")
            continues = process.has_working_process(worktree, session_id, agent, int(call["at"]))
        if call["late"] and continues:
            continue
        closing: JournalLine = {"close": call["open"], "session": session_id, "at": at}
        if continues:
            closing |= {"goes_on": "late", "task": call.get("task", "")}
        closings.append(closing)
    journal.append(closings)
