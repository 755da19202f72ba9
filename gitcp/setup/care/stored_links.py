"""Checks of links: the checkpoints that commits and notes name are stored and belong to them."""

from __future__ import annotations

from gitcp.checkpoints import format, links, listing, notes, recorded_edits
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.stored import find_checkpoint, read_checkpoint
from gitcp.errors import Error
from gitcp.git import objects
from gitcp.git.objects import object_lists, read_commit
from gitcp.git.objects.object_lists import is_ancestor
from gitcp.git.objects.reading import split_windows, spread_batches
from gitcp.link import unhooked
from gitcp.link.commits import list_bare_commits
from gitcp.record import match
from gitcp.record.match import candidates, holding
from gitcp.setup.care.findings import Finding
from gitcp.text import console
from gitcp.text.ids import V1
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from gitcp.checkpoints.stored import StoredCheckpoint
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.match.candidates import Work
    from gitcp.record.match.change import Change
    from gitcp.setup.care.case import Case, Survey
    from gitcp.text.record_types import Commit

    Link = tuple[str, str]  # commit, id

_LINK_WINDOW = 500  # links that are checked together
_ALONE_LINKS = 2  # windows before worker processes are started
_FEW = 64  # changed files up to which a commit's contents are read ahead, not one by one


def look_at_linked(case: Case) -> Iterator[Finding]:
    """Check the trailers of the commits on all branches, then every note."""
    survey = case.survey
    sources = [ref for ref in checkpoints.list_places(case.repo) if "entire" in ref]
    with console.Collected():  # another check reports a tree that cannot be read
        stored = listing.read_trees(case.repo, sources)
    try:
        commits = list_bare_commits(survey.repo, (), listing.CARRYING)
    except Error as e:
        yield Finding("missing-object", "history", str(e))
        return
    trailers: list[Link] = []
    others: list[tuple[str, str, bool]] = []
    for commit in commits:
        for link in commit["checkpoints"]:
            name = link["checkpoint_id"]
            if link["linked"] == "trailer":
                trailers.append((commit["oid"], name))
            elif link["linked"] != "note" and name in stored:
                others.append((commit["oid"], name, link["linked"] == "text"))
    yield from _find_empty(survey, trailers, stored)
    for oid, name in _list_mentions(survey.repo, others):
        reason = f"its message mentions '{name}', which it is not linked to"
        yield Finding("mention", oid, reason, checkpoint_id=name)
    states = [state for state in survey.states if not state.get("unreadable")]
    missing = unhooked.list_missing(survey.repo, states)
    left_out = [link for link in missing if link[1] != unhooked.NEW]
    yield from _find_lost(trailers, stored, {(oid, name) for oid, name, _ in left_out})
    for oid, name, session in left_out:
        if name in stored:
            reason = f"'{name}' lacks session '{session}', whose work the commit has"
            yield Finding("left-out", oid, reason, checkpoint_id=name)
    yield from _check_notes(survey, stored, trailers)


def _find_lost(
    trailers: Sequence[Link], stored: Mapping[str, str], held_here: Collection[Link]
) -> Iterator[Finding]:
    """Report links whose checkpoint is not stored.

    If no checkpoint is stored at all, one finding stands for all of them but those of held_here,
    which a session here can still store.
    """
    lost = [link for link in trailers if link[1] not in stored]
    if stored:
        unfetched = []
    else:
        unfetched = [link for link in lost if link not in held_here]
    if unfetched:
        verb = "name checkpoints"
        if len(unfetched) == 1:
            verb = "names a checkpoint"
        reason = f"{count_noun(len(unfetched), 'commit')} {verb}, and none is stored here"
        yield Finding("no-store", V1, reason)
    for oid, name in lost:
        if (oid, name) not in unfetched:
            reason = f"it refers to checkpoint '{name}', which is not stored"
            yield Finding("dangling-trailer", oid, reason, checkpoint_id=name)


def _list_mentions(repo: Repo, others: list[tuple[str, str, bool]]) -> Iterator[Link]:
    """Yield the ids in messages that link nothing.  others: (commit, id of a stored checkpoint,
    whether the id stands as a forge leaves it), of ids that are neither trailers nor in a note."""
    places = checkpoints.Places(repo)
    for oid, name, may_link in others:
        if not (may_link and recorded_edits.is_meant(repo.objects, places, oid, name)):
            yield oid, name


def _find_empty(survey: Survey, named: list[Link], stored: Mapping[str, str]) -> Iterator[Finding]:
    """Report links whose commit has nothing of the checkpoint, by evidence."""

    def begin(_: Objects) -> Callable[[list[Link]], list[Link]]:
        return lambda window: _list_empty(survey.repo, window, stored)

    checked = (link for link in named if link[1] in stored)
    windows = split_windows(checked, _LINK_WINDOW)
    for empty in spread_batches(survey.repo.objects, windows, begin, _ALONE_LINKS):
        for oid, name in empty:
            reason = f"has nothing of '{name}', which it is linked to"
            yield Finding("empty-link", oid, reason, checkpoint_id=name)


def _list_empty(repo: Repo, window: list[Link], stored: Mapping[str, str]) -> list[Link]:
    """Those of some links of stored checkpoints whose commit has nothing of the checkpoint."""
    empty: list[Link] = []
    repo.objects.ahead.fetch(oid for oid, _ in window)
    commits = []
    for oid, _ in window:
        commit = read_commit(repo.objects, oid)
        if commit:
            commits.append(commit)
    with console.Collected():  # other checks report what cannot be read
        changed = object_lists.read_many_changes(repo, commits)
        loader = listing.Loader(repo.objects, skip_summary=True)
        loader.prepare(stored[name] for _, name in window)
        unclear: list[tuple[str, StoredCheckpoint]] = []
        for oid, name in window:
            checkpoint = loader.load(name, "", stored[name])
            if oid not in changed or checkpoint["lacks"]:
                continue
            if not recorded_edits.has_same_change(checkpoint, changed[oid]):
                unclear.append((oid, checkpoint))
        loader.prepare((checkpoint["tree"] for _, checkpoint in unclear), format.LINES)
        small: list[str] = []
        for oid, _ in unclear:
            if len(changed[oid]) <= _FEW:
                small += [new for *_, new in changed[oid].values() if new]
        repo.objects.ahead.fetch_small(small)
        for oid, checkpoint in unclear:
            if recorded_edits.has_content(repo.objects, checkpoint, changed[oid]):
                continue
            if not _was_overwritten(repo, oid, checkpoint):
                empty.append((oid, checkpoint["checkpoint_id"]))
    repo.objects.ahead.forget()
    return empty


def _was_overwritten(repo: Repo, oid: str, checkpoint: StoredCheckpoint) -> bool:
    """Whether another checkpoint of a commit, such as a squash, was made on what this one made."""
    for name in listing.list_linked(repo.objects, oid):
        if name == checkpoint["checkpoint_id"] or find_checkpoint(repo, name) is None:
            continue
        if recorded_edits.was_continued(checkpoint, read_checkpoint(repo, name)):
            return True
    return False


def _check_notes(
    survey: Survey, stored: Mapping[str, str], trailers: list[Link]
) -> Iterator[Finding]:
    """Check every note.  trailers: of the commits on branches."""
    if notes.REF not in survey.refs:
        return
    noted: list[Link] = []
    try:
        for oid, names in notes.list_links(survey.repo.objects):
            noted += [(oid, name) for name in names]
    except Error as e:
        yield Finding("missing-object", notes.REF, str(e))
        return
    survey.repo.objects.ahead.fetch(dict.fromkeys(oid for oid, _ in noted))
    carriers: dict[str, list[str]] = {}
    for oid, name in trailers:
        carriers.setdefault(name, []).append(oid)
    wrong = set()
    for oid, name in noted:
        if name not in stored:
            reason = f"its note refers to checkpoint '{name}', which is not stored"
            yield Finding("dangling-note", oid, reason, checkpoint_id=name)
            continue
        carrier = _find_carrier(survey, oid, name, carriers.get(name, ()))
        if carrier:
            wrong.add((oid, name))
            reason = f"its note links it to '{name}', whose work is in {abbreviate(carrier)} alone"
            yield Finding("wrong-note", oid, reason, checkpoint_id=name)
    survey.repo.objects.ahead.forget()
    yield from _find_empty(survey, [link for link in noted if link not in wrong], stored)


def _find_carrier(survey: Survey, oid: str, name: str, carriers: Sequence[str]) -> str:
    """The commit whose work a note claims wrongly for another one; '' if the note may be right, as
    one by a person always is.

    oid, name: the noted commit, and the checkpoint in its note.  carriers: the commits whose
    trailers name that checkpoint.  One of these is returned if the noted commit has too little of
    the work for a search to link it, and either commit is based on the other, or they have
    different authors and the noted commit has no other link: git may link a commit to work of which
    nothing is left.
    """
    repo = survey.repo
    if not carriers or oid in carriers:
        return ""
    commit = read_commit(repo.objects, oid)
    if commit is None:
        return ""
    note = notes.read_note(repo.objects, oid) or b""
    if name in links.list_by_hand(note):
        return ""
    # A merge has the work only if its change from each parent matches.
    sides = objects.compare_with_parents(repo.objects, commit)
    parents = commit["parents"] or [""]
    changes = [
        match.build_change(repo.objects, parent, side)
        for parent, side in zip(parents, sides, strict=True)
    ]
    is_alone = listing.list_linked(repo.objects, oid) == [name]
    for other in carriers:
        carrier = read_commit(repo.objects, other)
        if not carrier:
            continue
        relation = candidates.relate(carrier, commit, is_named=True)
        is_foreign = is_alone and relation == holding.OTHER
        if is_foreign or is_ancestor(repo, oid, other) or is_ancestor(repo, other, oid):
            works = _list_works(repo, name, carrier)
            if works and not any(_has_enough(work, changes, relation) for work in works):
                return other
    return ""


def _list_works(repo: Repo, name: str, carrier: Commit) -> list[Work]:
    """The work of a checkpoint as a carrier has it, and as the checkpoint has it: that of its first
    commit, of which other commits may have a part each."""
    works: list[Work] = []
    for source in (carrier, None):
        work = candidates.read_work(repo, name, source)
        if work.edits:
            works.append(work)
    return works


def _has_enough(work: Work, changes: Sequence[Change], relation: str) -> bool:
    """Whether each of the changes has enough of the work for a search to link it."""
    return all(work.find_enough(change, relation) for change in changes)
