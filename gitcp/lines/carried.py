"""Carrying the authors of lines to rewritten commits: after an amend, rebase, pick or squash,
`lines.json` has the lines of the new commit's contents too (doc/credit.md "Lines")."""

from __future__ import annotations

from gitcp.checkpoints import listing, writing
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.format import line_authors
from gitcp.git.objects import Lookup, Objects, find_tree, read_changes, read_commit
from gitcp.lines import commit_lines
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from gitcp.text import file_moves, line_credit, line_evidence
from gitcp.text.ids import PERSON
from gitcp.text.line_credit import PathCredit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.checkpoints.format.line_authors import Author, LineRecord
    from gitcp.checkpoints.writing import SessionData
    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Writer

    LineSets = dict[str, set[int]]  # of a path, from 1

_FILES = ("100644", "100755", "120000")


def follow_lines(
    repo: Repo,
    commits: Iterable[str],
    replaced: Mapping[str, Sequence[str]] | None = None,
    amended: bool = False,
) -> None:
    """Write the lines of commits into the checkpoints that they are linked to, in one commit on the
    store; nothing if they have them already.

    replaced: commit -> the commits that it replaced.  In a commit with an entry, lines of no
    session stay the person's.  amended: whether they were amended here; then the sums of lines are
    computed again.
    """
    items: list[tuple[str, SessionData]] = []
    with Objects(repo):
        evidence = Evidence(repo, worktree=False, proven_alone=True)
        for oid in commits:
            commit = read_commit(repo.objects, oid)
            old_commits = (replaced or {}).get(oid, ())
            if commit:
                ids = listing.list_linked(repo.objects, oid)
            else:
                ids = []
            if commit is None or not ids:
                continue
            changes = read_changes(repo.objects, commit)[1]
            before = Lookup(
                repo.objects, find_tree(repo.objects, next(iter(commit["parents"]), None))
            )
            typed = dict[str, set[int]]()
            credit = None
            if amended:
                credit = commit_lines.Credit(repo, commit, changes, (), old_commits)
            elif _are_sources_complete(repo.objects, before, changes, ids, old_commits):
                typed = _list_typed_lines(repo, commit, changes, old_commits)
            items += _build_items(ids, changes, before, evidence, typed, credit)
    _write(repo, items)


def take_back_lines(repo: Repo, session_id: str, oid: str, paths: Collection[str]) -> None:
    """Write who wrote the lines of these paths of a commit, by the journal of now, in place of what
    the checkpoints of a session in it say."""
    commit = read_commit(repo.objects, oid)
    if commit is None:
        return
    changes = read_changes(repo.objects, commit)[1]
    credit = commit_lines.Credit(repo, commit, changes, ())
    credits = {path: credit.paths[path] for path in paths if path in credit.paths}
    data: SessionData = {
        "session_id": session_id,
        "lines": line_credit.build_entries(session_id, credits, credit.checkpoints),
        "replaces_lines": True,
        "metadata": {"initial_attribution": credit.compute_attribution(session_id)},
    }
    items = [
        (checkpoint_id, data)
        for checkpoint_id in listing.list_linked(repo.objects, oid)
        if session_id in checkpoints.list_session_ids(repo, checkpoint_id)
    ]
    _write(repo, items)


def _build_items(
    ids: Iterable[str],
    changes: Changes,
    before: Lookup,
    evidence: Evidence,
    typed: LineSets,
    credit: commit_lines.Credit | None = None,
) -> list[tuple[str, SessionData]]:
    items: list[tuple[str, SessionData]] = []
    for checkpoint_id in ids:
        parts: list[SessionData] = []
        records = evidence.readers.recorded.read_records(checkpoint_id)
        if records and credit:
            parts = _count_amended(credit, records, evidence)
        elif records:
            recorded = _find_recorded_authors(evidence, records, changes, before)
            parts = _collect_standing(changes, records, recorded, typed)
        items += [(checkpoint_id, data) for data in parts]
    return items


def _find_recorded_authors(
    evidence: Evidence, records: Sequence[LineRecord], changes: Changes, before: Lookup
) -> dict[str, dict[int, Author]]:
    """The recorded authors of the lines of each content of a commit.  A renamed file has those of
    its old path."""
    contents = {path: oid for path, (*_, mode, oid) in changes.items() if oid and mode in _FILES}
    added = {path: oid for path, oid in contents.items() if not changes[path][1]}
    removed: dict[str, str] = {}
    if added:
        removed = _list_removed(records, changes, before)
    origins = file_moves.find_moves(
        removed, added, lambda oid: line_evidence.split_lines(evidence.readers.read_blob(oid))
    )
    authors: dict[str, dict[int, Author]] = {}
    for path, oid in contents.items():
        authors[path] = evidence.readers.credit_blob(records, path, oid)
        if not authors[path] and path in origins:
            authors[path] = evidence.readers.credit_blob(records, origins[path], oid)
    return authors


def _list_removed(
    records: Sequence[LineRecord], changes: Changes, before: Lookup
) -> dict[str, str]:
    """path -> its last recorded blob, for the recorded paths that a commit has not got."""
    removed: dict[str, str] = {}
    for record in records:
        for path in record["lines"] or ():
            stored = line_authors.list_entries(record, path)
            if stored and not _has_path(path, changes, before):
                removed[path] = str(stored[-1].get("oid"))
    return removed


def _has_path(path: str, changes: Changes, before: Lookup) -> bool:
    """Whether a commit with these changes of the tree before has a path."""
    if path in changes:
        return bool(changes[path][3])
    return before(path) is not None


def _are_sources_complete(
    objects: Objects,
    before: Lookup,
    changes: Changes,
    ids: Iterable[str],
    old_commits: Sequence[str],
) -> bool:
    """Whether the old commits account for all that sessions have in a commit with these changes and
    ids: they have its ids, none is a merge, and their files keep their names.

    before: the tree of its parent.
    """
    carried: set[str] = set()
    for oid in old_commits:
        commit = read_commit(objects, oid)
        if commit is None or len(commit["parents"]) > 1:
            return False
        carried.update(listing.list_linked(objects, oid))
        for path, (*_, new) in read_changes(objects, commit)[1].items():
            if new and not _has_path(path, changes, before):
                return False
    return carried.issuperset(ids) and bool(old_commits)


def _list_typed_lines(
    repo: Repo, commit: Commit, changes: Changes, old_commits: Sequence[str]
) -> LineSets:
    """The person's lines in a commit that replaced others: those of old commits without a
    checkpoint, and those added since."""
    credit = commit_lines.Credit(repo, commit, changes, (), old_commits)
    return {path: set(part.list_persons_lines()) for path, part in credit.paths.items()}


def _write(repo: Repo, items: Sequence[tuple[str, SessionData]]) -> None:
    if items:
        subject = f"Follow lines of Checkpoint: {items[0][0]}"
        writing.write_sessions(repo, items, subject=subject)


def _collect_standing(
    changes: Changes,
    records: Sequence[LineRecord],
    decided: Mapping[str, Mapping[int, Author]],
    typed: LineSets,
) -> list[SessionData]:
    """The recorded lines and the person's, of contents that the checkpoint does not list yet."""
    credits: dict[str, PathCredit] = {}
    elsewhere: dict[Writer, str] = {}
    for path, lines in decided.items():
        oid = changes[path][3] or ""
        recorded = any(_is_recorded(record, path, oid) for record in records)
        credit = _build_credit(oid, lines, typed.get(path, set()) - lines.keys())
        if credit.added and not (recorded and len(credit.added) == len(lines)):
            credits[path] = credit
            elsewhere |= history.map_checkpoints(lines.values())
    if credits:
        return _build_data(records, credits, elsewhere)
    return []


def _is_recorded(record: LineRecord, path: str, oid: str) -> bool:
    return any(entry.get("oid") == oid for entry in line_authors.list_entries(record, path))


def _build_credit(oid: str, decided: Mapping[int, Author], persons: Iterable[int]) -> PathCredit:
    writers = {n: history.make_writer(author) for n, author in decided.items()}
    writers.update(dict.fromkeys(persons, PERSON))
    return PathCredit(oid, sorted(writers.items()))


def _build_data(
    records: Sequence[LineRecord],
    credits: dict[str, PathCredit],
    known: Mapping[Writer, str],
    credit: commit_lines.Credit | None = None,
) -> list[SessionData]:
    """known: where each writer is recorded."""
    data: list[SessionData] = []
    for record in records:
        session_id = record["session_id"]
        elsewhere = {w: i for w, i in known.items() if i != record["checkpoint_id"]}
        lines = line_credit.build_entries(session_id, credits, elsewhere)
        part: SessionData = {"session_id": session_id, "lines": lines}
        if credit:
            part["metadata"] = {"initial_attribution": credit.compute_attribution(session_id)}
        data.append(part)
    return data


def _count_amended(
    credit: commit_lines.Credit, records: Sequence[LineRecord], evidence: Evidence
) -> list[SessionData]:
    """Lines and sums of an amended commit: recorded authors stay, credit has the others."""
    known = dict(credit.checkpoints)
    for path, part in credit.paths.items():
        if part.oid:
            recorded = evidence.readers.credit_blob(records, path, part.oid)
            part.correct({n: history.make_writer(author) for n, author in recorded.items()})
            known |= history.map_checkpoints(recorded.values())
    data = _build_data(records, credit.paths, known, credit)
    if any(map(_differs, records, data)):
        return data
    return []


def _differs(record: LineRecord, data: SessionData) -> bool:
    """Whether data says anything about a session's lines that its record does not."""
    old = dict(record["metadata"].get("initial_attribution") or {})
    new = dict(data["metadata"]["initial_attribution"])
    old["calculated_at"] = new["calculated_at"]
    if old != new:
        return True
    for path, entries in data["lines"].items():
        if not _is_recorded(record, path, entries[0]["oid"]):
            return True
    return False
