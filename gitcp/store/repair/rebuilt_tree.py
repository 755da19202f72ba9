"""Commits and trees of a stream without the objects that are missing."""

from __future__ import annotations

import json

from gitcp.errors import Error
from gitcp.record import raw
from gitcp.store.git.tree import TREE, Lookup, edit_tree, read_tree, tree_of, write_tree
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Commit, Entry, File, State, Stream, Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

BLOB = "100644"
_COMMIT = "160000"


class Rebuilder:
    """Builds commits again; lost has the paths (a directory: with a slash) that were missing."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._gone: set[str] = set()
        self._lost: list[str] = []
        self.lost: set[str] = set()

    def commit(self, old: Commit, parent: str | None, gone: set[str]) -> str:
        """The oid of old upon parent with what is there of its tree; old itself if all is.

        gone: the oids of the objects below old that are missing.

        What the base has stands in for what is missing, and is told as omitted: nothing may
        take it for the checkpoint's.
        """
        self._gone, self._lost = gone, []
        base = tree_of(self._objects, shadow_refs.trailer(old["message"], "Base-Commit"))
        tree = self._whole(old["tree"], base, "") or self._repo.empty_tree
        self.lost.update(self._lost)
        if self._lost:
            tree = self._omitted(tree, shadow_refs.trailer(old["message"], "Entire-Session"))
        if tree == old["tree"] and old["parents"] == ([parent] if parent else []):
            return old["oid"]
        head = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
        head += [f"author {old['author']}", f"committer {old['committer']}"]
        return self._objects.write("commit", raw("\n".join([*head, "", old["message"]])))

    def _whole(self, oid: str, base: str | None, at: str) -> str | None:
        if oid == base:
            return oid
        if oid in self._gone:
            self._lost.append(at)
            return base
        entries, under = read_tree(self._objects, oid), self._base(base)
        kept: Tree = {}
        for name, entry in entries.items():
            if whole := self._entry(entry, under.get(name), at + name):
                kept[name] = whole
        if kept == entries:
            return oid
        return write_tree(self._objects, kept) if kept else None

    def _entry(self, entry: Entry, was: Entry | None, path: str) -> Entry | None:
        if entry[0] == TREE:
            base = was[1] if was and was[0] == TREE else None
            below = self._whole(entry[1], base, path + "/")
            return (TREE, below) if below else None
        if entry[0] == _COMMIT or entry[1] not in self._gone:
            return entry
        self._lost.append(path)
        return was

    def _base(self, tree: str | None) -> Tree:
        try:
            return read_tree(self._objects, tree) if tree else {}
        except Error:
            return {}  # the person's own history lacks it

    def _omitted(self, tree: str, session_id: str) -> str:
        path = f"{shadow_refs.METADATA}{session_id}/omitted.json"
        entry = Lookup(self._objects, tree)(path)
        known = json.loads(self._objects.need(entry[1], "blob")) if entry else []
        known += [{"path": lost, "reason": "missing"} for lost in self._lost]
        blob = self._objects.write("blob", json.dumps(known, indent=2).encode() + b"\n")
        return edit_tree(self._objects, tree, {path: (BLOB, blob)})

    def with_states(
        self,
        tree: str | None,
        named: Iterable[tuple[State, Stream]],
        everything: bool,
    ) -> str:
        """tree with what states record of the paths that were lost (everything: of all), and
        with the copy of each state that is not there."""
        look = Lookup(self._objects, tree)
        edits: dict[str, Entry | None] = {}
        for state, stream in named:
            for path, file in stream["files"].items():
                if everything or self._was_lost(path):
                    edits |= self._recorded(path, file)
            copy = f"{shadow_refs.METADATA}{state['session_id']}/state.json"
            if look(copy) is None:
                edits[copy] = (BLOB, self._objects.write("blob", states.text(state)))
        return edit_tree(self._objects, tree, edits)

    def _was_lost(self, path: str) -> bool:
        return any(
            path == lost or (lost[-1:] in ("", "/") and path.startswith(lost)) for lost in self.lost
        )

    def _recorded(self, path: str, file: File) -> dict[str, Entry | None]:
        if not file["oid"]:
            return {path: None}
        answer = self._objects.read(file["oid"])
        if answer and answer[1] == "blob":
            return {path: (file["mode"], file["oid"])}
        self.lost.add(path)
        return {}
