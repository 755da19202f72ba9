"""What no session and no commit needs: finding and deleting it."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from gitcp.checkpoints.format import orphan_rules
from gitcp.checkpoints.format.orphan_rules import build_finding, format_days
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
from gitcp.record.stream import ARCHIVE, read_changes, save_work, stream_list
from gitcp.record.unheard import unrecorded
from gitcp.setup.care import repair
from gitcp.setup.care.case import Case
from gitcp.setup.care.repair import SCRATCH_AGE
from gitcp.setup.care.space import get_last_seen, is_settled, list_owned, list_surplus
from gitcp.setup.care.stored import list_leftovers, remove_leftover
from gitcp.steps import abandoned, undo
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.checkpoints.format.orphan_rules import Ages
    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Survey
    from gitcp.text.record_types import Finding, Record, State, Tip

# Finding changes nothing.
LOG = "expired-undo"
STEPS = "expired-steps"
KEPT = "kept-file"


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
        yield build_finding("settled-state", name, reason, time=int(last), revision=revision)
    for kind, path, owners in _list_session_files(survey):
        # A new session may write its files before its state.
        is_old = not owners.isdisjoint(expired) or files.is_older(path, SCRATCH_AGE)
        if owners.isdisjoint(lasting) and is_old:
            yield build_finding(kind, path, "its session has no state that lasts")
    for path, reason in list_leftovers(survey.repo):
        yield build_finding("leftover", path, reason)
    yield from _find_steps(survey, ages)


def _find_edits(survey: Survey, ages: Ages, lasting: set[str]) -> Iterator[Finding]:
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
            facts = {"session_id": session_id, "revision": revisions.get(session_id)}
            yield build_finding("orphan-edits", ref, why, oid=oid, ref=ref, **facts)


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
        if alone:
            words = f"{reason}; settles {_format_paths(alone)}"
        else:
            words = reason
        yield build_finding(kind, tip["ref"], words, alone=alone, **_list_facts(tip))


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


def _find_lost(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """The streams that states name and no ref has, when the state is older than ages.archive."""
    for state in survey.states:
        if state.get("unreadable") or state["phase"] not in ("idle", "ended"):
            continue
        age = ages.now - get_last_seen(state)
        if age >= ages.archive:
            for stream in survey.list_lost(state):
                alone = {state["session_id"]: sorted(stream["files"])}
                words = f"no ref has stream '{stream['id']}'; {format_days(age)} old; settles"
                facts = {"stream": stream["id"], "alone": alone}
                yield build_finding(
                    "lost-stream", state["session_id"], f"{words} {_format_paths(alone)}", **facts
                )


def _list_facts(tip: Tip) -> dict[str, object]:
    return {"ref": tip["ref"], "oid": tip["oid"], "time": tip["time"], "stream": tip["stream"]}


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
        paths = set()
        for s in state["streams"]:
            if s["id"] == stream_id:
                for p in s["files"]:
                    paths.add(p)
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
                states = survey.list_states(tip)
                paths.update(p for s in states for stream in s["streams"] for p in stream["files"])
    return paths


def _find_steps(survey: Survey, ages: Ages) -> Iterator[Finding]:
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
            yield build_finding(LOG, ref, f"its last step is {age} old", oid=oid, ref=ref)
        elif len(young) < len(steps):
            count = f"{len(steps) - len(young)} of {len(steps)} steps are"
            reason = f"{count} older than {format_days(ages.archive)}"
            yield build_finding(STEPS, ref, reason, oid=oid, before=int(before))
    for name in files.list_names(contents.locate_kept(repo)):
        path = contents.locate_kept(repo, name)
        if name not in needed and files.is_older(path, SCRATCH_AGE):
            yield build_finding(KEPT, path, "no step of an undo log and no call needs it")


def find_orphans(repo: Repo, ages: Ages) -> list[Finding]:
    """The findings that gitcp-clean(1) shows."""
    with Case(repo, ages=ages) as case:
        return list(look_at_orphans(case))


# Deleting: first what states name, then refs with their exact old values.
#
# After a kill in between there is an archive that no state names; the next run deletes it.
_RELEASED = 3600.0  # seconds; objects of younger packs may not have their ref yet
_WITH_EDITS = ("orphan-edits", "expired-archive", "left-stream", "orphan-stream", "settled-state")
_FILES = ("transcript-cache", "turn-file", "session-lock", "leftover")


def delete_settled(repo: Repo, ages: Ages, findings: Iterable[Finding]) -> list[Finding]:
    """Delete the settled findings of find_orphans(); return those that were deleted.

    What has changed since, or belongs to a session that is active now, stays.  Raises Busy when a
    session is locked.
    """
    doomed = [finding for finding in findings if finding["settled"]]
    if any(finding["kind"] in _WITH_EDITS for finding in doomed):
        abandoned.keep_summaries(repo)
    done = _delete_refs(repo, [finding for finding in doomed if "ref" in finding])
    for finding in doomed:
        if finding["kind"] == "settled-state" and _delete_state(repo, finding, ages):
            done.append(finding)
        if finding["kind"] == "lost-stream" and _let_go(repo, finding):
            done.append(finding)
    if doomed:
        pack_care.release_packs(repo, age=_RELEASED)  # git may prune the deleted objects
        pack_care.unpin_tips(repo, [finding["oid"] for finding in done if "ref" in finding])
    sessions = set(others.list_state_ids(repo)) | set(list_marked_ids(repo))
    done += [f for f in doomed if f["kind"] in _FILES and _delete_file(repo, f, sessions)]
    return done + [finding for finding in doomed if _clean_undo(repo, finding)]


def _clean_undo(repo: Repo, item: Finding) -> bool:
    """Cut an undo log, or remove a file that no log needs; return whether that was done."""
    if item["kind"] == KEPT:
        is_old = files.is_older(item["subject"], repair.SCRATCH_AGE)  # no new step needs it
        if is_old:
            os.unlink(item["subject"])
        return is_old
    if item["kind"] != STEPS:
        return False
    with Objects(repo):
        gone = undo.shorten_log(repo, item["subject"], item["oid"], item["before"])
    stream_list.add_records(repo, gone or [])
    return gone is not None


def _delete_refs(repo: Repo, doomed: list[Finding]) -> list[Finding]:
    doomed = [finding for finding in doomed if _let_go(repo, finding)]
    points = _list_points(repo, doomed)
    while doomed:
        try:
            updates = [(finding["ref"], None, finding["oid"]) for finding in doomed]
            refs.update_refs(repo, updates, "gitcp: clean")
        except Moved as e:
            unmoved = [finding for finding in doomed if finding["ref"] != e.ref]
            if len(unmoved) == len(doomed):
                raise
            doomed = unmoved
        else:
            stream_list.add_records(repo, [p for f in doomed for p in points.get(f["ref"], ())])
            return doomed
    return []


def _list_points(repo: Repo, doomed: Iterable[Finding]) -> dict[str, list[Record]]:
    """ref -> the points that are deleted with it."""
    streams = [_build_tip(finding) for finding in doomed if "stream" in finding]
    if streams:
        points = stream_list.list_expiring(repo, streams)
    else:
        points = {}
    for ref in [finding["ref"] for finding in doomed if finding["kind"] == LOG]:
        with Objects(repo):
            points[ref] = undo.list_points(repo.objects, ref, undo.read_steps(repo, ref))
    return points


def _build_tip(item: Finding) -> Tip:
    known: Tip = {"ref": item["ref"], "oid": item["oid"], "stream": item["stream"]}  # type: ignore[typeddict-item]
    return {**known, "time": item["time"], "base": "", "tree": "", "session_id": ""}


def _let_go(repo: Repo, finding: Finding) -> bool:
    """Settle the work that only this stream has; return whether the finding may be deleted.

    False when a session with such work is active now, or a session whose edits are to be deleted
    was used since."""
    if "revision" in finding:
        state = others.peek_state(repo, finding["session_id"])
        return bool((state.get("revision", 0) if state else 0) == (finding["revision"] or 0))
    alone: dict[str, list[str]] = finding.get("alone") or {}
    with others.held_state(repo, list(alone)):
        loaded = [state for name in alone if (state := load_state(repo, name))]
        if any(state["phase"] == "active" for state in loaded):
            return False
        for state in loaded:
            edits.let_edits_go(repo, state["session_id"], alone[state["session_id"]])
            save_work(repo, state)
    return True


def _delete_state(repo: Repo, finding: Finding, ages: Ages) -> bool:
    name = finding["subject"]
    with others.held_state(repo, [name]):
        state = load_state(repo, name)
        if state is None or state.get("revision", 0) != finding["revision"]:
            return False
        if not is_expired(state, ages):
            return False
        unrecorded.settle(repo, [name], forever=True)
        others.forget_state(repo, name)
        forget_marker(repo, name)
    return True


def _delete_file(repo: Repo, finding: Finding, sessions: set[str]) -> bool:
    path = finding["subject"]
    if finding["kind"] == "leftover":
        return bool(remove_leftover(repo, path))
    name = os.path.basename(path)
    if finding["kind"] == "session-lock":
        if name.partition("-")[2] in sessions:
            return False
        with exclusive(repo, name, 0):  # a process that waits sees that the file was replaced
            os.unlink(path)
        return True
    if orphan_rules.list_possible_owners(name) & sessions:
        return False
    files.remove_file(path)
    return True
