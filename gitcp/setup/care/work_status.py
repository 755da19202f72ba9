"""The status of a worktree: its sessions at work or with open work, its streams, and what is found
wrong."""

from __future__ import annotations

import os

from gitcp.agents import get_agent_type
from gitcp.checkpoints import listing
from gitcp.checkpoints.share import places
from gitcp.checkpoints.stored import has_checkpoints, list_sources
from gitcp.errors import GitError
from gitcp.git import refs
from gitcp.git.objects import Objects
from gitcp.guard import claim_records
from gitcp.link import condense, relink
from gitcp.record.journal import stashes
from gitcp.record.match.sources import LOST, MatchCase
from gitcp.record.session import find_marker, is_gone, is_home, process
from gitcp.record.stream import stream_list
from gitcp.record.turn import visits
from gitcp.record.turn.sessions import build_records, get_last_prompt, list_recent
from gitcp.setup import guard_files
from gitcp.setup.care import everyday, installation
from gitcp.setup.care.findings import Diagnosis
from gitcp.steps.whose import open_work
from gitcp.text import console, ids, value_class
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo
    from gitcp.guard.claim_records import ClaimRecord
    from gitcp.steps.whose.open_work import OpenWork
    from gitcp.text.record_types import Marker, Record, State

_RECENT = 10  # settled sessions that are shown
_MOST = 100  # other sessions and streams that are shown


@value_class
class Status:
    """The status of a worktree, as records."""

    about: Record  # of type status
    sessions: list[Record]  # those at work or with open work
    streams: list[Record]
    findings: list[Diagnosis]


def gather_status(repo: Repo) -> Status:
    """What is at work in a worktree, and what is found wrong."""
    states, left = list_recent(repo, _RECENT, _MOST)
    with Objects(repo):
        work = open_work.set_files(repo, states)
        recent = MatchCase(repo, lately=True, dry_run=True)
        newest = stream_list.list_newest(repo, states, _MOST)
        streams = newest.records
        more = newest.left_out
        lost: Record = {"stashes": [], "relinkable": 0}
        if repo.top:
            lost["stashes"] = stashes.list_records(repo, open_work.map_stashed(repo))
            lost["relinkable"] = _count_relinkable(recent)
    tips = {s["id"]: s["ref"] for s in reversed(streams)}
    sessions: list[Record] = []
    for session, state in zip(build_records(states, ()), states, strict=True):
        if _is_of_interest(repo, state):
            sessions.append({**session, **_gather_facts(repo, state, tips, work)})
    sessions.sort(key=lambda s: -float(s["last"]))
    summary = _build_record(repo, states, left + len(states) - len(sessions), more)
    findings = everyday.list_findings(repo, states)
    summary |= {**lost, "findings": [found.build_record() for found in findings]}
    return Status(summary, sessions, streams, findings)


def _count_relinkable(recent: MatchCase) -> int:
    """The number of recent commits that can be linked again; 0, with a warning, if a ref that git
    would read is broken."""
    try:
        return len(relink.reconcile(recent, LOST))
    except GitError as e:
        console.warn(f"cannot look for lost links: {e.shorten()}; 'gitcp doctor' says more")
        return 0


def _gather_facts(repo: Repo, state: State, tips: dict[str, str], work: OpenWork) -> Record:
    """Further facts about a session.  dead: its agent's process has ended.  removed: its worktree
    is gone.  also_in: the worktrees of other repositories in which it is.  open: worktree -> files
    with open work, if it has any outside its home.  tips: stream id -> its current ref."""
    worktree = repo.worktree_hash
    last = state.get("last_interaction_time")
    streams = [s["id"] for s in state["streams"] if ids.is_in_worktree(s["ref"], worktree)]
    facts: Record = {
        "prompt": get_last_prompt(state),
        "last": parse_time(last or state.get("started_at")),
        "stream": "",
    }
    if streams:
        facts["stream"] = tips.get(streams[-1], "")
    if is_gone(state.get("agent_process")):
        facts["dead"] = True
    if _is_worktree_removed(repo, state):
        facts["removed"] = True
    also = [path for path in visits.list_worktrees(state["session_id"]) if path != repo.worktree]
    if also:
        facts["also_in"] = also
    by_worktree = work.map_places(state["session_id"])
    if by_worktree.keys() - {state.get("worktree_id") or ""}:
        facts["open"] = by_worktree
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
    home = state.get("worktree_id") or ""
    if home == repo.worktree_id:
        return False
    return not os.path.lexists(state.get("worktree_path") or "/")


def _build_record(repo: Repo, states: Sequence[State], settled: int, more: int) -> Record:
    state = installation.read_state(repo)
    stored_here = 0
    if state != installation.ENABLED:
        stored_here = _count_stored(repo)
    claims: list[ClaimRecord] = []
    if repo.top:
        claims = claim_records.list_records(repo, _list_in_turn(repo, states))
    return {
        "type": "status",
        "state": state,
        "agents": [get_agent_type(name) for name in installation.list_enabled(repo)],
        "stored": stored_here,
        "strategy": guard_files.get_strategy(repo),
        "worktree_path": repo.top or repo.git_dir,
        "bare": not repo.top,
        "worktree_id": repo.worktree_id,
        "worktree": repo.worktree_hash,
        "branch": condense.read_branch(repo) or "",
        "head": refs.read_head(repo) or "",
        "settled": settled,
        "more_streams": more,
        **_describe_places(repo),
        "claims": claims,
    }


def _count_stored(repo: Repo) -> int:
    """The number of commits whose conversations are stored here."""
    with Objects(repo):
        return len(listing.read_trees(repo, list_sources(repo)))


def _list_in_turn(repo: Repo, states: Sequence[State]) -> list[Marker]:
    markers: list[Marker] = []
    for state in states:
        if state["phase"] != "active" or not is_home(repo, state):
            continue
        marker = find_marker(repo, state["session_id"])
        if marker:
            markers.append(marker)
    return markers


def _describe_places(repo: Repo) -> Record:
    """Where checkpoints go, and how many of them each place lacks as far as is known.

    destination: what gitcp.remote is set to if it is no place; remote: the usual remote;
    remote_url: its place if that was not agreed to.  Without places and checkpoints only
    `unpushed`."""
    found = places.list_destinations(repo)
    has_any = has_checkpoints(repo)
    if not found and not has_any:
        return {"unpushed": 0}
    own = places.find_own_url(repo)
    own_url = ""
    destination = ""
    if own:
        own_url = places.name_url(repo, own)
    else:
        destination = places.read_destination(repo)
    described: list[Record] = []
    with Objects(repo):
        for place in found:
            about: Record = {"url": place.url, "label": place.label}
            if place.url == own_url:
                about["each_push"] = True
            if has_any:
                about["unpushed"] = places.count_lacking(repo, place)
            described.append(about)
    usual = places.find_usual_remote(repo)
    unagreed = []
    if found and usual and not own:
        agreed = [place.url for place in found]
        unagreed = [p.url for p in places.find_places(repo, usual) if p.url not in agreed]
    return {
        "destination": destination,
        "places": described,
        "unpushed": max((about.get("unpushed", 0) for about in described), default=0),
        "remote": usual,
        "remote_url": unagreed[0] if unagreed else "",
    }
