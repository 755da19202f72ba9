"""Links: what commits and notes name is stored, and what notes are on is there."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.upkeep.findings import finding
from gitcp.errors import Error
from gitcp.record import parse
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.git.prefetch import windows
from gitcp.store.git.spread import spread
from gitcp.store.link import commit_changes, find_commits
from gitcp.store.relink import open_work, taken_back
from gitcp.store.show import commit_list
from gitcp.store.v1 import committed_list, committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.upkeep.survey import Survey

_WINDOW = 500  # links that are looked at together


def check(survey: Survey, stored: Mapping[str, str]) -> Iterator[Finding]:
    """Every trailer of a commit on any branch, then every note; stored: the ids there are, each
    with its tree."""
    try:
        commits = commit_list.commits(survey.repo, (), find_commits.CARRYING)
    except Error as e:
        yield finding("missing-object", "history", str(e))
        return
    named = [
        (commit["oid"], link["checkpoint_id"])
        for commit in commits
        for link in commit["checkpoints"]
        if link["linked"] == "trailer"
    ]
    yield from _empty(survey, named, stored)
    lost = [(oid, name) for oid, name in named if name not in stored]
    if lost and not stored:
        reason = f"{len(lost)} commits name checkpoints; 'gitcp fetch' brings them"
        yield finding("no-store", "refs/heads/entire/checkpoints/v1", reason)
    else:
        for oid, name in lost:
            reason = f"names '{name}', which is not stored"
            yield finding("dangling-trailer", oid, reason, checkpoint_id=name)
    yield from _left_out(survey, stored)
    yield from _notes(survey, stored)


def _left_out(survey: Survey, stored: Mapping[str, str]) -> Iterator[Finding]:
    states = [state for state in survey.states if not state.get("unreadable")]
    for oid, name, session in open_work.left_out(survey.repo, survey.objects, states):
        if name in stored:
            reason = f"'{name}' has no part of session '{session}', whose work is in it"
            yield finding("left-out", oid, reason, checkpoint_id=name)


def _empty(
    survey: Survey, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> Iterator[Finding]:
    """Links (commit, id) to checkpoints of which the commit holds nothing, by evidence."""

    def begin(objects: Prefetched) -> Callable[[list[tuple[str, str]]], list[tuple[str, str]]]:
        return lambda window: _without(survey.repo, objects, window, stored)

    there = (pair for pair in links if pair[1] in stored)
    for empty in spread(survey.objects, windows(there, _WINDOW), begin):
        for oid, name in empty:
            reason = f"has nothing of '{name}', which it is linked to"
            yield finding("empty-link", oid, reason, checkpoint_id=name)


def _without(
    repo: Repo, objects: Prefetched, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> list[tuple[str, str]]:
    empty = []
    objects.fetch(oid for oid, _ in links)
    commits = [commit for oid, _ in links if (commit := read_commit(objects, oid))]
    with notice.Aside():  # what cannot be read has a finding of its own
        changed = commit_changes.of_commits(repo, objects, commits)
        trees = committed_list.prepare(objects, [stored[name] for _, name in links], brief=True)
        for oid, name in links:
            checkpoint = committed_read.load(objects, name, "", stored[name], trees, True, parse)
            if oid not in changed or checkpoint["lacks"]:
                continue
            record = taken_back.recorded(checkpoint, changed[oid])
            if record and not taken_back.holds(objects, record, changed[oid]):
                empty.append((oid, name))
    objects.forget()
    return empty


def _notes(survey: Survey, stored: Mapping[str, str]) -> Iterator[Finding]:
    if notes.REF not in survey.refs:
        return
    try:
        every = list(notes.every(survey.objects))
    except Error as e:
        yield finding("missing-object", notes.REF, str(e))
        return
    survey.objects.fetch(oid for oid, _ in every)
    for oid, names in every:
        if survey.objects.read(oid) is None:
            yield finding("dangling-note", oid, "there is a note on it, and no such commit")
        for name in names:
            if name not in stored:
                reason = f"its note names '{name}', which is not stored"
                yield finding("dangling-note", oid, reason, checkpoint_id=name)
    survey.objects.forget()
    yield from _empty(survey, [(oid, name) for oid, names in every for name in names], stored)
