"""Objects that a partial clone left with its remote: no loss, and fetched many at once where that
is wanted.

A hook never does: what is not here is not here.  A command that a person waits for may
(git.may_fetch()); git alone would fetch the objects one by one.
"""

from __future__ import annotations

from gitcp import git, trace
from gitcp.errors import GitError
from gitcp.record import one_a_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo

_HEX = frozenset("0123456789abcdef")
_WHICH = "rev-list --objects --no-object-names --ignore-missing --missing=print --no-walk --stdin"
_LOST = "fsck --connectivity-only --no-dangling --no-reflogs --no-progress"
_FETCH = (
    "-c fetch.negotiationAlgorithm=noop -c core.hooksPath=/dev/null fetch -q --no-tags"
    " --no-write-fetch-head --no-auto-maintenance --recurse-submodules=no --filter=blob:none"
)


def remote(repo: Repo) -> str:
    """The remote that has what this clone left out, '' where it is whole or must not fetch."""
    return _promisor(repo) if git.fetches() else ""


def _promisor(repo: Repo) -> str:
    if name := repo.config.get("extensions.partialclone"):
        return name
    for key in repo.config.keys("remote.", ".promisor"):
        if repo.config.flag(key):
            return key.removeprefix("remote.").removesuffix(".promisor")
    return ""


def unpromised(repo: Repo, names: Sequence[str], missing: set[str]) -> set[str]:
    """Those of the oids, missing of what the names need, that no remote has promised."""
    if not missing or not _promisor(repo):
        return missing
    _, out = repo.git.run(*_LOST.split(), *names, ok=range(256))
    lost = (line.split() for line in out.decode(errors="replace").splitlines())
    return missing.intersection(words[-1] for words in lost if words[:1] == ["missing"])


def bring(repo: Repo, name: str, oids: Sequence[str]) -> None:
    """Fetch those of the objects that are missing; a remote that is away changes nothing."""
    oids = [oid for oid in oids if len(oid) == len(repo.empty_tree) and _HEX.issuperset(oid)]
    try:
        _, out = repo.git.run(*_WHICH.split(), stdin=one_a_line(oids))
        there = set(out.decode().split())
        away = one_a_line(oid for oid in oids if oid not in there)
        if away:
            env = {"GITCP_ACTIVE": "1"}
            repo.git.run(*_FETCH.split(), name, "--stdin", stdin=away, env=env)
    except GitError as e:
        trace.note("objects", f"not fetched: {e}")
