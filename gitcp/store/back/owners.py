"""Who made the file at a path: the session that created it, and the person's edits to it."""

from __future__ import annotations

from functools import cached_property

from gitcp.core.back import lineage
from gitcp.core.credit import entries
from gitcp.store.git.tree import Lookup, find_file, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine, Version
    from gitcp.store.back.present import Present


class Owners:
    """Who created the file at a path, who edited it last, and whether a commit has the edit."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._trees: dict[str, Lookup] = {}

    def find_owner(self, path: str) -> str:
        """The id of the session that created the file at a path; '' if none is known."""
        maker = lineage.find_maker(self._present.edits.get(path, ()))
        if maker is None:  # its first edits may have been cut from the journal
            maker = lineage.find_maker(self._present.all_edits.get(path, ()))
        return maker or ""

    def find_edit(self, path: str, version: Version) -> JournalLine | None:
        """The person's newest edit that is lost if a path becomes a version again, or None."""
        edits = self._present.edits.get(path, ())
        return lineage.find_last_by_person(edits, version, self._is_in_git)

    def is_committed(self, path: str) -> bool:
        """Whether a commit since the path's newest edit gave HEAD the content of that edit."""
        newest = next(lineage.walk_back(self._present.edits.get(path, ())), None)
        return newest is not None and self._is_in_head(newest, str(newest.get("base", "")))

    def _is_in_git(self, line: JournalLine) -> bool:
        """Whether HEAD has the result of an edit, or a stash has the file that it deleted."""
        bases = str(line.get("base", "")), self._earlier_bases.get(id(line), "")
        stashed = line["after"] is None and "stashed" in line
        return stashed or any(self._is_in_head(line, base) for base in bases)

    def _is_in_head(self, line: JournalLine, base: str) -> bool:
        """Whether HEAD has the result of an edit and the commit base does not."""
        head, path, after = self._present.head, line["path"], entries.parse_entry(line["after"])
        if not base or not head or base == head:
            return False
        return self._read_entry(head, path) == after != self._read_entry(base, path)

    @cached_property
    def _earlier_bases(self) -> dict[int, str]:
        """id() of a line -> the commit that was HEAD before the line's own base."""
        earlier, base, bases = "", "", dict[int, str]()
        for line in self._present.lines:
            default = self._present.head if "path" in line else line.get("commit", base)
            line_base = str(line.get("base", default))  # an edit found by this scan may have none
            if line_base != base:
                earlier, base = base, line_base
            bases[id(line)] = earlier
        return bases

    def _read_entry(self, commit: str, path: str) -> Version:
        if commit not in self._trees:
            objects = self._present.objects
            self._trees[commit] = Lookup(objects, find_tree(objects, commit))
        return find_file(self._trees[commit], path)
