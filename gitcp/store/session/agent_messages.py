"""Messages for the agent of a session, sent with its next prompt: files that changed meanwhile."""

from __future__ import annotations

import os

from gitcp.process.files import read_file
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def leave(repo: Repo, session_id: str, text: str) -> None:
    """Add a text to those for the session's next prompt in this worktree."""
    path = _get_path(repo, session_id)
    fd = private.open_private(repo, path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(fd, "a", encoding="utf-8", errors="backslashreplace") as f:
        f.write(text + "\n")


def take(repo: Repo, session_id: str) -> str:
    """Remove and return the texts that wait; '' for none."""
    path = _get_path(repo, session_id)
    data = private.read_or_set_aside(repo, lambda: read_file(path))
    private.remove_private(repo, path)
    return (data or b"").decode("utf-8", "replace").strip()


def _get_path(repo: Repo, session_id: str) -> str:
    return repo.join_own("tell", session_id)
