"""The space that files of ours take beside the object database."""

from __future__ import annotations

import os

from gitcp.store.aside import index
from gitcp.store.git import files
from gitcp.store.upkeep import orphans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.upkeep.space_sums import Item
    from gitcp.repo import Repo


def items(repo: Repo) -> Iterator[Item]:
    """Every file of ours beside the objects: states, and what all else there is."""
    for name in files.listed(os.path.join(repo.common, "entire-sessions")):
        path = os.path.join(repo.common, "entire-sessions", name)
        yield from _file(path, "states", name.removesuffix(".json"))
    folders = [repo.shared()]
    worktrees = os.path.join(repo.common, "worktrees")
    folders += [os.path.join(worktrees, name, "gitcp") for name in files.listed(worktrees)]
    for top in folders:
        for folder, _, names in os.walk(top):
            of_sessions = os.path.basename(folder) in ("transcript", "turn", "open", index.NAME)
            for name in sorted(names):
                session = min(orphans.owners(name), key=len) if of_sessions else ""
                yield from _file(os.path.join(folder, name), "caches", session)


def _file(path: str, kind: str, session_id: str) -> Iterator[Item]:
    try:
        st = os.lstat(path)
    except OSError:
        return  # gone meanwhile
    yield {"kind": kind, "session_id": session_id, "time": st.st_mtime, "bytes": st.st_size}
