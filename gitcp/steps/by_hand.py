"""Links that a person makes and takes away: each is a step that can be undone."""

from __future__ import annotations

from gitcp.checkpoints import links, listing, notes, redactor, stored
from gitcp.errors import Error
from gitcp.git import objects
from gitcp.git.objects import read_commit
from gitcp.lines import commit_lines
from gitcp.link import commits, condense
from gitcp.record.match import write_refused
from gitcp.record.session import make_id
from gitcp.steps import undo
from gitcp.steps.step import NOTE, Effect
from gitcp.text.ids import pick_match
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import Commit, Linked


def link_commit(ctx: Context, commit: Commit, name: str) -> str:
    """Link a commit to a checkpoint or session by an id or its beginning; return the checkpoint's
    id.

    A session is condensed into a new checkpoint if the commit changes one of its open files; else
    its newest checkpoint is linked.  Raises Error for an unknown or ambiguous name.
    """
    match = commits.find_recorded(ctx.repo, name)
    if match is None:
        raise Error(f"no such checkpoint or session: '{name}'")
    if match.kind == "checkpoint":
        checkpoint_id = match.key
    else:
        checkpoint_id = _find_or_make_checkpoint(ctx, commit, match.key)
    _edit_note(ctx.repo, commit, "link", checkpoint_id, links.add_link_by_hand, checkpoint_id)
    write_refused(ctx.repo, (), allowed=checkpoint_id)
    return checkpoint_id


def unlink_commit(ctx: Context, commit: Commit, name: str, reason: str) -> list[str]:
    """Remove the link of a commit to a checkpoint (an id or its beginning), or all its links;
    return their ids.  Raises Error if there is none."""
    linked = listing.list_ids(ctx.repo, commit["oid"])
    ids = [i for i in linked if i.startswith(name)]
    if not ids:
        target = "any checkpoint"
        if name:
            target = f"checkpoint '{name}'"
        raise Error(f"'{abbreviate(commit['oid'])}' is not linked to {target}")
    if name:
        pick_match("checkpoint", name, ids)
    reason = redactor.redact_text(ctx.repo, reason)
    for i in ids:
        _edit_note(ctx.repo, commit, "unlink", i, links.remove_link, i, reason)
    write_refused(ctx.repo, ids)
    return ids


def take_link_back(repo: Repo, oid: str, checkpoint_id: str) -> str:
    """Remove a link that a search made, and whose commit has no work of the checkpoint, here and by
    the note in every clone.  Return what was done, '' if the link is gone already."""
    commit = read_commit(repo.objects, oid)
    note = notes.read_note(repo.objects, oid) or b""
    if commit is None or checkpoint_id not in notes.parse_note(note):
        return ""
    args = checkpoint_id, "no work of it"
    _edit_note(repo, commit, "fsck", checkpoint_id, links.remove_link, *args)
    return "took the link away; 'gitcp undo' brings it back"


def _edit_note(
    repo: Repo,
    commit: Commit,
    kind: str,
    checkpoint_id: str,
    edit: Callable[..., bytes],
    *args: str,
) -> None:
    before = notes.read_note(repo.objects, commit["oid"])
    notes.edit_note(repo, commit["oid"], lambda note: edit(note or b"", *args))
    after = notes.read_note(repo.objects, commit["oid"])
    if before != after:
        old = _store_note(repo, before)
        new = _store_note(repo, after)
        effect = Effect(NOTE, commit["oid"], old, new)
        undo.record_step(repo, kind, f"{commit['oid'][:12]} {checkpoint_id}", [effect])
        commit_lines.keep_ai_note(repo, [commit["oid"]])


def _store_note(repo: Repo, text: bytes | None) -> str | None:
    """The blob of a note; None for none."""
    if text is None:
        return None
    return repo.objects.write("blob", text)


def _find_or_make_checkpoint(ctx: Context, commit: Commit, session_id: str) -> str:
    state = ctx.read_state(session_id)
    _, changes = objects.read_changes(ctx.repo.objects, commit)
    files: set[str] = set()
    for stream in (state or {}).get("streams", ()):
        files.update(stream["files"])
    if state and files & changes.keys():
        checkpoint_id = make_id()
        linked: Linked = {"how": "content", "paths": sorted(files & changes.keys()), "reasons": {}}
        condense.condense_sessions(ctx.repo, commit, checkpoint_id, [(state, linked)], noted=True)
        ctx.keep(state)
        return checkpoint_id
    newest = (state or {}).get("last_checkpoint_id") or _find_newest(ctx.repo, session_id)
    if not newest or stored.find_checkpoint(ctx.repo, newest) is None:
        raise Error(
            f"session '{session_id}' has no checkpoint, and no open work in this commit's files"
        )
    return str(newest)


def _find_newest(repo: Repo, session_id: str) -> str:
    """The checkpoint with the latest part of a session; "" if none has one."""
    dated = []
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for entry in checkpoint["sessions"]:
            if entry["session_id"] == session_id:
                dated.append(
                    (str(entry["metadata"].get("created_at")), checkpoint["checkpoint_id"])
                )
    return max(dated, default=("", ""))[1]
