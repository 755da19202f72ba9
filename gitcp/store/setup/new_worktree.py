"""A linked worktree that was just made gets the entries of the clients that look only there.

The agents are those that enable set up for this clone alone in another worktree.
"""

from __future__ import annotations

import os

from gitcp.core.setup.installation import ENTIRE_SWITCH
from gitcp.store.git import files
from gitcp.store.setup import exclude, watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo
    from gitcp.store.setup.manifest import Manifest


def plan(repo: Repo, known: Manifest, baked: tuple[str, str]) -> list[Write]:
    """What to write into a worktree; baked: the interpreter and the entry that hooks start."""
    from gitcp.agents import adapter
    from gitcp.agents.install import enabling
    from gitcp.store.setup import entire_switch

    here_only = [entry for entry in known.entries if known.worktree(entry) and entry.get("agent")]
    names = {str(entry["agent"]) for entry in here_only}
    ground = enabling.Ground(files.read, lambda path: bool(exclude.tracked(repo, [path])), baked)
    home, top = os.path.expanduser("~"), repo.worktree
    plans = [enabling.plan(adapter(n), "local", home, top, ground, False) for n in sorted(names)]
    writes = [write for written, _ in plans for write in written]
    if any(entry["kind"] == ENTIRE_SWITCH for entry in known.entries):
        writes += entire_switch.plan(repo)[0]
    hidden = exclude.carried(repo, [write["path"] for write in writes])
    return [*([exclude.plan(repo, hidden)] if hidden else []), *writes]


def settle(repo: Repo, known: Manifest) -> None:
    """After that: forget worktrees that are gone, and look out for what this one has."""
    for entry in known.entries[:]:
        top = known.worktree(entry)
        if top and not os.path.isdir(top):
            known.entries.remove(entry)
    known.save()
    watched.write(repo, known)
