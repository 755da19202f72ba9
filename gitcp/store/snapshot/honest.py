"""A git that looks at the files themselves: no flag, cache or hook may tell it otherwise.

It runs the person's filters, in their environment and so in their language: what it says is
shown to people, and nothing is read out of it.
"""

from __future__ import annotations

from gitcp.errors import GitError, Late
from gitcp.git import reading
from gitcp.store.snapshot import hung_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

# What could make git believe the index instead of the file.
HONEST = (
    "-c core.untrackedCache=false -c status.showUntrackedFiles=all -c core.fsmonitor=false"
    " -c core.splitIndex=false -c index.sparse=false -c core.trustctime=true"
    " -c core.checkStat=default -c core.ignoreStat=false -c core.hooksPath=/dev/null"
    " -c sparse.expectFilesOutsideOfPatterns=false -c core.useReplaceRefs=false"
).split()


def honest(
    repo: Repo, index: str, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)
) -> bytes:
    """What git prints when it works on this index file and believes no flag.

    Where a filter fails that is required, or hangs, git looks at the files as they are.
    """
    ways = hung_filters.off(repo) if hung_filters.hang(repo) else []

    def run() -> bytes:
        argv, env = (*HONEST, *ways, *args), environment(index)
        running = repo.git.start(*argv, feed=bool(stdin), env=env, filters=True)
        return running.finish(stdin, ok, hung_filters.patience(repo))[1]

    try:
        return run()
    except Late:
        if not hung_filters.note(repo):
            raise
        ways = hung_filters.off(repo)
    except GitError:
        if not (ways := hung_filters.unfiltered(repo)):
            raise
    return run()


def environment(index: str) -> dict[str, str]:
    """What an honest git has beside the person's environment."""
    return {**reading(), "GIT_INDEX_FILE": index}
