"""Finding what no session and no commit needs: looked up, and nothing is changed."""

from __future__ import annotations

import os
import time

from gitcp.core.decide import orphan_rules
from gitcp.core.decide.orphan_rules import days, orphan
from gitcp.store.git import files
from gitcp.store.git.commit import read_commit, stamp
from gitcp.store.journal import edits_ref
from gitcp.store.session.process import alive
from gitcp.store.upkeep import check_files, edits, orphan_streams, undo_logs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo
    from gitcp.store.upkeep.survey import Survey


def ages(repo: Repo, given: int | None = None, edits: bool = False) -> orphan_rules.Ages:
    """The ages of this repository, or given days for all (gitcp.archive-expire,
    gitcp.state-expire); edits: those of settled sessions have none."""
    archive = repo.config.option("gitcp.archive-expire")
    state = repo.config.option("gitcp.state-expire")
    if given is not None:
        archive = state = given
    day = orphan_rules.DAY
    return orphan_rules.Ages(time.time(), archive * day, state * day, edits)


def find(survey: Survey, ages: orphan_rules.Ages) -> Iterator[Finding]:
    """Findings of each kind of orphan_rules, in its order.  `settled` tells what may go now: a
    stream that lost its state is told at once, and kept as long as an archive."""
    yield from orphan_streams.find(survey, ages)
    yield from orphan_streams.gone(survey, ages)
    known = {state["session_id"] for state in survey.states} | set(survey.markers)
    gone = {state["session_id"]: state for state in survey.states if expired(state, ages)}
    yield from _edits(survey, ages, known - set(gone))
    for name, state in gone.items():
        last = orphan_streams.last_seen(state)
        reason = f"{state['phase']} and settled, not used for {days(ages.now - last)}"
        revision = state.get("revision", 0)
        yield orphan("settled-state", name, reason, time=int(last), revision=revision)
    yield from _files(survey, known - set(gone), set(gone))
    yield from undo_logs.find(survey, ages)


def _edits(survey: Survey, ages: orphan_rules.Ages, known: set[str]) -> Iterator[Finding]:
    """Edits of sessions that are gone, known being the others; of settled ones too, where that is
    asked or there are too many."""
    surplus = set(edits.surplus(survey.repo))
    revisions = {state["session_id"]: state.get("revision", 0) for state in survey.states}
    for ref, oid in survey.refs.items():
        why, session_id = "", edits_ref.session_of(ref, known | set(revisions))
        if session_id and session_id not in known:
            old = ages.now - _time_of(survey, oid) >= ages.archive
            why = "no state of its session lasts" if old or ages.edits else ""
        elif session_id in surplus:
            why = "all take more than gitcp.max-edits"
        elif session_id and ages.edits and edits.is_settled(survey.repo, session_id):
            why = "its session is settled"
        if why:
            facts = {"session_id": session_id, "revision": revisions.get(session_id)}
            yield orphan("orphan-edits", ref, why, oid=oid, ref=ref, **facts)


def _time_of(survey: Survey, oid: str) -> float:
    """When a ref was last written, in seconds since 1970; 0 where nothing tells."""
    commit = read_commit(survey.objects, oid)
    return float(stamp(commit["committer"])[1]) if commit else 0.0


def expired(state: State, ages: orphan_rules.Ages) -> bool:
    """Whether a state is settled, and so old that nobody takes the session up again."""
    if not orphan_rules.settled(state) or alive(state.get("agent_process")):
        return False
    return ages.now - orphan_streams.last_seen(state) >= ages.state


def _files(survey: Survey, needed: set[str], gone: set[str]) -> Iterator[Finding]:
    repo = survey.repo
    for name in files.listed(repo.shared("transcript")):
        path = repo.shared("transcript", name)
        if _unneeded(path, needed, gone):
            yield orphan("transcript-cache", path, "its session has no state that lasts")
    for folder in survey.folders():
        for name in files.listed(os.path.join(folder, "turn")):
            path = os.path.join(folder, "turn", name)
            if _unneeded(path, needed, gone):
                yield orphan("turn-file", path, "its session has no state that lasts")
    for name in files.listed(repo.shared("lock")):
        kind, _, session_id = name.partition("-")
        path = repo.shared("lock", name)
        if kind in ("session", "transcript") and _unneeded(path, needed, gone, {session_id}):
            yield orphan("session-lock", path, "its session has no state that lasts")
    for path in check_files.leftovers(survey):
        yield orphan("leftover", path, "nothing has touched it for an hour")


def _unneeded(path: str, needed: set[str], gone: set[str], named: set[str] | None = None) -> bool:
    named = named or orphan_rules.owners(os.path.basename(path))
    if named & needed:
        return False
    # Of a session that begins now the files may come before the state.
    return bool(named & gone) or files.older(path, check_files.SCRATCH_AGE)
