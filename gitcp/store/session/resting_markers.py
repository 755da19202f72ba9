"""Let the markers of sessions that are not at work rest, where there are many."""

from __future__ import annotations

import os
import time

from gitcp import trace
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.session import markers, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_GONE = 3600.0  # seconds after which a session whose agent is gone is not at work


def put_away(repo: Repo) -> None:
    """Let markers rest.  The caller holds no session's lock; the marker of a session that is locked
    stays."""
    repo.make_folder(markers.resting(repo))
    for name in markers.recent(repo):
        try:
            with exclusive(repo, f"session-{name}", timeout=0):
                if _rests(repo, name):
                    os.rename(repo.shared("open", name), os.path.join(markers.resting(repo), name))
        except (Error, FileNotFoundError) as e:
            trace.note("marker", f"'{name}' stays: {e}")


def _rests(repo: Repo, session_id: str) -> bool:
    marker = markers.stored(repo, session_id)
    if marker is None or marker["phase"] != "active":
        return marker is not None
    age = time.time() - os.stat(repo.shared("open", session_id)).st_mtime
    return age > _GONE and not process.alive(marker["agent_process"])
