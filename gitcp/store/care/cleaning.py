"""Deleting what is settled: first what states name, then refs with their exact old values.

After a kill in between there is an archive that no state names; the next run deletes it.
"""

from __future__ import annotations

import os

from gitcp.core.decide import orphan_rules
from gitcp.errors import Moved
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.store.care import orphans
from gitcp.store.git import refs
from gitcp.store.git.objects import Objects
from gitcp.store.journal import open_edits, work
from gitcp.store.pack import dropping, upkeep
from gitcp.store.repair import leftovers
from gitcp.store.session import markers
from gitcp.store.session import state as states
from gitcp.store.stream import expired
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding, Record, Tip
    from gitcp.repo import Repo

_RELEASED = 3600.0  # seconds; objects of younger packs may not have their ref yet
_FILES = ("transcript-cache", "turn-file", "session-lock", "leftover")


def delete_settled(repo: Repo, ages: Ages, findings: Iterable[Finding]) -> list[Finding]:
    """Delete the settled findings of orphans.find_orphans(); return those that were deleted.

    What has changed since, or belongs to a session that is active now, stays.  Raises Busy when a
    session is locked.
    """
    doomed = [finding for finding in findings if finding["settled"]]
    done = _delete_refs(repo, [finding for finding in doomed if "ref" in finding])
    for finding in doomed:
        if finding["kind"] == "settled-state" and _delete_state(repo, finding, ages):
            done.append(finding)
        if finding["kind"] == "lost-stream" and _let_go(repo, finding):
            done.append(finding)
    if doomed:
        upkeep.release_packs(repo, age=_RELEASED)  # git may prune the deleted objects
        dropping.unpin_tips(repo, [finding["oid"] for finding in done if "ref" in finding])
    sessions = set(states.list_ids(repo)) | set(markers.list_ids(repo))
    done += [f for f in doomed if f["kind"] in _FILES and _delete_file(repo, f, sessions)]
    return done + [finding for finding in doomed if _clean_undo(repo, finding)]


def _clean_undo(repo: Repo, item: Finding) -> bool:
    """Cut an undo log, or remove a file that no log needs; return whether that was done."""
    if item["kind"] == orphans.KEPT:
        is_old = files.is_older(item["subject"], leftovers.SCRATCH_AGE)  # no new step needs it
        if is_old:
            os.unlink(item["subject"])
        return is_old
    if item["kind"] != orphans.STEPS:
        return False
    with Objects(repo) as objects:
        gone = undo_log.shorten_log(repo, objects, item["subject"], item["oid"], item["before"])
    expired.add_records(repo, gone or [])
    return gone is not None


def _delete_refs(repo: Repo, doomed: list[Finding]) -> list[Finding]:
    doomed = [finding for finding in doomed if _let_go(repo, finding)]
    points = _list_points(repo, doomed)
    while doomed:
        try:
            updates = [(finding["ref"], None, finding["oid"]) for finding in doomed]
            refs.update_refs(repo, updates, "gitcp: clean")
        except Moved as e:
            left = [finding for finding in doomed if finding["ref"] != e.ref]
            if len(left) == len(doomed):
                raise
            doomed = left
        else:
            expired.add_records(repo, [p for f in doomed for p in points.get(f["ref"], ())])
            return doomed
    return []


def _list_points(repo: Repo, doomed: Iterable[Finding]) -> dict[str, list[Record]]:
    """ref -> the points that are deleted with it."""
    streams = [_build_tip(finding) for finding in doomed if "stream" in finding]
    points = expired.list_expiring(repo, streams) if streams else {}
    for ref in [finding["ref"] for finding in doomed if finding["kind"] == orphans.LOG]:
        with Objects(repo) as objects:
            points[ref] = undo_log.list_points(objects, ref, undo_log.read_steps(repo, ref))
    return points


def _build_tip(item: Finding) -> Tip:
    known: Tip = {"ref": item["ref"], "oid": item["oid"], "stream": item["stream"]}  # type: ignore[typeddict-item]
    return {**known, "time": item["time"], "base": "", "tree": "", "session_id": ""}


def _let_go(repo: Repo, finding: Finding) -> bool:
    """Settle the work that only this stream has; return whether the finding may be deleted.

    False when a session with such work is active now, or a session whose edits are to be deleted
    was used since."""
    if "revision" in finding:
        state = states.peek(repo, finding["session_id"])
        return bool((state.get("revision", 0) if state else 0) == (finding["revision"] or 0))
    alone: dict[str, list[str]] = finding.get("alone") or {}
    with states.held(repo, list(alone)):
        loaded = [state for name in alone if (state := states.load(repo, name))]
        if any(state["phase"] == "active" for state in loaded):
            return False
        for state in loaded:
            open_edits.let_edits_go(repo, state["session_id"], alone[state["session_id"]])
            work.save(repo, state)
    return True


def _delete_state(repo: Repo, finding: Finding, ages: Ages) -> bool:
    name = finding["subject"]
    with states.held(repo, [name]):
        state = states.load(repo, name)
        if state is None or state.get("revision", 0) != finding["revision"]:
            return False
        if not orphans.is_expired(state, ages):
            return False
        states.forget(repo, name)
        markers.forget(repo, name)
    return True


def _delete_file(repo: Repo, finding: Finding, sessions: set[str]) -> bool:
    path = finding["subject"]
    if finding["kind"] == "leftover":
        return bool(leftovers.remove_leftover(repo, path, leftovers.SCRATCH_AGE))
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
