"""The calls of tools as they come: a file tool's content before and after, a window's two ends.

Everything here runs under the session's lock and takes the journal's.
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
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.record_types import JournalLine, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SLACK = 200_000_000  # ns: between a call's end and the start of our process, on a busy machine
_WINDOWS = ("shell", "mcp", "other")


def take_call(repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> bool:
    """Take a tool's start or end into the journal, as far as it can write; whether that changed
    the state."""
    call, starts = event.get("tool") or {}, event["event"] == "tool-start"
    paths, changed = list(call.get("input_paths", ())), False
    if call.get("kind") not in ("write", *_WINDOWS):
        return False
    if event.get("agent_id"):
        call = event["tool"] = {**call, "agent": event["agent_id"]}
    if call["kind"] == "write" and not all(map(_build_home_check(repo), paths)):
        inside = late.visits.group_by_worktree(repo, paths)
        changed = late.visits.take_call(repo, state, call, starts, inside)
        paths = [path for path in paths if not any(path in more for more in inside.values())]
    named = turn_log.resolve_paths(repo, paths)
    with Journal(repo) as journal:
        at, journal.telling = read_clock(repo), state["session_id"]
        journal.naming = frozenset(named)
        if call["kind"] == "write" and named:
            act = late.file_tools.begin_call if starts else late.file_tools.end_call
            act(objects, journal, state, call, named, at)
        elif call["kind"] != "write" and starts:
            _open_call(objects, journal, state, event, named, at)
        elif call["kind"] != "write":
            _close_call(objects, journal, state, event, named, at)
    return changed


def _build_home_check(repo: Repo) -> Callable[[str], bool]:
    """To ask whether no other worktree can lie between the root of this one and a path."""
    root = repo.worktree

    def is_plain(path: str) -> bool:
        folder = os.path.dirname(path)
        while folder.startswith(root + os.sep):
            if os.path.lexists(os.path.join(folder, ".git")):
                return False
            folder = os.path.dirname(folder)
        return folder == root or not os.path.isabs(path)

    return is_plain


def _open_call(
    objects: Objects,
    journal: Journal,
    state: State,
    event: dict[str, Any],
    paths: list[str],
    at: int,
) -> None:
    call = event["tool"]
    unseen = _look_for_changes(objects, journal, event, at)
    words = [*paths, *_list_words(journal.repo, event, call.get("command") or "")]
    line = {**entries.build_opening(state, call, "shell", at), "names": words}
    if unseen:
        line["unseen"] = unseen
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
        closing["since"] = (
            at - _compute_call_age(event) - int(call["duration_ms"]) * 1_000_000 - _SLACK
        )
    words = _list_words(journal.repo, event, call.get("output") or "")
    output = [w for w in words if "/" in w or "." in w]
    if paths or output:
        closing["names"] = [*paths, *output]
    if call.get("background") or _has_left_running(call, state, journal):
        closing["goes_on"] = "turn"
        closing["task"] = call.get("background_id", "")
    journal.append([closing])
    journal.closing = str(call.get("id", ""))
    _look_for_changes(objects, journal, event, at)


def _list_words(repo: Repo, event: dict[str, Any], text: str) -> list[str]:
    """The words of a text that could name a path, and what the disk calls those that do."""
    words = late.evidence.list_words(text)
    if turn_log.has_many_names(repo):
        folder = os.path.realpath(event.get("cwd") or repo.worktree)
        paths = (os.path.join(folder, word) for word in words)
        there = [late.spelling.find_on_disk(repo, p) for p in paths if os.path.lexists(p)]
        words += filter(None, there)
    return words


def _look_for_changes(
    objects: Objects, journal: Journal, event: dict[str, Any], at: int
) -> list[str]:
    """Look at everything, or where that costs too much at what a command throws away; what of
    that was not seen."""
    command = str(event["tool"].get("command") or "")
    if late.look.scan_if_cheap(objects, journal, at) or not command:
        return []
    return late.first_look.look_at_losses(objects, journal, command, event.get("cwd") or "", at)


def _reopen_call(journal: Journal, state: State, event: dict[str, Any]) -> None:
    """The opening of a call whose start did not reach us: after its session's last event."""
    session_id, call = state["session_id"], event["tool"]
    own = [line for line in journal.lines if line.get("session") == session_id]
    base = turn_log.read_baseline(journal.repo, session_id)
    if base is None or any(line.get("open") == call.get("id", "") for line in own):
        return
    after = max(int(base.get("at") or base["time_ns"]), *(int(line["at"]) for line in own), 0)
    words = _list_words(journal.repo, event, call.get("command") or "")
    journal.append([{**entries.build_opening(state, call, "shell", after), "names": words}])


def _compute_call_age(event: dict[str, Any]) -> int:
    """How long ago a client began to tell us of a call's end, in ns: by then it was over."""
    return time.time_ns() - event["came"] if "came" in event else process.measure_age()


def _has_left_running(call: JournalLine, state: State, journal: Journal) -> bool:
    """Whether a command left something running, as `cmd &` does."""
    command = str(call.get("command") or "").replace("&&", "").replace(">&", "").replace("&>", "")
    if "&" not in command:
        return False
    same = state["session_id"], call.get("id", "")
    opened = (one for one in journal.lines if (one.get("session"), one.get("open")) == same)
    since = max((int(one["at"]) for one in opened), default=time.time_ns())
    return process.has_working_process(
        journal.repo.worktree, same[0], state.get("agent_process"), since
    )


def close_calls(journal: Journal, state: State, at: int, late: set[str] | None = None) -> None:
    """Close the session's calls that no event closed, at its prompt (late: None) or its Stop.

    late: the tasks that its client says go on.  What goes on is open past the turn, for new
    paths and those it names only.
    """
    closings = []
    repo, session_id = journal.repo, state["session_id"]
    running: bool | None = None
    for call in entries.list_calls(journal.lines):
        if call["session"] != session_id or call["end"] is not None or call["kind"] == "write":
            continue
        if running is None:
            running = process.has_working_process(repo.worktree, session_id)
        goes_on = running or call.get("task", "") in (late or ())
        if call["goes_on"] and not goes_on:  # not every client names the session to its children
            agent = state.get("agent_process")
            goes_on = process.has_working_process(repo.worktree, session_id, agent, int(call["at"]))
        if call["late"] and goes_on:
            continue
        closing: JournalLine = {"close": call["open"], "session": session_id, "at": at}
        if goes_on:
            closing |= {"goes_on": "late", "task": call.get("task", "")}
        closings.append(closing)
    journal.append(closings)
