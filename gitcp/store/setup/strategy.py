"""Read the strategy, which decides what a turn's end makes (doc/behaviour.md "Strategies")."""

from __future__ import annotations

from gitcp.core.setup import entire_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

MANUAL, AUTO = "manual-commit", "auto-commit"


def get_strategy(repo: Repo) -> str:
    """MANUAL or AUTO, as configured; MANUAL in a jj workspace, where jj makes the commits."""
    return MANUAL if repo.jj else get_configured(repo)


def get_configured(repo: Repo) -> str:
    """gitcp.strategy: MANUAL (default; formerly 'shadow') or AUTO (formerly 'dual')."""
    return entire_settings.find_strategy(repo.config.get_option("gitcp.strategy")) or MANUAL
