"""Which sessions a commit belongs to: what match() needs, gathered, without a worktree scan.

Reads the staged changes, the markers of open sessions and what they recorded; an active
session also has what its running turn wrote (doc/behaviour.md "Matching").
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.credit import entries
from gitcp.core.decide import overlap
from gitcp.core.decide.line_evidence import holds_line
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git import commit_changes, reflog
from gitcp.store.journal import elsewhere, open_edits
from gitcp.store.journal.work import Work
from gitcp.store.session import markers, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.decide.overlap import Linked, Matched
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
) -> dict[str, Linked]:
    """The sessions a commit with these changes on parent belongs to, each with its reasons.

    open_markers: those to ask, default all of the repository.  agent: the commit is being made
    now, so the environment and the processes above may name the session that makes it.
    replay: the commit was rewritten from another one; only evidence counts.
    """
    stash, blob = reflog.Stash(repo, objects), commit_changes.make_reader(objects)
    linked: dict[str, Linked] = {}
    every = markers.read_concerned(repo) if open_markers is None else open_markers
    named = _find_acting(every) if agent else {}
    foreign = [m for m in every if not markers.is_home(repo, m)]
    visitors = [m for m in foreign if m["session_id"] in named]
    guests = [m for m in foreign if m["phase"] == "active" and not m["tool_events"]]
    lines = open_edits.look_for_commit(repo, objects, None if replay else changes, visitors, guests)
    if open_markers is None:
        every = _add_writers(repo, every, changes, entries.list_writers(lines, changes))
    is_here = open_edits.build_stay_check(repo, parent)
    for marker in every:
        session_id, how = marker["session_id"], named.get(marker["session_id"])
        work = Work(lines, session_id, is_here).build_records()
        work = _mark_stashed(stash, work, changes, replay)
        work += [] if replay else _list_elsewhere(repo, marker, changes)
        verdict = overlap.match(work, changes, blob, lambda path: _is_gone(repo, path))
        trace.append_note("match", f"'{session_id}': {verdict['paths']} {verdict['reasons']}")
        if verdict["paths"] or how:
            linked[session_id] = _build_link(how or "content", verdict)
    for path in {path for part in linked.values() for path in part["paths"]}:
        _leave_out_lineless(objects, lines, linked, path, changes)
    return linked


def _list_elsewhere(repo: Repo, marker: Marker, changes: Changes) -> list[Recorded]:
    """What a session has away in other worktrees at the paths of a commit."""
    if markers.is_home(repo, marker) and not marker.get("visits"):
        return []
    return elsewhere.list_records(repo, marker, changes)


def _leave_out_lineless(
    objects: Objects,
    lines: list[JournalLine],
    linked: dict[str, Linked],
    path: str,
    changes: Changes,
) -> None:
    """Of several sessions that wrote in a path, leave out those of which the commit has no line,
    where it has some of another."""
    writers = [session_id for session_id, part in linked.items() if path in part["paths"]]
    if len(writers) < 2:
        return
    _, old, _, new = changes[path]
    content = commit_changes.make_reader(objects)
    ends = content(old) if old else b"", content(new) if new else b""
    lacking = {
        session_id
        for session_id in writers
        if (every := Work(lines, session_id).list_stretches(path))
        and not any(holds_line(*one.read_contents(content), *ends) for one in every)
    }
    for session_id in lacking if len(lacking) < len(writers) else ():
        part = linked[session_id]
        part["paths"].remove(path)
        part["reasons"][path] = "none of its lines is in the commit"
        if not part["paths"] and part["how"] == "content":
            del linked[session_id]


def _build_link(how: str, verdict: Matched) -> Linked:
    paths = verdict["paths"]
    return {"how": how, "paths": paths, "reasons": verdict["reasons"] if paths else {}}


def _add_writers(
    repo: Repo, every: list[Marker], changes: Changes, writers: set[str]
) -> list[Marker]:
    """Those of every, and those of sessions that the journal names."""
    if writers <= {marker["session_id"] for marker in every}:
        return every
    return markers.read_concerned(repo, writers)


def _mark_stashed(
    stash: reflog.Stash, work: list[Recorded], among: Container[str], replay: bool
) -> list[Recorded]:
    """The records with what the stash holds of them marked; in a replay all are away."""
    if replay:
        return [{**entry, "live": False} for entry in work]
    held = {
        entry["path"]
        for entry in work
        if entry["live"] and entry["path"] in among and entry["oid"]
        if stash.holds(entry["path"], (entry.get("mode", ""), entry["oid"]))
    }
    return [{**entry, "stashed": entry["path"] in held} for entry in work]


def _find_acting(open_markers: list[Marker]) -> dict[str, str]:
    """The active sessions that the environment or a process above us names: id -> how."""
    active = [m for m in open_markers if m["phase"] == "active"]
    if not active:
        return {}
    how = {m["session_id"]: "environment" for m in active if _is_in_environment(m)}
    if how or not any(m["agent_process"] for m in active):
        return how
    above = set(process.list_ancestors())
    for marker in active:
        known = marker["agent_process"]
        if known and known["pid"] in above and process.is_alive(known):
            how[marker["session_id"]] = "process"
    return how


def _is_in_environment(marker: Marker) -> bool:
    """Whether a variable that is its client's names the session."""
    naming = {name for name, value in os.environ.items() if value == marker["session_id"]}
    if not naming:
        return False
    return not naming.isdisjoint(late.agents.list_session_variables(marker["agent_type"]))


def _is_gone(repo: Repo, path: str) -> bool:
    return not os.path.lexists(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
