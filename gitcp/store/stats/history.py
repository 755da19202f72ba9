"""The commits of a range with what they changed and the checkpoints behind them, as they come."""

from __future__ import annotations

from itertools import islice

from gitcp.core.stats import sums
from gitcp.record import raw
from gitcp.store.blame import changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.git.patches import Change
    from gitcp.core.stats.sums import Commit
    from gitcp.repo import Repo
    from gitcp.store.blame.evidence import Evidence

_WINDOW = 256  # commits whose checkpoints are read at once
# Of git log with paths: no branch is left out, and what was renamed is seen to be; limit() then.
WHOLE = ("--full-history", "--full-diff")


def commits(
    repo: Repo,
    evidence: Evidence,
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
) -> Iterator[Commit]:
    """The commits of the revisions (none: HEAD) that change something in paths.

    options: of git log.  Raises Error in git's words for what is no revision.
    """
    where: tuple[str | bytes, ...] = (
        "--end-of-options",
        *map(raw, revisions),
        b"--",
        *map(raw, paths),
    )
    stream = changes.changes(repo, [*options, *where])
    while window := list(islice(stream, _WINDOW)):
        evidence.prefetch_changes(window)
        for change in window:
            yield _commit(evidence, change)
        evidence.forget()


def _commit(evidence: Evidence, change: Change) -> Commit:
    oid = change["oid"]
    added = (patch["path"] for patch in change["patches"] if patch["hunks"] and patch["path"])
    return {
        **change,
        "linked": evidence.linked(oid),
        "records": evidence.records(oid),
        "known": {path: known for path in added if (known := evidence.known(oid, path))},
    }


def limit(commit: Commit, paths: Sequence[str]) -> bool:
    """Let a commit have its patches below paths (none: all) alone; whether it counts there: a
    merge brings what was counted where it was made."""
    if not paths:
        return True
    commit["patches"] = [p for p in commit["patches"] if below(p["path"] or p["old"], paths)]
    return bool(sums.patches(commit))


def below(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of paths, or in one of these directories; none: it is."""
    return not paths or any(one in (".", path) or path.startswith(f"{one}/") for one in paths)
