"""Links: what commits and notes name is stored, and what notes are on is there."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.upkeep.findings import finding
from gitcp.errors import Error
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_changes
from gitcp.store.relink import taken_back
from gitcp.store.show import commit_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding
    from gitcp.store.upkeep.survey import Survey

_TRAILERS = ("-E", "--regexp-ignore-case", "--grep=^Entire-Checkpoint:", *commit_list.ALL)


def check(survey: Survey, stored: set[str]) -> Iterator[Finding]:
    """Every trailer of a commit on any branch, then every note; stored: the ids there are."""
    try:
        commits = commit_list.commits(survey.repo, (), _TRAILERS)
    except Error as e:
        yield finding("missing-object", "history", str(e))
        return
    named = [
        (commit["oid"], link["checkpoint_id"])
        for commit in commits
        for link in commit["checkpoints"]
        if link["linked"] == "trailer"
    ]
    yield from _empty(survey, [pair for pair in named if pair[1] in stored])
    lost = [(oid, name) for oid, name in named if name not in stored]
    if lost and not stored:
        reason = f"{len(lost)} commits name checkpoints; 'gitcp fetch' brings them"
        yield finding("no-store", "refs/heads/entire/checkpoints/v1", reason)
    else:
        for oid, name in lost:
            reason = f"names '{name}', which is not stored"
            yield finding("dangling-trailer", oid, reason, checkpoint_id=name)
    yield from _notes(survey, stored)


def _empty(survey: Survey, links: list[tuple[str, str]]) -> Iterator[Finding]:
    """Links (commit, id) to checkpoints of which the commit holds nothing, by evidence."""
    repo, objects = survey.repo, survey.objects
    for oid, name in links:
        commit = read_commit(objects, oid)
        if commit is None:
            continue
        try:
            with notice.Aside() as lacks:  # what cannot be read has a finding of its own
                record = taken_back.entries(repo, objects, name, commit)
                changes = commit_changes.of_commit(objects, commit)[1]
                empty = bool(record) and not taken_back.holds(objects, record, changes)
        except Error:
            continue
        if empty and not lacks:
            reason = f"has nothing of '{name}', which it is linked to"
            yield finding("empty-link", oid, reason, checkpoint_id=name)


def _notes(survey: Survey, stored: set[str]) -> Iterator[Finding]:
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
        yield from _empty(survey, [(oid, name) for name in names if name in stored])
    survey.objects.forget()
