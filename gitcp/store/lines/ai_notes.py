"""The notes of Git AI kept up, where the person wants them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo


def keep(repo: Repo, commits: Iterable[str]) -> None:
    """With gitcp.ai-notes: let the notes on these commits (full oids) say what is recorded."""
    if repo.config.option("gitcp.ai-notes"):
        from gitcp.store.lines import exports

        if oids := list(dict.fromkeys(commits)):
            exports.note(repo, oids, "--no-walk=unsorted")
