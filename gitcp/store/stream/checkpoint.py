"""Temporary checkpoints: one commit onto a stream, where the turn's verdict says.

Blobs come first, outside the stream's lock; inside it the tip is read, trees and commit are
written, the refs move in one transaction; the state follows (objects, refs, state).
"""

from __future__ import annotations

from gitcp.errors import Moved
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.tree import Lookup, diff_trees, edit_tree
from gitcp.store.snapshot import blobs
from gitcp.store.stream import shadow_refs, state_copy
from gitcp.store.stream.place import place

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


def write(
    repo: Repo, objects: Objects, state: State, content: Content, beside: refs.Edit | None = None
) -> str:
    """Write one checkpoint, update state in memory, return the checkpoint's oid.  beside: the edit
    of another ref that moves with the stream's.

    The caller holds the session's lock and saves the state afterwards.  Raises Moved, with
    nothing changed, when HEAD is no longer where content was read.
    """
    with exclusive(repo, f"stream-{repo.worktree_hash}"):
        # HEAD and the tip are looked at again, whatever the context knows: what was scanned is
        # compared with where they are now, and the tip seen here is what the ref moves from.
        head = refs.head(repo) or shadow_refs.zeros(repo)
        if head != content["head"]:
            raise Moved("HEAD", content["head"], head)
        spot = place(repo, objects, state, content["head"])
        _refresh(repo, objects, spot, content)
        _record(state, spot, content)
        tree = _tree(objects, state, spot, content)
        parent = spot["parent"]
        about = (state["session_id"], content["head"], spot["stream"], content["trailers"])
        message = shadow_refs.message(content["subject"], *about)
        oid = write_commit(objects, repo, tree, [parent["oid"]] if parent else [], message)
        move: refs.Edit = (spot["ref"], oid, spot["old"])
        edits = [*spot["before"], move, *spot["after"], *([beside] if beside else [])]
        refs.update(repo, edits, "gitcp: checkpoint")
    return oid


def _refresh(repo: Repo, objects: Objects, spot: Place, content: Content) -> None:
    # Another session wrote a checkpoint after our scan: what it has and we lack is read
    # again, just those paths, so that the tip never goes back to an older worktree.
    tip = spot["parent"]
    if tip is None or tip["oid"] == content["seen"]:
        return
    ours = edit_tree(objects, content["head_tree"], content["entries"])
    stale = [
        path
        for path, _, _ in diff_trees(objects, tip["tree"], ours)
        if not path.startswith(".entire/")
    ]
    head = Lookup(objects, content["head_tree"])
    for path, entry in blobs.at(repo, objects, stale, write=True).items():
        if entry == head(path):
            content["entries"].pop(path, None)
        else:
            content["entries"][path] = entry


def _tree(objects: Objects, state: State, spot: Place, content: Content) -> str:
    edits: dict[str, Entry | None] = dict(content["entries"])
    own, before = shadow_refs.METADATA + state["session_id"], None
    if spot["parent"]:
        edits |= shadow_refs.metadata(objects, spot["parent"]["tree"])
        # Of our own metadata only tasks and turns accumulate; the rest is written anew.
        if edits.pop(own, None):
            before = Lookup(objects, spot["parent"]["tree"])
            edits |= {f"{own}/{name}": before(f"{own}/{name}") for name in _ADDED_TO}
    tree = edit_tree(objects, content["head_tree"], edits)
    files = content["metadata"] | state_copy.files(objects, state, before, own)
    return edit_tree(objects, tree, {f"{own}/{p}": e for p, e in files.items()})


def _record(state: State, spot: Place, content: Content) -> None:
    streams = state["streams"]
    stream = next((s for s in streams if s["id"] == spot["stream"]), None)
    if stream is None:
        stream = {"id": spot["stream"], "ref": "", "base_commit": "", "files": {}}
    else:
        streams.remove(stream)
    streams.append(stream)  # the last one is where the session is
    _supersede(streams[:-1], content)
    streams[:-1] = [s for s in streams[:-1] if s["files"]]
    stream["ref"], stream["base_commit"] = spot["ref"], content["head"]
    turn = state.get("turn_id", "")
    for path, entry in {**content["mine"], **content["away"]}.items():
        mode_, oid = entry or ("000000", "")
        stream["files"][path] = {"oid": oid, "mode": mode_, "turn_id": turn}
    for path in content["undone"]:
        stream["files"].pop(path, None)
    if spot["reset"]:
        state["checkpoint_count"] = 0
    state["checkpoint_count"] = state.get("checkpoint_count", 0) + 1
    state["shadow_ref"] = spot["ref"]
    state.pop("shadow_branch_suffix", None)
    if spot["suffix"] is not None:
        state["shadow_branch_suffix"] = spot["suffix"]
    state["revision"] = state.get("revision", 0) + 1  # newer than what is on disk
    clear_verdict(state)


def _supersede(streams: list[Stream], content: Content) -> None:
    """What the turn found in the worktree and worked on is recorded by its result, or no more."""
    for path in (content["mine"].keys() | content["undone"]) & content["start"].keys():
        entry = content["start"][path]
        mode, oid = entry or ("000000", "")
        for stream in streams:
            known = stream["files"].get(path)
            if known and (known["mode"], known["oid"]) == (mode, oid):
                del stream["files"][path]


def clear_verdict(state: State) -> None:
    """The flag to reset the stream holds for one prompt: used, or not needed, it goes."""
    state["should_reset_shadow_branch"] = False
    state.pop("verdict", None)
