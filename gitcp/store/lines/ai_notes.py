"""The notes of Git AI kept up, where the person wants them."""

from __future__ import annotations

from gitcp.start import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo


def keep(repo: Repo, commits: Iterable[str]) -> None:
    """With gitcp.ai-notes: let the notes on these commits (full oids) say what is recorded."""
    if repo.config.get_option("gitcp.ai-notes") and (oids := list(dict.fromkeys(commits))):
        late.exports.write_notes(repo, oids, "--no-walk=unsorted")
