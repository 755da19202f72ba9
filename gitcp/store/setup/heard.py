"""Which agents have called: <common>/gitcp/heard/<agent> has the time of the agent's last prompt
or start as its own."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.start import late
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def note_event(repo: Repo, agent: str, name: str) -> None:
    """An agent's client has called: remember when, and tell the sh guard what is configured."""
    marked = os.path.isdir(repo.join_shared("configured"))
    if marked or repo.config.list_keys("gitcp.", ".pipeline"):
        late.guard_files.write_configured(repo)
    path = repo.join_shared("heard", agent)
    if name not in ("session-start", "turn-start") and os.path.exists(path):
        return
    try:
        private.touch_private(repo, path)
    except (Error, OSError):
        pass  # nothing that a turn depends on


def read_last(repo: Repo, agent: str) -> float:
    """When an agent last called, in seconds since 1970; 0 when it never has."""
    try:
        return os.stat(repo.join_shared("heard", agent)).st_mtime
    except OSError:
        return 0.0
