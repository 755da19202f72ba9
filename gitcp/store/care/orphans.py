"""Finding what no session and no commit needs.  Nothing is changed."""

from __future__ import annotations

import os
import time

from gitcp.core.decide import orphan_rules
from gitcp.core.decide.orphan_rules import build_finding, format_days
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.care import edits
from gitcp.store.care.case import Case
from gitcp.store.care.edits import get_last_seen
from gitcp.store.care.refs import list_leftovers
from gitcp.store.git.commit import parse_ident, read_commit
from gitcp.store.journal import edits_ref
from gitcp.store.repair.leftovers import SCRATCH_AGE
from gitcp.store.session.process import is_alive
from gitcp.store.stream import shadow_refs
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding, State, Tip
    from gitcp.repo import Repo
    from gitcp.store.care.survey import Survey

LOG, STEPS, KEPT = "expired-undo", "expired-steps", "kept-file"


def find_ages(repo: Repo, age: int | None = None, edits: bool = False) -> Ages:
    """The ages by gitcp.archive-expire and gitcp.state-expire; age: days for both instead.

    edits: the edits of settled sessions expire at once."""
    archive = repo.config.get_option("gitcp.archive-expire")
    state = repo.config.get_option("gitcp.state-expire")
    if age is not None:
        archive = state = age
    day = orphan_rules.DAY
    return orphan_rules.Ages(time.time(), archive * day, state * day, edits)


def look_at_orphans(case: Case) -> Iterator[Finding]:
    """Findings of the kinds of orphan_rules, in its order.  `settled` is false for a stream without
    a state until it is as old as an expired archive."""
    survey, ages = case.survey, case.ages or find_ages(case.repo)
    expired = {state["session_id"]: state for state in survey.states if is_expired(state, ages)}
    lasting = {state["session_id"] for state in survey.states} | set(survey.markers)
    lasting -= set(expired)
    yield from _find_streams(survey, ages)
    yield from _find_lost(survey, ages)
    yield from _find_edits(survey, ages, lasting)
    for name, state in expired.items():
        last = get_last_seen(state)
        reason = f"{state['phase']} and settled, not used for {format_days(ages.now - last)}"
        revision = state.get("revision", 0)
        yield build_finding("settled-state", name, reason, time=int(last), revision=revision)
    for kind, path, owners in _list_session_files(survey):
        # A new session may write its files before its state.
        is_old = not owners.isdisjoint(expired) or files.is_older(path, SCRATCH_AGE)
        if owners.isdisjoint(lasting) and is_old:
            yield build_finding(kind, path, "its session has no state that lasts")
    for path in list_leftovers(survey):
        yield build_finding("leftover", path, "nothing has touched it for an hour")
    yield from _find_steps(survey, ages)


def _find_edits(survey: Survey, ages: Ages, lasting: set[str]) -> Iterator[Finding]:
    """The edits of sessions without a state that lasts, and those of settled sessions if
    gitcp.max-edits is exceeded or ages.edits is set."""
    surplus = set(edits.list_surplus(survey.repo))
    revisions = {state["session_id"]: state.get("revision", 0) for state in survey.states}
    for ref, oid in survey.refs.items():
        session_id, why = edits_ref.find_session(ref, lasting | set(revisions)), ""
        if not session_id:
            continue
        if session_id not in lasting:
            is_old = ages.now - _read_time(survey, oid) >= ages.archive
            why = "no state of its session lasts" if is_old or ages.edits else ""
        elif session_id in surplus:
            why = "all take more than gitcp.max-edits"
        elif ages.edits and edits.is_settled(survey.repo, session_id):
            why = "its session is settled"
        if why:
            facts = {"session_id": session_id, "revision": revisions.get(session_id)}
            yield build_finding("orphan-edits", ref, why, oid=oid, ref=ref, **facts)


def _read_time(survey: Survey, oid: str) -> float:
    """The date of a commit, in seconds since 1970; 0 if it is missing."""
    commit = read_commit(survey.objects, oid)
    return float(parse_ident(commit["committer"])[1]) if commit else 0.0


def is_expired(state: State, ages: Ages) -> bool:
    """Whether a state is settled, its agent does not run, and it is older than ages.state."""
    if not orphan_rules.is_settled(state) or is_alive(state.get("agent_process")):
        return False
    return ages.now - get_last_seen(state) >= ages.state


def _list_session_files(survey: Survey) -> Iterator[tuple[str, str, set[str]]]:
    """(kind, path, the sessions to which it may belong) of each file of a session."""
    repo = survey.repo
    folders = [("transcript-cache", repo.join_shared("transcript"))]
    folders += [("turn-file", os.path.join(folder, "turn")) for folder in repo.list_folders()]
    for kind, folder in folders:
        for name in files.list_names(folder):
            yield kind, os.path.join(folder, name), orphan_rules.list_possible_owners(name)
    for name in files.list_names(repo.join_shared("lock")):
        lock, _, session_id = name.partition("-")
        if lock in ("session", "transcript"):
            yield "session-lock", repo.join_shared("lock", name), {session_id}


def _find_streams(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """The streams that no state names, and old ones: archives, and branches of a base that no
    worktree is on.  A stream of an active session is not listed.

    `alone`: session -> the paths of its state that only this stream records; they are settled
    with it.
    """
    doomed: list[tuple[str, Tip, str]] = []
    for tip in survey.tips:
        kind, lifetime, why = _judge_stream(survey, tip, ages)
        age = ages.now - _read_change_time(survey.repo, tip)
        reason = f"{why}; {format_days(age)} old"
        if kind and age >= lifetime and tip["ref"] not in survey.held:
            doomed.append((kind, tip, reason))
        elif kind in ("orphan-stream", "settled-stream"):
            yield build_finding(kind, tip["ref"], reason, settled=False, **_list_facts(tip))
    doomed_refs = {tip["ref"] for _, tip, _ in doomed}
    for kind, tip, reason in doomed:
        alone = _map_unshared(survey, tip, doomed_refs)
        words = f"{reason}; settles {_format_paths(alone)}" if alone else reason
        yield build_finding(kind, tip["ref"], words, alone=alone, **_list_facts(tip))


def _judge_stream(survey: Survey, tip: Tip, ages: Ages) -> tuple[str, float, str]:
    """(kind, lifetime in seconds, the reason) of a stream; kind '' if it does not expire."""
    archived = tip["ref"].startswith(shadow_refs.ARCHIVE)
    if survey.is_orphaned(tip):
        if survey.is_settled(tip):
            return "settled-stream", ages.state, "commits have settled it"
        return "orphan-stream", ages.archive, "no state names it"
    parsed = None if archived else ids.parse_shadow(tip["ref"])
    left = parsed and not any(head.startswith(parsed["base7"]) for head in survey.list_heads())
    naming = survey.list_states(tip) if archived or left else []
    # An unreadable state has no phase: it may name any stream.
    if not naming or any(state["phase"] not in ("idle", "ended") for state in naming):
        return "", 0, ""
    if left:
        return "left-stream", ages.archive, "no worktree is on its base"
    return "expired-archive", ages.archive, "archived"


def _find_lost(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """The streams that states name and no ref has, when the state is older than ages.archive."""
    existing = {tip["stream"] for tip in survey.tips}
    for state in survey.states:
        if state.get("unreadable") or state["phase"] not in ("idle", "ended"):
            continue
        age = ages.now - get_last_seen(state)
        for stream in state["streams"]:
            paths = sorted(stream["files"])
            if paths and stream["id"] not in existing and age >= ages.archive:
                alone = {state["session_id"]: paths}
                words = f"no ref has stream '{stream['id']}'; {format_days(age)} old; settles"
                facts = {"stream": stream["id"], "alone": alone}
                yield build_finding(
                    "lost-stream", state["session_id"], f"{words} {_format_paths(alone)}", **facts
                )


def _list_facts(tip: Tip) -> dict[str, object]:
    return {"ref": tip["ref"], "oid": tip["oid"], "time": tip["time"], "stream": tip["stream"]}


def _map_unshared(survey: Survey, tip: Tip, doomed: set[str]) -> dict[str, list[str]]:
    """session -> the paths of its state on a stream that no ref outside doomed records."""
    stream_id, states = tip["stream"], survey.list_states(tip)
    recorded = _list_recorded(survey, stream_id, doomed) if states else set()
    unshared = {}
    for state in states:
        paths = {p for s in state["streams"] if s["id"] == stream_id for p in s["files"]}
        if paths - recorded:
            unshared[state["session_id"]] = sorted(paths - recorded)
    return unshared


def _format_paths(alone: dict[str, list[str]]) -> str:
    return "; ".join(f"{' '.join(paths)} of '{name}'" for name, paths in alone.items())


def _read_change_time(repo: Repo, tip: Tip) -> float:
    """The time of a stream's last change: an old one may have been archived just now."""
    try:
        return max(tip["time"], os.stat(os.path.join(repo.common, tip["ref"])).st_mtime)
    except OSError:
        return tip["time"]  # a packed ref has no file


def _list_recorded(survey: Survey, stream_id: str, doomed: set[str]) -> set[str]:
    """The paths that the refs of a stream record, except the doomed refs."""
    paths: set[str] = set()
    for tip in survey.tips:
        if tip["stream"] == stream_id and tip["ref"] not in doomed:
            try:
                paths.update(shadow_refs.read_changes(survey.objects, tip))
            except Error:  # objects are missing: it may record any path of its states
                states = survey.list_states(tip)
                paths.update(p for s in states for stream in s["streams"] for p in stream["files"])
    return paths


def _find_steps(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """Undo logs with expired steps, and kept files that no other step needs.  A step expires like
    an archive."""
    repo, before = survey.repo, ages.now - ages.archive
    needed: set[str] = set()
    for ref, oid in survey.refs.items():
        if not ref.startswith(undo_log.PREFIX):
            continue
        steps = undo_log.read_steps(repo, ref)
        left = undo_log.list_young(steps, before)
        needed |= undo_log.list_contents(left)
        if steps and not left:
            age = format_days(ages.now - steps[-1]["time"])
            yield build_finding(LOG, ref, f"its last step is {age} old", oid=oid, ref=ref)
        elif len(left) < len(steps):
            count = f"{len(steps) - len(left)} of {len(steps)} steps are"
            reason = f"{count} older than {format_days(ages.archive)}"
            yield build_finding(STEPS, ref, reason, oid=oid, before=int(before))
    for name in files.list_names(repo.join_shared("kept")):
        path = repo.join_shared("kept", name)
        if name not in needed and files.is_older(path, SCRATCH_AGE):
            yield build_finding(KEPT, path, "no step of an undo log needs it")


def find_orphans(repo: Repo, ages: Ages) -> list[Finding]:
    """The findings that gitcp-clean(1) shows."""
    with Case(repo, ages=ages) as case:
        return list(look_at_orphans(case))
