"""What a session writes by path into worktrees that are not its home: an edit lies where the path
lies.

The session's state names them in `visits` while an edit is open there, so that a commit asks.
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
    """root of another worktree of the repository -> those of the absolute paths that lie in it."""
    inside: dict[str, list[str]] = {}
    for path in paths:
        root = find_root_above(path)
        if root and _find_git_dir(root) != repo.git_dir and _find_common_dir(root) == repo.common:
            inside.setdefault(root, []).append(path)
    return inside


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


def _find_common_dir(root: str) -> str:
    folder = _find_git_dir(root)
    above, name = os.path.split(os.path.dirname(folder))
    return above if name == "worktrees" else folder


def take_call(
    repo: Repo, state: State, call: JournalLine, starts: bool, inside: dict[str, list[str]]
) -> bool:
    """Take a file tool's start or end into the journals of the worktrees in which its paths lie;
    whether the state names one more now."""
    before = list(state.get("visits", ()))
    for root, paths in inside.items():
        other = Repo.find(root)
        places = turn_log.resolve_paths(other, paths)
        with Journal(other) as held:
            act = file_tools.begin_call if starts else file_tools.end_call
            act(Objects.get_shared(other), held, state, call, places, read_clock(other))
        _note_visit(state, other)
    return before != state.get("visits", [])


def _note_visit(state: State, other: Repo) -> None:
    visits = state.setdefault("visits", [])
    if other.worktree_id not in visits:
        visits.append(other.worktree_id)


def end_turn(repo: Repo, state: State, subject: str) -> None:
    """A turn is over: what its transcript says was written elsewhere is seen there, and the
    session's ref holds the contents."""
    inside = (
        {}
        if state.get("tool_events")
        else group_by_worktree(repo, _list_written_paths(repo, state))
    )
    visited = (elsewhere.find_worktree(repo, name) for name in state.get("visits", ()))
    for root in dict.fromkeys([*inside, *(other.worktree for other in visited if other)]):
        try:
            _end_turn_in(Repo.find(root), state, subject, inside.get(root, []))
        except (Error, OSError):
            continue  # it is gone, or going
    forget_visits(repo, state)


def _end_turn_in(other: Repo, state: State, subject: str, paths: list[str]) -> None:
    objects = Objects.get_shared(other)
    with Journal(other) as held:
        held.guests = [{**markers.build_marker(state), "phase": "active"}]
        look.look_at_paths(objects, held, turn_log.resolve_paths(other, paths), read_clock(other))
        edits_ref.hold_edits(other, objects, held, state["session_id"], subject)
    _note_visit(state, other)


def _list_written_paths(repo: Repo, state: State) -> Iterable[str]:
    base = turn_log.read_baseline(repo, state["session_id"])
    agent = state.get("agent_type", "")
    return windows.list_transcript_paths(agent, base, int(base.get("offset", 0))) if base else ()


def forget_visits(repo: Repo, state: State) -> None:
    """Let a state name no worktree any more in which nothing of its session is open."""
    left = [
        name
        for name in state.get("visits", ())
        if elsewhere.read_work(repo, name, state["session_id"]).list_paths()
    ]
    state["visits"] = left
    if not left:
        del state["visits"]
