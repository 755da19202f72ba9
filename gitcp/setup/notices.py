"""The lines about the installation that a session gets at its start."""

from __future__ import annotations

import os

from gitcp.git import jj
from gitcp.setup import configuration, configured_hooks, git_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

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
    lines = _list_about_settings(repo)
    top = repo.top
    if top and os.path.isdir(f"{top}/.jj") and not repo.jj and jj.begins_workspace(top):
        lines = [*lines, _UNREGISTERED]
    is_enabled_here = os.path.exists(repo.join_shared("installed", "manifest.json"))
    if not is_enabled_here and not configured_hooks.is_of_person(repo):
        return [_SHARED, *lines]
    if not repo.has_git:
        return lines
    missing = git_hooks.list_missing(repo, git_hooks.find_folder(repo))
    if missing:
        return [_AWAY.format(", ".join(missing)), *lines]
    return lines


def _list_about_settings(repo: Repo) -> list[str]:
    """The line about wrong settings that a session gets at its start; [] if none is wrong."""
    findings = configuration.list_findings(repo)
    if len(findings) > 1:
        more = f"{len(findings) - 1} more: 'gitcp config --check' shows them"
        return [f"gitcp: {findings[0].reason} ({more})"]
    return [f"gitcp: {finding.reason}" for finding in findings]
