"""Open edits that are away in another worktree: work that was stashed there and popped here.  A
commit in this worktree may have them, by evidence."""

from __future__ import annotations

import os

from gitcp.record import journal, looks
from gitcp.record.journal import Journal, credit, held_lines, read_clock
from gitcp.record.journal.edits import list_open_paths_in
from gitcp.record.journal.line_kinds import CheckpointLine, JournalLine, Settlement
from gitcp.record.journal.stretches import collect_work
from gitcp.record.match import open_edits
from gitcp.text import ids, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.record.journal.stretches import SessionWork, Stretch
    from gitcp.text.record_types import Recorded, State


@value_class
class _Away:
    """A stretch of a session at a path that its worktree does not hold."""

    path: str
    stretch: Stretch


def list_worktrees(repo: Repo, session: Mapping[str, Any]) -> list[str]:
    """The ids of the other worktrees in which a session, by its state or marker, may have open
    edits."""
    worktree_ids = dict.fromkeys([session.get("worktree_id") or "", *session.get("visits", ())])
    return [name for name in worktree_ids if name != repo.worktree_id]


def list_records(repo: Repo, session: Mapping[str, Any], paths: Collection[str]) -> list[Recorded]:
    """The records, in the form that match() takes, of a session's edits at these paths that are
    away in other worktrees."""
    away: list[_Away] = []
    for worktree_id in list_worktrees(repo, session):
        away += _look_for_away(repo, worktree_id, session["session_id"], paths)
    if not away:
        return []
    lines = journal.read_journal(repo)
    records: list[Recorded] = []
    for one in away:
        if not _is_brought(lines, session["session_id"], one):
            records.append({**one.stretch.build_record(one.path), "live": False})
    return records


def bring_edits(repo: Repo, state: State, paths: Collection[str]) -> None:
    """Move a session's edits at these paths that are away in other worktrees to this journal."""
    session_id = state["session_id"]
    for worktree_id in list_worktrees(repo, state):
        away = _look_for_away(repo, worktree_id, session_id, paths)
        if not away:
            continue
        with Journal(repo) as held:
            at = read_clock(repo)
            edits: list[Edit] = []
            for one in away:
                if not _is_brought(held.lines, session_id, one):
                    edits += _make_stated_edits(one.stretch, at)
            held.append(edits)
        other = journal.find_worktree(repo, worktree_id)
        if other:
            _settle_edits(other, away)
        note_visit(state, repo)


def bring_renamed(repo: Repo, state: State, former: Collection[str], changes: Changes) -> None:
    """State a session's edits at these paths, whose files were renamed since, anew under the names
    that a commit with these changes has of them, and put them on the same streams."""
    lines: list[JournalLine] = []
    taken: dict[str, list[Any]] = {}
    with Journal(repo) as held:
        work = collect_work(held.lines, state["session_id"])
        at = read_clock(repo)
        streams = credit.map_recorded_files(held.lines, state["session_id"])
        for path in former:
            for stretch in work.list_stretches(path):
                names = [edit.name for edit in stretch.edits]
                for name in _list_new_names(repo, stretch.build_record(path), former, changes):
                    for edit in _make_stated_edits(stretch, at):
                        lines.append(edit.having(path=name))
                    taken.setdefault(path, []).extend(names)
                    lines += _rename_recorded(streams.values(), path, name, at)
        if taken:
            held.append([*lines, Settlement({"taken": taken, "at": at})])


def _list_new_names(
    repo: Repo, record: Recorded, former: Collection[str], changes: Changes
) -> list[str]:
    """The names that a commit with these changes has of a renamed file with a session's work."""
    read = repo.objects.read_blob
    pairs = open_edits.pair_renamed([record], changes, read, former.__contains__)
    return [pair.target for pair in pairs]


def _rename_recorded(
    streams: Iterable[Mapping[str, CheckpointLine] | None], path: str, name: str, at: int
) -> list[CheckpointLine]:
    """The lines that put the file which streams have at a path on them under another name."""
    renamed = []
    for files in streams:
        if files and path in files:
            line = files[path].lacking(("out",))
            renamed.append(line.having(files={name: line.files[path]}, at=at))
    return renamed


def _is_brought(lines: Sequence[JournalLine], session_id: str, away: _Away) -> bool:
    """Whether a journal has these edits already.  Edits of a deleted worktree cannot be marked as
    settled there, so this may see them twice."""
    for edit in credit.list_edits(lines):
        if edit.path != away.path or edit.how != credit.STATED:
            continue
        if edit.author[0] == session_id and edit.after == away.stretch.written:
            return True
    return False


def _make_stated_edits(stretch: Stretch, at: int) -> list[Edit]:
    """The edits of a stretch, as edits that are stated at a time in ns."""
    stated = []
    for edit in stretch.edits:
        stated.append(edit.come_back().having(how=credit.STATED, at=at, made=edit.made))
    return stated


def _settle_edits(other: Repo, away: Iterable[_Away]) -> None:
    """Write in another worktree's journal that these edits are settled there."""
    taken: dict[str, list[Any]] = {}
    for one in away:
        taken.setdefault(one.path, []).extend(edit.name for edit in one.stretch.edits)
    with Journal(other) as held:
        held.append([Settlement({"taken": taken, "at": read_clock(other)})])


def _look_for_away(
    repo: Repo, worktree_id: str, session_id: str, paths: Collection[str]
) -> list[_Away]:
    """The stretches of a session at these paths that its worktree, which is looked at, does not
    hold; all if that worktree is gone."""
    exists = os.path.isdir(journal.get_git_dir(repo, worktree_id))
    if not exists and list_open_paths_in(repo, worktree_id, session_id).isdisjoint(paths):
        return []
    work = read_work(repo, worktree_id, session_id)
    open_paths = sorted({*work.list_paths()} & {*paths})
    other = None
    if open_paths and exists:
        other = journal.find_worktree(repo, worktree_id)
    if other:
        with Journal(other) as held:
            looks.record_paths(held, open_paths, read_clock(other))
            work = collect_work(held.lines, session_id)
    away = []
    for path in open_paths:
        for stretch in work.list_stretches(path):
            if not (exists and stretch.live):
                away.append(_Away(path, stretch))
    return away


def read_work(repo: Repo, worktree_id: str, session_id: str) -> SessionWork:
    """The open edits of a session in a worktree; those in its ref if the worktree is gone."""
    git_dir = journal.get_git_dir(repo, worktree_id)
    if os.path.isdir(git_dir):
        return collect_work(journal.read_journal(repo, git_dir), session_id)
    lines = held_lines.read_lines(repo, ids.hash_worktree(worktree_id), session_id)
    return collect_work(lines, session_id)


def note_visit(state: State, other: Repo) -> None:
    """Note in a session's state that it has worked in a worktree."""
    state["visits"] = list(dict.fromkeys((*state.get("visits", ()), other.worktree_id)))


def forget_visits(repo: Repo, state: State) -> None:
    """Remove from a state's `visits` the worktrees without open edits and calls of its session."""
    session_id = state["session_id"]
    worktree_ids = state.pop("visits", [])
    remaining = [name for name in worktree_ids if _is_at_work(repo, name, session_id)]
    if remaining:
        state["visits"] = remaining


def _is_at_work(repo: Repo, worktree_id: str, session_id: str) -> bool:
    """Whether a session has an open edit, or an open call, in a worktree."""
    if read_work(repo, worktree_id, session_id).list_paths():
        return True
    git_dir = journal.get_git_dir(repo, worktree_id)
    if not os.path.isdir(git_dir):
        return False
    calls = credit.list_calls(journal.read_journal(repo, git_dir))
    return any(call.session == session_id and call.is_running for call in calls)
