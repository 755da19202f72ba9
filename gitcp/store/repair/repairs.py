"""Repairs that lose nothing: each looks again under its lock, and says what it did."""

from __future__ import annotations

import os
import shutil

from gitcp.core.upkeep.findings import CODES
from gitcp.errors import Busy, Error, Moved
from gitcp.process.regular_file import move_aside
from gitcp.store.aside import index
from gitcp.store.git import files
from gitcp.store.relink import by_hand
from gitcp.store.repair import (
    broken_edits,
    broken_refs,
    broken_store,
    broken_streams,
    kept_promises,
)
from gitcp.store.session import markers, recall
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs, state_copy
from gitcp.store.upkeep import check_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def repaired(repo: Repo, objects: Objects, finding: Finding) -> Finding:
    """finding, with `repaired` saying what was done where its code is one of those mended.

    What is not as it was found any more, or is locked, is left as it is.
    """
    if not CODES[finding["kind"]][1]:
        return finding
    try:
        done = _repair(repo, objects, finding)
    except (Busy, Moved, OSError, Error) as e:
        return {**finding, "reason": f"{finding['reason']}; not repaired: {e}"}
    return {**finding, "repaired": done} if done else finding


def _repair(repo: Repo, objects: Objects, finding: Finding) -> str:
    subject = finding["subject"]
    if finding["kind"] == "lock":
        return remove(repo, subject, check_files.LOCK_AGE)
    if finding["kind"] == "leftover":
        return remove(repo, subject, check_files.SCRATCH_AGE)
    if finding["kind"] == "broken-stream":
        return _graphed(repo, broken_streams.mend(repo, objects, subject))
    if finding["kind"] == "broken-edits":
        return broken_edits.mend(repo, objects, subject)
    if finding["kind"] in ("dangling-trailer", "left-out"):
        return kept_promises.keep(repo, objects, subject, finding["checkpoint_id"])
    if finding["kind"] == "wrong-note":
        return by_hand.take_back(repo, objects, subject, finding["checkpoint_id"])
    if finding["kind"] == "broken-store":
        return _graphed(repo, broken_store.mend(repo, objects))
    if finding["kind"] == "bad-ref":
        return broken_refs.mend(repo, objects, subject)
    with states.held(repo, [subject]):
        if finding["kind"] == "old-state":
            return _newer(repo, objects, subject, finding["ref"])
        state = recall.recall(repo, objects, subject)
        if state is None:
            return _forgotten(repo, subject)
        markers.save(repo, state)
    return f"wrote the state, revision {state['revision']}, and its marker"


def _graphed(repo: Repo, done: str) -> str:
    """Where commits went, git's graph of commits is drawn anew: `git fsck` fails at one that
    names what is gone."""
    drawn = ("commit-graph", "commit-graphs")
    if done and any(os.path.exists(f"{repo.common}/objects/info/{name}") for name in drawn):
        repo.git.run("commit-graph", "write", "--reachable")
    return done


def _newer(repo: Repo, objects: Objects, session_id: str, ref: str) -> str:
    tip = shadow_refs.read(objects, ref)
    copy = state_copy.whole(objects, tip, session_id) if tip else None
    state = states.load(repo, session_id)
    if not state or not copy or copy.get("revision", 0) <= state.get("revision", 0):
        return ""
    before, copy = state.get("revision", 0), states.modern(copy)
    markers.save(repo, copy)
    return f"took the copy: revision {before} became {copy['revision']}"


def _forgotten(repo: Repo, session_id: str) -> str:
    """Nothing is known of a session: what could not be read is set aside by now."""
    marker = index.path(repo, session_id)
    if os.path.lexists(marker):
        return f"moved the marker to '{move_aside(repo.common, marker)}'"
    return f"moved what could not be read to '{repo.shared('corrupt')}'"


def remove(repo: Repo, path: str, seconds: int) -> str:
    """Move a file that is still old out of its place, then remove it; say what was removed.

    What somebody put there meanwhile is put back, and '' returned.
    """
    if not files.older(path, seconds):
        return ""
    if os.path.isdir(path):
        shutil.rmtree(path)
        return "removed the directory"
    before = os.lstat(path)
    aside = repo.shared("tmp", f"aside-{os.getpid()}-{before.st_ino}")
    os.makedirs(os.path.dirname(aside), exist_ok=True)
    os.rename(path, aside)
    after = os.lstat(aside)
    if (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns):
        os.link(aside, path)
        os.unlink(aside)
        return ""
    os.unlink(aside)
    return f"removed it, {before.st_size} bytes"
