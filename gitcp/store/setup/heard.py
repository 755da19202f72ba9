"""Note which agents have run a hook: the modification time of <common>/gitcp/heard/<agent> is that
of the agent's last prompt or session start."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.start import late
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def note_event(repo: Repo, agent: str, name: str) -> None:
    """Note the time of an agent's event, and update `configured` (guard_files)."""
    marked = os.path.isdir(repo.join_shared("configured"))
    if marked or repo.config.list_keys("gitcp.", ".pipeline"):
        late.guard_files.write_configured(repo)
    path = repo.join_shared("heard", agent)
    if name not in ("session-start", "turn-start") and os.path.exists(path):
        return
    try:
        private.touch_private(repo, path)
    except (Error, OSError):
        pass  # no turn depends on it


def read_last(repo: Repo, agent: str) -> float:
    """The time of an agent's last event, in seconds since 1970; 0 if there was none."""
    try:
        return os.stat(repo.join_shared("heard", agent)).st_mtime
    except OSError:
        return 0.0
