"""When a call's start or end may look at the whole worktree: where that costs next to nothing."""

from __future__ import annotations

from gitcp.store.journal import look
from gitcp.store.journal.known import look as last_look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal

BUDGET = 20  # ms of processor time, unless gitcp.look-budget says otherwise


def affordable(objects: Objects, journal: Journal, at: int) -> bool:
    """Look at everything if the last time was cheap enough; whether it was done."""
    repo = journal.repo
    last = last_look(repo)
    if not last or int(last.get("cost", 0)) > budget(repo) * 1000:
        return False
    from gitcp.store.snapshot import blobs, snapshot
    from gitcp.store.stream import shadow_refs

    before = children()
    scan = snapshot.scan(repo)
    cost = children() - before
    dirty = blobs.resolve(objects, scan, write=False)
    look.whole(objects, journal, scan.head or shadow_refs.zeros(repo), dirty, at, cost)
    return True


def budget(repo: Repo) -> int:
    """gitcp.look-budget in ms; BUDGET where it is none."""
    value = repo.config.get("gitcp.look-budget")
    return int(value) if value.isdecimal() else BUDGET


def children() -> int:
    """The processor time of the processes we have waited for, in us."""
    try:
        import resource
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1_000_000)
