"""Links that a person makes or takes away: lines in the note on a commit, which itself stays.

Each is a step of the undo log, with the note as it was before.
"""

from __future__ import annotations

from gitcp.core.message import links
from gitcp.errors import Error
from gitcp.store.git import commit_changes, notes
from gitcp.store.git.commit import read_commit
from gitcp.store.lines import ai_notes
from gitcp.store.link import condense
from gitcp.store.match import commit_memory
from gitcp.store.show import lookup
from gitcp.store.stream import place
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
    """Link a commit to a checkpoint, or to a session, by an id or its beginning; the id of the
    checkpoint.

    A session whose open files the commit changes is condensed into a checkpoint of its own;
    another one's newest checkpoint is taken.  Raises Error for a name of neither, or of several.
    """
    meant = lookup.find_recorded(ctx.repo, ctx.objects, name)
    if meant is None:
        raise Error(f"no such checkpoint or session: '{name}'")
    kind, key = meant
    checkpoint_id = key if kind == "checkpoint" else _find_or_make_checkpoint(ctx, commit, key)
    _edit_note(
        ctx.repo, ctx.objects, commit, "link", checkpoint_id, links.add_link_by_hand, checkpoint_id
    )
    commit_memory.write_refused(ctx.repo, (), allowed=checkpoint_id)
    return checkpoint_id


def unlink_commit(ctx: Context, commit: Commit, name: str, reason: str) -> list[str]:
    """Take the link to a checkpoint (an id or its beginning), or all links, off a commit; the
    ids.  Raises Error where there is none."""
    there = find_commits.list_ids(ctx.repo, ctx.objects, commit["oid"])
    gone = [one for one in there if one.startswith(name)]
    if name and len(gone) > 1:
        raise Error(f"ambiguous checkpoint '{name}': {' '.join(gone)}")
    if not gone:
        what = f"checkpoint '{name}'" if name else "any checkpoint"
        raise Error(f"'{commit['oid'][:12]}' is not linked to {what}")
    reason = redaction.redact_text(ctx.repo, reason)
    for one in gone:
        _edit_note(ctx.repo, ctx.objects, commit, "unlink", one, links.remove_link, one, reason)
    commit_memory.write_refused(ctx.repo, gone)
    return gone


def take_link_back(repo: Repo, objects: Objects, oid: str, checkpoint_id: str) -> str:
    """Take a link that a search made off a commit that has nothing of the checkpoint, and off
    its note in every clone; say so, '' where it is not there any more."""
    commit = read_commit(objects, oid)
    if commit is None or checkpoint_id not in notes.parse_note(
        notes.read_note(objects, oid) or b""
    ):
        return ""
    why = "no work of it"
    _edit_note(repo, objects, commit, "fsck", checkpoint_id, links.remove_link, checkpoint_id, why)
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
    stored = {
        entry["session_id"]: checkpoint["checkpoint_id"]
        for checkpoint in committed_list.list_checkpoints(ctx.repo, brief=True)
        for entry in checkpoint["sessions"]
    }
    state = ctx.read_state(session_id)
    _, changes = commit_changes.read_changes(ctx.objects, commit)
    files = {path for stream in (state or {}).get("streams", ()) for path in stream["files"]}
    if state and files & changes.keys():
        checkpoint_id = place.make_id()
        linked: Linked = {"how": "content", "paths": sorted(files & changes.keys()), "reasons": {}}
        condense.condense_sessions(
            ctx.repo, ctx.objects, commit, checkpoint_id, [(state, linked)], noted=True
        )
        ctx.keep(state)
        return checkpoint_id
    last = (state or {}).get("last_checkpoint_id") or stored.get(session_id, "")
    if not last or committed_refs.find_checkpoint(ctx.repo, ctx.objects, last) is None:
        raise Error(f"session '{session_id}' has no checkpoint, and no open file of the commit's")
    return str(last)
