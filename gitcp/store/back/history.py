"""The states that a worktree went through, each with the change that led to it: gitcp-bisect(1).

The newest state is the worktree now, or a named one.  An earlier one is the worktree without the
later edits of the journal, so that what a shell or a person did between two calls is a change of
its own.
"""

from __future__ import annotations

from gitcp.core import bisect
from gitcp.errors import Error
from gitcp.store.back import points, steps
from gitcp.store.objects import compare_trees, edit_tree, parse_ident, read_commit
from gitcp.store.show import commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitcp.core.bisect import Change
    from gitcp.core.record_types import Version
    from gitcp.store.back.restore import Present

_SECOND = 10**9


class History:
    """The states from a good one to a bad one, in their order; both are exactly what was named.

    changes[n]: what led from state n to state n + 1.  An end that no recorded state equals has a
    change of its own, UNSEEN, beside it.
    """

    def __init__(self, present: Present, good: str, bad: str, session_id: str = "") -> None:
        """good, bad: as steps.find_tree() names trees.  session_id: only states after a change of
        this session.  Raises Error for an unknown name, and if bad is not after good."""
        self.present = present
        edits = present.kept_edits.list_all()
        changes = bisect.list_changes(line for line in edits if line.get("kept", True))
        ends = [self._find_end(name, changes) for name in (good, bad)]
        (first, _, low), (last, _, high) = ends
        if low > high or (low == high and first != last and ends[0][1] > ends[1][1]):
            raise Error(f"'{good}' is not before '{bad}': name the older one first")
        self._later = changes[high:]
        self._first, self._last = first, last
        groups: list[list[Change]] = []
        if (gap := self._compare(first, self._read_state(changes, low))) and low < high:
            groups.append([self._make_unseen(gap, changes, low)])
        groups += bisect.join_changes(changes[low:high], session_id)
        end = self._read_state(changes, high) if low < high else first
        if gap := self._compare(end, last):
            groups.append([self._make_unseen(gap, changes, high)])
        self.changes: Sequence[Sequence[Change]] = groups

    def read_tree(self, number: int) -> str:
        """The tree of a state, written if it is not there yet."""
        if number in (0, len(self.changes)):
            return self._last if number else self._first
        later = [change for group in self.changes[number:] for change in group]
        later = [change for change in later if change["who"] != bisect.UNSEEN]
        return self._read_state([*later, *self._later], 0)

    def list_edits(self, number: int) -> dict[str, tuple[Version, Version]]:
        """path -> its entries in a state and in the next one."""
        return self._compare(self.read_tree(number), self.read_tree(number + 1))

    def _find_end(self, name: str, every: Sequence[Change]) -> tuple[str, int, int]:
        """(the tree of a name, its time in ns, the number of changes before it)."""
        tree, time = self._find_tree(name)
        differing = self._compare(self.present.tree, tree)
        counts = bisect.count_differing(every, differing)
        times = [0, *(change["at"] for change in every)]
        return tree, time, bisect.find_state(counts, times, time)

    def _find_tree(self, name: str) -> tuple[str, int]:
        present = self.present
        if name == steps.WORKTREE:
            return present.tree, 1 << 63
        repo = present.repo
        if point := steps.find_moment(repo, name):
            if point["kind"] in points.KINDS:
                return points.read_tree(present, point["id"])[0], point["time"] * _SECOND
            return steps.read_tree(repo, point), point["time"] * _SECOND
        tree, oid = (
            steps.find_tree(repo, name),
            commits.resolve_name(repo, name)[1],
        )
        commit = read_commit(repo.objects, oid)
        seconds = parse_ident(commit["committer"])[1] if commit else 0
        return tree, seconds * _SECOND

    def _read_state(self, changes: Sequence[Change], number: int) -> str:
        """The tree before the changes from number on, which end in the worktree of now."""
        before: dict[str, Any] = {}
        for change in changes[number:]:
            for path, (old, _) in change["edits"].items():
                before.setdefault(path, old)
        return edit_tree(self.present.repo.objects, self.present.tree, before)

    def _compare(self, old: str, new: str) -> dict[str, tuple[Version, Version]]:
        return {path: (a, b) for path, a, b in compare_trees(self.present.repo.objects, old, new)}

    @staticmethod
    def _make_unseen(
        edits: dict[str, tuple[Version, Version]], every: Sequence[Change], number: int
    ) -> Change:
        at = every[number - 1]["at"] if number else 0
        return {"who": bisect.UNSEEN, "at": at, "edits": edits}
