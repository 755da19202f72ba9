"""A session that works in other worktrees than its home: its calls and turns there, and `visits` of
its state, the worktrees in which it has open edits."""

from __future__ import annotations

import os

from gitcp import git
from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.repo import Repo
from gitcp.record import journal, looks, session
from gitcp.record.journal import Journal, credit, elsewhere, read_clock
from gitcp.record.journal.line_kinds import LookLine, Opening
from gitcp.record.looks import windows
from gitcp.record.snapshot import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from gitcp.text.record_types import Marker, State, Tool

    Act = Callable[[Journal, State, Tool, list[str], int], None]
    ShellAct = Callable[[Journal, int], None]


def look_as_stranger(other: Repo, paths: Iterable[str]) -> None:
    """Look at these paths of another repository, by default at all if that is cheap: what changed
    there is by a session whose call did not begin there, and is unknown.  What is wrong there
    concerns no session here."""
    try:
        _look(other, session.resolve_paths(other, paths))
    except (Error, OSError) as e:
        git.append_trace("journal", f"{other.worktree}: {e}")


def look_after_gap(worktree: Repo) -> None:
    """Look at a whole worktree in which sessions were recorded: who changed what while nothing was
    is unknown."""
    if not os.path.exists(worktree.join_own(journal.NAME)):
        return
    with Journal(worktree, stranger=True) as held:
        looks.scan_now(held, read_clock(worktree))


def _look(other: Repo, paths: Collection[str]) -> None:
    with Journal(other, stranger=True) as held:
        at = read_clock(other)
        if not paths:
            looks.scan_if_cheap(held, at, first=True)
        else:
            looks.record_paths(held, paths, at)
        marker = other.join_own(journal.VISITED)
        open_edits = credit.list_open_edits(held.lines)
        is_strange = any(map(credit.is_strange, open_edits))
        if not is_strange and os.path.lexists(marker):
            files.remove_private(other, marker)


def take_call(
    repo: Repo, state: State, call: Tool, act: Act, groups: Mapping[str, list[str]]
) -> bool:
    """Record a file tool's start or end in the journals of other worktrees; return whether the
    state's `visits` changed.  act: calls.begin_call() or end_call().  groups: as
    group_by_worktree() returns them."""
    before = list(state.get("visits", ()))
    for root, paths in groups.items():
        other = Repo.find(root)
        with Journal(other) as held:
            act(held, state, call, session.resolve_paths(other, paths), read_clock(other))
        elsewhere.note_visit(state, other)
    return before != state.get("visits", [])


def take_shell_call(state: State, others: Iterable[Repo], act: ShellAct) -> bool:
    """Record a shell call's start or end in the journals of other worktrees; return whether the
    state's `visits` changed.  act: records it in a journal, at a time by its clock."""
    before = list(state.get("visits", ()))
    for other in others:
        try:
            with Journal(other, telling=state["session_id"]) as held:
                act(held, read_clock(other))
        except (Error, OSError) as e:
            git.append_trace("journal", f"{other.worktree}: {e}")  # it is being removed
            continue
        elsewhere.note_visit(state, other)
    return before != state.get("visits", [])


def begin_turn(repo: Repo, state: State) -> None:
    """Close the calls of the last turn in other worktrees that no event closed."""
    for other in _list_visited(repo, state):
        with Journal(other) as held:
            looks.close_calls(held, state, read_clock(other))


def end_turn(repo: Repo, state: State, subject: str, tasks: Collection[str]) -> None:
    """End a turn in other worktrees: look at the paths that its transcript names there, and at all
    where its calls have not been looked at since; close its calls, and let the session's ref hold
    the contents.  tasks: as for looks.end_turn()."""
    written: Iterable[str] = ()
    if not state.get("tool_events"):
        written = _list_written_paths(repo, state)
    groups = journal.group_by_worktree(repo, written)
    visited = [other.worktree for other in _list_visited(repo, state)]
    for root in dict.fromkeys([*groups, *visited]):
        try:
            other = Repo.find(root)
            _look_at_calls(other, state)
            _end_turn_in(other, state, subject, groups.get(root, []), tasks)
        except (Error, OSError):
            continue  # the worktree is gone
    elsewhere.forget_visits(repo, state)


def _list_visited(repo: Repo, state: State) -> list[Repo]:
    """The other worktrees of a state's `visits` that are there."""
    others = []
    for worktree_id in state.get("visits", ()):
        other = journal.find_worktree(repo, worktree_id)
        if other and other.worktree_id != repo.worktree_id:
            others.append(other)
    return others


def _look_at_calls(other: Repo, state: State) -> None:
    """Look at another worktree if a call of the turn worked there without a look at its end."""
    if not _is_look_due(other, state["session_id"], state.get("turn_id", "")):
        return
    look = looks.look_at_worktree(other)
    head = look.scan.head or "0" * len(other.empty_tree)
    dirty = scan.resolve_changes(other.objects, look.scan, write=False)
    look.take(head, dirty, telling=state["session_id"])


def _is_look_due(other: Repo, session_id: str, turn: str) -> bool:
    """Whether a shell call of a turn began in a worktree after the last look there."""
    for line in reversed(journal.read_journal(other)):
        if isinstance(line, LookLine):
            return False
        if isinstance(line, Opening) and line.kind == credit.SHELL:
            is_of_turn = (line.session, line.turn) == (session_id, turn)
            if is_of_turn:
                return True
    return False


def _end_turn_in(
    other: Repo, state: State, subject: str, paths: list[str], tasks: Collection[str]
) -> None:
    guests: list[Marker] = [{**session.build_marker(state), "phase": "active"}]
    with Journal(other, guests=guests) as held:
        at = read_clock(other)
        looks.record_paths(held, session.resolve_paths(other, paths), at)
        looks.close_calls(held, state, at, {*tasks})
        journal.hold_edits(other, held, state["session_id"], subject)
    elsewhere.note_visit(state, other)


def _list_written_paths(repo: Repo, state: State) -> Iterable[str]:
    base = session.read_baseline(repo, state["session_id"])
    agent = state.get("agent_type", "")
    if base:
        return windows.list_transcript_paths(agent, base, int(base.get("offset", 0)))
    return ()
