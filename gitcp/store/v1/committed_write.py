"""Writing committed checkpoints: one commit on entire/checkpoints/v1, or one on the ref of each
(doc/formats.md "Committed checkpoint").

The blobs are written before the lock is taken; under it only the trees of the changed paths are.
"""

from __future__ import annotations

import os

from gitcp.core.decide import jj_undo
from gitcp.core.git import ids
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit, write_commit
from gitcp.store.git.tree import TREE, edit_tree, find_entry, find_tree
from gitcp.store.v1 import committed_refs, signing
from gitcp.store.v1.committed_refs import REF
from gitcp.store.v1.committed_tree import BLOB, Checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.record_types import Commit, Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.transcript import Given, Stored

    class SessionData(TypedDict, total=False):
        """The data of one session in one checkpoint; only session_id is required.

        Without transcript or prompts the stored ones stay.  metadata: keys of gitcp-formats(5).
        tasks: path below tasks/ -> bytes.  lines: path -> [{oid, ranges}], joined with the stored
        ones.  Prompts and tasks are redacted.
        """

        session_id: str
        transcript: Stored | Given | None
        prompts: list[str]
        metadata: dict[str, Any]
        tasks: dict[str, bytes]
        lines: dict[str, list[dict[str, Any]]]
        ephemeral_branch: str

    Prepared = tuple[str, SessionData, dict[str, Entry], dict[str, Entry]]

MEMORY = "refs/gitcp/store"  # with jj, which may roll REF back: where we moved REF last


def write_sessions(
    repo: Repo,
    objects: Objects,
    items: Sequence[tuple[str, SessionData]],
    *,
    subject: str | None = None,
) -> dict[str, str]:
    """Store sessions under checkpoint ids, those of the branch in one commit; return the refs
    that have them, with their tips.

    A session that the checkpoint has keeps its index, a new one gets the next.  Without a change
    nothing is committed.  Raises InputError for an unsafe id or path, Busy if the lock is taken or
    a ref keeps moving.
    """
    prepared = [_prepare_session(objects, cid, data) for cid, data in items]

    def attempt_move() -> dict[str, str]:
        own = _find_own_commits(repo, objects, prepared)
        tips, edits = _write_refs(repo, objects, own, prepared, subject)
        on_branch = [part for part in prepared if part[0] not in own]
        if on_branch:
            old, tip = _find_base(repo, objects)
            tips[REF] = _write_branch(repo, objects, tip, old, on_branch, subject)
            edits += [(REF, tips[REF], old)] if tips[REF] != old else []
        move_refs(repo, edits, "gitcp: checkpoint")
        return tips

    restore_branch(repo, objects)
    return refs.retry_moved(repo, "v1", attempt_move)


def set_trees(repo: Repo, objects: Objects, trees: Mapping[str, str | None]) -> None:
    """Set the trees of checkpoints where they are stored; None deletes one.  Raises as
    write_sessions()."""

    def attempt_move() -> None:
        edits: list[refs.Edit] = []
        on_branch: dict[str, Entry | None] = {}
        for cid, tree in trees.items():
            ref = ids.build_checkpoint_ref(cid)
            has_ref = read_commit(objects, ref) is not None
            if not has_ref and not committed_refs.needs_own_ref(repo):
                on_branch[f"{cid[:2]}/{cid[2:]}"] = (TREE, tree) if tree else None
            elif tree or has_ref:
                edits.append(_set_tree(repo, objects, ref, tree, f"Checkpoint: {cid}"))
        if on_branch:
            tree = edit_tree(objects, find_tree(objects, REF), on_branch)
            edits.append(_set_tree(repo, objects, REF, tree, f"Checkpoints: {len(on_branch)}"))
        move_refs(repo, edits, "gitcp: undo")

    refs.retry_moved(repo, "v1", attempt_move)


def _set_tree(repo: Repo, objects: Objects, ref: str, tree: str | None, message: str) -> refs.Edit:
    """Write a commit of a tree on a ref's commit; return the edit that moves the ref there, or
    deletes it for no tree."""
    tip = read_commit(objects, ref)
    old, parents = (tip["oid"], [tip["oid"]]) if tip else (None, [])
    return ref, write_commit(objects, repo, tree, parents, message) if tree else None, old


def find_tree_here(repo: Repo, objects: Objects, checkpoint_id: str) -> str | None:
    """The tree of a checkpoint in this clone's own places; None if they do not have it."""
    places, trouble = committed_refs.Places(repo, objects), list[Error]()
    for place in (ids.CHECKPOINTS, REF):
        if tree := places.find_tree(place, checkpoint_id, trouble):
            return tree
    return None


def _find_own_commits(
    repo: Repo, objects: Objects, prepared: Sequence[Prepared]
) -> dict[str, Commit | None]:
    """id -> commit of the checkpoints that have a ref of their own; None for those that get one."""
    stored = {cid: read_commit(objects, ids.build_checkpoint_ref(cid)) for cid, *_ in prepared}
    if not all(stored.values()) and committed_refs.needs_own_ref(repo):
        return stored
    return {cid: commit for cid, commit in stored.items() if commit or ids.is_ulid(cid)}


def _write_refs(
    repo: Repo,
    objects: Objects,
    own: Mapping[str, Commit | None],
    prepared: Sequence[Prepared],
    subject: str | None,
) -> tuple[dict[str, str], list[refs.Edit]]:
    """Write the commits of checkpoints with refs of their own; return (their tips, the edits of
    refs)."""
    tips: dict[str, str] = {}
    edits: list[refs.Edit] = []
    for cid, commit in own.items():
        ref, old = ids.build_checkpoint_ref(cid), commit["tree"] if commit else None
        if not commit and (stored := committed_refs.find_checkpoint(repo, objects, cid)):
            old = stored[1]  # on the branch
        tree = _write_checkpoint(objects, cid, old, prepared)
        if commit and commit["tree"] == tree:
            tips[ref] = commit["oid"]
            continue
        own_parts = [part for part in prepared if part[0] == cid]
        parents = [commit["oid"]] if commit else []
        tips[ref] = _write_commit(objects, repo, tree, parents, own_parts, subject)
        edits.append((ref, tips[ref], commit["oid"] if commit else None))
    return tips, edits


def _write_branch(
    repo: Repo,
    objects: Objects,
    tip: Commit | None,
    old: str | None,
    prepared: Sequence[Prepared],
    subject: str | None,
) -> str:
    """Write a commit with checkpoints on tip; return old, the value of our branch, if nothing
    changes."""
    before = tip["tree"] if tip else None
    if before and not old:  # only the checkpoints of a remote's branch are pushed on
        before = late.trees.Union(objects).drop_strays(before, None)
    tree = _write_tree(objects, before, prepared)
    if tip and old and tree == tip["tree"]:
        return old
    parents = [tip["oid"]] if tip else []
    return _write_commit(objects, repo, tree, parents, prepared, subject)


def _write_commit(
    objects: Objects,
    repo: Repo,
    tree: str,
    parents: list[str],
    prepared: Sequence[Prepared],
    subject: str | None,
) -> str:
    """Write a commit of the store with these sessions, signed if that is configured."""
    message = _format_message(prepared, subject)
    if not (repo.config.get_all("commit.gpgsign") or repo.config.get_all("gitcp.sign")):
        return write_commit(objects, repo, tree, parents, message)
    return signing.write_signed(objects, repo, tree, parents, message, prepared[0][1]["session_id"])


def move_branch(repo: Repo, new: str | None, old: str | None, reason: str) -> None:
    """Move our branch; raise Moved as refs.update_refs() does."""
    move_refs(repo, [(REF, new, old)] if new != old else [], reason, new)


def move_refs(repo: Repo, edits: list[refs.Edit], reason: str, branch: str | None = "") -> None:
    """Move refs of the store, and MEMORY beside jj.  branch: the new value of REF if edits do not
    have it, "" if it does not move."""
    moved = next((new for ref, new, _ in edits if ref == REF), branch)
    if repo.jj_root and moved != "":
        memory = refs.read_ref(repo, MEMORY)
        edits = [*edits, (MEMORY, moved, memory)] if moved != memory else edits
    refs.set_markers(repo)
    refs.update_refs(repo, edits, reason)


def restore_branch(repo: Repo, objects: Objects) -> bool:
    """Unite our branch with MEMORY if jj has rolled it back; return whether there is a branch.

    In a colocated repository `jj undo` moves git's branches back, or deletes them.  A branch that a
    person deleted stays deleted."""

    def attempt_move() -> None:
        memory, tip = refs.read_ref(repo, MEMORY), refs.read_ref(repo, REF)
        if not memory or memory == tip:
            return
        if not tip and not _was_undone(repo):
            refs.update_refs(repo, [(MEMORY, None, memory)], "gitcp: the branch was deleted")
            return
        merged = late.histories.merge_histories(repo, objects, tip, memory)
        move_branch(repo, merged, tip, "gitcp: merge what jj rolled back")

    if repo.jj_root:
        refs.retry_moved(repo, "v1", attempt_move)
    return refs.read_ref(repo, REF) is not None


def _was_undone(repo: Repo) -> bool:
    """Whether `jj undo` deleted the branch; True if jj fails, so that nothing is lost."""
    root = repo.worktree if repo.top and repo.jj else os.path.dirname(repo.common)
    try:
        return jj_undo.was_undone(late.jj.list_operations(root))
    except Error:
        return True


def _find_base(repo: Repo, objects: Objects) -> tuple[str | None, Commit | None]:
    """(our branch's value, commit to build on); without our branch (None, a remote's tip)."""
    tip = read_commit(objects, REF)
    if tip:
        return tip["oid"], tip
    names = committed_refs.list_remote_branches(repo)
    return None, read_commit(objects, names[0]) if names else None


def _format_message(prepared: Sequence[Prepared], subject: str | None) -> str:
    """The commit message: `Checkpoint: <id>` or subject, further ids, trailers."""
    first, *more = dict.fromkeys(cid for cid, *_ in prepared)
    lines = [subject or f"Checkpoint: {first}"]
    lines += ["", *(f"Checkpoint: {cid}" for cid in more)] if more else []
    sessions = [(data, data.get("metadata", {})) for _, data, *_ in prepared]
    values: dict[str, list[Any]] = {
        "Entire-Session": [data["session_id"] for data, _ in sessions],
        "Entire-Strategy": [metadata.get("strategy") for _, metadata in sessions],
        "Entire-Agent": [metadata.get("agent") for _, metadata in sessions],
        "Ephemeral-branch": [data.get("ephemeral_branch") for data, _ in sessions],
    }
    trailers = dict.fromkeys(
        f"{key}: {' '.join(str(value).split())}"
        for key, listed in values.items()
        for value in filter(None, listed)
    )
    return "\n".join([*lines, "", *trailers])


def _prepare_session(objects: Objects, cid: str, data: SessionData) -> Prepared:
    """Check the ids and paths of one session and write its blobs."""
    ids.check_checkpoint_id(cid)
    ids.check_session_id(data["session_id"])

    def write_blob(content: bytes) -> Entry:
        return BLOB, objects.write("blob", content)

    files: dict[str, Entry] = {}
    transcript = data.get("transcript")
    if transcript is not None:
        for number, oid in enumerate(transcript.chunks):
            files[chunks.format_name(number)] = (BLOB, oid)
        files[summary.HASH] = write_blob(transcript.content_hash.encode())
    prompts = data.get("prompts")
    if prompts:
        files[summary.PROMPT] = write_blob(encode_name(summary.SEPARATOR.join(prompts)))
        files[summary.CONTEXT] = write_blob(encode_name(summary.build_context(prompts)))
    tasks = {
        ids.check_path(f"tasks/{path}"): write_blob(content)
        for path, content in data.get("tasks", {}).items()
    }
    return cid, data, files, tasks


def _write_tree(objects: Objects, tip: str | None, prepared: Sequence[Prepared]) -> str:
    edits: dict[str, Entry | None] = {}
    for cid in dict.fromkeys(cid for cid, *_ in prepared):
        path = f"{cid[:2]}/{cid[2:]}"
        old = find_entry(objects, tip, path) if tip else None
        before = old[1] if old and old[0] == TREE else None
        edits[path] = (TREE, _write_checkpoint(objects, cid, before, prepared))
    return edit_tree(objects, tip, edits)


def _write_checkpoint(
    objects: Objects, cid: str, before: str | None, prepared: Sequence[Prepared]
) -> str:
    """The tree of one checkpoint: before with the sessions that are prepared for it."""
    checkpoint = Checkpoint(objects, cid, before)
    for checkpoint_id, data, files, tasks in prepared:
        if checkpoint_id == cid:
            checkpoint.put_session(
                data["session_id"], data.get("metadata", {}), files, tasks, data.get("lines")
            )
    return checkpoint.write_tree()
