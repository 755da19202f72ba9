"""Deleting what is settled: states let go first, then refs with their exact old values.

Killed in between, an archive is there that no state names, and the next run takes it.
"""

from __future__ import annotations

import os

from gitcp.errors import Moved
from gitcp.store.git import refs
from gitcp.store.repair import repairs
from gitcp.store.session import markers
from gitcp.store.session import state as states
from gitcp.store.upkeep import check_files, orphans
from gitcp.store.upkeep.survey import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo

_FILES = ("transcript-cache", "turn-file", "leftover")


def clean(repo: Repo, ages: Ages, findings: Iterable[Finding]) -> list[Finding]:
    """Delete what orphans.find() found settled; return what was deleted.

    What has changed since, or belongs to a session that is active by now, stays.  Raises Busy
    when a session is locked.
    """
    doomed = [one for one in findings if one["settled"]]
    done = _refs(repo, [one for one in doomed if "ref" in one])
    for one in doomed:
        if one["kind"] == "settled-state" and _state(repo, one, ages):
            done.append(one)
    there = set(states.names(repo)) | set(listed(repo.shared("open")))
    for one in doomed:
        if one["kind"] in _FILES and _file(repo, one, there):
            done.append(one)
    return done


def _refs(repo: Repo, doomed: list[Finding]) -> list[Finding]:
    doomed = [one for one in doomed if _let_go(repo, one)]
    while doomed:
        try:
            edits = [(one["ref"], None, one["oid"]) for one in doomed]
            refs.update(repo, edits, "gitcp: clean")
        except Moved as e:
            left = [one for one in doomed if one["ref"] != e.ref]
            if len(left) == len(doomed):
                raise
            doomed = left
        else:
            return doomed
    return []


def _let_go(repo: Repo, finding: Finding) -> bool:
    """Settle what sessions have in an archive alone; not when one of them is active by now."""
    alone: dict[str, list[str]] = finding.get("alone") or {}
    with states.held(repo, list(alone)):
        named = [state for name in alone if (state := states.load(repo, name))]
        if any(state["phase"] == "active" for state in named):
            return False
        for state in named:
            for stream in state["streams"]:
                if stream["id"] == finding["stream"]:
                    for path in alone[state["session_id"]]:
                        stream["files"].pop(path, None)
            state["streams"] = [stream for stream in state["streams"] if stream["files"]]
            markers.save(repo, state)
    return True


def _state(repo: Repo, finding: Finding, ages: Ages) -> bool:
    name = finding["subject"]
    with states.held(repo, [name]):
        state = states.load(repo, name)
        if state is None or not _same(state, finding) or not orphans.expired(state, ages):
            return False
        states.forget(repo, name)
        marker = repo.shared("open", name)
        if os.path.lexists(marker):
            os.unlink(marker)
    return True


def _same(state: State, finding: Finding) -> bool:
    return bool(state.get("revision", 0) == finding["revision"])


def _file(repo: Repo, finding: Finding, there: set[str]) -> bool:
    path = finding["subject"]
    if finding["kind"] == "leftover":
        return bool(repairs.remove(repo, path, check_files.SCRATCH_AGE))
    if orphans.owners(os.path.basename(path)) & there:
        return False
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    return True
