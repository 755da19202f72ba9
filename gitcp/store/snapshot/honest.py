"""A git that looks at the files themselves: no flag, cache or hook may tell it otherwise."""

from __future__ import annotations

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
    """What git prints when it works on this index file and believes no flag."""
    return repo.git.run(*HONEST, *args, stdin=stdin, ok=ok, env={"GIT_INDEX_FILE": index})[1]
