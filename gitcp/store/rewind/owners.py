"""Which session made a path, as far as gitcp knows: only such files may go
(doc/behaviour.md "Going back")."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.store.journal import journal
from gitcp.store.session import session_read
from gitcp.store.stream import shadow_refs, state_copy, stream_history, stream_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_DEPTH = 1000  # checkpoints of a stream whose states are looked at


class Owners:
    """owner(path) -> session id, '' when no session is known to have written the path.

    The journal is asked first; then the states of today and those that the checkpoints of this
    worktree carry: what a session wrote stays its own when a commit or a rewind settled it.
    """

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._known: dict[str, str] | None = None
        self._journal: dict[str, str] = {}
        self._older: Iterator[dict[str, str]] | None = None

    def owner(self, path: str) -> str:
        if self._known is None:
            self._journal = _makers(self._repo)
            self._known = {}
            for state in session_read.every(self._repo):
                self._known |= _written(state)
            self._older = self._history()
        if path in self._journal:
            return self._journal[path]
        while path not in self._known and self._older is not None:
            more = next(self._older, None)
            if more is None:
                self._older = None
            else:
                self._known = more | self._known
        return self._known.get(path, "")

    def _history(self) -> Iterator[dict[str, str]]:
        tips = [t for t in shadow_refs.listing(self._repo, self._objects) if self._here(t)]
        for chain in stream_history.chains(self._repo, tips).values():
            yield from map(_written, state_copy.along(self._objects, chain[:_DEPTH]))

    def _here(self, tip: Tip) -> bool:
        return stream_list.place(tip["ref"])[1] in ("", self._repo.worktree_hash)


def _makers(repo: Repo) -> dict[str, str]:
    """path -> the session that made what was not there, '' where a person did."""
    makers: dict[str, str] = {}
    for line in entries.edits(journal.read(repo)):
        session_id, who, _ = entries.author(line)
        if entries.entry(line["before"]) is None and (session_id or who == "person"):
            makers[line["path"]] = session_id
    return makers


def _written(state: State) -> dict[str, str]:
    session_id = state["session_id"]
    return {
        path: session_id
        for stream in state.get("streams", ())
        for path, file in stream["files"].items()
        if file["oid"]
    }
