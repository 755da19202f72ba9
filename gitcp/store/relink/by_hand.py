"""Links that a person makes or removes: lines in the note on a commit, which itself stays.

Each is a step of the undo log, with the note before it.
"""

from __future__ import annotations

from gitcp.core.git.ids import pick_match
from gitcp.core.message import links
from gitcp.errors import Error
from gitcp.store.git import commit_changes, notes
from gitcp.store.git.commit import read_commit
from gitcp.store.lines import ai_notes
from gitcp.store.link import condense
from gitcp.store.match import commit_memory
from gitcp.store.session.state import make_id
from gitcp.store.show import lookup
from gitcp.store.undo import undo_log
from gitcp.store.v1 import committed_list, committed_refs, find_commits, redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.context import Context
    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def link_commit(ctx: Context, commit: Commit, name: str) -> str:
    """Link a commit to a checkpoint or session by an id or its beginning; return the checkpoint's
    id.

    A session is condensed into a new checkpoint if the commit changes one of its open files; else
    its newest checkpoint is linked.  Raises Error for an unknown or ambiguous name.
    """
    match = lookup.find_recorded(ctx.repo, ctx.objects, name)
    if match is None:
        raise Error(f"no such checkpoint or session: '{name}'")
    kind, key = match
    checkpoint_id = key if kind == "checkpoint" else _find_or_make_checkpoint(ctx, commit, key)
    _edit_note(
        ctx.repo, ctx.objects, commit, "link", checkpoint_id, links.add_link_by_hand, checkpoint_id
    )
    commit_memory.write_refused(ctx.repo, (), allowed=checkpoint_id)
    return checkpoint_id


def unlink_commit(ctx: Context, commit: Commit, name: str, reason: str) -> list[str]:
    """Remove the link of a commit to a checkpoint (an id or its beginning), or all its links;
    return their ids.  Raises Error if there is none."""
    linked = find_commits.list_ids(ctx.repo, ctx.objects, commit["oid"])
    ids = [i for i in linked if i.startswith(name)]
    if not ids:
        target = f"checkpoint '{name}'" if name else "any checkpoint"
        raise Error(f"'{commit['oid'][:12]}' is not linked to {target}")
    if name:
        pick_match("checkpoint", name, ids)
    reason = redaction.redact_text(ctx.repo, reason)
    for i in ids:
        _edit_note(ctx.repo, ctx.objects, commit, "unlink", i, links.remove_link, i, reason)
    commit_memory.write_refused(ctx.repo, ids)
    return ids


def take_link_back(repo: Repo, objects: Objects, oid: str, checkpoint_id: str) -> str:
    """Remove a link that a search made, and whose commit has no work of the checkpoint, here and by
    the note in every clone.  Return what was done, '' if the link is gone already."""
    commit = read_commit(objects, oid)
    note = notes.read_note(objects, oid) or b""
    if commit is None or checkpoint_id not in notes.parse_note(note):
        return ""
    args = checkpoint_id, "no work of it"
    _edit_note(repo, objects, commit, "fsck", checkpoint_id, links.remove_link, *args)
    return "took the link away; 'gitcp undo' brings it back"


def _edit_note(
    repo: Repo,
    objects: Objects,
    commit: Commit,
    kind: str,
    checkpoint_id: str,
    edit: Callable[..., bytes],
    *args: str,
) -> None:
    before = notes.read_note(objects, commit["oid"])
    notes.edit_note(repo, objects, commit["oid"], lambda note: edit(note or b"", *args))
    after = notes.read_note(objects, commit["oid"])
    if before != after:
        old, new = (
            None if text is None else objects.write("blob", text) for text in (before, after)
        )
        effect = {"note": commit["oid"], "old": old, "new": new}
        undo_log.record_step(repo, objects, kind, f"{commit['oid'][:12]} {checkpoint_id}", [effect])
        ai_notes.keep(repo, [commit["oid"]])


def _find_or_make_checkpoint(ctx: Context, commit: Commit, session_id: str) -> str:
    state = ctx.read_state(session_id)
    _, changes = commit_changes.read_changes(ctx.objects, commit)
    files = {path for stream in (state or {}).get("streams", ()) for path in stream["files"]}
    if state and files & changes.keys():
        checkpoint_id = make_id()
        linked: Linked = {"how": "content", "paths": sorted(files & changes.keys()), "reasons": {}}
        condense.condense_sessions(
            ctx.repo, ctx.objects, commit, checkpoint_id, [(state, linked)], noted=True
        )
        ctx.keep(state)
        return checkpoint_id
    newest = (state or {}).get("last_checkpoint_id") or _find_newest(ctx.repo, session_id)
    if not newest or committed_refs.find_checkpoint(ctx.repo, ctx.objects, newest) is None:
        raise Error(f"session '{session_id}' has no checkpoint, and no open file of the commit's")
    return str(newest)


def _find_newest(repo: Repo, session_id: str) -> str:
    """The checkpoint with the latest part of a session; "" if none has one."""
    dated = [
        (str(entry["metadata"].get("created_at")), checkpoint["checkpoint_id"])
        for checkpoint in committed_list.list_checkpoints(repo, brief=True)
        for entry in checkpoint["sessions"]
        if entry["session_id"] == session_id
    ]
    return max(dated, default=("", ""))[1]
