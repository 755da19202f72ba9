"""Open edits that are away in another worktree: work that was stashed there and popped here.  A
commit in this worktree may have them, by evidence."""

from __future__ import annotations

import os

from gitcp.core.credit import entries
from gitcp.core.git import ids
from gitcp.process import files
from gitcp.repo import Repo
from gitcp.start import late
from gitcp.store.git.objects import Objects
from gitcp.store.journal import journal, look
from gitcp.store.journal.journal import Journal, read_clock
from gitcp.store.journal.work import Work, list_open_paths_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.record_types import JournalLine, State
    from gitcp.store.journal.work import Stretch


def list_worktrees(repo: Repo, session: Mapping[str, Any]) -> list[str]:
    """The ids of the other worktrees in which a session, by its state or marker, may have open
    edits."""
    worktree_ids = [session.get("worktree_id") or "", *session.get("visits", ())]
    return [
        worktree_id
        for worktree_id in dict.fromkeys(worktree_ids)
        if worktree_id != repo.worktree_id
    ]


def list_records(repo: Repo, session: Mapping[str, Any], paths: Collection[str]) -> list[Recorded]:
    """The records, as match() takes them, of a session's edits at these paths that are away in
    other worktrees."""
    away = [
        pair
        for worktree_id in list_worktrees(repo, session)
        for pair in _list_away(repo, worktree_id, session, paths)
    ]
    lines = journal.read(repo) if away else []
    return [
        {**stretch.build_record(path), "live": False}
        for path, stretch in away
        if not _is_brought(lines, session["session_id"], path, stretch)
    ]


def bring_edits(repo: Repo, state: State, paths: Collection[str]) -> None:
    """Move a session's edits at these paths that are away in other worktrees to this journal."""
    for worktree_id in list_worktrees(repo, state):
        stretches = list(_list_away(repo, worktree_id, state, paths))
        if not stretches:
            continue
        with Journal(repo) as held:
            at, lines = read_clock(repo), []
            for path, stretch in stretches:
                if not _is_brought(held.lines, state["session_id"], path, stretch):
                    lines += _make_stated_edits(stretch, at)
            held.append(lines)
        other = find_worktree(repo, worktree_id)
        if other:
            _settle_edits(other, stretches)
        if state.get("worktree_id", "") != repo.worktree_id:
            state["visits"] = sorted({*state.get("visits", ()), repo.worktree_id})


def _is_brought(lines: list[JournalLine], session_id: str, path: str, stretch: Stretch) -> bool:
    """Whether a journal has these edits already.  They cannot be settled in the journal of a
    worktree that is gone, so they are found again."""
    return any(
        line.get("path") == path
        and line["how"] == entries.STATED
        and entries.get_author(line)[0] == session_id
        and entries.parse_entry(line["after"]) == stretch.own
        for line in lines
    )


def _make_stated_edits(stretch: Stretch, at: int) -> list[JournalLine]:
    lines = [{**edit, "how": entries.STATED, "at": at} for edit in stretch.edits]
    return [{key: value for key, value in line.items() if key != "left"} for line in lines]


def _settle_edits(other: Repo, stretches: Iterable[tuple[str, Stretch]]) -> None:
    settled: dict[str, list[Any]] = {}
    for path, stretch in stretches:
        settled.setdefault(path, []).extend(map(entries.get_edit_name, stretch.edits))
    with Journal(other) as held:
        held.append([{"taken": settled, "at": read_clock(other)}])


def _list_away(
    repo: Repo, worktree_id: str, session: Mapping[str, Any], paths: Collection[str]
) -> Iterator[tuple[str, Stretch]]:
    """The stretches of a session that its worktree does not hold; all if that worktree is gone."""
    session_id = session["session_id"]
    exists = os.path.isdir(journal.get_git_dir(repo, worktree_id))
    if not exists and list_open_paths_in(repo, worktree_id, session_id).isdisjoint(paths):
        return
    work = read_work(repo, worktree_id, session_id)
    open_paths = sorted({*work.list_paths()} & {*paths})
    other = find_worktree(repo, worktree_id) if open_paths and exists else None
    if other:
        with Journal(other) as held:
            look.record_paths(Objects.get_shared(other), held, open_paths, read_clock(other))
            work = Work(held.lines, session_id)
    for path in open_paths:
        for stretch in work.list_stretches(path):
            if not (exists and stretch.live):
                yield path, stretch


def read_work(repo: Repo, worktree_id: str, session_id: str) -> Work:
    """The open edits of a session in a worktree; those in its ref if the worktree is gone."""
    git_dir = journal.get_git_dir(repo, worktree_id)
    if os.path.isdir(git_dir):
        return Work(journal.read(repo, git_dir), session_id)
    return Work(
        late.edits_ref.read_lines(repo, ids.hash_worktree(worktree_id), session_id), session_id
    )


def find_worktree(repo: Repo, worktree_id: str) -> Repo | None:
    """Another worktree of the repository by git's name of it; None if it is gone."""
    git_dir = journal.get_git_dir(repo, worktree_id)
    link = os.fsdecode(files.peek(os.path.join(git_dir, "gitdir"))).strip()
    top, file = os.path.split(link if worktree_id else repo.common)
    if file != ".git" or not os.path.lexists(os.path.join(top, file)):
        return None
    return Repo(top, git_dir, repo.common, repo.algo, repo.git)
