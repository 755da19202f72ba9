"""Links: what commits and notes name is stored, and what notes are on is there."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.message import links
from gitcp.core.render.spans import count_noun
from gitcp.core.upkeep.findings import make_finding
from gitcp.errors import Error
from gitcp.record import parse_json
from gitcp.store.care import committed
from gitcp.store.git import commit_changes, notes
from gitcp.store.git.commit import read_commit
from gitcp.store.git.prefetch import split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.link import unhooked
from gitcp.store.match import candidates
from gitcp.store.show import commit_list
from gitcp.store.v1 import committed_list, committed_read, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.care.case import Case
    from gitcp.store.care.survey import Survey
    from gitcp.store.git.prefetch import Prefetched

_WINDOW = 500  # links that are looked at together


def look_at_linked(case: Case) -> Iterator[Finding]:
    """Every trailer of a commit on any branch, then every note."""
    survey = case.survey
    every = [ref for ref in committed_refs.list_places(case.repo) if "entire" in ref]
    stored = committed.read_trees(case.repo, case.objects, every)  # id -> tree
    try:
        commits = commit_list.list_bare_commits(survey.repo, (), find_commits.CARRYING)
    except Error as e:
        yield make_finding("missing-object", "history", str(e))
        return
    named = [
        (commit["oid"], link["checkpoint_id"])
        for commit in commits
        for link in commit["checkpoints"]
        if link["linked"] == "trailer"
    ]
    yield from _find_empty(survey, named, stored)
    lost = [(oid, name) for oid, name in named if name not in stored]
    if lost and not stored:
        verb = "names a checkpoint" if len(lost) == 1 else "name checkpoints"
        reason = f"{count_noun(len(lost), 'commit')} {verb}, and none is stored here"
        yield make_finding("no-store", "refs/heads/entire/checkpoints/v1", reason)
    else:
        for oid, name in lost:
            reason = f"names '{name}', which is not stored"
            yield make_finding("dangling-trailer", oid, reason, checkpoint_id=name)
    yield from _find_left_out(survey, stored)
    yield from _check_notes(survey, stored, named)


def _find_left_out(survey: Survey, stored: Mapping[str, str]) -> Iterator[Finding]:
    states = [state for state in survey.states if not state.get("unreadable")]
    for oid, name, session in unhooked.list_left_out(survey.repo, survey.objects, states):
        if name in stored:
            reason = f"'{name}' has no part of session '{session}', whose work is in it"
            yield make_finding("left-out", oid, reason, checkpoint_id=name)


def _find_empty(
    survey: Survey, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> Iterator[Finding]:
    """Links (commit, id) to checkpoints of which the commit holds nothing, by evidence."""

    def begin(objects: Prefetched) -> Callable[[list[tuple[str, str]]], list[tuple[str, str]]]:
        return lambda window: _list_empty(survey.repo, objects, window, stored)

    there = (pair for pair in links if pair[1] in stored)
    for empty in spread_batches(survey.objects, split_windows(there, _WINDOW), begin):
        for oid, name in empty:
            reason = f"has nothing of '{name}', which it is linked to"
            yield make_finding("empty-link", oid, reason, checkpoint_id=name)


def _list_empty(
    repo: Repo, objects: Prefetched, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> list[tuple[str, str]]:
    empty = []
    objects.fetch(oid for oid, _ in links)
    commits = [commit for oid, _ in links if (commit := read_commit(objects, oid))]
    with notice.Collected():  # what cannot be read has a finding of its own
        changed = commit_changes.read_many_changes(repo, objects, commits)
        trees = committed_list.prepare_trees(
            objects, [stored[name] for _, name in links], brief=True
        )
        for oid, name in links:
            checkpoint = committed_read.load_checkpoint(
                objects, name, "", stored[name], trees, True, parse_json
            )
            if oid not in changed or checkpoint["lacks"]:
                continue
            record = candidates.extract_edits(objects, checkpoint, changed[oid])
            if record and not candidates.match_edits(objects, record, changed[oid]):
                empty.append((oid, name))
    objects.forget()
    return empty


def _check_notes(
    survey: Survey, stored: Mapping[str, str], noted: list[tuple[str, str]]
) -> Iterator[Finding]:
    """noted: (commit, id) of each trailer on a branch."""
    if notes.REF not in survey.refs:
        return
    try:
        every = list(notes.list_links(survey.objects))
    except Error as e:
        yield make_finding("missing-object", notes.REF, str(e))
        return
    survey.objects.fetch(oid for oid, _ in every)
    for oid, names in every:
        for name in names:
            if name not in stored:
                reason = f"its note names '{name}', which is not stored"
                yield make_finding("dangling-note", oid, reason, checkpoint_id=name)
    carriers: dict[str, list[str]] = {}
    for oid, name in noted:
        carriers.setdefault(name, []).append(oid)
    wrong = set()
    for oid, names in every:
        for name in (name for name in names if name in stored and name in carriers):
            home = _find_home(survey, oid, name, carriers[name])
            if home:
                wrong.add((oid, name))
                reason = f"its note links it to '{name}', whose work is in {home[:12]} alone"
                yield make_finding("wrong-note", oid, reason, checkpoint_id=name)
    survey.objects.forget()
    pairs = [(oid, name) for oid, names in every for name in names if (oid, name) not in wrong]
    yield from _find_empty(survey, pairs, stored)


def _find_home(survey: Survey, oid: str, name: str, carriers: list[str]) -> str:
    """The commit on the same line of history whose message has an id that a note gives to this
    commit, which has nothing of its work; '' where the note may be right, or a person's."""
    commit = read_commit(survey.objects, oid)
    note = notes.read_note(survey.objects, oid) or b""
    if commit is None or oid in carriers or name in links.list_by_hand(note):
        return ""
    # What a merge has of the work, where both sides changed a file, must be in none of them.
    sides = commit_changes.compare_with_parents(survey.objects, commit)
    for other in (other for other in carriers if _is_in_line(survey.repo, oid, other)):
        home = read_commit(survey.objects, other)
        record = candidates.read_edits(survey.repo, survey.objects, name, home)
        matched = (candidates.match_edits(survey.objects, record, side) for side in sides)
        if record and not all(matched):
            return other
    return ""


def _is_in_line(repo: Repo, oid: str, other: str) -> bool:
    """Whether one of two commits is an ancestor of the other."""
    pairs = ((oid, other), (other, oid))
    return any(repo.git.run("merge-base", "--is-ancestor", *p, ok=(0, 1))[0] == 0 for p in pairs)
