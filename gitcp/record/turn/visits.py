"""A session in several repositories: what happens in others than its home happens there as well.

The home is the repository in which the client was started, if there is one.  A file tool that
writes into another registered repository, and a command that runs there or names it, begins a turn
of the session there, with this call alone, and the turn's prompt once it has written there: the
state has `guest` and no transcript, and settings and consent are that repository's
(doc/behaviour.md "Events").

~/.local/state/gitcp/visits/<session id> has a file for each repository, with its worktree's path.
"""

from __future__ import annotations

import os
import shutil
from functools import partial

from gitcp.errors import Error, InputError
from gitcp.git import append_trace, files
from gitcp.git.repo import Repo
from gitcp.record import get_call, is_off, journal, locate_visits, registered
from gitcp.record import turn as store_turn
from gitcp.record.journal import credit, elsewhere, worktrees
from gitcp.record.looks import calls
from gitcp.record.session import others
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.text.record_types import Event, State

    Events = Iterator[tuple[Repo, Event]]

_MOST = 16  # repositories that an event looks at
_LASTING = 30 * 86400.0  # seconds after which the visits of a session that never ended are removed
_ENDS = {"turn-start": "turn-end", "turn-end": "turn-end", "session-end": "session-end"}


def list_events(event: Event, home: Repo | None, read_prompt: Callable[[], str]) -> Events:
    """What an event of a session is in other repositories than its home, each with its worktree.

    home: None if the client was started in no repository with gitcp.  read_prompt: gives the
    turn's prompt if there is no home."""
    try:
        session_id = ids.check_session_id(event.get("session_id"))
        name = event["event"]
    except InputError:
        return
    if home:
        read_prompt = partial(_read_turn, home, session_id)
    writes = get_call(event).get("kind") in ("write", "shell")
    if name == "tool-start" and writes:
        yield from _begin_call(event, home)
    elif name == "tool-end" and writes:
        yield from _end_call(event, home, read_prompt)
    elif name in _ENDS:
        for repo, state in _list_visited(session_id, home):
            if state["phase"] == "active" or name == "session-end":
                made = _make_event(event)
                made["event"] = _ENDS[name]
                if name == "turn-end":
                    made["prompt"] = read_prompt()
                yield repo, made
        if name == "session-end":
            shutil.rmtree(_locate(session_id), ignore_errors=True)


def _begin_call(event: Event, home: Repo | None) -> Events:
    for found, paths in _find_others(event, home):
        repo, state = _follow_home(found, event["session_id"])
        known: State = state or {}
        moves = (known.get("worktree_id") or "") != repo.worktree_id  # its worktree is gone
        if moves or known.get("phase") != "active":
            start = _make_event(event)
            start["event"] = "turn-start"
            del start["tool"]
            yield repo, start
        note_visit(event["session_id"], repo, home)
        yield repo, _make_event(event, paths)


def _end_call(event: Event, home: Repo | None, read_prompt: Callable[[], str]) -> Events:
    """The call's end where it began; where it did not, what has changed is nobody's."""
    session_id = event["session_id"]
    call_id = event["tool"].get("id", "")
    found = {repo.common: (repo, paths) for repo, paths in _find_others(event, home)}
    for repo, state in _list_visited(session_id, home):
        if _has_begun(repo, state, call_id):
            made = _make_event(event, found.pop(repo.common, (repo, []))[1])
            made["prompt"] = read_prompt()
            yield repo, made
    for repo, paths in found.values():
        worktrees.look_as_stranger(repo, paths)


def _has_begun(repo: Repo, state: State, call_id: str) -> bool:
    """Whether a journal of a repository has the start of a session's call: that of the session's
    worktree, or of another one in which it is."""
    session_id = state["session_id"]
    for name in (repo.worktree_id, *elsewhere.list_worktrees(repo, state)):
        git_dir = journal.get_git_dir(repo, name)
        if credit.find_opening(journal.read_journal(repo, git_dir), session_id, call_id):
            return True
    return False


def take_prompt(repo: Repo, state: State, event: Event) -> bool:
    """Take the turn's prompt from the end of a call or of the turn, if the turn has written here;
    return whether it was."""
    writer = state["session_id"], state.get("turn_id", "")
    turn = state["turns"].get(writer[1])
    if not turn or turn.get("prompt") or not event.get("prompt"):
        return False
    if not _has_written(repo, state, writer):
        return False
    store_turn.take_prompt(repo, state, event["prompt"])
    return True


def _has_written(repo: Repo, state: State, writer: tuple[str, str]) -> bool:
    """Whether a turn has an edit in a worktree of a repository.  writer: its session and itself."""
    for name in (repo.worktree_id, *elsewhere.list_worktrees(repo, state)):
        edits = credit.list_edits(journal.read_journal(repo, journal.get_git_dir(repo, name)))
        if any(edit.author[:2] == writer for edit in edits):
            return True
    return False


def _make_event(event: Event, paths: Iterable[str] = ()) -> Event:
    """An event as another repository gets it: without the conversation.  paths: those of its tool
    that are there."""
    made = event.copy()
    made.pop("transcript_path", None)
    made.pop("agent_transcript_path", None)
    made.pop("elsewhere", None)
    made.pop("prompt", None)
    made.pop("background_tasks", None)
    if "tool" in made:
        made["tool"] = made["tool"].copy()
        made["tool"]["input_paths"] = list(paths)
    made["guest"] = True
    return made


def _find_others(event: Event, home: Repo | None) -> list[tuple[Repo, list[str]]]:
    """The other repositories that a call names, each with the paths that its tool writes there."""
    if home:
        named = event.get("elsewhere", ())
    else:
        named = _list_named(event)
    found: dict[str, tuple[Repo, list[str]]] = {}
    for path in dict.fromkeys(named):
        root = journal.find_root_above(path)
        repo = None
        if root:
            repo = _find_registered(root)
        if repo and not (home and repo.common == home.common):
            _, paths = found.setdefault(repo.common, (repo, []))
            if os.path.basename(path) != ".git":
                paths += [path]
    return list(found.values())[:_MOST]


def _list_named(event: Event) -> list[str]:
    """The paths that a call names whose session has no home."""
    folder = event.get("cwd") or os.getcwd()
    if event["tool"]["kind"] == "write":
        return [os.path.join(folder, path) for path in event["tool"].get("input_paths", ())]
    root = journal.find_root_above(os.path.join(folder, ".git"))
    if root:
        folder = os.path.dirname(root)
    return calls.list_other_roots(folder, event)


def _find_registered(root: str) -> Repo | None:
    """The repository of a worktree if the person registered it and gitcp is at work there."""
    try:
        repo = None
        if registered.is_registered(root):
            repo = Repo.find_at(root)
    except Error as e:
        append_trace("visits", f"{root}: {e}")
        return None
    is_on = repo and repo.top and os.path.isdir(repo.join_shared())
    if repo and is_on and not is_off(repo):
        return repo
    return None


def _follow_home(repo: Repo, session_id: str) -> tuple[Repo, State | None]:
    """(the worktree of a repository in which a session is, its state there)."""
    state = others.peek_state(repo, session_id)
    if state:
        path = state.get("worktree_path")
        if path and path != repo.worktree:
            there = _find_registered(path)
            if there and there.common == repo.common:
                return there, state
    return repo, state


def _read_turn(home: Repo, session_id: str) -> str:
    """The prompt of a session's turn at its home."""
    state = others.peek_state(home, session_id) or {}
    turn = state.get("turns", {}).get(state.get("turn_id", ""))
    return str(turn["prompt"]) if turn else ""


def _locate(*parts: str) -> str:
    return locate_visits(*parts)


def note_visit(session_id: str, repo: Repo, home: Repo | None = None) -> None:
    """Note that a session is in a repository other than its home."""
    folder = _locate(session_id)
    if not os.path.isdir(folder):
        _remove_old()
    os.makedirs(folder, 0o700, exist_ok=True)
    for each in filter(None, (home, repo)):
        key = ids.start_sha256(os.fsencode(each.common)).hexdigest()[:32]
        path = os.path.join(folder, key)
        place = os.fsencode(each.worktree)
        if files.peek(path) != place:
            files.replace_file(path, place, 0o600, durable=False)


def _remove_old() -> None:
    for name in files.list_names(_locate()):
        if files.is_older(_locate(name), _LASTING):
            shutil.rmtree(_locate(name), ignore_errors=True)


def list_worktrees(session_id: str) -> list[str]:
    """The worktrees of the repositories in which a session is, if these are several."""
    names = files.list_names(_locate(session_id))
    return sorted(os.fsdecode(files.peek(_locate(session_id, name))) for name in names)


def _list_visited(session_id: str, home: Repo | None) -> list[tuple[Repo, State]]:
    """The other repositories in which a session is, with its state there."""
    found: dict[str, tuple[Repo, State]] = {}
    for path in list_worktrees(session_id)[: _MOST + 1]:
        repo = _find_registered(path)
        if repo and not (home and repo.common == home.common):
            repo, state = _follow_home(repo, session_id)
            if state and state.get("phase"):
                found[repo.common] = repo, state
    return list(found.values())
