"""The status of a worktree: its sessions at work or with open work, its streams, and what is found
wrong."""

from __future__ import annotations

import os

from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.errors import GitError, hide_passwords
from gitcp.store.care import check, installation
from gitcp.store.git import refs
from gitcp.store.git.objects import Objects
from gitcp.store.guard import roster
from gitcp.store.journal import work
from gitcp.store.link import session_metadata
from gitcp.store.match import sources
from gitcp.store.match.case import Case
from gitcp.store.relink import reconcile
from gitcp.store.session import markers, process
from gitcp.store.setup import strategy
from gitcp.store.stream import stash_notice, stream_list
from gitcp.store.turn import session_list, session_read
from gitcp.store.v1 import committed_refs, destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Marker, Record, State
    from gitcp.repo import Repo

_RECENT = 10  # settled sessions that are shown
_MOST = 100  # other sessions and streams that are shown


def gather_status(repo: Repo) -> tuple[Record, list[Record], list[Record]]:
    """(a record of type status, the sessions at work or with open work, all streams)."""
    states, left = session_read.list_recent(repo, _RECENT, _MOST)
    with Objects(repo) as objects:
        recent = Case(repo, objects, lately=True, dry_run=True)
        streams, more = stream_list.list_newest(repo, objects, states, _MOST)
        lost: Record = {
            "stashed": stash_notice.list_held(repo, objects, streams) if repo.top else [],
            "relinkable": _count_relinkable(recent) if repo.top else 0,
        }
    refs = {s["id"]: s["ref"] for s in reversed(streams)}
    sessions = [
        {**session, **_gather_facts(repo, s, refs)}
        for session, s in zip(session_list.build_records(states, ()), states, strict=True)
        if _is_of_interest(repo, s)
    ]
    sessions.sort(key=lambda s: -float(s["last"]))
    about = _build_record(repo, states, left + len(states) - len(sessions), more)
    return {**about, **lost, "findings": check.list_findings(repo, states)}, sessions, streams


def _count_relinkable(recent: Case) -> int:
    """The number of recent commits that can be linked again; 0, with a warning, if a ref that git
    would read is broken."""
    try:
        return len(reconcile.reconcile(recent, sources.LOST))
    except GitError as e:
        notice.warn(f"cannot look for lost links: {e.shorten()}; 'gitcp doctor' says more")
        return 0


def _gather_facts(repo: Repo, state: State, refs: dict[str, str]) -> Record:
    """Further facts about a session.  dead: its agent's process has ended.  removed: its worktree
    is gone.  open: worktree -> files with open work, if it has any outside its home.  refs: stream
    id -> its current ref."""
    worktree, last = repo.worktree_hash, state.get("last_interaction_time")
    streams = [s["id"] for s in state["streams"] if ids.is_in_worktree(s["ref"], worktree)]
    facts: Record = {
        "prompt": session_read.get_last_prompt(state),
        "last": session_read.parse_time(last or state.get("started_at")),
        "stream": refs.get(streams[-1], "") if streams else "",
    }
    if process.is_gone(state.get("agent_process")):
        facts["dead"] = True
    if _is_worktree_removed(repo, state):
        facts["removed"] = True
    if state.get("visits"):
        touched, session_id = state.get("files_touched", ()), state["session_id"]
        facts["open"] = {
            name: sorted(work.list_open_paths_in(repo, name, session_id).intersection(touched))
            for name in (state.get("worktree_id") or "", *state["visits"])
        }
    return facts


def _is_of_interest(repo: Repo, state: State) -> bool:
    """Whether a session is at work or has open work."""
    phase = state["phase"]
    if phase == "active" or state.get("files_touched") or state.get("unreadable"):
        return True
    if phase == "ended" or _is_worktree_removed(repo, state):
        return False
    return process.is_alive(state.get("agent_process"))


def _is_worktree_removed(repo: Repo, state: State) -> bool:
    """Whether the home of a session was another worktree, which is gone."""
    path = state.get("worktree_path")
    return (state.get("worktree_id") or "") != repo.worktree_id and not os.path.lexists(path or "/")


def _build_record(repo: Repo, states: Sequence[State], settled: int, more: int) -> Record:
    return {
        "type": "status",
        "state": installation.read_state(repo),
        "strategy": strategy.get_strategy(repo),
        "worktree_path": repo.top or repo.git_dir,
        "bare": not repo.top,
        "worktree_id": repo.worktree_id,
        "worktree": repo.worktree_hash,
        "branch": session_metadata.read_branch(repo) or "",
        "head": refs.read_head(repo) or "",
        "settled": settled,
        "more_streams": more,
        **_describe_destination(repo),
        "claims": roster.list_records(repo, _list_in_turn(repo, states)) if repo.top else [],
    }


def _list_in_turn(repo: Repo, states: Sequence[State]) -> list[Marker]:
    here = [s for s in states if s["phase"] == "active" and markers.is_home(repo, s)]
    return [marker for s in here if (marker := markers.find(repo, s["session_id"]))]


def _describe_destination(repo: Repo) -> Record:
    """The destination of checkpoints, "" for none; whether it can be reached; how many checkpoints
    it lacks; the usual remote.  Without checkpoints only `unpushed`."""
    if not committed_refs.has_checkpoints(repo):
        return {"unpushed": 0}
    name, configured = destination.find_destination(repo), destination.read_destination(repo)
    with Objects(repo) as objects:
        lacking = destination.count_lacking(repo, objects, name) if name else 0
    return {
        "destination": hide_passwords(name or configured),
        "reachable": bool(name),
        "unpushed": lacking,
        "remote": destination.find_usual_remote(repo),
    }
