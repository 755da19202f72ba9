"""What notes of Git AI attest of commits: asked where nothing is recorded by us."""

from __future__ import annotations

from gitcp.record import text
from gitcp.store.git import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.exports.git_ai import Log
    from gitcp.core.lines.authors import Author
    from gitcp.store.git.prefetch import Prefetched


class Attested:
    """What the notes attest to sessions; who asks has looked first at what we know ourselves."""

    def __init__(self, objects: Prefetched) -> None:
        self._objects = objects
        self._reader = notes.Reader(objects, notes.AI)
        self._logs: dict[str, Log | None] = {}

    def prefetch(self, commits: Iterable[str]) -> None:
        """Have the notes on these commits at hand."""
        self._objects.fetch(oid for commit in commits if (oid := self._reader.oid(commit)))

    def noted(self, commit: str) -> bool:
        """Whether there is a note on a commit."""
        return bool(self._reader.oid(commit))

    def lines(self, commit: str, path: str) -> dict[int, Author]:
        """The authors of the lines (1-based) of path in commit that a note attests."""
        log = self._log(commit)
        if log is None:
            return {}
        from gitcp.core.exports import git_ai

        return git_ai.authors(log, commit, path)

    def forget(self) -> None:
        """Let go of what was read."""
        self._logs.clear()

    def _log(self, commit: str) -> Log | None:
        if commit not in self._logs:
            data = self._reader.text(commit)
            if data:
                from gitcp.core.exports import git_ai

                self._logs[commit] = git_ai.load(text(data))
            else:
                self._logs[commit] = None
        return self._logs[commit]
