"""A checkout: a new worktree gets what agents look for in it."""

from __future__ import annotations

from gitcp.setup import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.record import Context
    from gitcp.text.record_types import Passed


def enable__worktree(ctx: Context, records: Iterable[Passed]) -> Iterable[Passed]:
    """What `gitcp enable --worktree` does, without output."""
    install.install(ctx.repo, install.Options(worktree=True))
    return records


PIPELINES = {"post-checkout": (enable__worktree,)}
