"""Mending states, their markers and copies, journals, and checkpoints that only a state has."""

from __future__ import annotations

import os

from gitcp.checkpoints.stored import list_session_ids
from gitcp.errors import InputError
from gitcp.git import files, refs
from gitcp.git.files import Damaged, exclusive, move_aside, read_file
from gitcp.git.objects import read_commit
from gitcp.link import unhooked
from gitcp.record import journal, session
from gitcp.record.journal import held_lines
from gitcp.record.journal.line_kinds import parse_lines
from gitcp.record.session import others
from gitcp.record.stream import read_tip, read_with_turns, save_work
from gitcp.record.stream.stream_list import recall_state
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

_MOST = 1 << 30  # bytes of a journal
_NO_TEXT = -1


def mend_state(repo: Repo, session_id: str) -> str:
    """Write the state and its marker again; take a lost state from the copy on its stream; return
    what was done.  Files whose name is no session's id are moved aside."""
    try:
        ids.check_session_id(session_id)
    except InputError:
        return _move_unknown(repo, session_id)
    with others.held_state(repo, [session_id]):
        state = recall_state(repo, session_id)
        if state is None:
            return _move_unknown(repo, session_id)
        save_work(repo, state)
    return "wrote it again"


def take_copy(repo: Repo, session_id: str, ref: str) -> str:
    """Replace a state by its copy on a stream if that is newer; return what was done."""
    with others.held_state(repo, [session_id]):
        tip = read_tip(repo.objects, ref)
        copy = None
        if tip:
            copy = read_with_turns(repo.objects, tip, session_id)
        state = session.load_state(repo, session_id)
        if not state or not copy or copy.get("revision", 0) <= state.get("revision", 0):
            return ""
        copy = session.update_fields(copy)
        save_work(repo, copy)
        return "took the newer copy of it"


def _move_unknown(repo: Repo, session_id: str) -> str:
    """Move the marker and the state of an unknown session aside; an unreadable state may have been
    moved before."""
    state = os.path.join(session.get_folder(repo), f"{session_id}.json")
    moved: list[str] = []
    for path in (others.find_path(repo, session_id), state):
        if os.path.lexists(path):
            moved.append(f"'{move_aside(repo.common, path)}'")
    places = moved or [f"'{files.locate_aside(repo.common)}'"]
    return f"moved what could not be read to {' and '.join(places)}"


def store_missing_checkpoint(repo: Repo, oid: str, checkpoint_id: str) -> str:
    """Store the open sessions of this worktree, except those at work, in the checkpoint that a
    commit made here names; return what was done."""
    commit = read_commit(repo.objects, oid)
    if commit is None or not repo.top or oid not in refs.select_made(refs.list_head_moves(repo)):
        return ""
    before = set(list_session_ids(repo, checkpoint_id))
    for name in [marker["session_id"] for marker in unhooked.list_resting(repo)]:
        with others.held_state(repo, [name]):
            state = session.load_state(repo, name)
            if state:
                unhooked.link_one(repo, state, commit)
                save_work(repo, state)
    if before.issuperset(list_session_ids(repo, checkpoint_id)):
        return ""
    return "stored it"


def count_unreadable_lines(path: str) -> int:
    """The number of unreadable lines of a journal; -1 if it is not a text file."""
    try:
        data = read_file(path, _MOST) or b""
    except Damaged:
        return _NO_TEXT
    if not data.isascii():
        return _NO_TEXT
    data = data[: data.rfind(b"\n") + 1]  # a process may be writing the last line
    return data.count(b"\n") - len(parse_lines(data))


def mend_journal(repo: Repo, path: str) -> str:
    """Move a damaged journal aside and write it again from its readable lines and the refs of
    sessions; return what was done."""
    git_dir = os.path.dirname(os.path.dirname(path))
    home = journal.hash_home(repo, git_dir)
    with exclusive(repo, f"journal-{home}"):
        count = count_unreadable_lines(path)
        if not count:
            return ""
        data = b""
        if count != _NO_TEXT:
            data = read_file(path, _MOST) or b""
        lines = parse_lines(data)
        aside = move_aside(repo.common, path)
        remaining = journal.expand_trees(repo, lines)
        rebuilt = held_lines.rebuild_journal(repo, home, remaining)
        journal.replace_journal(repo, git_dir, rebuilt)
    return f"kept {len(lines)} lines, moved it to '{aside}'"
