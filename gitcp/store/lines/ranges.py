"""The commits of a range with what they changed and the checkpoints behind them, as they come."""

from __future__ import annotations

from functools import partial

from gitcp.core.stats import sums
from gitcp.record import encode_name
from gitcp.store.git.prefetch import split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.lines import run
from gitcp.store.lines.evidence import Evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from gitcp.core.git.patches import Change
    from gitcp.core.stats.sums import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    Retold = TypeVar("Retold")

_WINDOW = 256  # commits whose checkpoints are read at once
# Options of git log with paths: no branch is left out, and renames are found.  The commits are
# then for limit_patches().
WHOLE = ("--full-history", "--full-diff")


def list_commits(repo: Repo, objects: Prefetched, *chosen: Sequence[str]) -> Iterator[Commit]:
    """The commits of revisions that change something in paths; arguments as in map_commits()."""
    return map_commits(repo, objects, describe_commit, *chosen)


def map_commits(
    repo: Repo,
    objects: Prefetched,
    tell: Callable[[Evidence, Change], Retold],
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
) -> Iterator[Retold]:
    """What tell(evidence, commit) returns for each commit of the revisions (none: HEAD) that
    changes something in paths.

    options: of git log.  A long history is divided among several processes: what tell() returns
    must be what spread_batches() can send.  Raises Error in git's words for what is no revision.
    """
    where: tuple[str | bytes, ...] = (
        "--end-of-options",
        *map(encode_name, revisions),
        b"--",
        *map(encode_name, paths),
    )

    first: Evidence | None = None  # of this process, which has done a batch before it forks

    def begin(objects: Prefetched) -> Callable[[list[Change]], list[Retold]]:
        nonlocal first
        evidence = Evidence(repo, objects, revisions=revisions or ["HEAD"], like=first)
        first = first or evidence
        return partial(_describe_window, tell, evidence)

    every = split_windows(run.read_changes(repo, [*options, *where]), _WINDOW)
    for batch in spread_batches(objects, every, begin):
        yield from batch


def _describe_window(
    tell: Callable[[Evidence, Change], Retold], evidence: Evidence, window: Sequence[Change]
) -> list[Retold]:
    evidence.prefetch_changes(window)
    parts = [tell(evidence, change) for change in window]
    evidence.forget()
    return parts


def describe_commit(evidence: Evidence, change: Change) -> Commit:
    """A commit with what is known of it; evidence has it at hand."""
    oid = change["oid"]
    added = (patch["path"] for patch in change["patches"] if patch["hunks"] and patch["path"])
    return {
        **change,
        "linked": evidence.is_linked(oid),
        "unsaid": evidence.find_default_author(oid),
        "records": [{**record, "lines": None} for record in evidence.read_records(oid)],
        "known": {
            path: known for path in added if (known := evidence.find_line_authors(oid, path))
        },
    }


def limit_patches(commit: Commit, paths: Sequence[str]) -> bool:
    """Reduce the patches of a commit to those below paths (none: all); whether the commit counts
    there: what a merge brings is counted where it was made."""
    if not paths:
        return True
    commit["patches"] = [p for p in commit["patches"] if is_below(p["path"] or p["old"], paths)]
    return bool(sums.list_patches(commit))


def is_below(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of paths or in one of these directories; True without paths."""
    return not paths or any(one in (".", path) or path.startswith(f"{one}/") for one in paths)
