"""A checkout: a new worktree gets what agents look for in it."""

from __future__ import annotations

from gitcp.git.repo import Repo
from gitcp.setup import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Record


def enable__worktree(records: list[Record]) -> list[Record]:
    """What `gitcp enable --worktree` does, without output."""
    install.install(Repo.find_here(), install.Options(worktree=True))
    return records


PIPELINES = {"post-checkout": (enable__worktree,)}
