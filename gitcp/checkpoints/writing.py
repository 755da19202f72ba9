"""Writing committed checkpoints: one commit on entire/checkpoints/v1, or one on the ref of each
(doc/formats.md "Committed checkpoint").

The blobs are written before the lock is taken; under it only the trees of the changed paths are.
"""

from __future__ import annotations

import os

from gitcp.agents import transcripts
from gitcp.checkpoints import format
from gitcp.checkpoints.stored import (
    BLOB,
    Checkpoint,
    Places,
    find_checkpoint,
    list_remote_branches,
    needs_own_ref,
    write_store_commit,
)
from gitcp.errors import Error
from gitcp.git import encode_name, refs
from gitcp.git.objects import TREE, edit_tree, find_entry, find_tree, read_commit, write_commit
from gitcp.git.refs import MEMORY, REF
from gitcp.text import ids
from gitcp.text.ids import SESSION_KEY, STRATEGY_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.checkpoints.transcripts import StoredChunks, StoredTranscript
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Entry

    class SessionData(TypedDict, total=False):
        """The data of one session in one checkpoint; only session_id is required.

        Without transcript or prompts the stored ones stay.  metadata: keys of gitcp-formats(5).
        tasks: path below tasks/ -> bytes.  lines: path -> [{oid, ranges}], joined with the stored
        ones, or with replaces_lines in place of those of the same content.  Prompts and tasks are
        redacted.
        """

        session_id: str
        transcript: StoredTranscript | StoredChunks | None
        prompts: list[str]
        metadata: dict[str, Any]
        tasks: dict[str, bytes]
        lines: dict[str, list[dict[str, Any]]]
        replaces_lines: bool
        ephemeral_branch: str


class _Prepared:
    """A session whose blobs are written.  files: by name in its directory; tasks: by path in the
    checkpoint."""

    __slots__ = ("checkpoint_id", "data", "files", "tasks")

    def __init__(
        self,
        checkpoint_id: str,
        data: SessionData,
        files: dict[str, Entry],
        tasks: dict[str, Entry],
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.data = data
        self.files = files
        self.tasks = tasks


def write_sessions(
    repo: Repo,
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
    prepared = [_prepare_session(repo.objects, cid, data) for cid, data in items]

    def attempt_move() -> dict[str, str]:
        own = _find_own_commits(repo, prepared)
        updates: list[refs.Update] = []
        for cid, tip in own.items():
            parts = [part for part in prepared if part.checkpoint_id == cid]
            updates.append(_write_ref(repo, cid, tip, parts, subject))
        on_branch = [part for part in prepared if part.checkpoint_id not in own]
        if on_branch:
            updates.append(_write_branch(repo, on_branch, subject))
        move_refs(repo, updates, "gitcp: checkpoint")
        return {ref: new for ref, new, _ in updates if new}

    restore_branch(repo)
    return refs.retry_moved(repo, "v1", attempt_move)


def set_trees(repo: Repo, trees: Mapping[str, str | None]) -> None:
    """Set the trees of checkpoints where they are stored; None deletes one.  Raises as
    write_sessions()."""

    def attempt_move() -> None:
        updates: list[refs.Update] = []
        on_branch: dict[str, Entry | None] = {}
        for cid, tree in trees.items():
            ref = ids.build_checkpoint_ref(cid)
            has_ref = read_commit(repo.objects, ref) is not None
            if not has_ref and not needs_own_ref(repo):
                if tree:
                    on_branch[f"{cid[:2]}/{cid[2:]}"] = (TREE, tree)
                else:
                    on_branch[f"{cid[:2]}/{cid[2:]}"] = None
            elif tree or has_ref:
                updates.append(_set_tree(repo, ref, tree, f"Checkpoint: {cid}"))
        if on_branch:
            tree = edit_tree(repo.objects, find_tree(repo.objects, REF), on_branch)
            updates.append(_set_tree(repo, REF, tree, f"Checkpoints: {len(on_branch)}"))
        move_refs(repo, updates, "gitcp: undo")

    restore_branch(repo)
    refs.retry_moved(repo, "v1", attempt_move)


def _set_tree(repo: Repo, ref: str, tree: str | None, message: str) -> refs.Update:
    """Write a commit of a tree on a ref's commit; return the update that moves the ref there, or
    deletes it for no tree."""
    tip = read_commit(repo.objects, ref)
    old = tip["oid"] if tip else None
    if not tree:
        return ref, None, old
    parents = [old] if old else []
    return ref, write_commit(repo, tree, parents, message), old


def find_tree_here(repo: Repo, checkpoint_id: str) -> str | None:
    """The tree of a checkpoint in this clone's own places; None if they do not have it."""
    places = Places(repo)
    trouble = list[Error]()
    for place in (ids.CHECKPOINTS, REF):
        tree = places.find_tree(place, checkpoint_id, trouble)
        if tree:
            return tree
    return None


def _find_own_commits(repo: Repo, prepared: Sequence[_Prepared]) -> dict[str, Commit | None]:
    """id -> commit of the checkpoints that have a ref of their own; None for those that get one."""
    commits: dict[str, Commit | None] = {}
    for part in prepared:
        ref = ids.build_checkpoint_ref(part.checkpoint_id)
        commits[part.checkpoint_id] = read_commit(repo.objects, ref)
    if not all(commits.values()) and needs_own_ref(repo):
        return commits
    return {cid: commit for cid, commit in commits.items() if commit or ids.is_ulid(cid)}


def _write_ref(
    repo: Repo,
    checkpoint_id: str,
    tip: Commit | None,
    prepared: Sequence[_Prepared],
    subject: str | None,
) -> refs.Update:
    """Write the commit of a checkpoint with a ref of its own; return the update of that ref."""
    ref = ids.build_checkpoint_ref(checkpoint_id)
    if tip:
        old = tip["oid"]
        tree = _write_checkpoint(repo.objects, checkpoint_id, tip["tree"], prepared)
        if tip["tree"] == tree:
            return ref, old, old
        return ref, _write_commit(repo, tree, [old], prepared, subject), old
    on_branch = find_checkpoint(repo, checkpoint_id)
    before = on_branch[1] if on_branch else None
    tree = _write_checkpoint(repo.objects, checkpoint_id, before, prepared)
    return ref, _write_commit(repo, tree, [], prepared, subject), None


def _write_branch(repo: Repo, prepared: Sequence[_Prepared], subject: str | None) -> refs.Update:
    """Write the commit of the branch with these checkpoints; return the update of the branch.
    Without our branch it is built on a remote's."""
    tip = ours = read_commit(repo.objects, REF)
    if not ours:
        names = list_remote_branches(repo)
        if names:
            tip = read_commit(repo.objects, names[0])
    before = tip["tree"] if tip else None
    if before and not ours:  # only the checkpoints of a remote's branch are pushed on
        from gitcp.checkpoints import merging

        before = merging.Union(repo.objects).drop_strays(before, None)
    tree = _write_tree(repo.objects, before, prepared)
    old = ours["oid"] if ours else None
    if ours and tree == ours["tree"]:
        return REF, old, old
    parents = [tip["oid"]] if tip else []
    return REF, _write_commit(repo, tree, parents, prepared, subject), old


def _write_commit(
    repo: Repo,
    tree: str,
    parents: list[str],
    prepared: Sequence[_Prepared],
    subject: str | None,
) -> str:
    """Write a commit of the store with these sessions."""
    message = _format_message(prepared, subject)
    return write_store_commit(repo, tree, parents, message, prepared[0].data["session_id"])


def move_refs(repo: Repo, updates: list[refs.Update], reason: str) -> None:
    """Move refs of the store, and MEMORY with the branch; a ref may have its new value already."""
    moves = list(updates)
    for ref, new, _ in updates:
        if ref == REF:
            moves.append((MEMORY, new, refs.read_ref(repo, MEMORY)))
    refs.set_markers(repo)
    refs.update_refs(repo, [(ref, new, old) for ref, new, old in moves if new != old], reason)


def restore_branch(repo: Repo) -> bool:
    """Put our branch back before it is read or written: one that was deleted goes on at MEMORY, and
    one that jj has rolled back is united with it; return whether there is a branch.

    In a colocated repository `jj undo` moves git's branches back, or deletes them; there a branch
    that a person deleted stays deleted."""

    def attempt_move() -> None:
        memory = refs.read_ref(repo, MEMORY)
        tip = refs.read_ref(repo, REF)
        if not memory or memory == tip:
            return
        if not repo.jj_root:
            lacks = not tip and not needs_own_ref(repo)
            if lacks and read_commit(repo.objects, memory):
                move_refs(repo, [(REF, memory, None)], "gitcp: the deleted branch goes on")
            return
        if not tip and not _was_undone(repo):
            refs.update_refs(repo, [(MEMORY, None, memory)], "gitcp: the branch was deleted")
            return

        from gitcp.checkpoints import merging

        merged = merging.merge_histories(repo, tip, memory)
        move_refs(repo, [(REF, merged, tip)], "gitcp: merge what jj rolled back")

    if not repo.jj_root and refs.read_ref(repo, REF):
        return True
    refs.retry_moved(repo, "v1", attempt_move)
    return refs.read_ref(repo, REF) is not None


def _was_undone(repo: Repo) -> bool:
    """Whether `jj undo` deleted the branch; True if jj fails, so that nothing is lost."""
    if repo.top and repo.jj:
        root = repo.worktree
    else:
        root = os.path.dirname(repo.common)
    try:
        from gitcp.checkpoints.format import orphan_rules
        from gitcp.git import jj

        return orphan_rules.was_undone(jj.list_operations(root))
    except Error:
        return True


def _format_message(prepared: Sequence[_Prepared], subject: str | None) -> str:
    """The commit message: `Checkpoint: <id>` or subject, further ids, trailers."""
    first, *more = _list_ids(prepared)
    lines = [subject or f"Checkpoint: {first}"]
    if more:
        lines += ["", *(f"Checkpoint: {cid}" for cid in more)]
    sessions = [part.data for part in prepared]
    metadata = [data.get("metadata", {}) for data in sessions]
    trailers = [
        *_format_trailers(SESSION_KEY, [data["session_id"] for data in sessions]),
        *_format_trailers(STRATEGY_KEY, [one.get("strategy") for one in metadata]),
        *_format_trailers("Entire-Agent", [one.get("agent") for one in metadata]),
        *_format_trailers("Ephemeral-branch", [data.get("ephemeral_branch") for data in sessions]),
    ]
    return "\n".join([*lines, "", *dict.fromkeys(trailers)])


def _format_trailers(key: str, values: Sequence[Any]) -> list[str]:
    return [f"{key}: {' '.join(str(value).split())}" for value in values if value]


def _list_ids(prepared: Sequence[_Prepared]) -> list[str]:
    """The ids of the checkpoints, each once, in their order."""
    return list(dict.fromkeys(part.checkpoint_id for part in prepared))


def _prepare_session(objects: Objects, cid: str, data: SessionData) -> _Prepared:
    """Check the ids and paths of one session and write its blobs."""
    ids.check_checkpoint_id(cid)
    ids.check_session_id(data["session_id"])

    def write_blob(content: bytes) -> Entry:
        return BLOB, objects.write("blob", content)

    files: dict[str, Entry] = {}
    transcript = data.get("transcript")
    if transcript is not None:
        for number, oid in enumerate(transcript.chunks):
            files[transcripts.format_name(number)] = (BLOB, oid)
        files[format.HASH] = write_blob(transcript.content_hash.encode())
    prompts = data.get("prompts")
    if prompts:
        files[format.PROMPT] = write_blob(encode_name(format.SEPARATOR.join(prompts)))
        files[format.CONTEXT] = write_blob(encode_name(format.build_context(prompts)))
    tasks = {
        ids.check_path(f"tasks/{path}"): write_blob(content)
        for path, content in data.get("tasks", {}).items()
    }
    return _Prepared(cid, data, files, tasks)


def _write_tree(objects: Objects, tip: str | None, prepared: Sequence[_Prepared]) -> str:
    edits: dict[str, Entry | None] = {}
    for cid in _list_ids(prepared):
        path = f"{cid[:2]}/{cid[2:]}"
        before = None
        if tip:
            old = find_entry(objects, tip, path)
            if old and old[0] == TREE:
                before = old[1]
        edits[path] = (TREE, _write_checkpoint(objects, cid, before, prepared))
    return edit_tree(objects, tip, edits)


def _write_checkpoint(
    objects: Objects, cid: str, before: str | None, prepared: Sequence[_Prepared]
) -> str:
    """The tree of one checkpoint: before with the sessions that are prepared for it."""
    checkpoint = Checkpoint(objects, cid, before)
    for part in prepared:
        if part.checkpoint_id == cid:
            data = part.data
            checkpoint.put_session(
                data["session_id"],
                data.get("metadata", {}),
                part.files,
                part.tasks,
                data.get("lines"),
                data.get("replaces_lines", False),
            )
    return checkpoint.write_tree()
