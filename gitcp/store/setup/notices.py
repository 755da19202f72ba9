"""List the lines about the installation that a session gets at its start."""

from __future__ import annotations

import os

from gitcp.start import late
from gitcp.store.setup import configuration, git_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_SHARED = (
    "gitcp: you are recorded by hooks that others share in this repository's settings: "
    "'gitcp enable' links your commits too, 'gitcp disable' ends it."
)
_AWAY = (
    "gitcp: git no longer runs gitcp's hooks here ({}), so commits are linked late: "
    "'gitcp enable' mends it."
)

_UNREGISTERED = (
    "gitcp: jj works in this directory too and is not asked, since it is not registered: "
    "'gitcp enable' registers it."
)


def list_notices(repo: Repo) -> list[str]:
    """The lines; [] if git's hooks are as enable left them and every setting is valid."""
    lines = configuration.list_notices(repo)
    top = repo.top
    if top and os.path.isdir(f"{top}/.jj") and not repo.jj and late.jj.begins_workspace(top):
        lines = [*lines, _UNREGISTERED]
    if not os.path.exists(repo.join_shared("installed", "manifest.json")):
        return [_SHARED, *lines]
    if not repo.has_git:
        return lines
    where = git_hooks.find_folder(repo)
    missing = git_hooks.list_missing(where)
    return [_AWAY.format(", ".join(missing)), *lines] if missing else lines
