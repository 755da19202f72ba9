"""The states that a worktree went through, each with the change that led to it: gitcp-bisect(1).

The newest state is the worktree now, or a named one.  An earlier one is the worktree without the
later edits of the journal, so that what a shell or a person did between two calls is a change of
its own.
"""

from __future__ import annotations

from typing import NamedTuple

from gitcp.errors import Error
from gitcp.extras.bisect import rules
from gitcp.git.objects import compare_trees, edit_tree, parse_ident, read_commit
from gitcp.link import commits
from gitcp.steps.back import moments, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitcp.extras.bisect.rules import Change
    from gitcp.steps.back.present import Present
    from gitcp.text.record_types import Version

_SECOND = 10**9


class _End(NamedTuple):
    """A named state.  number: of the changes before it; time: in ns."""

    tree: str
    time: int
    number: int


def read_history(present: Present, good: str, bad: str, session_id: str) -> StateHistory:
    """The states from a good to a bad one.

    good, bad: as named.find_tree() names trees.  session_id: only states after a change of this
    session, '' for all.  Raises Error for an unknown name, and if bad is not after good."""
    edits = present.kept_edits.list_all()
    changes = rules.list_changes(line for line in edits if line.is_kept)
    first, last = (_find_end(present, name, changes) for name in (good, bad))
    is_reversed = first.tree != last.tree and first.time > last.time
    if first.number > last.number or (first.number == last.number and is_reversed):
        raise Error(f"'{good}' is not before '{bad}': name the older one first")
    has_states = first.number < last.number
    groups: list[list[Change]] = []
    if has_states:
        start = _read_state(present, changes[first.number :])
    else:
        start = first.tree
    gap = _compare(present, first.tree, start)
    if gap:
        groups.append([_make_unseen(gap, changes[: first.number])])
    groups += rules.join_changes(changes[first.number : last.number], session_id)
    if has_states:
        end = _read_state(present, changes[last.number :])
    else:
        end = first.tree
    gap = _compare(present, end, last.tree)
    if gap:
        groups.append([_make_unseen(gap, changes[: last.number])])
    return StateHistory(present, (first.tree, last.tree), groups, changes[last.number :])


class StateHistory:
    """The states from a good one to a bad one, in their order; both are exactly what was named.

    changes[n]: what led from state n to state n + 1.  An end that no recorded state equals has a
    change of its own, UNSEEN, beside it.
    """

    def __init__(
        self,
        present: Present,
        ends: tuple[str, str],
        changes: Sequence[Sequence[Change]],
        later: Sequence[Change],
    ) -> None:
        """ends: the trees of the good and of the bad state.  later: the changes since the bad
        one."""
        self.present = present
        self._ends = ends
        self.changes = list(changes)
        self._later = later

    def part_changes(self, number: int) -> int:
        """Give each of the changes after a state a state of its own; return how many states there
        are more."""
        parts = [[change] for change in self.changes[number]]
        self.changes[number : number + 1] = parts
        return len(parts) - 1

    def read_tree(self, number: int) -> str:
        """The tree of a state, written if it is not there yet."""
        if number in (0, len(self.changes)):
            return self._ends[bool(number)]
        later = [change for group in self.changes[number:] for change in group]
        later = [change for change in later if change["who"] != rules.UNSEEN]
        return _read_state(self.present, [*later, *self._later])

    def list_edits(self, number: int) -> dict[str, tuple[Version, Version]]:
        """path -> its entries in a state and in the next one."""
        return _compare(self.present, self.read_tree(number), self.read_tree(number + 1))


def _find_end(present: Present, name: str, changes: Sequence[Change]) -> _End:
    tree, time = _find_tree(present, name)
    counts = rules.count_differing(changes, _compare(present, present.tree, tree))
    times = [0, *(change["at"] for change in changes)]
    return _End(tree, time, rules.find_state(counts, times, time))


def _find_tree(present: Present, name: str) -> tuple[str, int]:
    """(the tree of a name, its time in ns)."""
    if name == named.WORKTREE:
        return present.tree, 1 << 63
    repo = present.repo
    point = named.find_moment(repo, name)
    if point:
        if point.is_moment:
            return moments.read_tree(present, point.id).tree, point.time * _SECOND
        return named.read_tree(repo, point), point.time * _SECOND
    tree = named.find_tree(repo, name)
    oid = commits.resolve_name(repo, name).key
    commit = read_commit(repo.objects, oid)
    return tree, (parse_ident(commit["committer"])[1] if commit else 0) * _SECOND


def _read_state(present: Present, changes: Sequence[Change]) -> str:
    """The tree before changes, the last of which led to the present worktree."""
    before: dict[str, Any] = {}
    for change in changes:
        for path, (old, _) in change["edits"].items():
            before.setdefault(path, old)
    return edit_tree(present.repo.objects, present.tree, before)


def _compare(present: Present, old: str, new: str) -> dict[str, tuple[Version, Version]]:
    return {path: (a, b) for path, a, b in compare_trees(present.repo.objects, old, new)}


def _make_unseen(edits: dict[str, tuple[Version, Version]], earlier: Sequence[Change]) -> Change:
    return {"who": rules.UNSEEN, "at": earlier[-1]["at"] if earlier else 0, "edits": edits}
