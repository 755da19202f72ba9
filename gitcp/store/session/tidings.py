"""What the agent of a session is to be told with its next prompt: files that changed under it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def leave(repo: Repo, session_id: str, text: str) -> None:
    """Keep a text for the session's next prompt in this worktree, behind what waits already."""
    path = _path(repo, session_id)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8", errors="backslashreplace") as f:
        f.write(text + "\n")


def take(repo: Repo, session_id: str) -> str:
    """The texts that wait, which are gone then; '' for none."""
    path = _path(repo, session_id)
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        os.unlink(path)
    except FileNotFoundError:
        return ""
    return text.strip()


def _path(repo: Repo, session_id: str) -> str:
    return repo.own("tell", session_id)
