"""What enable writes for the clients of agents, and where: one that cannot be set up is told."""

from __future__ import annotations

import os

from gitcp.console import notice
from gitcp.errors import Error
from gitcp.repo import Repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.agents.install.enabling import Ground
    from gitcp.core.setup.installation import Write

_UNREAD = "{}: {} is not set up; mend it, then 'gitcp enable --agent {}'"


def plan(
    repo: Repo, names: Iterable[str], scope: str, baked: tuple[str, str], force: bool
) -> tuple[list[Write], list[str]]:
    """What to write and to say so that these agents run our hooks; scope as settings_paths has it.

    Settings that cannot be read are told, and keep no other agent back.
    """
    from gitcp import agents
    from gitcp.agents.install import enabling
    from gitcp.store.setup import entire_switch

    writes: list[Write] = []
    notes: list[str] = []
    home, main, stays = os.path.expanduser("~"), seat(repo), False
    for name in names:
        adapter = agents.adapter(name)
        at = main if scope == "local" and scope in adapter.settings_paths(home, "") else repo
        try:
            more = enabling.plan(adapter, scope, home, at.worktree, _ground(at, baked), force)
        except Error as e:
            notice.lack(_UNREAD.format(e, name, name))
        else:
            writes += more[0]
            notes += more[1]
            stays |= enabling.entires_stay(adapter, home, at.worktree, _ground(at, baked), force)
    switch = entire_switch.plan(repo) if stays else ([], [])
    return writes + switch[0], notes + switch[1]


def _ground(repo: Repo, baked: tuple[str, str]) -> Ground:
    from gitcp.agents.install.enabling import Ground
    from gitcp.store.git import files
    from gitcp.store.setup import exclude

    return Ground(files.read, lambda path: bool(exclude.tracked(repo, [path])), baked)


def seat(repo: Repo) -> Repo:
    """The main worktree, where a client that we run in a linked one finds local settings."""
    main = os.path.dirname(repo.common)
    if not repo.worktree_id or repo.common != os.path.join(main, ".git"):
        return repo
    if repo.config.flag("core.bare") or not repo.has_git:
        return repo
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return Repo.find(main, outside)
