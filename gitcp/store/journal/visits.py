"""Edits by a session in worktrees that are not its home: each is in the journal of the worktree
that holds the path.

The session's state lists these worktrees in `visits` while edits are open there; commits look at
them.
"""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.process import files
from gitcp.repo import Repo
from gitcp.store.git.objects import Objects
from gitcp.store.journal import edits_ref, elsewhere, file_tools, look, windows
from gitcp.store.journal.journal import Journal, read_clock
from gitcp.store.session import markers, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import JournalLine, State


def group_by_worktree(repo: Repo, paths: Iterable[str]) -> dict[str, list[str]]:
    """root of another worktree of the repository -> the absolute paths in it."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        root = find_root_above(path)
        git_dir = _find_git_dir(root) if root else repo.git_dir
        if git_dir != repo.git_dir and _find_common_dir(git_dir) == repo.common:
            groups.setdefault(root, []).append(path)
    return groups


def find_root_above(path: str) -> str:
    """The nearest directory above an absolute path that has a `.git`; '' for none."""
    folder = os.path.realpath(os.path.dirname(path)) if os.path.isabs(path) else ""
    while folder and not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        folder = above if above != folder else ""
    return folder


def _find_git_dir(root: str) -> str:
    git = os.path.join(root, ".git")
    text = os.fsdecode(files.peek(git)) if os.path.isfile(git) else ""
    name = text.removeprefix("gitdir:").strip()
    return os.path.realpath(os.path.join(root, name)) if name else git


def _find_common_dir(git_dir: str) -> str:
    above, name = os.path.split(os.path.dirname(git_dir))
    return above if name == "worktrees" else git_dir


def take_call(
    repo: Repo, state: State, call: JournalLine, starts: bool, groups: dict[str, list[str]]
) -> bool:
    """Record a file tool's start or end in the journals of other worktrees; return whether the
    state's `visits` changed.  groups: as group_by_worktree() returns them."""
    before = list(state.get("visits", ()))
    for root, paths in groups.items():
        other = Repo.find(root)
        relative = turn_log.resolve_paths(other, paths)
        with Journal(other) as held:
            record = file_tools.begin_call if starts else file_tools.end_call
            record(Objects.get_shared(other), held, state, call, relative, read_clock(other))
        _note_visit(state, other)
    return before != state.get("visits", [])


def _note_visit(state: State, other: Repo) -> None:
    visits = state.setdefault("visits", [])
    if other.worktree_id not in visits:
        visits.append(other.worktree_id)


def end_turn(repo: Repo, state: State, subject: str) -> None:
    """End a turn in other worktrees: look at the paths that its transcript names there, and let
    the session's ref hold the contents."""
    groups = (
        {}
        if state.get("tool_events")
        else group_by_worktree(repo, _list_written_paths(repo, state))
    )
    visited = (
        elsewhere.find_worktree(repo, worktree_id) for worktree_id in state.get("visits", ())
    )
    for root in dict.fromkeys([*groups, *(other.worktree for other in visited if other)]):
        try:
            _end_turn_in(Repo.find(root), state, subject, groups.get(root, []))
        except (Error, OSError):
            continue  # the worktree is gone
    forget_visits(repo, state)


def _end_turn_in(other: Repo, state: State, subject: str, paths: list[str]) -> None:
    objects = Objects.get_shared(other)
    with Journal(other) as held:
        held.guests = [{**markers.build_marker(state), "phase": "active"}]
        look.record_paths(objects, held, turn_log.resolve_paths(other, paths), read_clock(other))
        edits_ref.hold_edits(other, objects, held, state["session_id"], subject)
    _note_visit(state, other)


def _list_written_paths(repo: Repo, state: State) -> Iterable[str]:
    base = turn_log.read_baseline(repo, state["session_id"])
    agent = state.get("agent_type", "")
    return windows.list_transcript_paths(agent, base, int(base.get("offset", 0))) if base else ()


def forget_visits(repo: Repo, state: State) -> None:
    """Remove from a state's `visits` the worktrees without open edits of its session."""
    remaining = [
        worktree_id
        for worktree_id in state.get("visits", ())
        if elsewhere.read_work(repo, worktree_id, state["session_id"]).list_paths()
    ]
    state["visits"] = remaining
    if not remaining:
        del state["visits"]
