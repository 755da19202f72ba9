"""Building streams again that lack objects, so that git can work.

The readable content of each checkpoint stays, under the commit's message; files that the states of
its sessions record are added.  A stream without readable content is removed, and its value written
to a file.
"""

from __future__ import annotations

import json

from gitcp.git import encode_name, refs
from gitcp.git.files import exclusive
from gitcp.git.objects import (
    Lookup,
    edit_tree,
    find_tree,
    parse_commit,
    read_commit,
    write_commit,
)
from gitcp.git.objects.pack_care import forget_logs
from gitcp.record import session
from gitcp.record.stream import (
    ARCHIVE,
    METADATA,
    PREFIXES,
    find_trailer,
    get_lock_name,
    list_tips,
)
from gitcp.record.stream.writing import build_message
from gitcp.record.turn import sessions
from gitcp.setup.care.mend_objects import format_lost, list_lacking, write_objects_again
from gitcp.setup.care.mend_refs import SUBJECT, follow_parents, read_log, rebuild_tree, write_note
from gitcp.text import ids
from gitcp.text.ids import SESSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Entry, File, State, Stream

    Named = list[tuple[State, Stream]]  # a state, and its record of the stream

_BLOB = "100644"


def is_stream(ref: str) -> bool:
    """Whether a ref has the name of a stream."""
    return ref.startswith(ARCHIVE) or bool(ids.parse_shadow(ref))


def mend_stream(repo: Repo, ref: str) -> str:
    """Build a stream again without missing objects; return what was done, '' if it lacks none or
    is the person's."""
    with exclusive(repo, get_lock_name(repo, ref)):
        rewritten = write_objects_again(repo, ref)
        old = rewritten.lacking
        if not old:
            return rewritten.done
        log = read_log(repo, ref)
        commits = follow_parents([old, *log], lambda oid: _read_checkpoint(repo.objects, oid))
        named = _find_states(repo, ref, commits)
        if not commits and not named and not ref.startswith(ARCHIVE):
            return ""  # it may be the person's
        note = write_note(repo, ref, old, log)
        rebuilder = _Rebuilder(repo)
        tip = None
        for commit in reversed(commits):
            gone = list_lacking(repo, commit["oid"], "--no-walk")
            tip = rebuilder.rebuild_commit(commit, tip, gone)
        tip = _complete_tip(repo, rebuilder, tip, named)
        refs.update_refs(repo, [(ref, tip, old)], "gitcp: fsck")
        name = ids.parse_stream_name(ref)
        forget_logs(repo, {ref, *(prefix + name for prefix in PREFIXES)})
    if tip is None:
        return f"nothing of it could be read: removed, noted in '{note}'"
    return f"built it again from what could be read{format_lost(sorted(rebuilder.lost))}"


def _read_checkpoint(objects: Objects, oid: str) -> Commit | None:
    answer = objects.read(oid)
    if not answer or answer[1] != "commit":
        return None
    commit = parse_commit(oid, answer[2])
    if find_trailer(commit["message"], SESSION_KEY):
        return commit
    return None


def _find_states(repo: Repo, ref: str, commits: list[Commit]) -> Named:
    """The states' records of a stream, found by its id.  If no commit has the id, those of streams
    of this name that no other ref has."""
    stream_id = ""
    if commits:
        stream_id = find_trailer(commits[0]["message"], "Gitcp-Stream")
    elsewhere = {tip["stream"] for tip in list_tips(repo) if tip["ref"] != ref}
    name = ids.parse_stream_name(ref)

    def is_meant(stream: Stream) -> bool:
        if stream_id:
            return stream["id"] == stream_id
        return ids.parse_stream_name(stream["ref"]) == name and stream["id"] not in elsewhere

    found: Named = []
    for state in sessions.list_states(repo):
        for stream in state["streams"]:
            if is_meant(stream):
                found.append((state, stream))
    return found


def _complete_tip(repo: Repo, rebuilder: _Rebuilder, tip: str | None, streams: Named) -> str | None:
    """The tip with the files that states record; without a tip, a first checkpoint of them."""
    if not streams:
        return tip
    state, stream = streams[-1]
    base = read_commit(repo.objects, str(stream.get("base_commit") or ""))
    parents: list[str] = []
    before = None
    commit = None
    if tip:
        parents = [tip]
        commit = read_commit(repo.objects, tip)
    if commit:
        before = commit["tree"]
    elif base:
        before = base["tree"]
    tree = rebuilder.add_states(before, streams, everything=commit is None)
    if commit and tree == before:
        return tip
    base_oid = refs.get_zeros(repo)
    if base:
        base_oid = base["oid"]
    message = build_message(SUBJECT, state["session_id"], base_oid, stream["id"])
    return write_commit(repo, tree, parents, message)


class _Rebuilder:
    """Builds commits again; lost: the missing paths, directories with a slash at the end."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.lost: set[str] = set()

    def rebuild_commit(self, old: Commit, parent: str | None, gone: set[str]) -> str:
        """Write old again on parent without missing objects; return its oid, that of old if it
        lacks none.

        gone: the oids of the missing objects below old.  The base's entry replaces a missing one
        and is listed as omitted, so that no reader takes it for the checkpoint's.
        """
        objects = self._repo.objects
        sound: list[str] = []
        base = find_tree(objects, find_trailer(old["message"], "Base-Commit"))
        if base:
            sound = [base]
        rebuilt = rebuild_tree(objects, old["tree"], sound, gone)
        tree = rebuilt.oid or self._repo.empty_tree
        if rebuilt.lost:
            session_id = find_trailer(old["message"], SESSION_KEY)
            tree = self._note_omitted(tree, session_id, rebuilt.lost)
            self.lost.update(rebuilt.lost)
        parents: list[str] = []
        if parent:
            parents = [parent]
        if tree == old["tree"] and old["parents"] == parents:
            return old["oid"]
        head = [f"tree {tree}"]
        head += [f"parent {oid}" for oid in parents]
        head += [f"author {old['author']}", f"committer {old['committer']}"]
        return objects.write("commit", encode_name("\n".join([*head, "", old["message"]])))

    def _note_omitted(self, tree: str, session_id: str, lost: list[str]) -> str:
        objects = self._repo.objects
        path = f"{METADATA}{session_id}/omitted.json"
        entry = Lookup(objects, tree)(path)
        omitted = []
        if entry:
            omitted = json.loads(objects.need(entry[1], "blob"))
        omitted += [{"path": name, "reason": "missing"} for name in lost]
        blob = objects.write("blob", json.dumps(omitted, indent=2).encode() + b"\n")
        return edit_tree(objects, tree, {path: (_BLOB, blob)})

    def add_states(
        self,
        tree: str | None,
        pairs: Iterable[tuple[State, Stream]],
        everything: bool,
    ) -> str:
        """A tree with the states' entries of the lost paths, or of all paths for everything, and
        with the copies of states that it lacks."""
        objects = self._repo.objects
        look = Lookup(objects, tree)
        edits: dict[str, Entry | None] = {}
        for state, stream in pairs:
            for path, file in stream["files"].items():
                if everything or self._was_lost(path):
                    edits |= self._build_edit(path, file)
            copy = f"{METADATA}{state['session_id']}/state.json"
            if look(copy) is None:
                edits[copy] = (_BLOB, objects.write("blob", session.dump_state(state)))
        return edit_tree(objects, tree, edits)

    def _was_lost(self, path: str) -> bool:
        """Whether a path is lost, or is below a lost directory."""
        for lost in self.lost:
            if path == lost:
                return True
            is_folder = lost == "" or lost.endswith("/")
            if is_folder and path.startswith(lost):
                return True
        return False

    def _build_edit(self, path: str, file: File) -> dict[str, Entry | None]:
        """The edit that brings a file back; none, and the file is lost, if its content is gone."""
        if not file["oid"]:
            return {path: None}
        answer = self._repo.objects.read(file["oid"])
        if answer and answer[1] == "blob":
            return {path: (file["mode"], file["oid"])}
        self.lost.add(path)
        return {}
