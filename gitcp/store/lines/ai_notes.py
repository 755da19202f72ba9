"""Keeping the notes of Git AI up to date."""

from __future__ import annotations

from gitcp.start import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo


def keep(repo: Repo, commits: Iterable[str]) -> None:
    """With gitcp.ai-notes write what is recorded of commits (full oids) into their notes."""
    if repo.config.get_option("gitcp.ai-notes") and (oids := list(dict.fromkeys(commits))):
        late.exports.write_notes(repo, oids, "--no-walk=unsorted")
