"""Objects that a partial clone left with its remote: no loss, and fetched many at once where that
is wanted.

A hook never does: what is not here is not here.  A command that a person waits for may
(git.allow_fetch()); git alone would fetch the objects one by one.
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
    """The remote that has what this clone left out, '' where it is whole or must not fetch."""
    return _find_promisor(repo) if git.is_fetch_allowed() else ""


def _find_promisor(repo: Repo) -> str:
    if name := repo.config.get("extensions.partialclone"):
        return name
    for key in repo.config.list_keys("remote.", ".promisor"):
        if repo.config.get_flag(key):
            return key.removeprefix("remote.").removesuffix(".promisor")
    return ""


def list_unpromised(repo: Repo, oids: Sequence[str], missing: set[str]) -> set[str]:
    """Those of the oids, missing of what the names need, that no remote has promised."""
    if not missing or not _find_promisor(repo):
        return missing
    _, out = repo.git.run(*_LOST.split(), *oids, ok=range(256))
    lost = (line.split() for line in out.decode(errors="replace").splitlines())
    return missing.intersection(words[-1] for words in lost if words[:1] == ["missing"])


def forbid_fetch(repo: Repo) -> None:
    """Fetch nothing any more in this process, though a person waits for it."""
    git.forbid_fetch()
    repo.git.env["GIT_NO_LAZY_FETCH"] = "1"


def lacks_objects(repo: Repo, oids: Sequence[str]) -> bool:
    """Whether anything that these trees consist of is missing here."""
    _, out = repo.git.run(*_WHICH.split(), stdin=encode_lines(oids))
    return b"?" in out


def fetch_missing(
    repo: Repo, name: str, oids: Sequence[str], within: float | None = None, walk: bool = False
) -> bool:
    """Fetch those of the objects that are missing; a remote that is away changes nothing.

    within: seconds; False where that was not enough.  walk: what the objects consist of, too.
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
