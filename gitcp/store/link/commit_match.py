"""Which sessions a commit belongs to (doc/behaviour.md "Matching").

Gathers what overlap.match() needs: the markers of open sessions and their edits, with those of the
running turn.  The worktree is not scanned.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.credit import entries
from gitcp.core.decide import overlap
from gitcp.core.decide.line_evidence import holds_line
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git import reflog
from gitcp.store.journal import open_edits
from gitcp.store.journal.work import Work
from gitcp.store.session import markers, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import JournalLine, Marker
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects


def match_sessions(
    repo: Repo,
    objects: Objects,
    changes: Changes,
    parent: str,
    open_markers: list[Marker] | None = None,
    agent: bool = True,
    replay: bool = False,
    brought: Collection[str] = (),
) -> dict[str, Linked]:
    """The sessions that a commit with these changes on parent belongs to, each with the reasons.

    open_markers: the sessions to match, None for all.  agent: the commit is being made now, so the
    environment or a process above may name its session.  replay: the commit was rewritten from
    another one, so only evidence counts.  brought: the sessions of checkpoints that come from a
    commit that is made again; what that one left out links nothing here."""
    stash, blob = reflog.Stash(repo, objects), objects.read_blob
    linked: dict[str, Linked] = {}
    candidates = markers.read_concerned(repo) if open_markers is None else open_markers
    acting = _find_acting(candidates) if agent else {}
    foreign = _list_foreign(repo, candidates, acting)
    looked_at, committers = None if replay else changes, acting if agent else None
    lines = open_edits.look_for_commit(repo, objects, looked_at, *foreign, committers)
    if open_markers is None:
        candidates = _add_writers(repo, candidates, lines, changes)
    is_here = open_edits.build_stay_check(repo, parent)
    for marker in candidates:
        session_id, how = marker["session_id"], acting.get(marker["session_id"])
        edits = Work(lines, session_id, is_here).build_records(session_id not in brought)
        edits = _mark_stashed(stash, edits, changes, replay)
        edits += [] if replay else _list_elsewhere(repo, marker, changes)
        verdict = overlap.match(edits, changes, blob, lambda path: _is_gone(repo, path))
        paths, reasons = verdict["paths"], verdict["reasons"] if verdict["paths"] else {}
        trace.append_note("match", f"'{session_id}': {paths} {verdict['reasons']}")
        if paths or how:
            linked[session_id] = {"how": how or "content", "paths": paths, "reasons": reasons}
    for path in {path for part in linked.values() for path in part["paths"]}:
        _leave_out_lineless(objects, lines, linked, path, changes)
    return linked


def _add_writers(
    repo: Repo, candidates: list[Marker], lines: list[JournalLine], changes: Changes
) -> list[Marker]:
    """Add the sessions that wrote one of the changed files, also before it was moved."""
    moved = {line["follows"] for line in lines if "follows" in line and line["path"] in changes}
    writers = entries.list_writers(lines, {*changes, *moved})
    if writers <= {marker["session_id"] for marker in candidates}:
        return candidates
    return markers.read_concerned(repo, writers)


def _list_foreign(
    repo: Repo, candidates: list[Marker], acting: Container[str]
) -> tuple[list[Marker], list[Marker]]:
    """(the sessions of other worktrees that make the commit; those that may write here unseen)."""
    foreign = [m for m in candidates if not markers.is_home(repo, m)]
    visitors = [m for m in foreign if m["session_id"] in acting]
    return visitors, [m for m in foreign if m["phase"] == "active" and not m["tool_events"]]


def _list_elsewhere(repo: Repo, marker: Marker, changes: Changes) -> list[Recorded]:
    """The session's edits of the changed paths that lie in other worktrees."""
    if markers.is_home(repo, marker) and not marker.get("visits"):
        return []
    return late.elsewhere.list_records(repo, marker, changes)


def _leave_out_lineless(
    objects: Objects,
    lines: list[JournalLine],
    linked: dict[str, Linked],
    path: str,
    changes: Changes,
) -> None:
    """Remove path from the sessions of which the commit has no line of it, if the commit has lines
    of another session there."""
    writers = [session_id for session_id, part in linked.items() if path in part["paths"]]
    if len(writers) < 2:
        return
    _, old, _, new = changes[path]
    ends = [objects.read_blob(oid) if oid else b"" for oid in (old, new)]
    lacking = {
        session_id
        for session_id in writers
        if (stretches := Work(lines, session_id).list_stretches(path))
        and not any(holds_line(*s.read_contents(objects.read_blob), *ends) for s in stretches)
    }
    for session_id in lacking if len(lacking) < len(writers) else ():
        part = linked[session_id]
        part["paths"].remove(path)
        part["reasons"][path] = "none of its lines is in the commit"
        if not part["paths"] and part["how"] == "content":
            del linked[session_id]


def _mark_stashed(
    stash: reflog.Stash, edits: list[Recorded], paths: Container[str], replay: bool
) -> list[Recorded]:
    """edits, those at paths marked if the stash holds them; in a replay all are away."""
    if replay:
        return [{**edit, "live": False} for edit in edits]
    stashed = {
        edit["path"]
        for edit in edits
        if edit["live"] and edit["path"] in paths and edit["oid"]
        if stash.holds(edit["path"], (edit.get("mode", ""), edit["oid"]))
    }
    return [{**edit, "stashed": edit["path"] in stashed} for edit in edits]


def _find_acting(open_markers: list[Marker]) -> dict[str, str]:
    """The active sessions that the environment or a process above names: id -> which of them."""
    active = [m for m in open_markers if m["phase"] == "active"]
    if not active:
        return {}
    how = {m["session_id"]: "environment" for m in active if _is_in_environment(m)}
    if how or not any(m["agent_process"] for m in active):
        return how
    above = set(process.list_ancestors())
    for marker in active:
        agent = marker["agent_process"]
        if agent and agent["pid"] in above and process.is_alive(agent):
            how[marker["session_id"]] = "process"
    return how


def _is_in_environment(marker: Marker) -> bool:
    """Whether a variable of the session's client names the session."""
    variables = {name for name, value in os.environ.items() if value == marker["session_id"]}
    if not variables:
        return False
    return not variables.isdisjoint(late.agents.list_session_variables(marker["agent_type"]))


def _is_gone(repo: Repo, path: str) -> bool:
    return not os.path.lexists(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
