"""Whose what stands at a path is: the session that made the file, and what the person did to it."""

from __future__ import annotations

from functools import cached_property

from gitcp.core.back import lineage
from gitcp.core.credit import entries
from gitcp.store.git.tree import Lookup, find_file, find_tree
from gitcp.store.stream import shadow_refs, state_copy, stream_list
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import JournalLine, State, Tip, Version
    from gitcp.repo import Repo
    from gitcp.store.back.present import Present

_DEPTH = 1000  # checkpoints of a stream whose states are looked at


class Hands:
    """The edits behind what stands at a path: the person's, and what commits have of them."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._trees: dict[str, Lookup] = {}

    def find_edit(self, path: str, wanted: Version) -> JournalLine | None:
        """The person's newest edit that is lost where a path becomes wanted; None for none."""
        edits = self._present.edits.get(path, ())
        return lineage.find_last_by_person(edits, wanted, self._is_in_git)

    def is_committed(self, path: str) -> bool:
        """Whether a commit since has made HEAD have what stands at a path."""
        newest = next(lineage.walk_back(self._present.edits.get(path, ())), None)
        return newest is not None and self._is_in_head(newest, str(newest.get("base", "")))

    def _is_in_git(self, line: JournalLine) -> bool:
        """Whether HEAD has what an edit left, by a commit or because it has moved; or what went
        is in a stash."""
        bases = str(line.get("base", "")), self._earlier_bases.get(id(line), "")
        stashed = line["after"] is None and "stashed" in line
        return stashed or any(self._is_in_head(line, base) for base in bases)

    def _is_in_head(self, line: JournalLine, base: str) -> bool:
        """Whether HEAD has what an edit left, and a commit had not."""
        head, path, after = self._present.head, line["path"], entries.parse_entry(line["after"])
        known = base and head and base != head
        return bool(known) and self._read_entry(str(head), path) == after != self._read_entry(
            base, path
        )

    @cached_property
    def _earlier_bases(self) -> dict[int, str]:
        """The commit on which the journal was before that of a line, by the line's id()."""
        earlier, base, bases = "", "", dict[int, str]()
        for line in self._present.lines:
            now = self._present.head if "path" in line else line.get("commit", base)
            at = str(line.get("base", now))  # what was found just now may have no base yet
            if at != base:
                earlier, base = base, at
            bases[id(line)] = earlier
        return bases

    def _read_entry(self, commit: str, path: str) -> Version:
        if commit not in self._trees:
            objects = self._present.objects
            self._trees[commit] = Lookup(objects, find_tree(objects, commit))
        return find_file(self._trees[commit], path)


class Owners:
    """owner(path) -> session id, '' when no session is known to have made what stands there.

    The journal is asked first; then the states of today and those that the checkpoints of this
    worktree carry: what a session wrote stays its own when a commit or a rewind settled it.
    """

    def __init__(self, present: Present) -> None:
        self._present = present
        self._known: dict[str, str] | None = None
        self._older: Iterator[dict[str, str]] | None = None

    def find_owner(self, path: str) -> str:
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
        tips = [t for t in shadow_refs.list_tips(repo, objects) if _is_here(repo, t)]
        for chain in stream_list.read_chains(repo, tips).values():
            yield from map(_map_written, state_copy.read_copies(objects, chain[:_DEPTH]))


def _is_here(repo: Repo, tip: Tip) -> bool:
    return stream_list.parse_ref(tip["ref"])[1] in ("", repo.worktree_hash)


def _map_written(state: State) -> dict[str, str]:
    session_id = state["session_id"]
    return {
        path: session_id
        for stream in state.get("streams", ())
        for path, file in stream["files"].items()
        if file["oid"]
    }
