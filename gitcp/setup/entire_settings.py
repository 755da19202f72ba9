"""The settings of the original program in gitcp's words (doc/formats.md "The original program")."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

ENTIRE_SWITCH = "entire"  # the kind of the file that switches the original program off
_STRATEGIES = {
    **dict.fromkeys(("manual-commit", "shadow"), "manual-commit"),
    **dict.fromkeys(("auto-commit", "dual"), "auto-commit"),
}
_HOSTS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
WARNING = "gitcp.enable-multisession-warning"
OLD_WARNING = "disable-multisession-warning"


def find_strategy(name: object) -> str | None:
    """gitcp's name of a strategy, by that name or a legacy one; None for any other value."""
    if isinstance(name, str):
        return _STRATEGIES.get(name)
    return None


def merge_settings(shared: Mapping[str, Any], local: Mapping[str, Any]) -> dict[str, Any]:
    """settings.json, overridden by settings.local.json field by field, and option by option."""
    options: dict[str, Any] = {}
    for settings in (shared, local):
        chosen = settings.get("strategy_options")
        if isinstance(chosen, dict):
            options |= chosen
    return {**shared, **local, "strategy_options": options}


def translate_settings(settings: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """(git config key -> value, for values that are not gitcp's default; notes for the person)."""
    values = {}
    notes = []
    if "strategy" in settings:
        name = find_strategy(settings["strategy"])
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


def choose_destination(settings: object, remotes: Collection[str], url: str) -> str:
    """The repository's URL, else the remote, that Entire's settings name for checkpoints; "" for
    neither.  url: of the code's remote, which tells whether git uses ssh."""
    options = None
    if isinstance(settings, dict):
        options = settings.get("strategy_options")
    if not isinstance(options, dict):
        return ""
    remote = options.get("checkpoint_remote")
    name = options.get("checkpoint_push_remote")
    if isinstance(remote, dict):
        address = _build_url(remote, url)
        if address:
            return address
    if isinstance(name, str) and name in remotes:
        return name
    return ""


def _build_url(remote: Mapping[str, object], url: str) -> str:
    """The URL of a repository of a forge; "" if a part of it is missing or invalid."""
    host = _HOSTS.get(str(remote.get("provider")))
    path = str(remote.get("repo") or "").removesuffix(".git")
    parts = path.split("/")
    valid = all(part.strip(".-") and _NAME.issuperset(part) for part in parts)
    if host is None or not valid or len(parts) < 2 or path.startswith("-"):
        return ""
    by_ssh = url.startswith("ssh:") or ("://" not in url and "@" in url)
    if by_ssh:
        return f"git@{host}:{path}.git"
    return f"https://{host}/{path}.git"
