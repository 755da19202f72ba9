"""The skill of gitcp where agents look for skills, beside those that are there."""

from __future__ import annotations

import os

from gitcp.core.setup import skill
from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo
    from gitcp.store.setup.manifest import Manifest


def plan(repo: Repo, known: Manifest, scope: str, force: bool) -> tuple[list[Write], list[str]]:
    """What to write for the clients of a scope (settings_paths), and what to say.

    A skill of that name that is not of gitcp stays, unless force.  known: what was written for the
    repository, or with the scope `user` for the person.
    """
    home = os.path.expanduser("~") if scope == "user" else repo.worktree
    data = skill.TEXT.encode()
    writes: list[Write] = []
    notes: list[str] = []
    for folder in skill.FOLDERS:
        path = os.path.join(home, folder, skill.NAME)
        there = files.read(path)
        if there == data:
            continue
        entry = known.find(path)
        if there is not None and not force and not (entry and known.intact(entry)):
            notes.append(f"'{path}' is not as gitcp wrote it and stays; --force replaces it")
            continue
        write: Write = {"path": path, "kind": "skill", "data": data, "note": f"wrote '{path}'"}
        if scope == "local":
            write["alone"] = True
        if scope == "user":
            write["user"] = True
        writes.append(write)
    return writes, notes
