"""Deleting what is settled: states let go first, then refs with their exact old values.

Killed in between, an archive is there that no state names, and the next run takes it.
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
    from gitcp.core.record_types import Finding, Record, State, Tip
    from gitcp.repo import Repo

_ON_ITS_WAY = 3600.0  # seconds
_FILES = ("transcript-cache", "turn-file", "session-lock", "leftover")


def delete_settled(repo: Repo, ages: Ages, findings: Iterable[Finding]) -> list[Finding]:
    """Delete what orphans.find() found settled; return what was deleted.

    What has changed since, or belongs to a session that is active by now, stays.  Raises Busy
    when a session is locked.
    """
    doomed = [one for one in findings if one["settled"]]
    done = _delete_refs(repo, [one for one in doomed if "ref" in one])
    for one in doomed:
        if one["kind"] == "settled-state" and _delete_state(repo, one, ages):
            done.append(one)
        if one["kind"] == "lost-stream" and _let_go(repo, one):
            done.append(one)
    if doomed:
        upkeep.release_packs(repo, younger=_ON_ITS_WAY)  # what is deleted is git's to prune
        dropping.unpin_tips(repo, [one["oid"] for one in done if "ref" in one])
    there = set(states.list_ids(repo)) | set(markers.list_ids(repo))
    for one in doomed:
        if one["kind"] in _FILES and _delete_file(repo, one, there):
            done.append(one)
    return done + [one for one in doomed if _clean_undo(repo, one)]


def _clean_undo(repo: Repo, item: Finding) -> bool:
    """Cut an undo log, or remove what none needs; whether that was done."""
    if item["kind"] == orphans.KEPT:
        still = files.is_older(
            item["subject"], leftovers.SCRATCH_AGE
        )  # no step has begun to need it
        if still:
            os.unlink(item["subject"])
        return still
    if item["kind"] != orphans.STEPS:
        return False
    with Objects(repo) as objects:
        gone = undo_log.shorten_log(repo, objects, item["subject"], item["oid"], item["before"])
    expired.add_records(repo, gone or [])
    return gone is not None


def _delete_refs(repo: Repo, doomed: list[Finding]) -> list[Finding]:
    doomed = [one for one in doomed if _let_go(repo, one)]
    points = _list_points(repo, doomed)
    while doomed:
        try:
            edits = [(one["ref"], None, one["oid"]) for one in doomed]
            refs.update_refs(repo, edits, "gitcp: clean")
        except Moved as e:
            left = [one for one in doomed if one["ref"] != e.ref]
            if len(left) == len(doomed):
                raise
            doomed = left
        else:
            expired.add_records(
                repo, [point for one in doomed for point in points.get(one["ref"], ())]
            )
            return doomed
    return []


def _list_points(repo: Repo, doomed: Iterable[Finding]) -> dict[str, list[Record]]:
    """ref -> the points that go with it."""
    streams = [_build_tip(one) for one in doomed if "stream" in one]
    points = expired.list_expiring(repo, streams) if streams else {}
    for ref in [one["ref"] for one in doomed if one["kind"] == orphans.LOG]:
        with Objects(repo) as objects:
            points[ref] = undo_log.list_points(objects, ref, undo_log.read_steps(repo, ref))
    return points


def _build_tip(item: Finding) -> Tip:
    known: Tip = {"ref": item["ref"], "oid": item["oid"], "stream": item["stream"]}  # type: ignore[typeddict-item]
    return {**known, "time": item["time"], "base": "", "tree": "", "session_id": ""}


def _let_go(repo: Repo, finding: Finding) -> bool:
    """Settle what sessions have in a stream alone; not when one of them is active by now, or
    one whose edits are to go was used since."""
    if "revision" in finding:
        now = states.peek(repo, finding["session_id"])
        return bool((now.get("revision", 0) if now else 0) == (finding["revision"] or 0))
    alone: dict[str, list[str]] = finding.get("alone") or {}
    with states.held(repo, list(alone)):
        named = [state for name in alone if (state := states.load(repo, name))]
        if any(state["phase"] == "active" for state in named):
            return False
        for state in named:
            open_edits.let_edits_go(repo, state["session_id"], alone[state["session_id"]])
            work.save(repo, state)
    return True


def _delete_state(repo: Repo, finding: Finding, ages: Ages) -> bool:
    name = finding["subject"]
    with states.held(repo, [name]):
        state = states.load(repo, name)
        if (
            state is None
            or not _is_unchanged(state, finding)
            or not orphans.is_expired(state, ages)
        ):
            return False
        states.forget(repo, name)
        markers.forget(repo, name)
    return True


def _is_unchanged(state: State, finding: Finding) -> bool:
    return bool(state.get("revision", 0) == finding["revision"])


def _delete_file(repo: Repo, finding: Finding, there: set[str]) -> bool:
    path = finding["subject"]
    if finding["kind"] == "leftover":
        return bool(leftovers.remove_leftover(repo, path, leftovers.SCRATCH_AGE))
    name = os.path.basename(path)
    if finding["kind"] == "session-lock":
        if name.partition("-")[2] in there:
            return False
        with exclusive(repo, name, 0):  # who comes now finds that the file is another
            os.unlink(path)
        return True
    if orphan_rules.list_possible_owners(name) & there:
        return False
    files.remove_file(path)
    return True
