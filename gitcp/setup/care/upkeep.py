"""What no session and no commit needs: finding and deleting it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from gitcp.checkpoints.format import orphan_rules
from gitcp.checkpoints.format.orphan_rules import format_days
from gitcp.errors import Error, Moved
from gitcp.git import files, refs
from gitcp.git.files import exclusive, locate_lock
from gitcp.git.objects import Objects, pack_care, parse_ident, read_commit
from gitcp.git.private_files import WORKTREE
from gitcp.record import contents
from gitcp.record.journal import edits, held_lines
from gitcp.record.looks import taken
from gitcp.record.session import forget_marker, load_state, others
from gitcp.record.session.others import list_marked_ids
from gitcp.record.session.process import is_alive
from gitcp.record.stream import ARCHIVE, expired_points, read_changes, save_work
from gitcp.record.unheard import unrecorded
from gitcp.setup.care.case import Case
from gitcp.setup.care.findings import NOTE
from gitcp.setup.care.leftovers import list_leftovers, remove_leftover
from gitcp.setup.care.mend_objects import SCRATCH_AGE
from gitcp.setup.care.space import get_last_seen, is_settled, list_owned, list_surplus
from gitcp.steps import abandoned, undo
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.checkpoints.format.orphan_rules import Ages
    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Survey
    from gitcp.text.record_types import Record, State, Tip

# Finding changes nothing.
LOG = "expired-undo"
STEPS = "expired-steps"
KEPT = "kept-file"


@dataclass(slots=True)
class Orphan:
    """Something that no session and no commit needs.

    subject: a ref, a session, or a path.  is_settled: whether it may be deleted now.  ref, oid: the
    ref that goes with it, and its value.  tip: the stream.  stream: the id of one that no ref has.
    alone: session -> the paths of its state that only this records.  session_id: whose edits it is.
    revision: of the state, None without one.  time: when it was last written; before: the time
    before which steps of an undo log go.  Both in seconds since 1970."""

    kind: str
    subject: str
    reason: str
    is_settled: bool = True
    ref: str = ""
    oid: str = ""
    tip: Tip | None = None
    stream: str = ""
    alone: dict[str, list[str]] = field(default_factory=dict)
    session_id: str = ""
    revision: int | None = None
    time: int | None = None
    before: int = 0

    def build_record(self) -> Record:
        """The record `finding` (gitcp-record(5))."""
        record: Record = {
            "type": "finding",
            "kind": self.kind,
            "severity": NOTE,
            "subject": self.subject,
            "reason": self.reason,
            "settled": self.is_settled,
        }
        facts: Record = {
            "ref": self.ref,
            "oid": self.oid,
            "stream": self.stream,
            "alone": self.alone,
            "session_id": self.session_id,
            "before": self.before,
        }
        record |= {name: value for name, value in facts.items() if value}
        if self.revision is not None:
            record["revision"] = self.revision
        if self.time is not None:
            record["time"] = self.time
        return record


def find_ages(repo: Repo, age: int | None = None, all_edits: bool = False) -> Ages:
    """The ages by gitcp.archive-expire and gitcp.state-expire; age: days for both instead.

    all_edits: the edits of settled sessions expire at once."""
    archive = repo.config.get_option("gitcp.archive-expire")
    state = repo.config.get_option("gitcp.state-expire")
    if age is not None:
        archive = state = age
    day = orphan_rules.DAY
    return orphan_rules.Ages(time.time(), archive * day, state * day, all_edits)


def look_at_orphans(case: Case) -> Iterator[Orphan]:
    """Orphans of the kinds of orphan_rules, in its order.  A stream without a state is not settled
    until it is as old as an expired archive."""
    survey = case.survey
    ages = case.ages or find_ages(case.repo)
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
        yield Orphan("settled-state", name, reason, time=int(last), revision=revision)
    for kind, path, owners in _list_session_files(survey):
        # A new session may write its files before its state.
        is_old = not owners.isdisjoint(expired) or files.is_older(path, SCRATCH_AGE)
        if owners.isdisjoint(lasting) and is_old:
            yield Orphan(kind, path, "its session has no state that lasts")
    for path, reason in list_leftovers(survey.repo):
        yield Orphan("leftover", path, reason)
    yield from _find_steps(survey, ages)


def _find_edits(survey: Survey, ages: Ages, lasting: set[str]) -> Iterator[Orphan]:
    """The edits of sessions without a state that lasts, and those of settled sessions if
    gitcp.max-edits is exceeded or ages.edits is set."""
    surplus = set(list_surplus(survey.repo))
    revisions = {state["session_id"]: state.get("revision", 0) for state in survey.states}
    for ref, oid in survey.refs.items():
        session_id = held_lines.find_session(ref, lasting | set(revisions))
        why = ""
        if not session_id:
            continue
        if session_id not in lasting:
            is_old = ages.now - _read_time(survey, oid) >= ages.archive
            why = ""
            if is_old or ages.edits:
                why = "no state of its session lasts"
        elif session_id in surplus:
            why = "all take more than gitcp.max-edits"
        elif ages.edits and is_settled(survey.repo, session_id):
            why = "its session is settled"
        if why:
            revision = revisions.get(session_id)
            yield Orphan(
                _EDITS, ref, why, oid=oid, ref=ref, session_id=session_id, revision=revision
            )


def _read_time(survey: Survey, oid: str) -> float:
    """The date of a commit, in seconds since 1970; 0 if it is missing."""
    commit = read_commit(survey.repo.objects, oid)
    if commit:
        return float(parse_ident(commit["committer"])[1])
    return 0.0


def is_expired(state: State, ages: Ages) -> bool:
    """Whether a state is settled, its agent does not run, and it is older than ages.state."""
    if not orphan_rules.is_settled(state) or is_alive(state.get("agent_process")):
        return False
    return ages.now - get_last_seen(state) >= ages.state


class _SessionFile(NamedTuple):
    """A file of a session."""

    kind: str
    path: str
    owners: set[str]  # the sessions to which it may belong


def _list_session_files(survey: Survey) -> Iterator[_SessionFile]:
    """The files of sessions, whether there is such a session or not."""
    repo = survey.repo
    for owned in list_owned(repo, "left"):
        kind = "transcript-cache"
        if owned.file.place == WORKTREE:
            kind = "turn-file"
        yield _SessionFile(kind, owned.path, owned.owners)
    for name in files.list_names(locate_lock(repo)):
        lock, _, session_id = name.partition("-")
        if lock in ("session", "transcript"):
            yield _SessionFile("session-lock", locate_lock(repo, name), {session_id})


def _find_streams(survey: Survey, ages: Ages) -> Iterator[Orphan]:
    """The streams that no state names, and old ones: archives, and branches of a base that no
    worktree is on.  A stream of an active session is not listed.

    `alone`: session -> the paths of its state that only this stream records; they are settled
    with it.
    """
    doomed: list[tuple[Tip, _Expiry]] = []
    for tip in survey.tips:
        expiry = _judge_stream(survey, tip, ages)
        age = ages.now - _read_change_time(survey.repo, tip)
        if expiry.kind and age >= expiry.lifetime and tip["ref"] not in survey.held:
            doomed.append((tip, expiry))
        elif expiry.kind in ("orphan-stream", "settled-stream"):
            reason = f"{expiry.why}; {format_days(age)} old"
            yield _make_stream(expiry.kind, tip, reason, settled=False)
    doomed_refs = {tip["ref"] for tip, _ in doomed}
    for tip, expiry in doomed:
        age = ages.now - _read_change_time(survey.repo, tip)
        reason = f"{expiry.why}; {format_days(age)} old"
        alone = _map_unshared(survey, tip, doomed_refs)
        if alone:
            reason += f"; settles {_format_paths(alone)}"
        yield _make_stream(expiry.kind, tip, reason, alone=alone)


def _make_stream(
    kind: str,
    tip: Tip,
    reason: str,
    *,
    alone: dict[str, list[str]] | None = None,
    settled: bool = True,
) -> Orphan:
    return Orphan(
        kind,
        tip["ref"],
        reason,
        settled,
        ref=tip["ref"],
        oid=tip["oid"],
        tip=tip,
        stream=tip["stream"],
        alone=alone or {},
        time=int(tip["time"]),
    )


class _Expiry(NamedTuple):
    """When a stream expires."""

    kind: str = ""  # '' if it does not
    lifetime: float = 0  # seconds
    why: str = ""


def _judge_stream(survey: Survey, tip: Tip, ages: Ages) -> _Expiry:
    """Whether a stream expires, and after how long."""
    archived = tip["ref"].startswith(ARCHIVE)
    if survey.is_orphaned(tip):
        if survey.is_settled(tip):
            return _Expiry("settled-stream", ages.state, "commits have settled it")
        return _Expiry("orphan-stream", ages.archive, "no state names it")
    if archived:
        parsed = None
    else:
        parsed = ids.parse_shadow(tip["ref"])
    is_left = parsed and not any(head.startswith(parsed["base7"]) for head in survey.heads)
    if archived or is_left:
        naming = survey.list_states(tip)
    else:
        naming = []
    # An unreadable state has no phase: it may name any stream.
    if not naming or any(state["phase"] not in ("idle", "ended") for state in naming):
        return _Expiry()
    if is_left:
        return _Expiry("left-stream", ages.archive, "no worktree is on its base")
    return _Expiry("expired-archive", ages.archive, "archived")


def _find_lost(survey: Survey, ages: Ages) -> Iterator[Orphan]:
    """The streams that states name and no ref has, when the state is older than ages.archive."""
    for state in survey.states:
        if state.get("unreadable") or state["phase"] not in ("idle", "ended"):
            continue
        age = ages.now - get_last_seen(state)
        if age >= ages.archive:
            for stream in survey.list_lost(state):
                alone = {state["session_id"]: sorted(stream["files"])}
                words = f"no ref has stream '{stream['id']}'; {format_days(age)} old; settles"
                reason = f"{words} {_format_paths(alone)}"
                name = state["session_id"]
                yield Orphan("lost-stream", name, reason, stream=stream["id"], alone=alone)


def _map_unshared(survey: Survey, tip: Tip, doomed: set[str]) -> dict[str, list[str]]:
    """session -> the paths of its state on a stream that no ref outside doomed records."""
    stream_id = tip["stream"]
    states = survey.list_states(tip)
    if states:
        recorded = _list_recorded(survey, stream_id, doomed)
    else:
        recorded = set()
    unshared = {}
    for state in states:
        paths: set[str] = set()
        for s in state["streams"]:
            if s["id"] == stream_id:
                paths.update(s["files"])
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
                paths.update(read_changes(survey.repo.objects, tip))
            except Error:  # objects are missing: it may record any path of its states
                for state in survey.list_states(tip):
                    for stream in state["streams"]:
                        paths.update(stream["files"])
    return paths


def _find_steps(survey: Survey, ages: Ages) -> Iterator[Orphan]:
    """Undo logs with expired steps, and kept files that no other step and no young call needs.  A
    step and a call expire like an archive."""
    repo = survey.repo
    before = ages.now - ages.archive
    needed = taken.list_needed(repo, before)
    for ref, oid in survey.refs.items():
        if not ref.startswith(undo.PREFIX):
            continue
        steps = undo.read_steps(repo, ref)
        young = undo.list_young(steps, before)
        needed |= undo.list_contents(young)
        if steps and not young:
            age = format_days(ages.now - steps[-1].time)
            yield Orphan(LOG, ref, f"its last step is {age} old", oid=oid, ref=ref)
        elif len(young) < len(steps):
            count = f"{len(steps) - len(young)} of {len(steps)} steps are"
            reason = f"{count} older than {format_days(ages.archive)}"
            yield Orphan(STEPS, ref, reason, oid=oid, before=int(before))
    for name in files.list_names(contents.locate_kept(repo)):
        path = contents.locate_kept(repo, name)
        if name not in needed and files.is_older(path, SCRATCH_AGE):
            yield Orphan(KEPT, path, "no step of an undo log and no call needs it")


def find_orphans(repo: Repo, ages: Ages) -> list[Orphan]:
    """What gitcp-clean(1) shows."""
    with Case(repo, ages=ages) as case:
        return list(look_at_orphans(case))


# Deleting: first what states name, then refs with their exact old values.
#
# After a kill in between there is an archive that no state names; the next run deletes it.
_RELEASED = 3600.0  # seconds; objects of younger packs may not have their ref yet
_EDITS = "orphan-edits"
_WITH_EDITS = (_EDITS, "expired-archive", "left-stream", "orphan-stream", "settled-state")
_FILES = ("transcript-cache", "turn-file", "session-lock", "leftover")


def delete_settled(repo: Repo, ages: Ages, orphans: Iterable[Orphan]) -> list[Orphan]:
    """Delete those of find_orphans() that are settled; return what was deleted.

    What has changed since, or belongs to a session that is active now, stays.  Raises Busy when a
    session is locked.
    """
    doomed = [orphan for orphan in orphans if orphan.is_settled]
    if any(orphan.kind in _WITH_EDITS for orphan in doomed):
        abandoned.keep_summaries(repo)
    done = _delete_refs(repo, [orphan for orphan in doomed if orphan.ref])
    for orphan in doomed:
        if orphan.kind == "settled-state" and _delete_state(repo, orphan, ages):
            done.append(orphan)
        if orphan.kind == "lost-stream" and _let_go(repo, orphan):
            done.append(orphan)
    if doomed:
        pack_care.release_packs(repo, age=_RELEASED)  # git may prune the deleted objects
        pack_care.unpin_tips(repo, [orphan.oid for orphan in done if orphan.ref])
    sessions = set(others.list_state_ids(repo)) | set(list_marked_ids(repo))
    for orphan in doomed:
        if orphan.kind in _FILES and _delete_file(repo, orphan, sessions):
            done.append(orphan)
    return done + [orphan for orphan in doomed if _clean_undo(repo, orphan)]


def _clean_undo(repo: Repo, orphan: Orphan) -> bool:
    """Cut an undo log, or remove a file that no log needs; return whether that was done."""
    if orphan.kind == KEPT:
        is_old = files.is_older(orphan.subject, SCRATCH_AGE)  # no new step needs it
        if is_old:
            os.unlink(orphan.subject)
        return is_old
    if orphan.kind != STEPS:
        return False
    with Objects(repo):
        gone = undo.shorten_log(repo, orphan.subject, orphan.oid, orphan.before)
    expired_points.add_records(repo, gone or [])
    return gone is not None


def _delete_refs(repo: Repo, doomed: list[Orphan]) -> list[Orphan]:
    doomed = [orphan for orphan in doomed if _let_go(repo, orphan)]
    points = _list_points(repo, doomed)
    while doomed:
        try:
            updates = [(orphan.ref, None, orphan.oid) for orphan in doomed]
            refs.update_refs(repo, updates, "gitcp: clean")
        except Moved as e:
            unmoved = [orphan for orphan in doomed if orphan.ref != e.ref]
            if len(unmoved) == len(doomed):
                raise
            doomed = unmoved
        else:
            gone: list[Record] = []
            for orphan in doomed:
                gone += points.get(orphan.ref, ())
            expired_points.add_records(repo, gone)
            return doomed
    return []


def _list_points(repo: Repo, doomed: Iterable[Orphan]) -> dict[str, list[Record]]:
    """ref -> the points that are deleted with it."""
    points: dict[str, list[Record]] = {}
    tips = [orphan.tip for orphan in doomed if orphan.tip]
    if tips:
        points |= expired_points.list_expiring(repo, tips)
    for ref in [orphan.ref for orphan in doomed if orphan.kind == LOG]:
        with Objects(repo):
            points[ref] = undo.list_points(repo.objects, ref, undo.read_steps(repo, ref))
    return points


def _let_go(repo: Repo, orphan: Orphan) -> bool:
    """Settle the work that only this has; return whether it may be deleted.

    False when a session with such work is active now, or a session whose edits are to be deleted
    was used since."""
    if orphan.kind == _EDITS:
        state = others.peek_state(repo, orphan.session_id)
        revision = 0
        if state:
            revision = state.get("revision", 0)
        return bool(revision == (orphan.revision or 0))
    with others.held_state(repo, list(orphan.alone)):
        loaded: list[State] = []
        for name in orphan.alone:
            state = load_state(repo, name)
            if state:
                loaded.append(state)
        if any(state["phase"] == "active" for state in loaded):
            return False
        for state in loaded:
            edits.let_edits_go(repo, state["session_id"], orphan.alone[state["session_id"]])
            save_work(repo, state)
    return True


def _delete_state(repo: Repo, orphan: Orphan, ages: Ages) -> bool:
    name = orphan.subject
    with others.held_state(repo, [name]):
        state = load_state(repo, name)
        if state is None or state.get("revision", 0) != orphan.revision:
            return False
        if not is_expired(state, ages):
            return False
        unrecorded.settle(repo, [name], forever=True)
        others.forget_state(repo, name)
        forget_marker(repo, name)
    return True


def _delete_file(repo: Repo, orphan: Orphan, sessions: set[str]) -> bool:
    path = orphan.subject
    if orphan.kind == "leftover":
        return bool(remove_leftover(repo, path))
    name = os.path.basename(path)
    if orphan.kind == "session-lock":
        if name.partition("-")[2] in sessions:
            return False
        with exclusive(repo, name, 0):  # a process that waits sees that the file was replaced
            os.unlink(path)
        return True
    if orphan_rules.list_possible_owners(name) & sessions:
        return False
    files.remove_file(path)
    return True
