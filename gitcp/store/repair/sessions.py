"""Mending damaged or lost states, markers and journals, and checkpoints that commits name."""

from __future__ import annotations

import os

from gitcp.core.credit import entries
from gitcp.core.git import ids
from gitcp.errors import InputError
from gitcp.lock import exclusive
from gitcp.process.files import Damaged, move_aside, read_file
from gitcp.store.git.commit import read_commit
from gitcp.store.journal import journal, work
from gitcp.store.link import unhooked
from gitcp.store.session import markers
from gitcp.store.session import state as states
from gitcp.store.stream import recall, shadow_refs, state_copy
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def mend_state(repo: Repo, objects: Objects, session_id: str) -> str:
    """Write a state and its marker again, a lost state from its copy on a stream; return what was
    done.  Files whose name is no session's id are moved aside."""
    try:
        ids.check_session_id(session_id)
    except InputError:
        return _report_unknown(repo, session_id)
    with states.held(repo, [session_id]):
        state = recall.recall_state(repo, objects, session_id)
        if state is None:
            return _report_unknown(repo, session_id)
        work.save(repo, state)
    return f"wrote the state, revision {state['revision']}, and its marker"


def take_copy(repo: Repo, objects: Objects, session_id: str, ref: str) -> str:
    """Replace a state by its copy on a stream if that is newer; return what was done."""
    with states.held(repo, [session_id]):
        tip = shadow_refs.read_tip(objects, ref)
        copy = state_copy.read_with_turns(objects, tip, session_id) if tip else None
        state = states.load(repo, session_id)
        if not state or not copy or copy.get("revision", 0) <= state.get("revision", 0):
            return ""
        before, copy = state.get("revision", 0), states.update_fields(copy)
        work.save(repo, copy)
        return f"took the copy: revision {before} became {copy['revision']}"


def _report_unknown(repo: Repo, session_id: str) -> str:
    """Move the marker and the state of an unknown session aside; an unreadable state may have been
    moved before."""
    state = os.path.join(states.get_folder(repo), f"{session_id}.json")
    places = {"marker": markers.find_path(repo, session_id), "state": state}
    done = [
        f"moved the {what} to '{move_aside(repo.common, path)}'"
        for what, path in places.items()
        if os.path.lexists(path)
    ]
    if done:
        return " and ".join(done)
    return f"moved what could not be read to '{repo.join_shared('corrupt')}'"


def store_missing_checkpoint(repo: Repo, objects: Objects, oid: str, checkpoint_id: str) -> str:
    """Store the open sessions of this worktree, except those at work, in the checkpoint that a
    commit made here names; return what was done."""
    commit = read_commit(objects, oid)
    if commit is None or not repo.top or oid not in unhooked.list_made_here(repo):
        return ""
    before = committed_read.list_session_ids(repo, objects, checkpoint_id)
    for name in [marker["session_id"] for marker in unhooked.list_resting(repo)]:
        with states.held(repo, [name]):
            state = states.load(repo, name)
            if state:
                unhooked.link_one(repo, objects, state, commit)
                work.save(repo, state)
    after = committed_read.list_session_ids(repo, objects, checkpoint_id)
    return "stored it" if set(after) - set(before) else ""


_MOST = 1 << 30  # bytes


def count_lines(path: str) -> int:
    """The number of unreadable lines of a journal; -1 if it is no text file."""
    try:
        data = read_file(path, _MOST) or b""
    except Damaged:
        return -1
    if not data.isascii():
        return -1
    data = data[: data.rfind(b"\n") + 1]  # a process may be writing the last line
    return data.count(b"\n") - len(entries.parse_lines(data))


def mend_journal(repo: Repo, _: Objects, path: str) -> str:
    """Move a damaged journal aside and write it again from its readable lines and the refs of
    sessions; return what was done."""
    git_dir = os.path.dirname(os.path.dirname(path))
    with exclusive(repo, f"journal-{journal.hash_home(repo, git_dir)}"):
        count = count_lines(path)
        if not count:
            return ""
        lines = entries.parse_lines(b"" if count < 0 else read_file(path, _MOST) or b"")
        aside = move_aside(repo.common, path)
        journal.replace(repo, git_dir, journal.rebuild(repo, git_dir, lines))
    return f"kept {len(lines)} lines, moved it to '{aside}'"
