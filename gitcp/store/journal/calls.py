"""The calls of tools as they come: a file tool's content before and after, a window's two ends.

Everything here runs under the session's lock and takes the journal's.
"""

from __future__ import annotations

from gitcp.core.credit import entries, evidence, replay
from gitcp.store.journal import look, restored, whole_look
from gitcp.store.journal.glance import Glance
from gitcp.store.journal.journal import Journal, clock
from gitcp.store.journal.known import Known
from gitcp.store.session import process, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.credit.entries import Line
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.session.state import State

_SLACK = 10_000_000  # ns: a client's duration leaves out what it takes to call us
_WINDOWS = ("shell", "mcp", "other")


def tool(repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> None:
    """Take a tool's start or end into the journal, as far as it can write."""
    call, starts = event.get("tool") or {}, event["event"] == "tool-start"
    named = [inside for p in call.get("input_paths", ()) if (inside := turn_log.relative(repo, p))]
    if call.get("kind") not in ("write", *_WINDOWS):
        return
    with Journal(repo) as journal:
        at, journal.telling = clock(repo), state["session_id"]
        journal.naming = frozenset(named)
        if call["kind"] == "write" and named:
            (_begin_write if starts else _end_write)(objects, journal, state, call, named, at)
        elif call["kind"] != "write" and starts:
            _open(objects, journal, state, event, named, at)
        elif call["kind"] != "write":
            _close(objects, journal, state, call, named, at)


def _begin_write(
    objects: Objects, journal: Journal, state: State, call: Line, named: list[str], at: int
) -> None:
    """What stands at the paths now is somebody else's work, or was known."""
    glance, known = Glance(journal.repo, objects), Known(journal.repo, objects, journal.lines)
    looked: dict[str, Any] = {}
    for path in named:
        st = glance.stat(path)
        if st and known.unchanged(path, st.st_ctime_ns):
            looked[path] = glance.entry(path, write=False)
    rest = [path for path in named if path not in looked]
    ignored = glance.ignored(named)
    seen = _content(glance, rest, ignored)
    look.take(objects, journal, known, seen, at, ignored)
    opening = _opening(state, call, "write", at)
    journal.append([{**opening, "looked": {**looked, **seen}, "ignored": sorted(ignored)}])


def _content(glance: Glance, paths: list[str], ignored: set[str]) -> dict[str, Any]:
    """What stands at the paths; of an ignored one nothing is stored."""
    return {path: glance.entry(path, write=path not in ignored) for path in paths}


def _end_write(
    objects: Objects, journal: Journal, state: State, call: Line, named: list[str], at: int
) -> None:
    """What the paths have become is the session's."""
    glance, known = Glance(journal.repo, objects), Known(journal.repo, objects, journal.lines)
    opening = _opening_of(journal, state, call)
    ignored = set(opening["ignored"]) if opening else glance.ignored(named)
    who: replay.Author = (state["session_id"], state.get("turn_id", ""), str(call.get("id", "")))
    lines = []
    for path, now in _content(glance, named, ignored).items():
        was = known.entry(path)
        if was == now:
            continue
        back = restored.journalled(journal.lines, path, now)
        how = evidence.RESTORED if back else evidence.TOOL
        line = entries.edit(path, was, now, replay.UNKNOWN if back else who, how, at)
        line |= {"by": list(who)} if back else {}
        line |= {"kept": False} if path in ignored else {}
        lines.append(line)
    journal.append(lines)


def _opening_of(journal: Journal, state: State, call: Line) -> Line | None:
    same = {"open": call.get("id", ""), "session": state["session_id"]}
    found = (c for c in reversed(journal.lines) if all(c.get(k) == v for k, v in same.items()))
    return next((call for call in found if "ignored" in call), None)


def _opening(state: State, call: Line, kind: str, at: int) -> Line:
    return {
        "open": call.get("id", ""),
        "session": state["session_id"],
        "turn": state.get("turn_id", ""),
        "kind": kind,
        "at": at,
    }


def _open(
    objects: Objects,
    journal: Journal,
    state: State,
    event: dict[str, Any],
    named: list[str],
    at: int,
) -> None:
    call = event["tool"]
    whole_look.affordable(objects, journal, at)
    words = [*named, *evidence.words(call.get("command") or "")]
    opening = {**_opening(state, call, "shell", at), "names": words}
    if state.get("transcript_path"):
        opening["transcript"] = state["transcript_path"]
    journal.append([opening])


def _close(
    objects: Objects, journal: Journal, state: State, call: Line, named: list[str], at: int
) -> None:
    closing: Line = {"close": call.get("id", ""), "session": state["session_id"], "at": at}
    if call.get("duration_ms") is not None:
        closing["since"] = at - int(call["duration_ms"]) * 1_000_000 - _SLACK
    output = [w for w in evidence.words(call.get("output") or "") if "/" in w or "." in w]
    if named or output:
        closing["names"] = [*named, *output]
    if call.get("background") or _left(call, state, journal):
        closing["goes_on"] = "turn"
        closing["task"] = call.get("background_id", "")
    journal.append([closing])
    whole_look.affordable(objects, journal, at)


def _left(call: Line, state: State, journal: Journal) -> bool:
    """Whether a command left something running, as `cmd &` does."""
    command = str(call.get("command") or "").replace("&&", "").replace(">&", "").replace("&>", "")
    return "&" in command and process.working(journal.repo.worktree, state["session_id"])


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
        if call["late"] and goes_on:
            continue
        closing: Line = {"close": call["open"], "session": session_id, "at": at}
        if goes_on:
            closing |= {"goes_on": "late", "task": call.get("task", "")}
        closings.append(closing)
    journal.append(closings)
