"""Temporary checkpoints: one commit onto a stream, where the turn's verdict says.

Blobs come first, outside the stream's lock; inside it the tip is read, trees and commit are
written, the refs move in one transaction; the state follows (objects, refs, state).
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
        """What a checkpoint holds.

        head, head_tree: the commit it is based on ('' tree when unborn).  entries: every path
        that differs from it in the worktree.  seen: the tip when the worktree was scanned.
        mine: what this session wrote in the turn; undone: paths it put back as HEAD has them;
        away: what it wrote and is kept elsewhere now, as in a stash;
        start: what was dirty at the turn's start.
        metadata: path below the session's metadata directory -> entry.
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


def write(repo: Repo, objects: Objects, state: State, content: Content, keep: str = "") -> str:
    """Write one checkpoint, update state in memory, return the checkpoint's oid.  keep: the subject
    under which the session's ref takes what the journal has, along with the stream's.

    The caller holds the session's lock and saves the state afterwards.  Raises Moved, with
    nothing changed, when HEAD is no longer where content was read.
    """
    with Journal(repo) as held, exclusive(repo, f"stream-{repo.worktree_hash}"):
        # HEAD and the tip are looked at again, whatever the context knows: what was scanned is
        # compared with where they are now, and the tip seen here is what the ref moves from.
        head = refs.read_head(repo) or shadow_refs.get_zeros(repo)
        if head != content["head"]:
            raise Moved("HEAD", content["head"], head)
        spot = find_place(repo, objects, state, content["head"])
        _refresh_entries(repo, objects, spot, content)
        _record_files(held, state, spot, content)
        kept = keep and edits_ref.write_edits(repo, objects, held, state["session_id"], keep)
        tree = _write_tree(objects, state, spot, content)
        parent = spot["parent"]
        about = (state["session_id"], content["head"], spot["stream"], content["trailers"])
        message = shadow_refs.build_message(content["subject"], *about)
        oid = write_commit(objects, repo, tree, [parent["oid"]] if parent else [], message)
        move: refs.Edit = (spot["ref"], oid, spot["old"])
        edits = [*spot["before"], move, *spot["after"], *([kept] if kept else [])]
        refs.update_refs(repo, edits, "gitcp: checkpoint")
        if kept:
            held.append([{"held": kept[1]}])
    return oid


def _refresh_entries(repo: Repo, objects: Objects, spot: Place, content: Content) -> None:
    # Another session wrote a checkpoint after our scan: what it has and we lack is read
    # again, just those paths, so that the tip never goes back to an older worktree.
    tip = spot["parent"]
    if tip is None or tip["oid"] == content["seen"]:
        return
    ours = edit_tree(objects, content["head_tree"], content["entries"])
    stale = [
        path
        for path, _, _ in compare_trees(objects, tip["tree"], ours)
        if not path.startswith(".entire/")
    ]
    head = Lookup(objects, content["head_tree"])
    for path, entry in blobs.read_paths(repo, objects, stale, write=True).items():
        if entry == head(path):
            content["entries"].pop(path, None)
        else:
            content["entries"][path] = entry


def _write_tree(objects: Objects, state: State, spot: Place, content: Content) -> str:
    edits: dict[str, Entry | None] = dict(content["entries"])
    own, before = shadow_refs.METADATA + state["session_id"], None
    if spot["parent"]:
        edits |= shadow_refs.read_metadata(objects, spot["parent"]["tree"])
        # Of our own metadata only tasks and turns accumulate; the rest is written anew.
        if edits.pop(own, None):
            before = Lookup(objects, spot["parent"]["tree"])
            edits |= {f"{own}/{name}": before(f"{own}/{name}") for name in _ADDED_TO}
    tree = edit_tree(objects, content["head_tree"], edits)
    files = content["metadata"] | state_copy.write_files(objects, state, before, own)
    return edit_tree(objects, tree, {f"{own}/{p}": e for p, e in files.items()})


def _record_files(held: Journal, state: State, spot: Place, content: Content) -> None:
    streams = state["streams"]
    stream = next((s for s in streams if s["id"] == spot["stream"]), None)
    if stream is None:
        stream = {"id": spot["stream"], "ref": "", "base_commit": "", "files": {}}
    else:
        streams.remove(stream)
    streams.append(stream)  # the last one is where the session is
    stream["ref"], stream["base_commit"] = spot["ref"], content["head"]
    out = {one["id"]: _list_superseded(one, content) for one in streams[:-1]}
    out[stream["id"]] = content["undone"] & stream["files"].keys()
    turn, files = state.get("turn_id", ""), {**content["mine"], **content["away"]}
    work.record_checkpoint(held, state, stream["id"], files, turn, out)
    work.read_streams(held.repo, state)
    state["streams"] = [s for s in state["streams"] if s["files"] or s["id"] == stream["id"]]
    if spot["reset"]:
        state["checkpoint_count"] = 0
    state["checkpoint_count"] = state.get("checkpoint_count", 0) + 1
    state["shadow_ref"] = spot["ref"]
    state.pop("shadow_branch_suffix", None)
    if spot["suffix"] is not None:
        state["shadow_branch_suffix"] = spot["suffix"]
    state["revision"] = state.get("revision", 0) + 1  # newer than what is on disk
    phase.clear_verdict(state)


def _list_superseded(stream: Stream, content: Content) -> set[str]:
    """What a stream has that the turn found in the worktree and worked on: its result is recorded
    now, or nothing."""
    paths = content["mine"].keys() | content["undone"]
    start = {path: entry or ("000000", "") for path, entry in content["start"].items()}
    return {
        path
        for path, file in stream["files"].items()
        if path in paths and (file["mode"], file["oid"]) == start.get(path)
    }
