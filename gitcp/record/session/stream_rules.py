"""The rules of streams, of a session's phases, and of the sizes that a snapshot takes.

A turn continues a stream (doc/behaviour.md "Which stream a turn continues").

In mode overlap a base and a worktree have one live stream; dismissed work resets it.  In mode
suffix each stream has a numbered branch; after dismissed work the next number begins.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
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
    if back := _find_returned_stream(current, alternatives, dirty):
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
    committed_paths = set(committed)
    return {
        path
        for path in {*start, *now}
        if start.get(path, "") != now.get(path, "") and (path in now or path not in committed_paths)
    }


# The life of a session as a state machine: idle, active, ended (doc/behaviour.md "Phases").
IDLE, ACTIVE, ENDED = "idle", "active", "ended"
TURN_START, TURN_END, GIT_COMMIT = "turn-start", "turn-end", "git-commit"
SESSION_START, SESSION_END = "session-start", "session-end"
CONDENSE = "condense"
CONDENSE_IF_FILES_TOUCHED = "condense-if-files-touched"
DISCARD_IF_NO_FILES = "discard-if-no-files"
UPDATE_LAST_INTERACTION = "update-last-interaction"
CLEAR_ENDED_AT = "clear-ended-at"
WARN_STALE_SESSION = "warn-stale-session"
# Files in the git directory while git replays commits.  A merge, a revert and a bisect make
# commits like any other, so MERGE_HEAD, REVERT_HEAD and BISECT_LOG are not listed.
REWRITING = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD")
TABLE = {
    (IDLE, TURN_START): (ACTIVE, (UPDATE_LAST_INTERACTION,)),
    (IDLE, GIT_COMMIT): (IDLE, (CONDENSE, UPDATE_LAST_INTERACTION)),
    (IDLE, SESSION_END): (ENDED, (UPDATE_LAST_INTERACTION,)),
    (ACTIVE, TURN_START): (ACTIVE, (UPDATE_LAST_INTERACTION,)),  # the last turn was interrupted
    (ACTIVE, TURN_END): (IDLE, (UPDATE_LAST_INTERACTION,)),
    (ACTIVE, GIT_COMMIT): (ACTIVE, (CONDENSE, UPDATE_LAST_INTERACTION)),
    (ACTIVE, SESSION_START): (ACTIVE, (WARN_STALE_SESSION,)),
    (ACTIVE, SESSION_END): (ENDED, (UPDATE_LAST_INTERACTION,)),
    (ENDED, TURN_START): (ACTIVE, (CLEAR_ENDED_AT, UPDATE_LAST_INTERACTION)),
    (ENDED, GIT_COMMIT): (ENDED, (CONDENSE_IF_FILES_TOUCHED, UPDATE_LAST_INTERACTION)),
    (ENDED, SESSION_START): (IDLE, (CLEAR_ENDED_AT,)),
}


def parse_phase(phase: str | None) -> str:
    """The phase in a state file: `active_committed` is active, an unknown one is idle."""
    if phase == "active_committed":
        return ACTIVE
    return phase if phase in (IDLE, ACTIVE, ENDED) else IDLE


def find_transition(
    phase: str | None, event: str, *, rewriting: bool = False, files_touched: bool = True
) -> tuple[str, tuple[str, ...]]:
    """Return the next phase and the actions to take, in order (doc/behaviour.md "Phases").

    rewriting: git replays commits (REWRITING); then a commit changes nothing.
    files_touched: the session has files in the commit; matters for an ended session only.
    The condense actions apply only if `match` linked the session to the commit.  An event that is
    not in the table changes nothing.
    """
    current = parse_phase(phase)
    if event == GIT_COMMIT and rewriting:
        return current, ()
    if (current, event) == (ENDED, GIT_COMMIT) and not files_touched:
        return ENDED, (DISCARD_IF_NO_FILES, UPDATE_LAST_INTERACTION)
    return TABLE.get((current, event), (current, ()))


# Choose the untracked files that are too large for a snapshot.
LIMITS = {"too-large": "gitcp.max-file-size", "over-budget": "gitcp.max-untracked-size"}
_MOST = 3  # paths in a message


def list_excess(
    files: Iterable[tuple[str, int]], file_size: int, total_size: int
) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) of the files, (path, bytes) each, to leave out; sizes in bytes.

    A file over file_size is 'too-large'.  The others are taken by size, the smallest first, then
    by path; a file with which they exceed total_size is 'over-budget'.
    """
    used = 0
    for size, path in sorted((size, path) for path, size in files):
        if size > file_size:
            yield path, "too-large"
        elif used + size > total_size:
            yield path, "over-budget"
        else:
            used += size


def find_limit_settings(omitted: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The omitted files, {path, reason}, that exceed a limit: path -> the setting of the limit."""
    return {i["path"]: LIMITS[i["reason"]] for i in omitted if i["reason"] in LIMITS}


def format_omission(over: Mapping[str, str]) -> str:
    """The message about files over a limit; over: path -> the setting of the limit."""
    paths = [f"'{path}'" for path in sorted(over)]
    more = f" and {len(paths) - _MOST} more" if len(paths) > _MOST else ""
    settings = ", ".join(sorted(set(over.values())))
    return f"gitcp: not kept, being over the limit: {', '.join(paths[:_MOST])}{more} ({settings})"
