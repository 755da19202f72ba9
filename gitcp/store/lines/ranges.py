"""The commits of a range with their changes and checkpoints, one after the other."""

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

    Converted = TypeVar("Converted")

_WINDOW = 256  # commits whose checkpoints are read at once
_ALONE = 4  # windows before worker processes are started: they cost what a thousand commits do
# Options of git log with paths, to leave out no branch and find renames; limit_patches() then
# selects the commits.
WHOLE = ("--full-history", "--full-diff")


def list_commits(repo: Repo, objects: Prefetched, *chosen: Sequence[str]) -> Iterator[Commit]:
    """The commits of revisions that change paths; arguments as for map_commits()."""
    return map_commits(repo, objects, describe_commit, *chosen)


def map_commits(
    repo: Repo,
    objects: Prefetched,
    convert: Callable[[Evidence, Change], Converted],
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
) -> Iterator[Converted]:
    """What convert(evidence, commit) returns for each commit of the revisions (default: HEAD) that
    changes paths.

    options: of git log.  A long history is divided among several processes: what convert() returns
    must be what spread_batches() can send.  Raises Error with git's message for a bad revision.
    """
    names = map(encode_name, ("--end-of-options", *revisions, "--", *paths))
    shared: Evidence | None = None  # of this process, which does a batch before it forks

    def begin(objects: Prefetched) -> Callable[[list[Change]], list[Converted]]:
        nonlocal shared
        evidence = Evidence(repo, objects, revisions=revisions or ["HEAD"], like=shared)
        shared = shared or evidence
        return partial(_describe_window, convert, evidence)

    windows = split_windows(run.read_changes(repo, [*options, *names]), _WINDOW)
    for batch in spread_batches(objects, windows, begin, _ALONE):
        yield from batch


def _describe_window(
    convert: Callable[[Evidence, Change], Converted], evidence: Evidence, window: Sequence[Change]
) -> list[Converted]:
    evidence.prefetch_changes(window)
    parts = [convert(evidence, change) for change in window]
    evidence.forget()
    return parts


def describe_commit(evidence: Evidence, change: Change) -> Commit:
    """A commit with its records and the authors of its lines."""
    oid, commit = change["oid"], evidence.get_commit(change["oid"])
    added = (patch["path"] for patch in change["patches"] if patch["hunks"] and patch["path"])
    return {
        **change,
        "linked": bool(commit.ids),
        "unsaid": evidence.find_default_author(oid),
        "records": [{**record, "lines": None} for record in commit.records],
        "known": {
            path: authors for path in added if (authors := evidence.find_line_authors(oid, path))
        },
    }


def limit_patches(commit: Commit, paths: Sequence[str]) -> bool:
    """Reduce the patches of a commit to those below paths (none: all); return whether the commit
    changes something there.  What a merge brings counts in the commits that made it."""
    if not paths:
        return True
    commit["patches"] = [p for p in commit["patches"] if is_below(p["path"] or p["old"], paths)]
    return bool(sums.list_patches(commit))


def is_below(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of paths or in one of these directories; True without paths."""
    return not paths or any(p in (".", path) or path.startswith(f"{p}/") for p in paths)
