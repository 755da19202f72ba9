"""Open edits that lie in another worktree and are away there, as what was stashed there and is
taken up here: a commit here may have them, by evidence."""

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
    from gitcp.repo import Repo
    from gitcp.store.journal.work import Stretch


def list_worktrees(repo: Repo, session: Mapping[str, Any]) -> list[str]:
    """The other worktrees, by git's names, in which a session may have open edits, by its state
    or marker."""
    named = [session.get("worktree_id") or "", *session.get("visits", ())]
    return [name for name in dict.fromkeys(named) if name != repo.worktree_id]


def list_records(repo: Repo, session: Mapping[str, Any], paths: Collection[str]) -> list[Recorded]:
    """What a session, by its marker, has away in other worktrees at these paths, as match() takes
    it."""
    away = [
        pair
        for name in list_worktrees(repo, session)
        for pair in _list_away(repo, name, session, paths)
    ]
    here = journal.read(repo) if away else []
    return [
        {**one.build_record(path), "live": False}
        for path, one in away
        if not _is_brought(here, session["session_id"], path, one)
    ]


def bring_edits(repo: Repo, state: State, paths: Collection[str]) -> None:
    """Move what a session has away in other worktrees at these paths to this one's journal."""
    for name in list_worktrees(repo, state):
        moving = list(_list_away(repo, name, state, paths))
        if not moving:
            continue
        with Journal(repo) as held:
            at = read_clock(repo)
            about = held.lines, state["session_id"]
            fresh = [one for path, one in moving if not _is_brought(*about, path, one)]
            held.append([_build_stated_edit(edit, at) for one in fresh for edit in one.edits])
        other = find_worktree(repo, name)
        if other:
            _take_edits(other, moving)
        if state.get("worktree_id", "") != repo.worktree_id:
            state["visits"] = sorted({*state.get("visits", ()), repo.worktree_id})


def _is_brought(lines: list[JournalLine], session_id: str, path: str, stretch: Stretch) -> bool:
    """Whether a journal has these edits already: nothing is taken from a worktree that is gone."""
    return any(
        line.get("path") == path
        and line["how"] == entries.STATED
        and entries.get_author(line)[0] == session_id
        and entries.parse_entry(line["after"]) == stretch.own
        for line in lines
    )


def _build_stated_edit(edit: JournalLine, at: int) -> JournalLine:
    line = {key: value for key, value in edit.items() if key != "left"}
    return {**line, "how": entries.STATED, "at": at}


def _take_edits(other: Repo, moving: Iterable[tuple[str, Stretch]]) -> None:
    taken: dict[str, list[Any]] = {}
    for path, one in moving:
        taken.setdefault(path, []).extend(map(entries.get_edit_name, one.edits))
    with Journal(other) as held:
        held.append([{"taken": taken, "at": read_clock(other)}])


def _list_away(
    repo: Repo, name: str, session: Mapping[str, Any], paths: Collection[str]
) -> Iterator[tuple[str, Stretch]]:
    """The stretches of a session in a worktree that are no part of what stands there; all, where
    the worktree is gone."""
    session_id, is_there = session["session_id"], os.path.isdir(journal.get_git_dir(repo, name))
    if not is_there and list_open_paths_in(repo, name, session_id).isdisjoint(paths):
        return
    open_there = read_work(repo, name, session_id)
    named = sorted({*open_there.list_paths()} & {*paths})
    other = find_worktree(repo, name) if named and is_there else None
    if other:
        with Journal(other) as held:
            look.look_at_paths(Objects.get_shared(other), held, named, read_clock(other))
            open_there = Work(held.lines, session_id)
    for path in named:
        yield from ((path, x) for x in open_there.list_stretches(path) if not (is_there and x.live))


def read_work(repo: Repo, name: str, session_id: str) -> Work:
    """The open edits of a session in a worktree; of one that is gone, those that its ref has."""
    git_dir = journal.get_git_dir(repo, name)
    if os.path.isdir(git_dir):
        return Work(journal.read(repo, git_dir), session_id)
    return Work(late.edits_ref.read_lines(repo, ids.hash_worktree(name), session_id), session_id)


def find_worktree(repo: Repo, name: str) -> Repo | None:
    """Another worktree of the repository, by git's name of it; None where it is gone."""
    git_dir = journal.get_git_dir(repo, name)
    link = os.fsdecode(files.peek(os.path.join(git_dir, "gitdir"))).strip()
    top, file = os.path.split(link if name else repo.common)
    if file != ".git" or not os.path.lexists(os.path.join(top, file)):
        return None
    return Repo(top, git_dir, repo.common, repo.algo, repo.git)
