"""Which strategy is in force: what a turn's end makes (doc/behaviour.md "Strategies")."""

from __future__ import annotations

from gitcp.core.setup import entire_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

MANUAL, AUTO = "manual-commit", "auto-commit"
_warned: set[str] = set()


def strategy(repo: Repo) -> str:
    """gitcp.strategy: MANUAL (default, once 'shadow') or AUTO ('dual').

    Any other value is the default, with one warning on standard error in a process.
    """
    value = repo.config.get("gitcp.strategy", MANUAL)
    name = entire_settings.strategy(value)
    if name is None and value not in _warned:
        import sys

        _warned.add(value)
        why = f"bad config value '{value}' for 'gitcp.strategy'"
        print(f"warning: {why}: it is '{MANUAL}'", file=sys.stderr)
    return name or MANUAL
