"""Putting stored conversations where their clients look, so that a person can resume them."""

from __future__ import annotations

import glob
import os
import uuid

from gitcp.agents import find_client
from gitcp.errors import Error
from gitcp.process.files import read_bytes
from gitcp.record import format_now
from gitcp.store.back import conversation
from gitcp.store.git.commit import read_commit
from gitcp.store.session import state as states
from gitcp.store.show import lookup
from gitcp.store.undo import effects, undo_log
from gitcp.store.v1 import committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.repo import Repo
    from gitcp.store.back.conversation import Stored
    from gitcp.store.git.objects import Objects

    class Restored(TypedDict):
        """The outcome for one conversation.  what: 'written', 'kept' (the local one is as new or
        newer), 'replaced', 'beside' (the local one diverged), or 'impossible'; command: resumes
        it; notes: sentences."""

        session_id: str
        agent: str
        what: str
        path: str
        command: str
        notes: list[str]
        effects: list[dict[str, Any]]


WRITTEN, KEPT, REPLACED, IMPOSSIBLE = "written", "kept", "replaced", "impossible"
BESIDE = "beside"
DEPTH = 100  # first parents that are searched for a checkpoint


def read_stored(repo: Repo, objects: Objects, name: str) -> tuple[str, list[Stored]]:
    """(the commit or '', the conversations) of a branch, a commit, a checkpoint or a session.

    For a commit without a checkpoint the nearest of its first parents that has one is taken.
    Raises Error when there is none.
    """
    kind, key = lookup.resolve_name(repo, objects, name)
    if kind == "commit":
        commit, ids = _find_nearest_checkpoint(repo, objects, key)
        return commit, list(conversation.read_checkpoints(repo, objects, ids))
    if kind == "checkpoint":
        commits = find_commits.find_carriers(repo, objects, [key])[key]
        return (commits or [""])[0], list(conversation.read_checkpoints(repo, objects, [key]))
    if kind == "temporary":
        return "", [conversation.read_temporary(objects, key)]
    return "", [conversation.read_session(repo, objects, key)]


def _find_nearest_checkpoint(repo: Repo, objects: Objects, oid: str) -> tuple[str, list[str]]:
    """(the commit oid or the nearest of its first parents with checkpoints, their ids)."""
    ancestor: str | None = oid
    for _ in range(DEPTH):
        commit = read_commit(objects, ancestor) if ancestor else None
        if commit is None:
            break
        ids = find_commits.list_ids(repo, objects, commit["oid"])
        present = [i for i in ids if committed_refs.find_checkpoint(repo, objects, i)]
        if present:
            return commit["oid"], present
        if ids:
            missing = f"checkpoint '{ids[0]}' of commit '{commit['oid'][:12]}' is not here"
            raise Error(f"{missing}; 'gitcp fetch' may bring it")
        ancestor = commit["parents"][0] if commit["parents"] else None
    raise Error(f"no checkpoint belongs to '{oid[:12]}' or the {DEPTH} commits before it")


def plan_restoring(repo: Repo, session: Stored, cwd: str, force: bool) -> Restored:
    """Plan what to write so that a conversation can be resumed in cwd (absolute, links resolved).

    A local conversation that has all of the stored one is kept; one that the stored one continues
    is replaced.  If the two diverged, the stored one gets a new id and is put beside the local
    one.  force: replace the local one in any case.  Nothing is written yet.
    """
    own_id = session["session_id"]
    outcome: Restored = {
        "session_id": session["session_id"],
        "agent": session["agent"],
        "what": IMPOSSIBLE,
        "path": "",
        "command": "",
        "notes": [],
        "effects": [],
    }
    agent = find_client(session["agent"])
    if not agent.can_cut() or not session["transcript"]:
        if path := _find_conversation(repo, own_id):
            command = agent.format_resume_command(own_id)
            return {**outcome, "what": KEPT, "path": path, "command": command}
        lack = f"the transcripts of {session['agent']} cannot be written"
        return {**outcome, "notes": [lack if session["transcript"] else "no transcript is stored"]}
    outcome["command"] = agent.format_resume_command(own_id)
    cutter = agent.get_cutter()
    leaf = cutter.find_last_leaf(session["transcript"])
    data, notes = cutter.cut_conversation(session["transcript"], leaf, own_id, own_id, True)
    path = _find_local(repo, agent, own_id, cwd)
    outcome |= {"path": path, "notes": notes}
    local = read_bytes(path)
    if local is not None and not force:
        if cutter.cut_conversation(local, leaf, own_id, own_id, False)[0]:
            return {**outcome, "what": KEPT, "notes": []}
        if not _is_older(cutter, local, data):
            return _put_beside(repo, agent, session, cwd, outcome)
    outcome["what"] = WRITTEN if local is None else REPLACED
    return {**outcome, "effects": [conversation.make_effect(repo, path, data)]}


def _put_beside(
    repo: Repo, agent: Client, session: Stored, cwd: str, outcome: Restored
) -> Restored:
    """The outcome for a conversation put beside one that diverged.  Its new id is made from its
    last leaf: a second call with the same conversation finds it and writes nothing."""
    own_id, cutter = session["session_id"], agent.get_cutter()
    leaf = cutter.find_last_leaf(session["transcript"])
    new_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{own_id} {leaf}"))
    path = _find_local(repo, agent, new_id, cwd)
    outcome = {**outcome, "path": path, "command": agent.format_resume_command(new_id)}
    if os.path.exists(path):
        return {**outcome, "what": KEPT, "notes": []}
    data = cutter.cut_conversation(session["transcript"], leaf, own_id, new_id, True)[0]
    data += agent.format_title(f"session {own_id[:8]} as it is stored", new_id)
    return {**outcome, "what": BESIDE, "effects": [conversation.make_effect(repo, path, data)]}


def _is_older(cutter: ModuleType, local: bytes, data: bytes) -> bool:
    """Whether the stored conversation contains the end of the local one."""
    end = cutter.find_last_leaf(local)
    return not end or bool(cutter.cut_conversation(data, end, "", "", False)[0])


def _find_local(repo: Repo, agent: Client, session_id: str, cwd: str) -> str:
    """The path where the client has the conversation, or would look for it."""
    folder = conversation.find_home(agent, cwd)
    pattern = os.path.join(glob.escape(folder), "**", f"*{glob.escape(session_id)}.jsonl")
    listed = [p for p in sorted(glob.glob(pattern, recursive=True)) if "subagents" not in p]
    paths = [p for p in listed if _is_named(agent, os.path.basename(p), session_id)]
    if paths:
        return paths[-1]
    if cwd == os.path.realpath(repo.worktree) and (known := _find_conversation(repo, session_id)):
        return known
    return os.path.join(folder, agent.name_transcript(session_id, format_now()))


def _is_named(agent: Client, name: str, session_id: str) -> bool:
    """Whether a file has the name that the client gives to a session with this whole id, at any
    time."""
    own, longer = (
        os.path.basename(agent.name_transcript(one, format_now()))
        for one in (session_id, f"{session_id}0")
    )
    size = len(own) - len(f"{session_id}.jsonl")  # of what is before the id: a word and the time
    begin, expected = _replace_digits(name[:size]), _replace_digits(own[:size])
    return own != longer and name[size:] == own[size:] and begin == expected


def _replace_digits(text: str) -> str:
    return "".join("0" if c.isdigit() else c for c in text)


def _find_conversation(repo: Repo, session_id: str) -> str:
    """The path of a session's transcript by its state here; '' if there is no such file."""
    path = (states.peek(repo, session_id) or {}).get("transcript_path")
    return path if isinstance(path, str) and os.path.exists(path) else ""


def write_restored(repo: Repo, objects: Objects, restored: Iterable[Restored], name: str) -> str:
    """Write the planned conversations; return the id of the undo step, '' if nothing is written."""
    planned = [effect for outcome in restored for effect in outcome["effects"]]
    if not planned:
        return ""
    effects.put_effects(repo, objects, planned)
    return undo_log.record_step(repo, objects, "resume", name, planned)
