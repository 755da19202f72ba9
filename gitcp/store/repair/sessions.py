"""States and markers of sessions that are damaged or lost, and what commits promised of them."""

from __future__ import annotations

import os

from gitcp.core.credit import entries
from gitcp.lock import exclusive
from gitcp.process.files import Damaged, move_aside, read_file
from gitcp.store.git import private
from gitcp.store.git.commit import read_commit
from gitcp.store.journal import work
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
    """Write a state anew, from its copy on a stream where it is lost, and its marker; what was
    done."""
    with states.held(repo, [session_id]):
        state = recall.recall_state(repo, objects, session_id)
        if state is None:
            return _report_unknown(repo, session_id)
        work.save(repo, state)
    return f"wrote the state, revision {state['revision']}, and its marker"


def take_copy(repo: Repo, objects: Objects, session_id: str, ref: str) -> str:
    """Take the copy of a state on a stream, where it is newer than the state; what was done."""
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
    """Nothing is known of a session: what could not be read is set aside by now."""
    marker = markers.find_path(repo, session_id)
    if os.path.lexists(marker):
        return f"moved the marker to '{move_aside(repo.common, marker)}'"
    return f"moved what could not be read to '{repo.join_shared('corrupt')}'"


def keep_promise(repo: Repo, objects: Objects, oid: str, checkpoint_id: str) -> str:
    """Store what the open sessions here that are not at work have in a commit made here, under
    the id it carries; say so, '' where there is nothing to store."""
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
    """How many lines of a journal cannot be read; -1 for what is no file of text."""
    try:
        data = read_file(path, _MOST) or b""
    except Damaged:
        return -1
    if not data.isascii():
        return -1
    data = data[: data.rfind(b"\n") + 1]  # a line that is still being written is no lack
    return data.count(b"\n") - len(entries.parse_lines(data))


def mend_journal(repo: Repo, _: Objects, path: str) -> str:
    """Move a damaged journal aside and keep the lines that can be read; of one without any, the
    next reader makes another from the edits of sessions.  What was done."""
    with exclusive(repo, f"journal-{repo.worktree_hash}"):
        count = count_lines(path)
        if not count:
            return ""
        data = b"" if count < 0 else read_file(path, _MOST) or b""
        aside = move_aside(repo.common, path)
        lines = [line for line in data.splitlines(True) if entries.parse_lines(line)]
        if lines:
            private.write_private(repo, path, b"".join(lines))
    return f"kept {len(lines)} lines, moved it to '{aside}'"
