"""Checks of states against refs and markers, without which commits do not see a session's work."""

from __future__ import annotations

import os

from gitcp.core.git import ids
from gitcp.core.render.spans import count_noun
from gitcp.core.upkeep.findings import make_finding
from gitcp.errors import Error
from gitcp.store.journal import journal
from gitcp.store.repair import sessions as damaged
from gitcp.store.session import markers
from gitcp.store.stream import shadow_refs
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding, State, Tip
    from gitcp.store.care.case import Case
    from gitcp.store.care.survey import Survey


def look_at_states(case: Case) -> Iterator[Finding]:
    """Check every state, its streams and its marker; then all streams."""
    survey = case.survey
    known = {tip["stream"] for tip in survey.tips}
    for state in survey.states:
        if state.get("unreadable") == session_read.ANOTHERS:
            continue
        if complaint := _find_fault(state):
            yield make_finding("bad-state", state["session_id"], complaint)
            continue
        yield from _check_streams(survey, state, known)
        if tip := find_newer(survey, state):
            reason = f"the copy on '{tip['ref']}' is newer"
            yield make_finding("old-state", state["session_id"], reason, ref=tip["ref"])
        yield from _check_marker(survey, state)
    names = {state["session_id"] for state in survey.states}
    for name in survey.markers:
        if name not in names:
            yield make_finding("lost-state", name, "it has a marker and no state")
    yield from _check_tips(survey)


def look_at_journal(case: Case) -> Iterator[Finding]:
    """Check the journal of each worktree, whose readers skip lines that they cannot read."""
    for path in (os.path.join(top, journal.NAME) for top in case.repo.list_folders()):
        if count := damaged.count_lines(path):
            what = f"{count} of its lines cannot be read" if count > 0 else "it is not a text file"
            yield make_finding("bad-journal", path, what)


def _find_fault(state: State) -> str:
    if state.get("unreadable"):
        return str(state["unreadable"])
    try:
        ids.check_session_id(state["session_id"])
    except Error as e:
        return str(e)
    for key in ("base_commit", "worktree_path", "transcript_path", "agent_type"):
        if not isinstance(state.get(key, ""), str):
            return f"'{key}' is not a text"
    count = state.get("checkpoint_count")
    if not isinstance(count, int) or count < 0:
        return "'checkpoint_count' is not a number"
    return ""


def _check_streams(survey: Survey, state: State, streams: set[str]) -> Iterator[Finding]:
    """Report streams that no ref has.  It is a note while all their contents exist, as after a
    person deleted the branch."""
    for stream in state["streams"]:
        if stream["files"] and stream["id"] not in streams:
            count = count_noun(len(stream["files"]), "file")
            reason = f"names stream '{stream['id']}' of {count}, which no ref has"
            oids = [file["oid"] for file in stream["files"].values() if file["oid"]]
            complete = all(survey.objects.read(oid) for oid in oids)
            yield make_finding("lost-stream", state["session_id"], reason, complete)


def find_newer(survey: Survey, state: State) -> Tip | None:
    """The stream of a session that has a newer copy of its state, None if there is none.

    The process was killed after it wrote the ref and before the state.  Archives and streams of
    other bases are left out: they may have a copy of an earlier session with this id.
    """
    refs = [state.get("shadow_ref", ""), *(stream["ref"] for stream in state["streams"])]
    names = set(map(ids.parse_stream_name, refs))
    for tip in survey.tips:
        near = tip["base"] == state.get("base_commit")
        near = near or ids.parse_stream_name(tip["ref"]) in names
        if tip["ref"].startswith(shadow_refs.ARCHIVE) or not near:
            continue
        copy = survey.read_copy(tip, state["session_id"])
        same = copy is not None and copy.get("started_at") == state.get("started_at")
        if copy and same and copy.get("revision", 0) > state.get("revision", 0):
            return tip
    return None


def _check_marker(survey: Survey, state: State) -> Iterator[Finding]:
    name = state["session_id"]
    if name in survey.markers:
        if not markers.is_unsettled(state):
            yield make_finding("bad-marker", name, "it has a marker and no open work")
        elif survey.markers[name] != markers.build_marker(state):
            yield make_finding("bad-marker", name, "its marker differs from its state")
    elif markers.is_unsettled(state):
        yield make_finding("no-marker", name, "it has open work and no marker")


def _check_tips(survey: Survey) -> Iterator[Finding]:
    for tip in survey.tips:
        if tip["ref"].startswith(shadow_refs.ARCHIVE):
            continue  # an archive outlives its session, until it expires
        if survey.is_orphaned(tip) and not survey.is_settled(tip):
            last = f"session '{tip['session_id']}' wrote it last"
            reason = f"no state names it; {last}, and may have nothing else"
            yield make_finding("orphan-stream", tip["ref"], reason, oid=tip["oid"])
    for ref in survey.strangers:
        yield make_finding("not-a-stream", ref, "it is not a stream of checkpoints: never touched")
