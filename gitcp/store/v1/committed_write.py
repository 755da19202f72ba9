"""Writing committed checkpoints: one commit on entire/checkpoints/v1, or one on the ref of each
(doc/formats.md "Committed checkpoint").

All blobs are written before the lock; under it only the trees on the path are read and
written, whatever the store holds.
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
from gitcp.store.git.tree import TREE, edit_tree, find_entry
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
        """What one session has to say in one checkpoint; only session_id is needed.

        transcript: None leaves what is stored.  prompts: redacted; absent leaves what is stored.
        metadata: keys of CommittedMetadata and ours (gitcp-formats(5)).  tasks: path below
        tasks/ -> bytes, redacted.  lines: path -> [{oid, ranges}], joined with what is stored.
        """

        session_id: str
        transcript: Stored | Given | None
        prompts: list[str]
        metadata: dict[str, Any]
        tasks: dict[str, bytes]
        lines: dict[str, list[dict[str, Any]]]
        ephemeral_branch: str

    Prepared = tuple[str, SessionData, dict[str, Entry], dict[str, Entry]]

MEMORY = "refs/gitcp/store"  # where jj may roll REF back: what it was when we moved it last


def write_sessions(
    repo: Repo,
    objects: Objects,
    items: Sequence[tuple[str, SessionData]],
    *,
    subject: str | None = None,
) -> dict[str, str]:
    """Store sessions under checkpoint ids, those of the branch in one commit; return the refs
    that have them, with their tips.

    A session the checkpoint has already keeps its index, a new one takes the next.  Nothing is
    committed when nothing changes.  Raises InputError for ids or paths that are not safe, Busy
    when the lock or a ref cannot be had.
    """
    prepared = [_prepare_session(objects, cid, data) for cid, data in items]

    def attempt_move() -> dict[str, str]:
        own = _find_own_commits(repo, objects, prepared)
        tips, edits = _write_refs(repo, objects, own, items, prepared, subject)
        theirs = [one for one in prepared if one[0] not in own]
        if theirs:
            of_branch = [item for item in items if item[0] not in own]
            old, tip = find_base(repo, objects)
            tips[REF] = _write_branch(
                repo, objects, tip, old, theirs, format_message(of_branch, subject)
            )
            edits += [(REF, tips[REF], old)] if tips[REF] != old else []
        move_refs(repo, edits, "gitcp: checkpoint")
        return tips

    restore_branch(repo, objects)
    return refs.retry_moved(repo, "v1", attempt_move)


def set_trees(repo: Repo, objects: Objects, trees: Mapping[str, str | None]) -> None:
    """Set the trees of checkpoints, each where it is stored; None deletes one.  Raises as
    write_sessions()."""

    def attempt_move() -> None:
        edits: list[refs.Edit] = []
        below: dict[str, Entry | None] = {}
        for cid, tree in trees.items():
            commit = read_commit(objects, ids.build_checkpoint_ref(cid))
            if commit is None and not committed_refs.needs_own_ref(repo):
                below[f"{cid[:2]}/{cid[2:]}"] = (TREE, tree) if tree else None
            elif tree or commit:
                old, parents = (commit["oid"], [commit["oid"]]) if commit else (None, [])
                words = f"Checkpoint: {cid}"
                new = write_commit(objects, repo, tree, parents, words) if tree else None
                edits.append((ids.build_checkpoint_ref(cid), new, old))
        tip = read_commit(objects, REF) if below else None
        if below:
            whole = edit_tree(objects, tip["tree"] if tip else None, below)
            parents = [tip["oid"]] if tip else []
            branch = write_commit(objects, repo, whole, parents, f"Checkpoints: {len(below)}")
            edits.append((REF, branch, tip["oid"] if tip else None))
        move_refs(repo, edits, "gitcp: undo")

    refs.retry_moved(repo, "v1", attempt_move)


def find_tree_here(repo: Repo, objects: Objects, checkpoint_id: str) -> str | None:
    """The tree of a checkpoint in this clone's own places; None where they have none."""
    places, trouble = committed_refs.Places(repo, objects), list[Error]()
    for place in (ids.CHECKPOINTS, REF):
        if tree := places.find_tree(place, checkpoint_id, trouble):
            return tree
    return None


def _find_own_commits(
    repo: Repo, objects: Objects, prepared: Sequence[Prepared]
) -> dict[str, Commit | None]:
    """id -> its commit, None for a new one, of the checkpoints that have, or get, a ref of their
    own."""
    stored = {cid: read_commit(objects, ids.build_checkpoint_ref(cid)) for cid, *_ in prepared}
    if not all(stored.values()) and committed_refs.needs_own_ref(repo):
        return stored
    return {cid: commit for cid, commit in stored.items() if commit or ids.is_ulid(cid)}


def _write_refs(
    repo: Repo,
    objects: Objects,
    own: Mapping[str, Commit | None],
    items: Sequence[tuple[str, SessionData]],
    prepared: Sequence[Prepared],
    subject: str | None,
) -> tuple[dict[str, str], list[refs.Edit]]:
    """Write the commits of checkpoints with refs of their own: the refs' tips, and what moves."""
    tips: dict[str, str] = {}
    edits: list[refs.Edit] = []
    for cid, commit in own.items():
        ref, old = ids.build_checkpoint_ref(cid), commit["tree"] if commit else None
        if not commit and (place := committed_refs.find_checkpoint(repo, objects, cid)):
            old = place[1]  # it was on the branch
        tree = _write_checkpoint(objects, cid, old, prepared)
        if commit and commit["tree"] == tree:
            tips[ref] = commit["oid"]
            continue
        words = format_message([item for item in items if item[0] == cid], subject)
        parents = [commit["oid"]] if commit else []
        about = next(data["session_id"] for one, data in items if one == cid)
        tips[ref] = _write_commit(objects, repo, tree, parents, words, about)
        edits.append((ref, tips[ref], commit["oid"] if commit else None))
    return tips, edits


def _write_branch(
    repo: Repo,
    objects: Objects,
    tip: Commit | None,
    old: str | None,
    prepared: Sequence[Prepared],
    words: str,
) -> str:
    """Write the commit of the checkpoints that are on the branch, on tip; where nothing changes
    that is old."""
    before = tip["tree"] if tip else None
    if before and not old:  # a remote's: what lies beside the checkpoints is not pushed on
        before = late.trees.Union(objects).drop_strays(before, None)
    tree = _write_tree(objects, before, prepared)
    if tip and old and tree == tip["tree"]:
        return old
    parents = [tip["oid"]] if tip else []
    return _write_commit(objects, repo, tree, parents, words, prepared[0][1]["session_id"])


def _write_commit(
    objects: Objects, repo: Repo, tree: str, parents: list[str], words: str, session_id: str
) -> str:
    """Store a commit of the store, signed where that is configured."""
    if not (repo.config.get_all("commit.gpgsign") or repo.config.get_all("gitcp.sign")):
        return write_commit(objects, repo, tree, parents, words)
    return signing.write_signed(objects, repo, tree, parents, words, session_id)


def move_branch(repo: Repo, new: str | None, old: str | None, reason: str) -> None:
    """Move our branch; raise Moved as refs.update_refs()."""
    move_refs(repo, [(REF, new, old)] if new != old else [], reason, new)


def move_refs(repo: Repo, edits: list[refs.Edit], reason: str, branch: str | None = "") -> None:
    """Move refs of the store, with the memory of the branch where there is jj; branch: where that
    is then, "" where edits tell."""
    moved = next((new for ref, new, _ in edits if ref == REF), branch)
    if repo.jj_root and moved != "":
        known = refs.read_ref(repo, MEMORY)
        edits = [*edits, (MEMORY, moved, known)] if moved != known else edits
    refs.set_markers(repo)
    refs.update_refs(repo, edits, reason)


def restore_branch(repo: Repo, objects: Objects) -> bool:
    """Unite our branch with what it was when we moved it last, where jj has rolled it back: in a
    directory that git shares, `jj undo` moves git's branches to where they were, or takes them
    away.  One that a person has deleted stays deleted.  Returns whether there is a branch."""

    def attempt_move() -> None:
        known, tip = refs.read_ref(repo, MEMORY), refs.read_ref(repo, REF)
        if not known or known == tip:
            return
        if not tip and not _was_undone(repo):
            refs.update_refs(repo, [(MEMORY, None, known)], "gitcp: the branch was deleted")
            return
        merged = late.histories.merge_histories(repo, objects, tip, known)
        move_branch(repo, merged, tip, "gitcp: merge what jj rolled back")

    if repo.jj_root:
        refs.retry_moved(repo, "v1", attempt_move)
    return refs.read_ref(repo, REF) is not None


def _was_undone(repo: Repo) -> bool:
    """Whether jj took the branch away by undoing; True also where jj cannot be asked, for then
    nothing is lost."""
    root = repo.worktree if repo.top and repo.jj else os.path.dirname(repo.common)
    try:
        return jj_undo.was_undone(late.jj.list_operations(root))
    except Error:
        return True


def find_base(repo: Repo, objects: Objects) -> tuple[str | None, Commit | None]:
    """(value of our branch, commit to build on): a remote's branch where ours is absent."""
    tip = read_commit(objects, REF)
    if tip:
        return tip["oid"], tip
    names = committed_refs.list_remote_branches(repo)
    return None, read_commit(objects, names[0]) if names else None


def format_message(items: Sequence[tuple[str, SessionData]], subject: str | None) -> str:
    """The commit message: `Checkpoint: <id>` or subject, further ids, trailers."""
    first, *more = dict.fromkeys(cid for cid, _ in items)
    lines = [subject or f"Checkpoint: {first}"]
    lines += ["", *(f"Checkpoint: {cid}" for cid in more)] if more else []
    trailer_lines: dict[str, None] = {}
    for _, data in items:
        metadata = data.get("metadata", {})
        trailer_lines[f"Entire-Session: {data['session_id']}"] = None
        for key, value in (
            ("Entire-Strategy", metadata.get("strategy")),
            ("Entire-Agent", metadata.get("agent")),
            ("Ephemeral-branch", data.get("ephemeral_branch")),
        ):
            if value:
                trailer_lines[f"{key}: {' '.join(str(value).split())}"] = None
    order = ("Entire-Session", "Entire-Strategy", "Entire-Agent", "Ephemeral-branch")
    trailers = sorted(trailer_lines, key=lambda line: order.index(line.partition(":")[0]))
    return "\n".join([*lines, "", *trailers])


def _prepare_session(objects: Objects, cid: str, data: SessionData) -> Prepared:
    """Check what comes from outside and write the blobs of one session."""
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
        at = f"{cid[:2]}/{cid[2:]}"
        old = find_entry(objects, tip, at) if tip else None
        before = old[1] if old and old[0] == TREE else None
        edits[at] = (TREE, _write_checkpoint(objects, cid, before, prepared))
    return edit_tree(objects, tip, edits)


def _write_checkpoint(
    objects: Objects, cid: str, before: str | None, prepared: Sequence[Prepared]
) -> str:
    """The tree of one checkpoint: what before has, and what is prepared for it."""
    checkpoint = Checkpoint(objects, cid, before)
    for other, data, files, tasks in prepared:
        if other == cid:
            checkpoint.put_session(
                data["session_id"], data.get("metadata", {}), files, tasks, data.get("lines")
            )
    return checkpoint.write_tree()
