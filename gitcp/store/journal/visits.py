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
from gitcp.store.journal.journal import Journal, clock
from gitcp.store.session import markers, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import JournalLine, State


def places(repo: Repo, paths: Iterable[str]) -> dict[str, list[str]]:
    """root of another worktree of the repository -> those of the absolute paths that lie in it."""
    inside: dict[str, list[str]] = {}
    for path in paths:
        root = root_above(path)
        if root and _git_dir(root) != repo.git_dir and _common(root) == repo.common:
            inside.setdefault(root, []).append(path)
    return inside


def root_above(path: str) -> str:
    """The nearest directory above an absolute path that has a `.git`; '' for none."""
    folder = os.path.realpath(os.path.dirname(path)) if os.path.isabs(path) else ""
    while folder and not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        folder = above if above != folder else ""
    return folder


def _git_dir(root: str) -> str:
    git = os.path.join(root, ".git")
    text = os.fsdecode(files.peek(git)) if os.path.isfile(git) else ""
    name = text.removeprefix("gitdir:").strip()
    return os.path.realpath(os.path.join(root, name)) if name else git


def _common(root: str) -> str:
    folder = _git_dir(root)
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
            act = file_tools.begin if starts else file_tools.end
            act(Objects.get_shared(other), held, state, call, places, clock(other))
        _note(state, other)
    return before != state.get("visits", [])


def _note(state: State, other: Repo) -> None:
    visits = state.setdefault("visits", [])
    if other.worktree_id not in visits:
        visits.append(other.worktree_id)


def end(repo: Repo, state: State, subject: str) -> None:
    """A turn is over: what its transcript says was written elsewhere is seen there, and the
    session's ref holds the contents."""
    inside = {} if state.get("tool_events") else places(repo, _transcript(repo, state))
    visited = (elsewhere.find(repo, name) for name in state.get("visits", ()))
    for root in dict.fromkeys([*inside, *(other.worktree for other in visited if other)]):
        try:
            _end(Repo.find(root), state, subject, inside.get(root, []))
        except (Error, OSError):
            continue  # it is gone, or going
    forget(repo, state)


def _end(other: Repo, state: State, subject: str, paths: list[str]) -> None:
    objects = Objects.get_shared(other)
    with Journal(other) as held:
        held.guests = [{**markers.marker(state), "phase": "active"}]
        look.paths(objects, held, turn_log.resolve_paths(other, paths), clock(other))
        edits_ref.keep(other, objects, held, state["session_id"], subject)
    _note(state, other)


def _transcript(repo: Repo, state: State) -> Iterable[str]:
    base = turn_log.baseline(repo, state["session_id"])
    agent = state.get("agent_type", "")
    return windows.transcript_paths(agent, base, int(base.get("offset", 0))) if base else ()


def forget(repo: Repo, state: State) -> None:
    """Let a state name no worktree any more in which nothing of its session is open."""
    left = [
        name
        for name in state.get("visits", ())
        if elsewhere.read_work(repo, name, state["session_id"]).paths()
    ]
    state["visits"] = left
    if not left:
        del state["visits"]
