"""Take away what killed processes of ours left in our own directories."""

from __future__ import annotations

import os
import time

from gitcp.store.pack import upkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.repo import Repo

_DAY = 86400.0  # seconds: nothing of ours runs that long
_HOUR = 3600.0  # a turn that begins now may not be announced yet


def sweep(repo: Repo) -> None:
    """Remove scratch files and quarantines that are older than a day, and what clients exported
    as it was said (unredacted) of sessions that nothing is left to settle of; nothing else."""
    tmp = repo.shared("tmp")
    for name in _old(tmp):
        path = os.path.join(tmp, name)
        for folder, folders, files in os.walk(path, topdown=False):
            for file in files:
                _try(os.unlink, os.path.join(folder, file))
            for inner in folders:
                _try(os.rmdir, os.path.join(folder, inner))
        _try(os.rmdir if os.path.isdir(path) else os.unlink, path)
    upkeep.sweep(repo)
    for place in {repo.own(), repo.shared(), repo.shared("transcript")}:
        for name in _old(place):  # written beside what it was to replace, by a process's number
            beside, _, pid = name.removesuffix(".lock").rpartition(".")
            if beside and pid.isdigit():
                _try(os.unlink, os.path.join(place, name))
    exports = repo.shared("exports")
    for client in _old(exports, 0):
        for name in _old(os.path.join(exports, client), _HOUR):
            if not _open(repo, name.rpartition(".")[0]):
                _try(os.unlink, os.path.join(exports, client, name))


def _open(repo: Repo, session_id: str) -> bool:
    places = ((session_id,), ("~aside", session_id))  # store.session.markers
    return any(os.path.lexists(repo.shared("open", *place)) for place in places)


def _old(folder: str, age: float = _DAY) -> list[str]:
    since = time.time() - age
    try:
        with os.scandir(folder) as entries:
            return [e.name for e in entries if e.stat(follow_symlinks=False).st_mtime < since]
    except OSError:
        return []


def _try(remove: Callable[[str], None], path: str) -> None:
    try:
        remove(path)
    except OSError:
        pass  # somebody else was faster
