"""The calls of tools as they come: a file tool's content before and after, a window's two ends.

Everything here runs under the session's lock and takes the journal's.
"""

from __future__ import annotations

import os
import time

from gitcp.core.credit import entries
from gitcp.errors import Late
from gitcp.record import text
from gitcp.store.journal.journal import Journal, clock
from gitcp.store.journal.known import Known
from gitcp.store.session import process, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.record_types import JournalLine, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SLACK = 20_000_000  # ns: between a call's end and the start of our process
_LOOK_FIRST = 0.05  # seconds for what a command throws away
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
    if call["kind"] == "write" and not all(map(_at_home(repo), paths)):
        from gitcp.store.journal import visits

        inside = visits.places(repo, paths)
        changed = visits.take_call(repo, state, call, starts, inside)
        paths = [path for path in paths if not any(path in more for more in inside.values())]
    named = turn_log.resolve_paths(repo, paths)
    with Journal(repo) as journal:
        at, journal.telling = clock(repo), state["session_id"]
        journal.naming = frozenset(named)
        if call["kind"] == "write" and named:
            from gitcp.store.journal import file_tools

            act = file_tools.begin if starts else file_tools.end
            act(objects, journal, state, call, named, at)
        elif call["kind"] != "write" and starts:
            _open(objects, journal, state, event, named, at)
        elif call["kind"] != "write":
            _close(objects, journal, state, event, named, at)
    return changed


def _at_home(repo: Repo) -> Callable[[str], bool]:
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


def _open(
    objects: Objects,
    journal: Journal,
    state: State,
    event: dict[str, Any],
    named: list[str],
    at: int,
) -> None:
    from gitcp.core.credit import evidence
    from gitcp.store.journal import look

    call = event["tool"]
    unseen = not look.scan_if_cheap(objects, journal, at) and _look_first(
        objects, journal, event, at
    )
    words = [*named, *evidence.words(call.get("command") or "")]
    line = {**entries.opening(state, call, "shell", at), "names": words}
    if unseen:
        line["unseen"] = True
    if "stash" in words:
        from gitcp.store.git import reflog

        line["stashes"] = reflog.stashes(journal.repo)
    if state.get("transcript_path"):
        line["transcript"] = state["transcript_path"]
    journal.append([line])


def _look_first(objects: Objects, journal: Journal, event: dict[str, Any], at: int) -> bool:
    """Look at the files that a command throws away, where nobody looked before it: those that it
    names, and of what else it reaches those that git calls changed; whether others may be among
    them."""
    from gitcp.core.guard import discards
    from gitcp.store.journal import look

    root = journal.repo.worktree
    folder = os.path.relpath(os.path.realpath(event.get("cwd") or root), root)
    losses = discards.find_discards(str(event["tool"].get("command") or ""), folder)
    if not losses:
        return False
    changed = Known(journal.repo, objects, journal.lines).paths
    places = [path for discard in losses for path in discard["paths"]]
    files = [path for path in places if os.path.isfile(os.path.join(root, path))]
    wide = len(files) < len(places) or not all(discard["paths"] for discard in losses)
    until = time.monotonic() + _LOOK_FIRST
    reached = {(path, tracked) for path in changed for tracked in (True, False)}
    if wide:
        dirty = _list_changed(journal.repo, {discard["reach"] for discard in losses}, until)
        reached |= dirty or set()
        wide = dirty is None
    below = {path for path, tracked in reached for d in losses if discards.covers(d, path, tracked)}
    for path in {*files, *below}:
        if time.monotonic() > until:
            return True
        look.paths(objects, journal, [path], at)
    return wide


def _list_changed(repo: Repo, reaches: set[str], until: float) -> set[tuple[str, bool]] | None:
    """The paths that differ from HEAD, with whether git tracks them, as far as commands of these
    reaches may throw them away; None where git has not told by then."""
    from gitcp.core.guard import discards

    asked = []
    if reaches - {discards.UNTRACKED}:
        ways = "-c core.fsmonitor=false diff-index --name-only -z HEAD"
        asked.append((True, repo.git.start(*ways.split())))
    if reaches - {discards.TRACKED}:
        ways = "-c core.fsmonitor=false ls-files --others --exclude-standard -z"
        asked.append((False, repo.git.start(*ways.split())))
    changed, in_time = set[tuple[str, bool]](), True
    for tracked, running in asked:
        try:
            limit = max(0.001, until - time.monotonic())
            out = running.finish(ok=range(-64, 256), limit=limit)[1]
            changed |= {(text(path), tracked) for path in out.split(b"\0")[:-1]}
        except Late:
            in_time = False
    return changed if in_time else None


def _close(
    objects: Objects,
    journal: Journal,
    state: State,
    event: dict[str, Any],
    named: list[str],
    at: int,
) -> None:
    from gitcp.core.credit import evidence
    from gitcp.store.journal import look

    call = event["tool"]
    _reopen(journal, state, call)
    closing: JournalLine = {"close": call.get("id", ""), "session": state["session_id"], "at": at}
    if call.get("duration_ms") is not None:
        closing["since"] = at - _called(event) - int(call["duration_ms"]) * 1_000_000 - _SLACK
    output = [w for w in evidence.words(call.get("output") or "") if "/" in w or "." in w]
    if named or output:
        closing["names"] = [*named, *output]
    if call.get("background") or _left(call, state, journal):
        closing["goes_on"] = "turn"
        closing["task"] = call.get("background_id", "")
    journal.append([closing])
    journal.closing = str(call.get("id", ""))
    if not look.scan_if_cheap(objects, journal, at):
        _look_first(objects, journal, event, at)


def _reopen(journal: Journal, state: State, call: JournalLine) -> None:
    """The opening of a call whose start did not reach us: after its session's last event."""
    session_id, call_id = state["session_id"], call.get("id", "")
    own = [line for line in journal.lines if line.get("session") == session_id]
    base = turn_log.baseline(journal.repo, session_id)
    if base is None or any(line.get("open") == call_id for line in own):
        return
    from gitcp.core.credit import evidence

    after = max(int(base.get("at") or base["time_ns"]), *(int(line["at"]) for line in own), 0)
    words = evidence.words(call.get("command") or "")
    journal.append([{**entries.opening(state, call, "shell", after), "names": words}])


def _called(event: dict[str, Any]) -> int:
    """How long ago a client began to tell us of a call's end, in ns: by then it was over."""
    return time.time_ns() - event["came"] if "came" in event else process.age()


def _left(call: JournalLine, state: State, journal: Journal) -> bool:
    """Whether a command left something running, as `cmd &` does."""
    command = str(call.get("command") or "").replace("&&", "").replace(">&", "").replace("&>", "")
    if "&" not in command:
        return False
    same = state["session_id"], call.get("id", "")
    opened = (one for one in journal.lines if (one.get("session"), one.get("open")) == same)
    since = max((int(one["at"]) for one in opened), default=time.time_ns())
    return process.working(journal.repo.worktree, same[0], state.get("agent_process"), since)


def settle(journal: Journal, state: State, at: int, late: set[str] | None = None) -> None:
    """Close the session's calls that no event closed, at its prompt (late: None) or its Stop.

    late: the tasks that its client says go on.  What goes on is open past the turn, for new
    paths and those it names only.
    """
    closings = []
    repo, session_id = journal.repo, state["session_id"]
    running: bool | None = None
    for call in entries.calls(journal.lines):
        if call["session"] != session_id or call["end"] is not None or call["kind"] == "write":
            continue
        if running is None:
            running = process.working(repo.worktree, session_id)
        goes_on = running or call.get("task", "") in (late or ())
        if call["goes_on"] and not goes_on:  # not every client names the session to its children
            agent = state.get("agent_process")
            goes_on = process.working(repo.worktree, session_id, agent, int(call["at"]))
        if call["late"] and goes_on:
            continue
        closing: JournalLine = {"close": call["open"], "session": session_id, "at": at}
        if goes_on:
            closing |= {"goes_on": "late", "task": call.get("task", "")}
        closings.append(closing)
    journal.append(closings)
