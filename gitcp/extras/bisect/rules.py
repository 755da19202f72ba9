"""Search the changes of a worktree for the one at which a test turns from pass to fail.

States are numbered from 0, which passes, to the last, which fails; state n is after change n.
"""

from __future__ import annotations

from itertools import pairwise
from posixpath import commonprefix

from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypedDict

    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Version, Writer

    class Change(TypedDict):
        """Edits that were made one after the other by one author, and what they did.

        who: (session, turn, call), or who wrote without one: PERSON, UNKNOWN, STEP or UNSEEN.
        at: when it was seen, ns.  edits: path -> its entries before and after."""

        who: Writer
        at: int
        edits: dict[str, tuple[Version, Version]]


GOOD = "good"
BAD = "bad"
SKIP = "skip"
SKIPPED = 125  # the status of a command that cannot test a state, as for git-bisect(1)
STOPPED = 128  # from this status on the search ends
STEP: Writer = ("", "step", "")  # gitcp itself, by rewind, undo or redo
UNSEEN: Writer = ("", "unseen", "")  # no hook saw the change


def read_status(status: int) -> str:
    """What an exit status says of a state, as for git-bisect(1): '' if it ends the search."""
    if status == 0:
        return GOOD
    if status == SKIPPED:
        return SKIP
    return BAD if 0 < status < STOPPED else ""


def find_range(found: Mapping[int, str]) -> tuple[int, int]:
    """(the last good state, the first bad one after it), between which the change is.

    found: the verdict on each tested state, with a good one before a bad one."""
    high = min(n for n, verdict in found.items() if verdict == BAD)
    return max(n for n, verdict in found.items() if verdict == GOOD and n < high), high


def choose_next(found: Mapping[int, str]) -> int | None:
    """The state to test next: the middle of the longest run of untested states in the range, so
    that states that cannot be tested are left quickly; None when the search is over."""
    low, high = find_range(found)
    tested = sorted(n for n in found if low <= n <= high)
    gaps = [(end - start, start) for start, end in pairwise(tested)]
    length, start = max(gaps)
    return start + length // 2 if length > 1 else None


def count_runs(found: Mapping[int, str]) -> int:
    """How many more states are tested if none is skipped."""
    low, high = find_range(found)
    return (high - low - 1).bit_length()


def list_changes(edits: Iterable[Edit]) -> list[Change]:
    """The edits of a journal, in its order, as changes: an author's edits in a row are one; without
    a call, those that one look saw."""
    changes: list[Change] = []
    for line in edits:
        who = _name_writer(line)
        at = line.at
        last = changes[-1] if changes else None
        if last is None or last["who"] != who or (not who[2] and last["at"] != at):
            last = {"who": who, "at": at, "edits": {}}
            changes.append(last)
        before = line.before
        after = line.after
        first = last["edits"].get(line.path, (before, None))[0]
        last["edits"][line.path] = first, after
        last["at"] = at
    return changes


def _name_writer(line: Edit) -> Writer:
    if line.step:
        return STEP
    cause = line.cause
    return cause if cause[0] else line.author


def count_differing(
    changes: Sequence[Change], present: Mapping[str, tuple[Version, Version]]
) -> list[int]:
    """How many paths of each state, from before the first change to after the last, differ from a
    tree.  present: path -> (entry now, entry in the tree), for the paths that differ now."""
    wanted = {path: pair[1] for path, pair in present.items()}
    differing = set(present)
    counts = [len(present)]
    for change in reversed(changes):
        for path, (before, after) in change["edits"].items():
            # A path that does not differ now has in the tree what it has now.
            if wanted.setdefault(path, after) == before:
                differing.discard(path)
            else:
                differing.add(path)
        counts.append(len(differing))
    return counts[::-1]


def find_state(counts: Sequence[int], times: Sequence[int], time: int) -> int:
    """The state that is most like a tree of that time, by count_differing(); of equal ones that
    whose time is nearest."""
    return min(range(len(counts)), key=lambda n: (counts[n], abs(times[n] - time)))


def join_changes(changes: Sequence[Change], session_id: str) -> list[list[Change]]:
    """The changes in groups, each of which ends with one of a session; the last may lack it.  ''
    for the session: each change alone."""
    groups: list[list[Change]] = [[]]
    for change in changes:
        groups[-1].append(change)
        if session_id in ("", change["who"][0]):
            groups.append([])
    return [group for group in groups if group]


def describe_paths(change: Change) -> str:
    """The paths of a change in a few words."""
    paths = sorted(change["edits"])
    if len(paths) == 1:
        return paths[0]
    folder = commonprefix([f"{path.rpartition('/')[0]}/" for path in paths]).rpartition("/")[0]
    return count_noun(len(paths), "file") + (f" in {folder}" if folder else "")
