"""Checks of links: the checkpoints that commits and notes name are stored and belong to them."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.match import held
from gitcp.core.message import links
from gitcp.core.render.spans import count_noun
from gitcp.core.upkeep.findings import make_finding
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.store.care import committed
from gitcp.store.git import commit_changes, notes
from gitcp.store.git.commit import is_ancestor, read_commit
from gitcp.store.git.prefetch import split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.link import unhooked
from gitcp.store.match import candidates
from gitcp.store.show import commit_list
from gitcp.store.v1 import committed_list, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.care.case import Case
    from gitcp.store.care.survey import Survey
    from gitcp.store.git.prefetch import Prefetched

    Link = tuple[str, str]  # commit, id

_WINDOW = 500  # links that are checked together
_ALONE = 2  # windows before worker processes are started
_FEW = 64  # files of a commit, of more the contents are read one by one


def look_at_linked(case: Case) -> Iterator[Finding]:
    """Check the trailers of the commits on all branches, then every note."""
    survey = case.survey
    sources = [ref for ref in committed_refs.list_places(case.repo) if "entire" in ref]
    stored = committed.read_trees(case.repo, case.objects, sources)  # id -> tree
    try:
        commits = commit_list.list_bare_commits(survey.repo, (), find_commits.CARRYING)
    except Error as e:
        yield make_finding("missing-object", "history", str(e))
        return
    trailers = [
        (commit["oid"], link["checkpoint_id"])
        for commit in commits
        for link in commit["checkpoints"]
        if link["linked"] == "trailer"
    ]
    yield from _find_empty(survey, trailers, stored)
    states = [state for state in survey.states if not state.get("unreadable")]
    left_out = list(unhooked.list_left_out(survey.repo, survey.objects, states))
    yield from _find_lost(trailers, stored, {(oid, name) for oid, name, _ in left_out})
    for oid, name, session in left_out:
        if name in stored:
            reason = f"'{name}' lacks session '{session}', whose work the commit has"
            yield make_finding("left-out", oid, reason, checkpoint_id=name)
    yield from _check_notes(survey, stored, trailers)


def _find_lost(
    trailers: Sequence[Link], stored: Mapping[str, str], held_here: Collection[Link]
) -> Iterator[Finding]:
    """Report links whose checkpoint is not stored: together if no checkpoint is, except those
    that a session here can still store."""
    lost = [link for link in trailers if link[1] not in stored]
    unfetched = [] if stored else [link for link in lost if link not in held_here]
    if unfetched:
        verb = "names a checkpoint" if len(unfetched) == 1 else "name checkpoints"
        reason = f"{count_noun(len(unfetched), 'commit')} {verb}, and none is stored here"
        yield make_finding("no-store", "refs/heads/entire/checkpoints/v1", reason)
    for oid, name in lost:
        if (oid, name) not in unfetched:
            reason = f"names '{name}', which is not stored"
            yield make_finding("dangling-trailer", oid, reason, checkpoint_id=name)


def _find_empty(
    survey: Survey, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> Iterator[Finding]:
    """Report links (commit, id) whose commit has nothing of the checkpoint, by evidence."""

    def begin(objects: Prefetched) -> Callable[[list[tuple[str, str]]], list[tuple[str, str]]]:
        return lambda window: _list_empty(survey.repo, objects, window, stored)

    checked = (link for link in links if link[1] in stored)
    for empty in spread_batches(survey.objects, split_windows(checked, _WINDOW), begin, _ALONE):
        for oid, name in empty:
            reason = f"has nothing of '{name}', which it is linked to"
            yield make_finding("empty-link", oid, reason, checkpoint_id=name)


def _list_empty(
    repo: Repo, objects: Prefetched, links: list[tuple[str, str]], stored: Mapping[str, str]
) -> list[tuple[str, str]]:
    empty = []
    objects.fetch(oid for oid, _ in links)
    commits = [commit for oid, _ in links if (commit := read_commit(objects, oid))]
    with notice.Collected():  # other checks report what cannot be read
        changed = commit_changes.read_many_changes(repo, objects, commits)
        loader = committed_list.Loader(objects, brief=True)
        loader.prepare(stored[name] for _, name in links)
        loaded = [(oid, loader.load(name, "", stored[name])) for oid, name in links]
        unclear = [
            (oid, checkpoint)
            for oid, checkpoint in loaded
            if oid in changed
            and not checkpoint["lacks"]
            and not candidates.has_same_change(checkpoint, changed[oid])
        ]
        loader.prepare((checkpoint["tree"] for _, checkpoint in unclear), summary.LINES)
        small = (files.values() for oid, _ in unclear if len(files := changed[oid]) <= _FEW)
        objects.fetch_small(oid for files in small for *_, oid in files if oid)
        for oid, checkpoint in unclear:
            record = candidates.extract_edits(objects, checkpoint, changed[oid])
            if record and not candidates.has_work(objects, record, changed[oid]):
                empty.append((oid, checkpoint["checkpoint_id"]))
    objects.forget()
    return empty


def _check_notes(
    survey: Survey, stored: Mapping[str, str], trailers: list[tuple[str, str]]
) -> Iterator[Finding]:
    """Check every note.  trailers: (commit, id) of each trailer on a branch."""
    if notes.REF not in survey.refs:
        return
    try:
        noted = [(oid, name) for oid, names in notes.list_links(survey.objects) for name in names]
    except Error as e:
        yield make_finding("missing-object", notes.REF, str(e))
        return
    survey.objects.fetch(dict.fromkeys(oid for oid, _ in noted))
    carriers: dict[str, list[str]] = {}
    for oid, name in trailers:
        carriers.setdefault(name, []).append(oid)
    wrong = set()
    for oid, name in noted:
        if name not in stored:
            reason = f"its note names '{name}', which is not stored"
            yield make_finding("dangling-note", oid, reason, checkpoint_id=name)
        elif carrier := _find_carrier(survey, oid, name, carriers.get(name, ())):
            wrong.add((oid, name))
            reason = f"its note links it to '{name}', whose work is in {carrier[:12]} alone"
            yield make_finding("wrong-note", oid, reason, checkpoint_id=name)
    survey.objects.forget()
    yield from _find_empty(survey, [link for link in noted if link not in wrong], stored)


def _find_carrier(survey: Survey, oid: str, name: str, carriers: Sequence[str]) -> str:
    """The commit whose trailer has the id that is in a commit's note, if that has too little of the
    work for a search to link it; else '', and also if a person wrote the note.

    It is based on the other one, or that on it; or it has another author and no other link, since
    one that git names may have work of which nothing is left."""
    commit = read_commit(survey.objects, oid) if carriers and oid not in carriers else None
    if commit is None or name in links.list_by_hand(notes.read_note(survey.objects, oid) or b""):
        return ""
    # A merge has the work only if its change from each parent matches.
    sides = commit_changes.compare_with_parents(survey.objects, commit)
    changes = [held.Change(side, survey.objects.read_blob) for side in sides]
    is_alone = find_commits.list_linked(survey.objects, oid) == [name]
    for other in carriers:
        carrier = read_commit(survey.objects, other)
        relation = candidates.relate(carrier, commit, is_named=True) if carrier else ""
        is_foreign = is_alone and relation == held.OTHER
        if not carrier or not (is_foreign or _are_related(survey.repo, oid, other)):
            continue
        # The checkpoint has what its first commit changed, of which others may have a part each.
        works = [
            candidates.Work(survey.objects, source, edits)
            for source in (carrier, None)
            if (edits := candidates.read_edits(survey.repo, survey.objects, name, source))
        ]
        if works and not any(all(w.find_enough(c, relation) for c in changes) for w in works):
            return other
    return ""


def _are_related(repo: Repo, oid: str, other: str) -> bool:
    """Whether one of two commits is an ancestor of the other."""
    return bool(is_ancestor(repo, oid, other) or is_ancestor(repo, other, oid))
