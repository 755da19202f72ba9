"""The table of findings: for each check the code, severity, meaning and mend of what it finds.

`status`, `doctor`, `fsck` and `clean` are filters of this table (gitcp.setup.care.table).
"""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from gitcp.agents import get_agent_type
from gitcp.checkpoints import listing
from gitcp.checkpoints.share import places, remote
from gitcp.checkpoints.stored import has_checkpoints, list_sources
from gitcp.errors import Busy, Error, GitError, Moved
from gitcp.git import refs
from gitcp.git.objects import Objects
from gitcp.guard import claim_records
from gitcp.link import condense, relink
from gitcp.record.journal import stashes
from gitcp.record.match.sources import LOST, MatchCase
from gitcp.record.session import find_marker, is_gone, is_home
from gitcp.record.session.process import is_alive
from gitcp.record.stream import stream_list
from gitcp.record.turn import visits
from gitcp.record.turn.sessions import build_records, get_last_prompt, list_recent
from gitcp.setup import guard_files
from gitcp.setup.care import installation, repair, session_findings, stored, unfinished
from gitcp.setup.care.case import BLIND, Case, Row, search_case
from gitcp.setup.care.findings import ERROR, NOTE, WARNING
from gitcp.setup.care.installation import ENABLE
from gitcp.steps import by_hand
from gitcp.steps.commits import open_work
from gitcp.text import console, ids
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Check, Checks, Mend
    from gitcp.steps.commits.open_work import OpenWork
    from gitcp.text.record_types import Finding, Marker, Record, State

    Repair = Callable[[Repo, str], str]  # mends a subject; returns what was done


def _mend(mend: Callable[..., str], *facts: str) -> Mend:
    """Mend the subject of a finding by these facts of it."""
    names = ("subject", *facts)
    return lambda case, item: mend(case.repo, *(item[name] for name in names))


def _draw_graph(mend: Repair) -> Mend:
    """A mend after which git's commit-graph is written again: `git fsck` fails if the graph names
    a commit that is gone."""

    def mend_and_draw(case: Case, item: Finding) -> str:
        done = mend(case.repo, item["subject"])
        graphs = (f"{case.repo.common}/objects/info/commit-graph{end}" for end in ("", "s"))
        if done and any(map(os.path.exists, graphs)):
            case.repo.git.run("commit-graph", "write", "--reachable")
        return done

    return mend_and_draw


def _mend_either(mend: Repair) -> Repair:
    """Put a ref without a commit back or delete it if mend cannot build its content again."""
    return lambda repo, ref: mend(repo, ref) or repair.mend_ref(repo, ref)


_STATE = ("repair", _mend(repair.mend_state))
_STREAM = ("repair", _draw_graph(_mend_either(repair.mend_stream)))
_EDITS = ("repair", _mend(_mend_either(repair.mend_edits)))
_STORE = ("repair", _draw_graph(repair.mend_store))
_JOURNAL = ("repair", _mend(repair.mend_journal))
_PACK = ("repair", _mend(repair.mend_pack))
_STORE_CHECKPOINT = (
    "repair", _mend(repair.store_missing_checkpoint, "checkpoint_id"),
    "'gitcp fetch --all' if it was sent, else 'gitcp unlink <commit>'",
)  # fmt: skip
_FORGET = "what can be read of it is shown; 'gitcp forget <checkpoint>' takes it out"
_BAD_REF = Row("bad-ref", ERROR, "a ref of gitcp has no commit",
    "repair", _mend(repair.mend_ref))  # fmt: skip
_MISSING = Row("missing-object", ERROR, "an object that a ref of gitcp needs is missing",
    remedy="'gitcp fetch --all' brings it if a remote has it")  # fmt: skip
_LEFTOVER = Row("leftover", WARNING,
    "a temporary file, or the scratch directory of a command, was left behind",
    "repair", _mend(stored.remove_leftover))  # fmt: skip
# Packs are first, since everything is read from them; then the journal, since reading states moves
# a damaged one aside.
STORED: Checks = {
    stored.look_at_packs: (
        Row("bad-pack", ERROR, "git cannot open a pack of gitcp", *_PACK),
        Row("unindexed-pack", WARNING, "a pack of gitcp has no index", *_PACK),
    ),
    stored.look_at_loose: (
        Row("empty-object", ERROR, "an object file of git is empty, as a power cut leaves it",
            "repair", _mend(repair.mend_empty_object)),
    ),
    session_findings.look_at_journal: (
        Row("bad-journal", ERROR, "the journal of a worktree has lines that cannot be read",
            *_JOURNAL),
    ),
    stored.look_at_refs: (
        _BAD_REF,
        Row("lock", WARNING, "the lock file of a ref was left behind",
            "repair", _mend(partial(repair.remove_leftover, seconds=repair.LOCK_AGE))),
    ),
    stored.look_at_objects: (
        Row("broken-stream", ERROR, "a stream lacks objects", *_STREAM),
        Row("broken-edits", ERROR, "the edits of a session lack objects", *_EDITS),
        Row("broken-store", ERROR, "the permanent store lacks objects", *_STORE),
        Row("secret", ERROR, "stored data holds what looks like a secret",
            remedy=remote.ALLOW),
        _BAD_REF,
        _MISSING,
    ),
    session_findings.look_at_states: (
        Row("bad-state", ERROR, "the state of a session cannot be read, or is not one", *_STATE),
        Row("lost-state", ERROR, "a session has a marker, and no state", *_STATE),
        Row("old-state", ERROR, "the copy of a state on its stream is newer than the state",
            "repair", _mend(repair.take_copy, "ref")),
        Row("lost-stream", ERROR, "a state names a stream that no ref has",
            remedy="'gitcp clean' settles it when it is old"),
        Row("no-marker", ERROR, "a state has open work, and no marker tells commits of it",
            *_STATE),
        Row("bad-marker", WARNING, "a marker disagrees with its state", *_STATE),
        Row("orphan-stream", WARNING, "a stream has unsettled work, and no state names it",
            remedy="'gitcp clean' removes it when it is old"),
        Row("not-a-stream", WARNING, "a branch has the name of a stream, and no checkpoints",
            remedy="rename it, or delete it, if it is not yours"),
    ),
    stored.look_at_scratch: (_LEFTOVER,),
    stored.look_at_scratch_worktrees: (_LEFTOVER,),
    stored.look_at_checkpoints: (
        Row("bad-summary", ERROR,
            "the metadata.json of a checkpoint lacks a key, or has a wrong value",
            remedy=_FORGET),
        Row("bad-metadata", ERROR,
            "the metadata.json of a session lacks a key, or has a wrong value",
            remedy=_FORGET),
        Row("bad-path", ERROR, "a checkpoint lists other sessions than it has", remedy=_FORGET),
        Row("bad-number", ERROR,
            "the directories of a checkpoint's sessions are not numbered 0, 1, 2",
            remedy=_FORGET),
        Row("bad-chunk", ERROR, "a chunk of a transcript is missing, or out of order",
            remedy=_FORGET),
        Row("bad-hash", ERROR, "the hash of a transcript is wrong, or missing", remedy=_FORGET),
        Row("stray", NOTE, "a file on the branch belongs to no checkpoint",
            remedy="it is not read, and does no harm"),
        Row("absent", NOTE,
            "a part of a checkpoint was left with the remote of this partial clone:"
            " 'gitcp fetch --all' brings it",
            remedy="gitcp fetch --all"),
        _MISSING,
    ),
    stored.look_at_linked: (
        Row("dangling-trailer", WARNING, "a commit names a checkpoint that is not stored",
            *_STORE_CHECKPOINT),
        Row("left-out", WARNING, "a checkpoint lacks a session's part of its commit",
            *_STORE_CHECKPOINT),
        Row("dangling-note", WARNING, "a note names a checkpoint that is not stored",
            remedy="'gitcp fetch --all' if it was sent, else 'gitcp unlink <commit>'"),
        Row("empty-link", NOTE,
            "a commit is linked to a checkpoint and has nothing of its content",
            remedy="'gitcp unlink <commit> <checkpoint>' if it is wrong"),
        Row("mention", NOTE, "a message names a checkpoint that its commit is not linked to",
            remedy="'gitcp link <commit> <checkpoint>' if it has work of it"),
        Row("wrong-note", WARNING, "a note links a commit to a checkpoint of another commit",
            "repair", _mend(by_hand.take_link_back, "checkpoint_id")),
        Row("no-store", WARNING, "commits name checkpoints, and none is stored here",
            remedy="gitcp fetch"),
        _MISSING,
    ),
}  # fmt: skip
STORE: Checks = {
    stored.look_at_deleted_store: (
        Row("deleted-store", ERROR, "the branch of checkpoints was deleted"),
    ),
    stored.look_at_withheld: (
        Row("withheld", WARNING, "a push leaves out what looks like a secret"),
    ),
}  # fmt: skip
_UNFINISHED: Checks = {
    unfinished.look_at_unfinished: (
        Row("unfinished", WARNING, "a command was killed half way",
            "finish", unfinished.finish_all),
    ),
}  # fmt: skip
_UNRECORDED: Checks = {
    session_findings.look_at_unrecorded: (
        Row("unrecorded", WARNING, "a conversation of a client was not recorded"),
    ),
}  # fmt: skip
_SESSIONS: Checks = {
    session_findings.look_at_processes: (
        Row("unseen-processes", WARNING, "no process can be seen here"),
    ),
    session_findings.look_at_sessions: (
        Row("unread-transcript", WARNING, "a transcript cannot be read"),
        Row("dead-session", WARNING, "a turn that nobody ends", "end", session_findings.end_session,
            choices={
                "keep": session_findings.end_session,
                "condense": session_findings.end_and_store,
                "discard": session_findings.end_and_discard,
            }),
        Row("provisional", WARNING, "a transcript was not completed",
            "finalize", session_findings.complete_transcripts),
    ),
    session_findings.look_at_locks: (
        Row("git-lock", WARNING, "a lock of git was left behind"),
    ),
}  # fmt: skip
_LINKS: Checks = {
    session_findings.look_at_links: (
        Row("lost-link", WARNING, "a commit lost its checkpoint id",
            "relink", session_findings.link_commit),
    ),
}  # fmt: skip
DOCTOR: dict[Check, tuple[Row, ...]] = {
    **installation.ROOM,
    installation.look_at_record: installation.CHECKS[installation.look_at_record],
    stored.look_at_packs: STORED[stored.look_at_packs],
    stored.look_at_loose: STORED[stored.look_at_loose],
    session_findings.look_at_journal: STORED[session_findings.look_at_journal],
    **installation.CHECKS,
    **installation.CLIENT_CHECKS,
    **installation.FAILURES,
    **_UNRECORDED,
    **installation.OLD,
    **STORE,
    **_UNFINISHED,
    **_SESSIONS,
    **STORED,
    **_LINKS,
}
# The findings that `fsck`, `doctor` and `status` show, and their repair.
_PASSES = 4


def check_store(repo: Repo, *, secrets: bool = False, fix: bool = False) -> Iterator[Finding]:
    """The findings on everything that gitcp stores in the repository, as they come.

    It starts a few git processes, and one more for each 500 links.  It keeps the ids of commits
    and checkpoints in memory, not their objects.
    secrets: search stored data for secrets too.  fix: mend what can be mended without loss,
    and check it again.
    """
    if fix:
        yield from _repair_store(repo, secrets)
        return
    with Case(repo, secrets) as case:
        for _, finding in search_case(case, STORED):
            yield finding


def _repair_store(repo: Repo, secrets: bool) -> list[Finding]:
    def find(mends: bool) -> Iterator[Finding]:
        with Case(repo, secrets) as case:
            for row, item in search_case(case, STORED):
                yield mend_finding(case, row.mend, item) if mends else item

    return mend_all(find, "repaired")


def find_row(code: str) -> Row:
    """The row of a code."""
    rows = (row for table in (DOCTOR, STORED) for listed in table.values() for row in listed)
    return next((row for row in rows if row.code == code), BLIND)


def mend_all(find: Callable[[bool], Iterable[Finding]], word: str) -> list[Finding]:
    """Mend until nothing more is mended: a mend may uncover findings, or make way for another.

    find(mends) yields every finding, with what was done under word if it mends.  Returns what was
    mended and is gone, then what is left, with the reason.
    """
    mended: dict[tuple[str, ...], Finding] = {}
    for mends in (*[True] * _PASSES, False):
        with console.Collected() as warnings:
            findings = list(find(mends))
        for warning in warnings:  # the findings say what is lacking
            console.warn(warning)
        done = {_get_key(item): item for item in findings if word in item}
        if not done:
            break
        mended |= done
    keys = {_get_key(item) for item in findings}
    return [item for key, item in mended.items() if key not in keys] + findings


def mend_finding(case: Case, mend: Mend | None, item: Finding, word: str = "repaired") -> Finding:
    """Mend a finding; return it with what was done under word, or with the reason why nothing was:
    it is locked, has changed, or what it needs is not here."""
    if mend is None:
        return item
    try:
        done = mend(case, item)
        if done:
            return {**item, word: done}
        why = "what it needs is not here"
    except (Busy, Moved, OSError, Error) as e:
        why = str(e)
    return {**item, "reason": f"{item['reason']}; not {word}: {why}"}


def _get_key(item: Finding) -> tuple[str, ...]:
    """What identifies a finding between two checks."""
    return item["kind"], item["subject"], str(item.get("checkpoint_id"))


def diagnose_repository(repo: Repo) -> list[tuple[Row, Finding]]:
    """Every finding but notes, with `remedy` and `fix`; those that stop recording come first."""
    with Case(repo) as case:
        return [
            (row, _add_remedy(row, finding))
            for row, finding in search_case(case, DOCTOR)
            if finding["severity"] != NOTE
        ]


def _add_remedy(row: Row, item: Finding) -> Finding:
    if "remedy" in item:
        fix = item.get("fix", row.fix)
        mends = fix != ENABLE or item["remedy"].startswith("gitcp enable")
        return {**item, "fix": fix if mends and "--force" not in item["remedy"] else ""}
    return {
        **item,
        "reason": f"{item['subject']}: {item['reason']}",
        "remedy": row.remedy,
        "fix": row.fix,
    }


_SHOWN = {
    **installation.CHECKS,
    **installation.CLIENT_CHECKS,
    **installation.FAILURES,
    **_UNRECORDED,
    **STORE,
    **_UNFINISHED,
    stored.look_at_scratch_worktrees: STORED[stored.look_at_scratch_worktrees],
    stored.look_at_packs: STORED[stored.look_at_packs],
}


def list_findings(repo: Repo, states: list[State]) -> list[Finding]:
    """The findings that a status shows.  states: show which agents have run a hook."""
    with Case(repo, states=states) as case:
        findings = [_add_remedy(row, finding) for row, finding in search_case(case, _SHOWN)]
    return list({(f["kind"], f["subject"], f["reason"]): f for f in findings}.values())


# The status of a worktree: its sessions at work or with open work, its streams, and what is found
# wrong.
_RECENT = 10  # settled sessions that are shown
_MOST = 100  # other sessions and streams that are shown


class Status(NamedTuple):
    """The status of a worktree, as records."""

    about: Record  # of type status
    sessions: list[Record]  # those at work or with open work
    streams: list[Record]


def gather_status(repo: Repo) -> Status:
    """What is at work in a worktree, and what is found wrong."""
    states, left = list_recent(repo, _RECENT, _MOST)
    with Objects(repo):
        work = open_work.set_files(repo, states)
        recent = MatchCase(repo, lately=True, dry_run=True)
        streams, more = stream_list.list_newest(repo, states, _MOST)
        lost: Record = {
            "stashes": stashes.list_records(repo, open_work.map_stashed(repo)) if repo.top else [],
            "relinkable": _count_relinkable(recent) if repo.top else 0,
        }
    refs = {s["id"]: s["ref"] for s in reversed(streams)}
    sessions = [
        {**session, **_gather_facts(repo, s, refs, work)}
        for session, s in zip(build_records(states, ()), states, strict=True)
        if _is_of_interest(repo, s)
    ]
    sessions.sort(key=lambda s: -float(s["last"]))
    summary = _build_record(repo, states, left + len(states) - len(sessions), more)
    summary |= {**lost, "findings": list_findings(repo, states)}
    return Status(summary, sessions, streams)


def _count_relinkable(recent: MatchCase) -> int:
    """The number of recent commits that can be linked again; 0, with a warning, if a ref that git
    would read is broken."""
    try:
        return len(relink.reconcile(recent, LOST))
    except GitError as e:
        console.warn(f"cannot look for lost links: {e.shorten()}; 'gitcp doctor' says more")
        return 0


def _gather_facts(repo: Repo, state: State, refs: dict[str, str], work: OpenWork) -> Record:
    """Further facts about a session.  dead: its agent's process has ended.  removed: its worktree
    is gone.  also_in: the worktrees of other repositories in which it is.  open: worktree -> files
    with open work, if it has any outside its home.  refs: stream id -> its current ref."""
    worktree = repo.worktree_hash
    last = state.get("last_interaction_time")
    streams = [s["id"] for s in state["streams"] if ids.is_in_worktree(s["ref"], worktree)]
    facts: Record = {
        "prompt": get_last_prompt(state),
        "last": parse_time(last or state.get("started_at")),
        "stream": refs.get(streams[-1], "") if streams else "",
    }
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
    return is_alive(state.get("agent_process"))


def _is_worktree_removed(repo: Repo, state: State) -> bool:
    """Whether the home of a session was another worktree, which is gone."""
    path = state.get("worktree_path")
    return (state.get("worktree_id") or "") != repo.worktree_id and not os.path.lexists(path or "/")


def _build_record(repo: Repo, states: Sequence[State], settled: int, more: int) -> Record:
    state = installation.read_state(repo)
    return {
        "type": "status",
        "state": state,
        "agents": [get_agent_type(name) for name in installation.list_enabled(repo)],
        "stored": 0 if state == installation.ENABLED else _count_stored(repo),
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
        "claims": claim_records.list_records(repo, _list_in_turn(repo, states)) if repo.top else [],
    }


def _count_stored(repo: Repo) -> int:
    """The number of commits whose conversations are stored here."""
    with Objects(repo):
        return len(listing.read_trees(repo, list_sources(repo)))


def _list_in_turn(repo: Repo, states: Sequence[State]) -> list[Marker]:
    here = [s for s in states if s["phase"] == "active" and is_home(repo, s)]
    return [marker for s in here if (marker := find_marker(repo, s["session_id"]))]


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
    own_url = places.name_url(repo, own) if own else ""
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
    if own or not found or not usual:
        unagreed = []
    else:
        unagreed = places.find_places(repo, usual)
    agreed = [place.url for place in found]
    return {
        "destination": "" if own else places.read_destination(repo),
        "places": described,
        "unpushed": max((about.get("unpushed", 0) for about in described), default=0),
        "remote": usual,
        "remote_url": next((place.url for place in unagreed if place.url not in agreed), ""),
    }
