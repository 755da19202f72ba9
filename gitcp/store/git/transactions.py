"""Transactions of refs by one git, as many as a process makes."""

from __future__ import annotations

from gitcp import git
from gitcp.errors import GitError
from gitcp.process.running import ANY, fill_pipe
from gitcp.record import encode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo

# gitcp's transactions do not run the person's reference-transaction hook
# (doc/git.md "Locks and refs").
_WAYS = (
    "-c core.hooksPath=/dev/null -c core.fsync=reference"
    " -c core.filesRefLockTimeout=2000 -c core.packedRefsTimeout=5000"
)


class _Transactions:
    """`git update-ref --stdin`, which makes one transaction after the other until this process
    ends, or one fails."""

    def __init__(self, repo: Repo, reason: str) -> None:
        self._args = (*_WAYS.split(), "update-ref", "-m", reason, "-z", "--stdin")
        self.reason, self._run = reason, repo.git.start(*self._args, feed=True)

    def make_orders(self, orders: Sequence[str]) -> None:
        """Make orders, all or none.  Raises GitError, and Late at the deadline."""
        commands = "\0".join(("start", *orders, "commit", ""))
        fill_pipe(self._run.get_pipes()[0], encode_name(commands))
        answer = b""
        while not answer.endswith(b"commit: ok\n"):
            if not (data := self._run.read_next()):
                status = self.end_git()
                errors = self._run.errors.replace(b"fatal: commit: ", b"fatal: ")
                raise GitError(("git", *self._args), status, errors)
            answer += data

    def end_git(self) -> int:
        """Have git end; return its status."""
        return self._run.finish(ok=ANY)[0]


def make_transaction(repo: Repo, orders: Sequence[str], reason: str | None) -> None:
    """Make orders for update-ref, all or none, with the reason in the reflogs; None: no reflog
    stays.  Raises GitError."""
    running: _Transactions | None = git.LASTING.pop(repo.git, None)
    if running and reason not in (None, running.reason):
        running.end_git()
        running = None
    running = running or _Transactions(repo, reason or "gitcp")
    git.run_pending()
    running.make_orders(orders)
    git.LASTING[repo.git] = running
