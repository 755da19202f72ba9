"""A file tool names its path: what stands there at its start, and what it makes of it.

Nothing is scanned; what is not needed is not imported, for each end of a call is waited for.
"""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.store.journal.glance import Glance
from gitcp.store.journal.known import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Author, JournalLine, State
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal


def begin(
    objects: Objects, journal: Journal, state: State, call: JournalLine, named: list[str], at: int
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
    if any(known.entry(path) != entry for path, entry in seen.items()):
        from gitcp.store.journal import look

        look.take(objects, journal, known, seen, at, ignored)
    line = entries.opening(state, call, "write", at)
    journal.append([{**line, "looked": {**looked, **seen}, "ignored": sorted(ignored)}])


def _content(glance: Glance, paths: list[str], ignored: set[str]) -> dict[str, Any]:
    """What stands at the paths; of an ignored one nothing is stored."""
    return {path: glance.entry(path, write=path not in ignored) for path in paths}


def end(
    objects: Objects, journal: Journal, state: State, call: JournalLine, named: list[str], at: int
) -> None:
    """What the paths have become is the session's."""
    glance, known = Glance(journal.repo, objects), Known(journal.repo, objects, journal.lines)
    begun = _opening_of(journal, state, call)
    ignored = set(begun["ignored"]) if begun else glance.ignored(named)
    who: Author = (state["session_id"], state.get("turn_id", ""), str(call.get("id", "")))
    lines = []
    for path, now in _content(glance, named, ignored).items():
        was = known.entry(path)
        if was == now:
            continue
        line = entries.edit(path, was, now, who, "tool", at)
        line |= {"kept": False} if path in ignored else {}
        lines.append(line)
    closing = {"close": who[2], "session": who[0], "at": at}
    journal.append([*lines, closing] if begun else lines)


def _opening_of(journal: Journal, state: State, call: JournalLine) -> JournalLine | None:
    same = {"open": call.get("id", ""), "session": state["session_id"]}
    openings = (c for c in reversed(journal.lines) if all(c.get(k) == v for k, v in same.items()))
    return next((call for call in openings if "ignored" in call), None)
