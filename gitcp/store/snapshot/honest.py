"""A git that looks at the files themselves: no flag, cache or hook may tell it otherwise."""

from __future__ import annotations

from gitcp.errors import GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

# What could make git believe the index instead of the file.
HONEST = (
    "-c core.untrackedCache=false -c status.showUntrackedFiles=all -c core.fsmonitor=false"
    " -c core.splitIndex=false -c index.sparse=false -c core.trustctime=true"
    " -c core.checkStat=default -c core.ignoreStat=false -c core.hooksPath=/dev/null"
    " -c sparse.expectFilesOutsideOfPatterns=false"
).split()


def honest(
    repo: Repo, index: str, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)
) -> bytes:
    """What git prints when it works on this index file and believes no flag.

    Where a filter fails that is required, git looks at the files as they are.
    """
    env = {"GIT_INDEX_FILE": index}
    try:
        return repo.git.run(*HONEST, *args, stdin=stdin, ok=ok, env=env)[1]
    except GitError as e:
        if not unconverted(e):
            raise
    return repo.git.run(*HONEST, *unfiltered(repo), *args, stdin=stdin, ok=ok, env=env)[1]


def unconverted(error: GitError) -> bool:
    """Whether git ended because it could not convert a file: a filter that is required failed,
    or the file is not in the encoding that its attributes name."""
    return "filter '" in error.complaint or "encod" in error.complaint


def unfiltered(repo: Repo) -> list[str]:
    """The options of git that switch off every filter that is required."""
    names = {key.rpartition(".")[0] for key in repo.config.keys("filter.", ".required")}
    values = ("clean=", "process=", "required=false")
    return [word for name in sorted(names) for v in values for word in ("-c", f"{name}.{v}")]
