"""Which stream a turn continues (doc/behaviour.md "Which stream a turn continues").

In mode overlap a base and a worktree have one live stream; dismissed work resets it.  In mode
suffix each stream has a numbered branch; after dismissed work the next number begins.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypedDict

    from gitcp.text.record_types import Entry, Verdict

    State = Mapping[str, Entry | None]

    class View(TypedDict):
        """A stream.

        files: path -> recorded entry, None if the agent deleted the path; files None: the stream
        is unreadable.  time: of its tip, seconds since 1970.  orphan: no state names it.
        """

        id: str
        ref: str
        tip: str
        time: int
        files: dict[str, Entry | None] | None
        orphan: bool


# The reasons.
NO_STREAM = "no shadow branch yet, nothing to check"
UNREADABLE = "failed to read shadow branch files"
ORPHAN = "no session state names the shadow branch"
CLEAN = "clean worktree at prompt start"
NO_OVERLAP = "no file overlap at prompt start"
OVERLAP = "file overlap detected at prompt start"
RETURNED = "the work of another stream is back in the worktree"
LINES_GONE = "none of the agent's lines are left in the worktree"
LINES_STAY = "the agent's lines are still in the worktree"


def count_present_files(files: State, dirty: State) -> int:
    """How many of a stream's files differ from HEAD and have the recorded entry in the worktree.

    dirty: each path that differs from HEAD -> its entry in the worktree, None if deleted.
    """
    return sum(1 for path, entry in files.items() if path in dirty and dirty[path] == entry)


def choose_stream(
    mode: str,
    current: View | None,
    alternatives: Iterable[View],
    dirty: State,
    survives: Callable[[View], bool],
) -> Verdict:
    """The verdict at a turn's start, before the agent writes.

    Each `if` is a row of the table in doc/behaviour.md, in its order.  mode: 'overlap' or 'suffix'.
    alternatives: the other unsettled streams of the worktree.  survives(view): whether lines that
    the agent added are still there; called only in suffix mode if files overlap.
    """
    fresh = "reset" if mode == "overlap" else "new"
    if current and current["files"] is None:
        return _say(fresh, current, UNREADABLE)
    back = _find_returned_stream(current, alternatives, dirty)
    if back:
        return _say("restore", back, RETURNED)
    if current is None or current["files"] is None:
        return _say("none" if mode == "overlap" else "new", None, NO_STREAM)
    if current["orphan"]:
        return _say(fresh, current, ORPHAN)
    if not dirty:
        return _say(fresh, current, CLEAN)
    if not any(path in dirty for path in current["files"]):
        return _say(fresh, current, NO_OVERLAP)
    if mode == "overlap":
        return _say("continue", current, OVERLAP)
    if survives(current):
        return _say("continue", current, LINES_STAY)
    return _say("new", current, LINES_GONE)


def _find_returned_stream(
    current: View | None, alternatives: Iterable[View], dirty: State
) -> View | None:
    """The stream whose work is in the worktree; None while the current one's is there."""
    if current and not current["orphan"] and count_present_files(current["files"] or {}, dirty):
        return None
    candidates = [
        (count_present_files(v["files"] or {}, dirty), v["time"], v) for v in alternatives
    ]
    best = max(candidates, key=lambda b: b[:2], default=None)
    return best[2] if best and best[0] else None


def _say(verdict: str, view: View | None, reason: str) -> Verdict:
    return {
        "verdict": verdict,
        "ref": view["ref"] if view else "",
        "tip": view["tip"] if view else "",
        "reason": reason,
    }


def list_changed_paths(start: State, now: State, committed: Iterable[str]) -> set[str]:
    """The paths that changed in a turn.

    start, now: the dirty paths at the turn's start and now.  committed: paths committed meanwhile,
    which count only if they are dirty now.
    """
    changed = {path for path, entry in now.items() if start.get(path, "") != entry}
    return changed | (start.keys() - now.keys()).difference(committed)
