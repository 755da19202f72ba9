"""What enable writes for the clients of agents, and where: one that cannot be set up is told."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.install import enabling
from gitcp.agents.install.enabling import Ground
from gitcp.console import notice
from gitcp.core.setup.installation import ENTIRE_SWITCH
from gitcp.errors import Error
from gitcp.repo import Repo
from gitcp.store.git import files
from gitcp.store.setup import exclude, manifest, takeover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.setup.installation import Write
    from gitcp.store.setup.manifest import Manifest

_UNREAD = "{}: {} is not set up; mend it, then 'gitcp enable --agent {}'"


def plan(
    repo: Repo,
    names: Iterable[str],
    scope: str,
    baked: tuple[str, str],
    force: bool,
) -> tuple[list[Write], list[str]]:
    """What to write and to say so that these agents run our hooks; scope as settings_paths has it.

    Settings that cannot be read are told, and keep no other agent back.
    """
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
    switch = takeover.plan_switch(repo) if stays else ([], [])
    return writes + switch[0], notes + switch[1]


def plan_worktree(repo: Repo, known: Manifest, baked: tuple[str, str]) -> list[Write]:
    """What to write into a linked worktree that was just made: for clients that look only there and
    that enable set up, for this clone alone, in another worktree."""
    here_only = [entry for entry in known.entries if known.worktree(entry) and entry.get("agent")]
    names = {str(entry["agent"]) for entry in here_only}
    ground = _ground(repo, baked)
    home, top = os.path.expanduser("~"), repo.worktree
    plans = [
        enabling.plan(agents.adapter(n), "local", home, top, ground, False) for n in sorted(names)
    ]
    writes = [write for written, _ in plans for write in written]
    if any(entry["kind"] == ENTIRE_SWITCH for entry in known.entries):
        writes += takeover.plan_switch(repo)[0]
    hidden = exclude.carried(repo, [write["path"] for write in writes])
    return [*([exclude.plan(repo, hidden)] if hidden else []), *writes]


def _ground(repo: Repo, baked: tuple[str, str]) -> Ground:
    records = (manifest.load(repo), manifest.load_person())
    return Ground(
        files.read,
        lambda path: bool(exclude.tracked(repo, [path])),
        baked,
        lambda path: any(known.find(path) for known in records),
    )


def seat(repo: Repo) -> Repo:
    """The main worktree, where a client that we run in a linked one finds local settings."""
    main = os.path.dirname(repo.common)
    if not repo.worktree_id or repo.common != os.path.join(main, ".git"):
        return repo
    if repo.config.flag("core.bare") or not repo.has_git:
        return repo
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return Repo.find(main, outside)
