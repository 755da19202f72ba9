"""Objects that a partial clone has left with its remote.

A command may fetch them, many at once (git.allow_fetch()); git would fetch them one by one.  A hook
never fetches.
"""

from __future__ import annotations

from gitcp import git, trace
from gitcp.errors import GitError, Late
from gitcp.record import encode_lines

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


def find_remote(repo: Repo) -> str:
    """The remote of a partial clone; '' in a complete clone, or if fetching is not allowed."""
    return _find_promisor(repo) if git.is_fetch_allowed() else ""


def _find_promisor(repo: Repo) -> str:
    if name := repo.config.get("extensions.partialclone"):
        return name
    for key in repo.config.list_keys("remote.", ".promisor"):
        if repo.config.get_flag(key):
            return key.removeprefix("remote.").removesuffix(".promisor")
    return ""


def list_unpromised(repo: Repo, oids: Sequence[str], missing: set[str]) -> set[str]:
    """The oids of missing that oids need and that no remote has promised."""
    if not missing or not _find_promisor(repo):
        return missing
    _, out = repo.git.run(*_LOST.split(), *oids, ok=range(256))
    lost = (line.split() for line in out.decode(errors="replace").splitlines())
    return missing.intersection(words[-1] for words in lost if words[:1] == ["missing"])


def forbid_fetch(repo: Repo) -> None:
    """Fetch no objects any more in this process."""
    git.forbid_fetch()
    repo.git.env["GIT_NO_LAZY_FETCH"] = "1"


def lacks_objects(repo: Repo, oids: Sequence[str]) -> bool:
    """Whether an object of these trees is missing here."""
    _, out = repo.git.run(*_WHICH.split(), stdin=encode_lines(oids))
    return b"?" in out


def fetch_missing(
    repo: Repo, name: str, oids: Sequence[str], within: float | None = None, walk: bool = False
) -> bool:
    """Fetch the missing objects; if the remote cannot be reached, nothing changes.

    within: seconds; False if that was too short.  walk: fetch what the objects refer to as well.
    """
    oids = [oid for oid in oids if len(oid) == len(repo.empty_tree) and _HEX.issuperset(oid)]
    try:
        _, out = repo.git.run(*_WHICH.split(), stdin=encode_lines(oids))
        listed = out.decode().split()
        below = [oid[1:] for oid in listed if oid[0] == "?"] if walk else []
        away = encode_lines([*below, *(oid for oid in oids if oid not in set(listed))])
        if away:
            env = {"GITCP_ACTIVE": "1"}
            running = repo.git.start(
                *_FETCH.split(), name, "--stdin", env=env, feed=True, apart=True
            )
            running.finish(away, limit=within)
    except Late:
        return False
    except GitError as e:
        trace.append_note("objects", f"not fetched: {e}")
    return True
