"""The commits of a history with their patches, as `git log -p` tells them."""

from __future__ import annotations

from gitcp.core.git import patches
from gitcp.errors import GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.git.patches import Change
    from gitcp.repo import Repo

_LOG = """log --no-color --no-show-signature --no-notes -p -U0 -M --root --full-index
--inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ --no-ext-diff --no-textconv
--submodule=short --no-color-moved""".split()


def changes(repo: Repo, args: Sequence[str | bytes]) -> Iterator[Change]:
    """The commits that `git log` tells of with these arguments, as they come.

    Merges have no patches, unless an argument asks for them.  Raises Error in git's words for
    what is no revision.
    """
    try:
        yield from patches.commits(repo.git.stream(*_LOG, *patches.FORMAT, *args, sep=b"\n"))
    except GitError as e:
        raise e.plain() from None


def of_paths(repo: Repo, commits: Sequence[str], paths: Sequence[bytes]) -> list[Change]:
    """What these commits (full oids) change in these paths, by one process of git."""
    args: tuple[str | bytes, ...] = (
        *_LOG,
        *patches.FORMAT,
        "--no-walk=unsorted",
        "--stdin",
        "--",
        *paths,
    )
    _, out = repo.git.run(*args, stdin="\n".join(commits).encode() + b"\n")
    return list(patches.commits(out.split(b"\n")))
