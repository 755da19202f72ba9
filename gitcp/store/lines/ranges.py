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
# Of git log with paths: no branch is left out, and what was renamed is seen to be; limit() then.
WHOLE = ("--full-history", "--full-diff")


def commits(repo: Repo, objects: Prefetched, *chosen: Sequence[str]) -> Iterator[Commit]:
    """The commits that retold() takes."""
    return retold(repo, objects, describe_commit, *chosen)


def retold(
    repo: Repo,
    objects: Prefetched,
    tell: Callable[[Evidence, Change], Retold],
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
) -> Iterator[Retold]:
    """What tell() makes of each of the commits of the revisions (none: HEAD) that change
    something in paths, and of what is known of them.

    options: of git log.  Of a long history several processes make parts of it: it is what
    spread() can bring.  Raises Error in git's words for what is no revision.
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
        return partial(_window, tell, evidence)

    every = split_windows(run.changes(repo, [*options, *where]), _WINDOW)
    for batch in spread_batches(objects, every, begin):
        yield from batch


def _window(
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
        "linked": evidence.linked(oid),
        "unsaid": evidence.nobody(oid),
        "records": [{**record, "lines": None} for record in evidence.records(oid)],
        "known": {path: known for path in added if (known := evidence.line_authors(oid, path))},
    }


def limit(commit: Commit, paths: Sequence[str]) -> bool:
    """Reduce the patches of a commit to those below paths (none: all); whether the commit counts
    there: what a merge brings is counted where it was made."""
    if not paths:
        return True
    commit["patches"] = [p for p in commit["patches"] if below(p["path"] or p["old"], paths)]
    return bool(sums.list_patches(commit))


def below(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of paths or in one of these directories; True without paths."""
    return not paths or any(one in (".", path) or path.startswith(f"{one}/") for one in paths)
