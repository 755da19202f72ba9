"""The sessions of repositories, as records."""

from __future__ import annotations

import os

from gitcp.extras.reports import stored_sessions
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.session import is_gone
from gitcp.record.turn import sessions
from gitcp.steps.whose import open_work
from gitcp.terminal.rows import STATES, name_state
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.text.record_types import Record, State


def list_activities(repos: Iterable[Repo], *, ended: bool) -> Iterator[Record]:
    """The sessions of repositories that are at work or have uncommitted work; ended: also the
    others."""
    for repo in repos:
        for record in list_all_sessions(repo) if ended else list_sessions(repo):
            if ended or record["state"] != "ended" or record["files_touched"]:
                yield record


def list_all_sessions(repo: Repo) -> list[Record]:
    """list_sessions() and the records of the sessions that are known only from commits, the latest
    first."""
    records = {record["session_id"]: record for record in list_sessions(repo)}
    with Objects(repo):
        for name, session in stored_sessions.read_stored(repo).sessions.items():
            if name in records:
                records[name] |= {"title": session.title, "tasks": len(session.tasks)}
            else:
                records[name] = stored_sessions.build_record(repo, session)
    return sorted(records.values(), key=lambda record: -record["last"])


def list_sessions(repo: Repo) -> list[Record]:
    """A record `activity` (gitcp-record(5)) of each session with a state, the latest first."""
    states = sessions.list_states(repo)
    with Objects(repo):
        open_work.set_files(repo, states)
    records = [build_activity(repo, state) for state in states]
    return sorted(records, key=lambda record: -record["last"])


def build_activity(repo: Repo, state: State) -> Record:
    """The record `activity` (gitcp-record(5)) of a session."""
    is_dead = is_gone(state.get("agent_process"))
    doing = name_state(str(state.get("phase")), is_dead)
    moment = state.get("last_interaction_time") or state.get("started_at")
    return {
        "type": "activity",
        "repository": repo.top or repo.common,
        "session_id": state["session_id"],
        "agent": str(state.get("agent_type") or ""),
        "state": next(word for word, named in STATES.items() if named == doing),
        "worktree": os.path.basename(state.get("worktree_path") or ""),
        "last": parse_time(moment),
        "prompt": sessions.get_last_prompt(state),
        "files_touched": list(state.get("files_touched") or ()),
    }
