"""Where enable writes: the worktrees of a repository, the agents that are set up for this clone
alone, and what is in the way."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.git import decode_name, files
from gitcp.git.repo import Repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.setup.takeover import Manifest

_FOLDERS = "lock tmp open turn transcript heard installed corrupt kept claims configured".split()


def find_no_directories(repo: Repo) -> list[str]:
    """The files that are in the way of a directory of gitcp, or of git's hooks."""
    paths = [os.path.join(repo.common, name) for name in ("entire-sessions", "hooks")]
    paths += repo.list_folders()
    paths += [os.path.join(top, name) for top in repo.list_folders() for name in _FOLDERS]
    return [path for path in paths if os.path.lexists(path) and not os.path.isdir(path)]


def list_local_agents(record: Manifest) -> list[str]:
    """The agents whose settings enable wrote for this clone alone, sorted."""
    names = set()
    for entry in record.entries:
        name = entry.get("agent")
        if name not in agents.CLIENTS:
            continue
        local = agents.get_client(name).SETTINGS.get("local")
        if record.get_worktree(entry) or (local and entry["path"].endswith(f"/{local}")):
            names.add(name)
    return sorted(names)


def list_other_worktrees(repo: Repo) -> list[str]:
    """The tops of the repository's other worktrees that are there."""
    tops = []
    main = os.path.dirname(repo.common)
    if repo.worktree_id and repo.common == os.path.join(main, ".git"):
        tops.append(main)
    folder = os.path.join(repo.common, "worktrees")
    for name in agents.list_folders(folder):
        link = decode_name(files.peek(os.path.join(folder, name, "gitdir"))).rstrip("\n")
        top = os.path.dirname(os.path.join(folder, name, link))
        if name != repo.worktree_id and link and os.path.isdir(top):
            tops.append(os.path.normpath(top))
    return tops


def find_main_worktree(repo: Repo) -> Repo:
    """The main worktree, where clients in linked worktrees look for local settings too."""
    main = os.path.dirname(repo.common)
    if not repo.worktree_id or repo.common != os.path.join(main, ".git"):
        return repo
    if repo.config.get_flag("core.bare") or not repo.has_git:
        return repo
    return Repo.find(main, list_environment())


def list_environment() -> dict[str, str]:
    """The environment in which git looks for a repository by its directory alone."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
