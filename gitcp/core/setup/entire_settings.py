"""What the original program's settings mean in ours
(doc/formats.md "The original program")."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_STRATEGIES = {
    "manual-commit": "manual-commit",
    "shadow": "manual-commit",
    "auto-commit": "auto-commit",
    "dual": "auto-commit",
}
WARNING = "gitcp.enable-multisession-warning"
OLD_WARNING = "disable-multisession-warning"


def strategy(name: object) -> str | None:
    """Our name of a strategy, given its name or its legacy one; None when it is neither."""
    return _STRATEGIES.get(name) if isinstance(name, str) else None


def merge(shared: Mapping[str, Any], local: Mapping[str, Any]) -> dict[str, Any]:
    """settings.json overridden field by field by settings.local.json, options by key."""
    options = [s.get("strategy_options") for s in (shared, local)]
    joined = {k: v for given in options if isinstance(given, dict) for k, v in given.items()}
    return {**shared, **local, "strategy_options": joined}


def translate(settings: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """git config key -> value, for what is not our default; and what to tell the person."""
    values, notes = {}, []
    if "strategy" in settings:
        name = strategy(settings["strategy"])
        if name is None:
            notes.append(f"strategy {settings['strategy']!a} of Entire is unknown")
        elif name != "manual-commit":
            values["gitcp.strategy"] = name
    options = settings["strategy_options"]
    if options.get("push_sessions") is False:
        values["gitcp.push"] = "false"
    warned = {**options, **settings}.get(OLD_WARNING)
    if isinstance(warned, bool):
        values[WARNING] = "false" if warned else "true"
    if settings.get("enabled") is False:
        notes.append("Entire was disabled here; gitcp is enabled all the same")
    return values, notes
