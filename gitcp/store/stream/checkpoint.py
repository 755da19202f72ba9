"""Temporary checkpoints: a commit onto the stream that the turn's verdict chose.

Blobs are written before the stream's lock is taken.  Under it the tip is read, trees and the
commit are written, and the refs move in one transaction.  The state is saved last.
"""

from __future__ import annotations

from gitcp.errors import Moved
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.tree import Lookup, compare_trees, edit_tree
from gitcp.store.journal import edits_ref, work
from gitcp.store.journal.journal import Journal
from gitcp.store.session import phase
from gitcp.store.snapshot import blobs
from gitcp.store.stream import shadow_refs, state_copy
from gitcp.store.stream.place import find_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from gitcp.core.record_types import Entry, State, Stream
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.stream.place import Place

    class Content(TypedDict):
        """The content of a checkpoint.

        head, head_tree: the base commit and its tree (None for an unborn HEAD).  entries: the
        paths that differ from it in the worktree.  seen: the tip when the worktree was scanned.
        mine: the session's own entries of the turn.  undone: the paths that it put back to HEAD's
        content.  away: its entries that are kept elsewhere, as in a stash.  start: the dirty
        entries at the turn's start.  metadata: path below its metadata directory -> entry.
        """

        head: str
        head_tree: str | None
        entries: dict[str, Entry | None]
        seen: str | None
        mine: dict[str, Entry | None]
        undone: set[str]
        away: dict[str, Entry | None]
        start: dict[str, Entry | None]
        metadata: dict[str, Entry]
        subject: str
        trailers: list[str]


_ADDED_TO = ("tasks", state_copy.TURNS)


def write(
    repo: Repo, objects: Objects, state: State, content: Content, edits_subject: str = ""
) -> str:
    """Write a checkpoint, update the state in memory, and return the checkpoint's oid.

    edits_subject: the subject under which the session's ref takes the journal's edits in the same
    transaction; '' to leave them.  The caller holds the session's lock and saves the state.
    Raises Moved, with nothing changed, if HEAD is not where the content was read.
    """
    with Journal(repo) as held, exclusive(repo, f"stream-{repo.worktree_hash}"):
        # HEAD and the tip are read again under the lock: the ref moves from this tip.
        head = refs.read_base(repo)
        if head != content["head"]:
            raise Moved("HEAD", content["head"], head)
        place = find_place(repo, objects, state, content["head"])
        _refresh_entries(repo, objects, place, content)
        _record_files(held, state, place, content)
        held_update = edits_subject and edits_ref.write_edits(
            repo, objects, held, state["session_id"], edits_subject
        )
        tree = _write_tree(objects, state, place, content)
        parent = place["parent"]
        arguments = (state["session_id"], content["head"], place["stream"], content["trailers"])
        message = shadow_refs.build_message(content["subject"], *arguments)
        oid = write_commit(objects, repo, tree, [parent["oid"]] if parent else [], message)
        move: refs.Update = (place["ref"], oid, place["old"])
        updates = [*place["before"], move, *place["after"], *([held_update] if held_update else [])]
        held.write_waiting()
        refs.update_refs(repo, updates, "gitcp: checkpoint")
        if held_update:
            held.note_held(held_update[1])
    return oid


def _refresh_entries(repo: Repo, objects: Objects, place: Place, content: Content) -> None:
    # Another session has written a checkpoint since the scan: read the paths that differ again,
    # so that the tip does not return to an older worktree.
    tip = place["parent"]
    if tip is None or tip["oid"] == content["seen"]:
        return
    scanned_tree = edit_tree(objects, content["head_tree"], content["entries"])
    stale = [
        path
        for path, _, _ in compare_trees(objects, tip["tree"], scanned_tree)
        if not path.startswith(".entire/")
    ]
    head = Lookup(objects, content["head_tree"])
    for path, entry in blobs.read_paths(repo, objects, stale, write=True).items():
        if entry == head(path):
            content["entries"].pop(path, None)
        else:
            content["entries"][path] = entry


def _write_tree(objects: Objects, state: State, place: Place, content: Content) -> str:
    edits: dict[str, Entry | None] = dict(content["entries"])
    folder, previous = shadow_refs.METADATA + state["session_id"], None
    if place["parent"]:
        edits |= shadow_refs.read_metadata(objects, place["parent"]["tree"])
        # Of the session's own metadata only tasks and turns are kept.
        if edits.pop(folder, None):
            previous = Lookup(objects, place["parent"]["tree"])
            edits |= {f"{folder}/{name}": previous(f"{folder}/{name}") for name in _ADDED_TO}
    # The next commit often has this tree, which is then read from a pack of gitcp.
    tree = edit_tree(objects, content["head_tree"], edits)
    files = content["metadata"] | state_copy.write_files(objects, state, previous, folder)
    return edit_tree(objects, tree, {f"{folder}/{p}": e for p, e in files.items()})


def _record_files(held: Journal, state: State, place: Place, content: Content) -> None:
    streams = state["streams"]
    stream = next((s for s in streams if s["id"] == place["stream"]), None)
    if stream is None:
        stream = {"id": place["stream"], "ref": "", "base_commit": "", "files": {}}
    else:
        streams.remove(stream)
    streams.append(stream)  # the last one is where the session is
    stream["ref"], stream["base_commit"] = place["ref"], content["head"]
    left_streams = {other["id"]: _list_superseded(other, content) for other in streams[:-1]}
    left_streams[stream["id"]] = content["undone"] & stream["files"].keys()
    turn_id, files = state.get("turn_id", ""), {**content["mine"], **content["away"]}
    work.record_checkpoint(held, state, stream["id"], files, turn_id, left_streams, waiting=True)
    work.read_streams(held.repo, state)
    state["streams"] = [s for s in state["streams"] if s["files"] or s["id"] == stream["id"]]
    if place["reset"]:
        state["checkpoint_count"] = 0
    state["checkpoint_count"] = state.get("checkpoint_count", 0) + 1
    state["shadow_ref"] = place["ref"]
    state.pop("shadow_branch_suffix", None)
    if place["suffix"] is not None:
        state["shadow_branch_suffix"] = place["suffix"]
    state["revision"] = state.get("revision", 0) + 1  # newer than the file
    phase.clear_verdict(state)


def _list_superseded(stream: Stream, content: Content) -> set[str]:
    """The paths of a stream whose entries the turn found in the worktree and changed."""
    paths = content["mine"].keys() | content["undone"]
    start = {path: entry or ("000000", "") for path, entry in content["start"].items()}
    return {
        path
        for path, file in stream["files"].items()
        if path in paths and (file["mode"], file["oid"]) == start.get(path)
    }
