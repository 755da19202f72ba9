"""Who owns the file at a path: the session that created it, and the person's edits to it."""

from __future__ import annotations

from functools import cached_property

from gitcp.core.back import lineage
from gitcp.core.credit import entries
from gitcp.core.git import ids
from gitcp.store.git.tree import Lookup, find_file, find_tree
from gitcp.store.stream import shadow_refs, state_copy, stream_list
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import JournalLine, State, Version
    from gitcp.store.back.present import Present

_DEPTH = 1000  # checkpoints of a stream whose states are read


class Hands:
    """The edits that made the content of a path: the person's, and those that are committed."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._trees: dict[str, Lookup] = {}

    def find_edit(self, path: str, wanted: Version) -> JournalLine | None:
        """The person's newest edit that is lost when a path becomes wanted; None if none is."""
        edits = self._present.edits.get(path, ())
        return lineage.find_last_by_person(edits, wanted, self._is_in_git)

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


class Owners:
    """Finds the session that created a file.

    The journal is asked first, then the states of sessions, then the states stored in this
    worktree's checkpoints: a file keeps its owner when a commit or a rewind settles it.
    """

    def __init__(self, present: Present) -> None:
        self._present = present
        self._known: dict[str, str] | None = None
        self._older: Iterator[dict[str, str]] | None = None

    def find_owner(self, path: str) -> str:
        """The id of the session that created the file at a path; '' if none is known."""
        maker = lineage.find_maker(self._present.edits.get(path, ()))
        if maker is not None:
            return maker
        if self._known is None:
            self._known = {}
            for state in session_read.list_states(self._present.repo):
                self._known |= _map_written(state)
            self._older = self._walk_history()
        while path not in self._known and self._older is not None:
            more = next(self._older, None)
            if more is None:
                self._older = None
            else:
                self._known = more | self._known
        return self._known.get(path, "")

    def _walk_history(self) -> Iterator[dict[str, str]]:
        repo, objects = self._present.repo, self._present.objects
        tips = [
            t
            for t in shadow_refs.list_tips(repo, objects)
            if ids.is_in_worktree(t["ref"], repo.worktree_hash)
        ]
        for chain in stream_list.read_chains(repo, tips).values():
            yield from map(_map_written, state_copy.read_copies(objects, chain[:_DEPTH]))


def _map_written(state: State) -> dict[str, str]:
    session_id = state["session_id"]
    return {
        path: session_id
        for stream in state.get("streams", ())
        for path, file in stream["files"].items()
        if file["oid"]
    }
