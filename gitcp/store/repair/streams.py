"""Building streams again that lack objects, so that git can work.

The readable content of each checkpoint stays, under the commit's message; files that the states of
its sessions record are added.  A stream without readable content is removed, and its value written
to a file.
"""

from __future__ import annotations

import json

from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.record import encode_name
from gitcp.store.git import refs
from gitcp.store.git.commit import parse_commit, read_commit, write_commit
from gitcp.store.git.tree import TREE, Lookup, edit_tree, find_tree, read_tree, write_tree
from gitcp.store.pack.dropping import forget_logs
from gitcp.store.repair import missing
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Commit, Entry, File, State, Stream, Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Named = list[tuple[State, Stream]]  # a state, and its record of the stream

BLOB = "100644"
_COMMIT = "160000"
_SUBJECT = "Rebuilt from what was left of it"


def is_stream(ref: str) -> bool:
    """Whether a ref has the name of a stream."""
    return ref.startswith(shadow_refs.ARCHIVE) or bool(ids.parse_shadow(ref))


def mend_stream(repo: Repo, objects: Objects, ref: str) -> str:
    """Build a stream again without missing objects; return what was done, '' if it lacks none or
    is the person's."""
    with exclusive(repo, shadow_refs.get_lock_name(repo, ref)):
        old, done = missing.write_objects_again(repo, objects, ref)
        if old is None:
            return done
        log = missing.read_log(repo, ref)
        commits = missing.follow_parents([old, *log], lambda oid: _read_checkpoint(objects, oid))
        named = _find_states(repo, objects, ref, commits)
        if not commits and not named and not ref.startswith(shadow_refs.ARCHIVE):
            return ""  # it may be the person's
        note = missing.write_note(repo, ref, old, log)
        rebuilder = Rebuilder(repo, objects)
        tip = None
        for commit in reversed(commits):
            gone = missing.list_lacking(repo, commit["oid"], "--no-walk")
            tip = rebuilder.rebuild_commit(commit, tip, gone)
        tip = _complete_tip(repo, objects, rebuilder, tip, named)
        refs.update_refs(repo, [(ref, tip, old)], "gitcp: fsck")
        name = ids.parse_stream_name(ref)
        forget_logs(repo, {ref, *(prefix + name for prefix in shadow_refs.PREFIXES)})
    if tip is None:
        return f"nothing of it could be read: removed, noted in '{note}'"
    lost = missing.format_lost(sorted(rebuilder.lost))
    return f"built it again from {len(commits)} checkpoints and its states{lost}"


def _read_checkpoint(objects: Objects, oid: str) -> Commit | None:
    answer = objects.read(oid)
    commit = parse_commit(oid, answer[2]) if answer and answer[1] == "commit" else None
    session = shadow_refs.find_trailer(commit["message"], "Entire-Session") if commit else ""
    return commit if session else None


def _find_states(repo: Repo, objects: Objects, ref: str, commits: list[Commit]) -> Named:
    """The states' records of a stream, found by its id.  If no commit has the id, those of streams
    of this name that no other ref has."""
    stream_id = shadow_refs.find_trailer(commits[0]["message"], "Gitcp-Stream") if commits else ""
    elsewhere = {tip["stream"] for tip in shadow_refs.list_tips(repo, objects) if tip["ref"] != ref}
    name = ids.parse_stream_name(ref)

    def is_meant(stream: Stream) -> bool:
        if stream_id:
            return stream["id"] == stream_id
        return ids.parse_stream_name(stream["ref"]) == name and stream["id"] not in elsewhere

    return [
        (state, stream)
        for state in session_read.list_states(repo)
        for stream in filter(is_meant, state["streams"])
    ]


def _complete_tip(
    repo: Repo, objects: Objects, rebuilder: Rebuilder, tip: str | None, streams: Named
) -> str | None:
    """The tip with the files that states record; without a tip, a first checkpoint of them."""
    if not streams:
        return tip
    commit = read_commit(objects, tip) if tip else None
    state, stream = streams[-1]
    base = read_commit(objects, str(stream.get("base_commit") or ""))
    before = commit["tree"] if commit else base["tree"] if base else None
    tree = rebuilder.add_states(before, streams, everything=commit is None)
    if commit and tree == commit["tree"]:
        return tip
    base_oid = base["oid"] if base else refs.get_zeros(repo)
    message = shadow_refs.build_message(_SUBJECT, state["session_id"], base_oid, stream["id"])
    return write_commit(objects, repo, tree, [tip] if tip else [], message)


class Rebuilder:
    """Builds commits again; lost: the missing paths, directories with a slash at the end."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._gone: set[str] = set()
        self._lost: list[str] = []
        self.lost: set[str] = set()

    def rebuild_commit(self, old: Commit, parent: str | None, gone: set[str]) -> str:
        """Write old again on parent without missing objects; return its oid, that of old if it
        lacks none.

        gone: the oids of the missing objects below old.  The base's entry replaces a missing one
        and is listed as omitted, so that no reader takes it for the checkpoint's.
        """
        self._gone, self._lost = gone, []
        base = find_tree(self._objects, shadow_refs.find_trailer(old["message"], "Base-Commit"))
        tree = self._rebuild_tree(old["tree"], base, "") or self._repo.empty_tree
        self.lost.update(self._lost)
        if self._lost:
            tree = self._note_omitted(
                tree, shadow_refs.find_trailer(old["message"], "Entire-Session")
            )
        if tree == old["tree"] and old["parents"] == ([parent] if parent else []):
            return old["oid"]
        head = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
        head += [f"author {old['author']}", f"committer {old['committer']}"]
        return self._objects.write("commit", encode_name("\n".join([*head, "", old["message"]])))

    def _rebuild_tree(self, oid: str, base: str | None, prefix: str) -> str | None:
        if oid == base:
            return oid
        if oid in self._gone:
            self._lost.append(prefix)
            return base
        entries, base_entries = read_tree(self._objects, oid), self._read_base(base)
        rebuilt: Tree = {}
        for name, entry in entries.items():
            if left := self._rebuild_entry(entry, base_entries.get(name), prefix + name):
                rebuilt[name] = left
        if rebuilt == entries:
            return oid
        return write_tree(self._objects, rebuilt) if rebuilt else None

    def _rebuild_entry(self, entry: Entry, base_entry: Entry | None, path: str) -> Entry | None:
        if entry[0] == TREE:
            base = base_entry[1] if base_entry and base_entry[0] == TREE else None
            tree = self._rebuild_tree(entry[1], base, path + "/")
            return (TREE, tree) if tree else None
        if entry[0] == _COMMIT or entry[1] not in self._gone:
            return entry
        self._lost.append(path)
        return base_entry

    def _read_base(self, tree: str | None) -> Tree:
        try:
            return read_tree(self._objects, tree) if tree else {}
        except Error:
            return {}  # the person's own history lacks it

    def _note_omitted(self, tree: str, session_id: str) -> str:
        path = f"{shadow_refs.METADATA}{session_id}/omitted.json"
        entry = Lookup(self._objects, tree)(path)
        omitted = json.loads(self._objects.need(entry[1], "blob")) if entry else []
        omitted += [{"path": lost, "reason": "missing"} for lost in self._lost]
        blob = self._objects.write("blob", json.dumps(omitted, indent=2).encode() + b"\n")
        return edit_tree(self._objects, tree, {path: (BLOB, blob)})

    def add_states(
        self,
        tree: str | None,
        pairs: Iterable[tuple[State, Stream]],
        everything: bool,
    ) -> str:
        """A tree with the states' entries of the lost paths, or of all paths for everything, and
        with the copies of states that it lacks."""
        look = Lookup(self._objects, tree)
        edits: dict[str, Entry | None] = {}
        for state, stream in pairs:
            for path, file in stream["files"].items():
                if everything or self._was_lost(path):
                    edits |= self._build_edit(path, file)
            copy = f"{shadow_refs.METADATA}{state['session_id']}/state.json"
            if look(copy) is None:
                edits[copy] = (BLOB, self._objects.write("blob", states.dump_state(state)))
        return edit_tree(self._objects, tree, edits)

    def _was_lost(self, path: str) -> bool:
        return any(
            path == lost or (lost[-1:] in ("", "/") and path.startswith(lost)) for lost in self.lost
        )

    def _build_edit(self, path: str, file: File) -> dict[str, Entry | None]:
        if not file["oid"]:
            return {path: None}
        answer = self._objects.read(file["oid"])
        if answer and answer[1] == "blob":
            return {path: (file["mode"], file["oid"])}
        self.lost.add(path)
        return {}
