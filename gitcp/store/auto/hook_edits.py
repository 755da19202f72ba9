"""What hooks made of the files of a commit (formatters do): nobody's work, and in nobody's way."""

from __future__ import annotations

from gitcp.core.credit import entries, evidence
from gitcp.core.credit.entries import UNKNOWN
from gitcp.store.journal.journal import Journal, clock
from gitcp.store.journal.known import Known
from gitcp.store.snapshot import blobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Entries
    from gitcp.repo import Repo
    from gitcp.store.auto.intent import Intent
    from gitcp.store.git.objects import Objects


def stand(repo: Repo, objects: Objects, about: Intent) -> Entries:
    """How the files of a commit stand in the worktree, before hooks look at it."""
    return blobs.at(repo, objects, sorted(about["entries"]), write=False)


def note(repo: Repo, objects: Objects, before: Entries) -> None:
    """Let the journal know how files that stood so before the hooks ran stand now.

    Without it the next look takes the change for the person's, and a session's file that a hook
    has formatted would not be committed any more.
    """
    now = blobs.at(repo, objects, sorted(before), write=True)
    if all(now.get(path) == entry for path, entry in before.items()):
        return
    with Journal(repo) as journal:
        known, at = Known(repo, objects, journal.lines), clock(repo)
        journal.append(
            [
                entries.edit(path, entry, now[path], UNKNOWN, evidence.HOOK, at)
                for path, entry in before.items()
                if path in now and now[path] != entry and known.entry(path) == entry
            ]
        )
