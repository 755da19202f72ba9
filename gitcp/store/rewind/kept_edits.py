"""The edits of a worktree that can be gone back over: what its journal has, and what the refs of
the sessions still hold of those that were cut from it."""

from __future__ import annotations

from gitcp.core.credit import cutting, entries
from gitcp.store.journal import edits_ref, journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine
    from gitcp.repo import Repo


class KeptEdits:
    """The edits of a repo's worktree, read once: recent ones from the journal, which stays
    short, all of them where they are asked for."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._lines = journal.read(repo)
        self._whole, self._parted = cutting.since_cut(self._lines)
        self._all: list[JournalLine] | None = None

    def all(self) -> list[JournalLine]:
        """Every edit, in the order of their times."""
        if self._all is None:
            here = entries.edits(self._lines)
            self._all = here if self._is_whole() else edits_ref.united(self.repo, here)
        return self._all

    def _is_whole(self) -> bool:
        return len(self._whole) == len(self._lines)

    def recent(self) -> tuple[list[JournalLine], set[str]]:
        """(those since which the journal is whole, the turns and tool uses that began before)."""
        return entries.edits(self._whole), self._parted

    def since(self, name: str, after: bool) -> tuple[list[JournalLine], str]:
        """(the edits from the first of a turn or tool use on, or from its last; the first commit
        that the journal knows to have been made since, '' for none); no edits where nobody knows
        that name."""
        known = name not in self._parted and bool(_places(self._whole, name))
        lines = self._whole if known else self.all()
        places = _places(lines, name)
        if not places:
            return [], ""
        rest = lines[places[-1] + 1 if after else places[0] :]
        commits = (line["commit"] for line in (rest if known else self._lines) if "commit" in line)
        return entries.edits(rest), next(commits, "")


def _places(lines: list[JournalLine], name: str) -> list[int]:
    causes = enumerate(map(entries.cause, lines))
    return [n for n, who in causes if who[0] and name in who[1:]]
