"""What the journal says of a commit's paths, in the form in which match() takes records."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.store.journal import look
from gitcp.store.journal.journal import Journal, clock, read
from gitcp.store.journal.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gitcp.core.decide.overlap import Recorded
    from gitcp.core.record_types import JournalLine, Marker
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def lines(
    repo: Repo, objects: Objects, changes: Collection[str] | None, visitors: Sequence[Marker] = ()
) -> list[JournalLine]:
    """The journal's lines; with changes after a look at a commit's paths and at those that
    are journalled and not settled: a commit scans nothing.

    visitors: sessions of other worktrees that make the commit.
    """
    if changes is None:
        return read(repo)
    with Journal(repo) as journal:
        named = {line["path"] for line in entries.unsettled(journal.lines)}
        journal.visitors = visitors
        look.paths(objects, journal, sorted({*changes, *named}), clock(repo))
        return journal.lines


def writers(lines: Iterable[JournalLine], changes: Collection[str]) -> set[str]:
    """The sessions that lines name for a path of changes."""
    return {
        who[0]
        for line in lines
        if line.get("path") in changes
        for who in (line.get("who"), line.get("by"))
        if isinstance(who, list) and who and isinstance(who[0], str)
    }


def records(lines: list[JournalLine], session_id: str) -> tuple[list[Recorded], set[str]]:
    """(what a session wrote and no commit took: live where it is part of what stands there, away
    where it went; the paths from which it went)."""
    records = Work(lines, session_id).records()
    live = {record["path"] for record in records if record["live"]}
    return records, {record["path"] for record in records} - live
