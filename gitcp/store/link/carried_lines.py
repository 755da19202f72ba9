"""What checkpoints say of lines goes along with them: to a commit that was amended, rebased,
picked or squashed, `lines.json` tells the lines of its contents too (credit.md "Lines")."""

from __future__ import annotations

from gitcp.core.blame import authors
from gitcp.core.credit import attribution
from gitcp.store.blame import history
from gitcp.store.blame.evidence import Evidence
from gitcp.store.git.commit import read_commit
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.link import commit_changes, find_commits, line_credit
from gitcp.store.v1 import committed_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.blame.authors import Record
    from gitcp.core.credit.attribution import PathCredit
    from gitcp.core.record_types import Author
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes
    from gitcp.store.v1.committed_write import SessionData

_FILES = ("100644", "100755", "120000")


def follow(
    repo: Repo,
    database: Objects,
    commits: Iterable[str],
    amended: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Let the checkpoints that commits carry know the lines of these commits, in one commit on
    v1; nothing where they know them already.

    amended: commit -> those that it took the place of here, so that the journal tells what was
    put in, and the sums of lines are worked out again.
    """
    items: list[tuple[str, SessionData]] = []
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects, worktree=False)
        for oid in commits:
            commit = read_commit(objects, oid)
            ids = find_commits.linked(objects, oid) if commit else []
            changes = commit_changes.of_commit(objects, commit)[1] if commit and ids else {}
            for one in ids:
                records = evidence.recorded.of(one)
                if commit and records and amended:
                    about = objects, commit, changes, (), amended.get(oid, ())
                    credit = line_credit.Credit(repo, *about)
                    items += [(one, data) for data in _counted(credit, records, evidence)]
                elif records:
                    items += [(one, data) for data in _standing(changes, records, evidence)]
    _write(repo, database, items)


def squashed(repo: Repo, database: Objects, ids: Iterable[str], changes: Changes) -> None:
    """follow() for a commit that is to be made of what a merge has squashed: git tells of it
    before, and no more when it is made."""
    items: list[tuple[str, SessionData]] = []
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects, worktree=False)
        for one in ids:
            if records := evidence.recorded.of(one):
                items += [(one, data) for data in _standing(changes, records, evidence)]
    _write(repo, database, items)


def _write(repo: Repo, database: Objects, items: Sequence[tuple[str, SessionData]]) -> None:
    if items:
        subject = f"Follow lines of Checkpoint: {items[0][0]}"
        committed_write.write(repo, database, items, subject=subject)


def _standing(changes: Changes, records: Sequence[Record], evidence: Evidence) -> list[SessionData]:
    """The recorded lines that stand in contents which the checkpoint does not know yet."""
    credits = {
        path: credit
        for path, oid in _unknown(records, changes).items()
        if (credit := _credit(records, path, oid, evidence))["added"]
    }
    return _data(records, credits) if credits else []


def _unknown(records: Sequence[Record], changes: Changes) -> dict[str, str]:
    """path -> blob, of what no record tells."""
    fresh = {p: oid for p, (*_, mode, oid) in changes.items() if oid and mode in _FILES}
    return {p: oid for p, oid in fresh.items() if not any(_tells(r, p, oid) for r in records)}


def _tells(record: Record, path: str, oid: str) -> bool:
    entries = (record["lines"] or {}).get(path)
    return any(e.get("oid") == oid for e in entries if isinstance(e, dict)) if entries else False


def _credit(records: Sequence[Record], path: str, oid: str, evidence: Evidence) -> PathCredit:
    known = authors.of_blob(records, path, oid, evidence.blob)
    added: list[tuple[int, Author]] = [(n, history.author(known[n])) for n in sorted(known)]
    return {"oid": oid, "added": added, "removed": [], "lost": [], "whole": False}


def _data(
    records: Sequence[Record],
    credits: dict[str, PathCredit],
    credit: line_credit.Credit | None = None,
) -> list[SessionData]:
    data: list[SessionData] = []
    for record in records:
        name = record["session_id"]
        lines = {
            path: [{"oid": part["oid"], "ranges": ranges}]
            for path, part in credits.items()
            if part["oid"] and (ranges := attribution.ranges(name, part))
        }
        one: SessionData = {"session_id": name, "lines": lines}
        if credit:
            one["metadata"] = {"initial_attribution": credit.attribution(name)}
        data.append(one)
    return data


def _counted(
    credit: line_credit.Credit, records: Sequence[Record], evidence: Evidence
) -> list[SessionData]:
    """Lines and sums of an amended commit: what is recorded stays, the journal (which credit goes
    by) tells the rest."""
    for path, part in credit.paths.items():
        known = authors.of_blob(records, path, part["oid"], evidence.blob) if part["oid"] else {}
        part["added"] = [
            (n, history.author(known[n]) if n in known else who) for n, who in part["added"]
        ]
    data = _data(records, credit.paths, credit)
    pairs = zip(records, data, strict=True)
    return data if any(_differs(record, one) for record, one in pairs) else []


def _differs(record: Record, data: SessionData) -> bool:
    """Whether a session's record says anything else of the lines."""
    sums = [record["metadata"].get("initial_attribution"), data["metadata"]["initial_attribution"]]
    before, now = ({**(one or {}), "calculated_at": ""} for one in sums)
    return before != now or not all(
        _tells(record, path, entries[0]["oid"]) for path, entries in data["lines"].items()
    )
