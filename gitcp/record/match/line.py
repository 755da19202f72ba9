"""The line of commits that led to HEAD since it was looked at."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo

_LONGEST = 1000  # commits


class Line:
    """The newest commits of a range, and which of them are based on which."""

    def __init__(self, repo: Repo, revisions: Sequence[str]) -> None:
        """revisions: of the range, for git rev-list."""
        options = ("--topo-order", "--reverse", "--parents", f"--max-count={_LONGEST}")
        repo.objects.flush()
        out = repo.git.run("rev-list", *options, *revisions)[1]
        self._places: dict[str, int] = {}
        self._before: list[int] = []  # bit n: the commit is based on commit n, or is it
        self.oids: list[str] = []  # those that merge nothing, parents first
        for number, row in enumerate(out.decode().splitlines()):
            oid, *parents = row.split(" ")
            before = 1 << number
            if len(parents) < 2:
                self.oids.append(oid)
            for parent in parents:
                if parent in self._places:
                    before |= self._before[self._places[parent]]
            self._places[oid] = number
            self._before.append(before)

    def has_merge(self) -> bool:
        """Whether one of them merges others."""
        return len(self.oids) < len(self._before)

    def is_based(self, one: str, other: str) -> bool:
        """Whether one of two commits is based on the other."""
        first = self._places.get(one)
        second = self._places.get(other)
        if first is None or second is None:
            return False
        return bool(self._before[first] >> second & 1 or self._before[second] >> first & 1)
