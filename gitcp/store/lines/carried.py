"""What checkpoints say of lines goes along with them: to a commit that was amended, rebased,
picked or squashed, `lines.json` tells the lines of its contents too (doc/credit.md "Lines")."""

from __future__ import annotations

from gitcp.core.credit.entries import PERSON
from gitcp.core.lines import attribution, authors, line_diff, moves
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import need_commit, read_commit
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.git.tree import Lookup, find_tree
from gitcp.store.lines import commit_lines, history
from gitcp.store.lines.evidence import Evidence
from gitcp.store.v1 import committed_write, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.lines.authors import Author, Record
    from gitcp.core.record_types import Commit, Writer
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_write import SessionData

    Lines = dict[str, set[int]]  # of a path, from 1

_FILES = ("100644", "100755", "120000")


def follow_lines(
    repo: Repo,
    database: Objects,
    commits: Iterable[str],
    replaced: Mapping[str, Sequence[str]] | None = None,
    amended: bool = False,
) -> None:
    """Let the checkpoints that commits carry know the lines of these commits, in one commit on
    v1; nothing where they know them already.

    replaced: commit -> those that it took the place of; where it is made of several, or here,
    lines that are none of a session's stay the person's.  amended: it did so here, and the sums
    of lines are worked out again.
    """
    items: list[tuple[str, SessionData]] = []
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects, worktree=False)
        for oid in commits:
            commit, olds = read_commit(objects, oid), (replaced or {}).get(oid, ())
            ids = find_commits.list_linked(objects, oid) if commit else []
            if commit is None or not ids:
                continue
            changes = commit_changes.read_changes(objects, commit)[1]
            before = Lookup(objects, find_tree(objects, next(iter(commit["parents"]), None)))
            typed, credit = dict[str, set[int]](), None
            if amended:
                credit = commit_lines.Credit(repo, objects, commit, changes, (), olds)
            elif _are_sources_complete(objects, before, changes, ids, olds):
                typed = _list_typed_lines(repo, objects, commit, changes, olds)
            items += _build_items(ids, changes, before, evidence, typed, credit)
    _write(repo, database, items)


def follow_squash(
    repo: Repo,
    database: Objects,
    ids: Iterable[str],
    changes: Changes,
    head: str,
    merged: Sequence[str],
) -> None:
    """follow_lines() for the commit that is to be made of a squash on head: git names the commits
    squashed until then.  merged: these commits."""
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects, worktree=False)
        commit: Commit = {**need_commit(objects, head), "oid": "", "parents": [head]}
        before = Lookup(objects, find_tree(objects, head))
        typed: Lines = {}
        if _are_sources_complete(objects, before, changes, ids, merged):
            typed = _list_typed_lines(repo, objects, commit, changes, merged)
        items = _build_items(ids, changes, before, evidence, typed)
    _write(repo, database, items)


def _build_items(
    ids: Iterable[str],
    changes: Changes,
    before: Lookup,
    evidence: Evidence,
    typed: Lines,
    credit: commit_lines.Credit | None = None,
) -> list[tuple[str, SessionData]]:
    items: list[tuple[str, SessionData]] = []
    for one in ids:
        records = evidence.recorded.read_records(one)
        if records and credit:
            items += [(one, data) for data in _count_amended(credit, records, evidence)]
        elif records:
            known = _find_recorded_authors(evidence, records, changes, before)
            items += [(one, data) for data in _collect_standing(changes, records, known, typed)]
    return items


def _find_recorded_authors(
    evidence: Evidence, records: Sequence[Record], changes: Changes, before: Lookup
) -> dict[str, dict[int, Author]]:
    """The recorded authors of the lines of each content of a commit; those of a path that is
    gone stand for the path that has its content now as well."""
    contents = {path: oid for path, (*_, mode, oid) in changes.items() if oid and mode in _FILES}
    come = {path: oid for path, oid in contents.items() if not changes[path][1]}
    gone = {
        path: str(stored[-1].get("oid"))
        for record in records
        for path in record["lines"] or ()
        if come and not (changes[path][3] if path in changes else before(path))
        if (stored := authors.list_entries(record, path))
    }
    origins = moves.find_moves(
        gone, come, lambda oid: line_diff.split_lines(evidence.read_blob(oid))
    )
    return {
        path: evidence.credit_blob(records, path, oid)
        or evidence.credit_blob(records, origins.get(path, path), oid)
        for path, oid in contents.items()
    }


def _are_sources_complete(
    objects: Objects, before: Lookup, changes: Changes, ids: Iterable[str], olds: Sequence[str]
) -> bool:
    """Whether all that sessions may have put into a commit with these changes and ids is told of
    where it came from: nothing but these others, none of which is a merge, and by no other name.

    before: what its parent has.
    """
    carried: set[str] = set()
    for old in olds:
        other = read_commit(objects, old)
        if other is None or len(other["parents"]) > 1:
            return False
        carried.update(find_commits.list_linked(objects, old))
        for path, (*_, oid) in commit_changes.read_changes(objects, other)[1].items():
            if oid and not (changes[path][3] if path in changes else before(path)):
                return False
    return carried.issuperset(ids) and bool(olds)


def _list_typed_lines(
    repo: Repo, objects: Prefetched, commit: Commit, changes: Changes, olds: Sequence[str]
) -> Lines:
    """The lines that are the person's in a commit with these changes that took the place of
    others: those of commits without a checkpoint, and what was put in here."""
    credit = commit_lines.Credit(repo, objects, commit, changes, (), olds)
    return {p: {n for n, who in c["added"] if who == PERSON} for p, c in credit.paths.items()}


def _write(repo: Repo, database: Objects, items: Sequence[tuple[str, SessionData]]) -> None:
    if items:
        subject = f"Follow lines of Checkpoint: {items[0][0]}"
        committed_write.write_sessions(repo, database, items, subject=subject)


def _collect_standing(
    changes: Changes,
    records: Sequence[Record],
    decided: Mapping[str, Mapping[int, Author]],
    typed: Lines,
) -> list[SessionData]:
    """The recorded lines, and the person's, that stand in contents of which the checkpoint does
    not know them yet."""
    credits: dict[str, PathCredit] = {}
    elsewhere: dict[Writer, str] = {}
    for path, lines in decided.items():
        oid = changes[path][3] or ""
        recorded = any(_is_recorded(record, path, oid) for record in records)
        credit = _build_credit(oid, lines, typed.get(path, set()) - lines.keys())
        if credit["added"] and not (recorded and len(credit["added"]) == len(lines)):
            credits[path] = credit
            elsewhere |= history.map_checkpoints(lines.values())
    return _build_data(records, credits, elsewhere) if credits else []


def _is_recorded(record: Record, path: str, oid: str) -> bool:
    return any(entry.get("oid") == oid for entry in authors.list_entries(record, path))


def _build_credit(oid: str, decided: Mapping[int, Author], persons: Iterable[int]) -> PathCredit:
    everybody = {n: history.make_writer(who) for n, who in decided.items()} | dict.fromkeys(
        persons, PERSON
    )
    added: list[tuple[int, Writer]] = sorted(everybody.items())
    return {"oid": oid, "added": added, "removed": [], "lost": [], "whole": False}


def _build_data(
    records: Sequence[Record],
    credits: dict[str, PathCredit],
    checkpoints: Mapping[Writer, str],
    credit: commit_lines.Credit | None = None,
) -> list[SessionData]:
    data: list[SessionData] = []
    for record in records:
        name, here = record["session_id"], record["checkpoint_id"]
        elsewhere = {who: one for who, one in checkpoints.items() if one != here}
        lines = attribution.build_entries(name, credits, elsewhere)
        one: SessionData = {"session_id": name, "lines": lines}
        if credit:
            one["metadata"] = {"initial_attribution": credit.compute_attribution(name)}
        data.append(one)
    return data


def _count_amended(
    credit: commit_lines.Credit, records: Sequence[Record], evidence: Evidence
) -> list[SessionData]:
    """Lines and sums of an amended commit: what is recorded stays, the journal (which credit goes
    by) tells the rest."""
    elsewhere = dict(credit.checkpoints)
    for path, part in credit.paths.items():
        known = evidence.credit_blob(records, path, part["oid"]) if part["oid"] else {}
        part["added"] = [
            (n, history.make_writer(known[n]) if n in known else who) for n, who in part["added"]
        ]
        elsewhere |= history.map_checkpoints(known.values())
    data = _build_data(records, credit.paths, elsewhere, credit)
    pairs = zip(records, data, strict=True)
    return data if any(_differs(record, one) for record, one in pairs) else []


def _differs(record: Record, data: SessionData) -> bool:
    """Whether a session's record says anything else of the lines."""
    sums = [record["metadata"].get("initial_attribution"), data["metadata"]["initial_attribution"]]
    before, now = ({**(one or {}), "calculated_at": ""} for one in sums)
    return before != now or not all(
        _is_recorded(record, path, entries[0]["oid"]) for path, entries in data["lines"].items()
    )
