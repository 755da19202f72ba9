"""Writing committed checkpoints: one commit on entire/checkpoints/v1
(doc/formats.md "Committed checkpoint").

All blobs are written before the lock; under it only the trees on the path are read and
written, whatever the branch holds.
"""

from __future__ import annotations

import os

from gitcp.core.git import ids
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import raw
from gitcp.store.git import private, refs
from gitcp.store.git.commit import read_commit, write_commit
from gitcp.store.git.tree import TREE, edit_tree, lookup
from gitcp.store.v1.committed_tree import BLOB, Checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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

REF = "refs/heads/entire/checkpoints/v1"
MEMORY = "refs/gitcp/store"  # where jj may roll REF back: what it was when we moved it last


def write(
    repo: Repo,
    objects: Objects,
    items: Sequence[tuple[str, SessionData]],
    *,
    subject: str | None = None,
) -> str:
    """Store sessions under checkpoint ids, all in one commit; return the branch's tip.

    A session the checkpoint has already keeps its index, a new one takes the next.  Nothing is
    committed when nothing changes.  Raises InputError for ids or paths that are not safe, Busy
    when the lock or the ref cannot be had.
    """
    prepared = [_prepare(objects, cid, data) for cid, data in items]

    def attempt() -> str:
        old, tip = base(repo, objects)
        before = tip["tree"] if tip else None
        if before and not old:  # a remote's: what lies beside the checkpoints is not pushed on
            from gitcp.store.v1.merge.trees import Union

            before = Union(objects).without_strays(before, None)
        tree = _tree(objects, before, prepared)
        if tip and old and tree == tip["tree"]:
            return old
        parents = [tip["oid"]] if tip else []
        oid = write_commit(objects, repo, tree, parents, message(items, subject))
        move(repo, oid, old, "gitcp: checkpoint")
        return oid

    restore(repo, objects)
    return refs.again(repo, "v1", attempt)


def move(repo: Repo, new: str | None, old: str | None, reason: str) -> None:
    """Move our branch, with the memory of it where there is jj; raise Moved as refs.update()."""
    edits: list[refs.Edit] = [(REF, new, old)] if new != old else []
    if repo.beside_jj:
        known = refs.read(repo, MEMORY)
        edits += [(MEMORY, new, known)] if new != known else []
    announce(repo)
    refs.update(repo, edits, reason)


def restore(repo: Repo, objects: Objects) -> None:
    """Unite our branch with what it was when we moved it last, where jj has rolled it back: in a
    directory that git shares, `jj undo` moves git's branches to where they were, or takes them
    away.  One that a person has deleted stays deleted."""

    def attempt() -> None:
        known, tip = refs.read(repo, MEMORY), refs.read(repo, REF)
        if not known or known == tip:
            return
        if not tip and not _was_undone(repo):
            refs.update(repo, [(MEMORY, None, known)], "gitcp: the branch was deleted")
            return
        from gitcp.store.v1.merge import histories

        merged = histories.merged(repo, objects, tip, known)
        move(repo, merged, tip, "gitcp: merge what jj rolled back")

    if repo.beside_jj:
        refs.again(repo, "v1", attempt)


def _was_undone(repo: Repo) -> bool:
    """Whether jj took the branch away by undoing; so where jj cannot be asked: nothing is lost."""
    from gitcp.core.decide import jj_undo
    from gitcp.jj import log

    root = repo.worktree if repo.top and repo.jj else os.path.dirname(repo.common)
    try:
        return jj_undo.was_undone(log.operations(root))
    except Error:
        return True


def base(repo: Repo, objects: Objects) -> tuple[str | None, Commit | None]:
    """(value of our branch, commit to build on): a remote's branch where ours is absent."""
    tip = read_commit(objects, REF)
    if tip:
        return tip["oid"], tip
    names = remote_refs(repo)
    return None, read_commit(objects, names[0]) if names else None


def remote_refs(repo: Repo) -> list[str]:
    """The remote-tracking branches of checkpoints, the destination's first."""
    return order_tracking(repo, list(refs.listing(repo, "refs/remotes/**/entire/checkpoints/v1")))


def order_tracking(repo: Repo, branches: list[str]) -> list[str]:
    """Remote-tracking branches, those of the destination before origin's before others."""
    if len(branches) > 1:
        from gitcp.store.v1 import destination

        first = [f"refs/remotes/{name}/" for name in (destination.read(repo), "origin")]
        branches.sort(key=lambda ref: ([not ref.startswith(one) for one in first], ref))
    return branches


def announce(repo: Repo) -> None:
    """Set the markers that there is data, and data not pushed, before the ref moves."""
    for name in ("linked", "unpushed"):
        private.touch(repo, repo.shared(name))


def message(items: Sequence[tuple[str, SessionData]], subject: str | None) -> str:
    """The commit message: `Checkpoint: <id>` or subject, further ids, trailers."""
    first, *more = dict.fromkeys(cid for cid, _ in items)
    lines = [subject or f"Checkpoint: {first}"]
    if more:
        lines += ["", *(f"Checkpoint: {cid}" for cid in more)]
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


def _prepare(objects: Objects, cid: str, data: SessionData) -> Prepared:
    """Check what comes from outside and write the blobs of one session."""
    ids.checkpoint_id(cid)
    ids.session_id(data["session_id"])

    def blob(content: bytes) -> Entry:
        return BLOB, objects.write("blob", content)

    files: dict[str, Entry] = {}
    transcript = data.get("transcript")
    if transcript is not None:
        for number, oid in enumerate(transcript.chunks):
            files[chunks.name(number)] = (BLOB, oid)
        files[summary.HASH] = blob(transcript.content_hash.encode())
    prompts = data.get("prompts")
    if prompts:
        files[summary.PROMPT] = blob(raw(summary.SEPARATOR.join(prompts)))
        files[summary.CONTEXT] = blob(raw(summary.context(prompts)))
    tasks = {
        ids.repo_path(f"tasks/{path}"): blob(content)
        for path, content in data.get("tasks", {}).items()
    }
    return cid, data, files, tasks


def _tree(objects: Objects, tip: str | None, prepared: Sequence[Prepared]) -> str:
    edits: dict[str, Entry | None] = {}
    for cid in dict.fromkeys(cid for cid, *_ in prepared):
        at = f"{cid[:2]}/{cid[2:]}"
        old = lookup(objects, tip, at) if tip else None
        checkpoint = Checkpoint(objects, cid, old[1] if old and old[0] == TREE else None)
        for other, data, files, tasks in prepared:
            if other == cid:
                checkpoint.put(
                    data["session_id"], data.get("metadata", {}), files, tasks, data.get("lines")
                )
        edits[at] = (TREE, checkpoint.write())
    return edit_tree(objects, tip, edits)
