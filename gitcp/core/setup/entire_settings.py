"""What the original program's settings mean in ours
(doc/formats.md "The original program")."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

_STRATEGIES = {
    "manual-commit": "manual-commit",
    "shadow": "manual-commit",
    "auto-commit": "auto-commit",
    "dual": "auto-commit",
}
_HOSTS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
WARNING = "gitcp.enable-multisession-warning"
OLD_WARNING = "disable-multisession-warning"


def find_strategy(name: object) -> str | None:
    """Our name of a strategy, given its name or its legacy one; None when it is neither."""
    return _STRATEGIES.get(name) if isinstance(name, str) else None


def merge(shared: Mapping[str, Any], local: Mapping[str, Any]) -> dict[str, Any]:
    """settings.json overridden field by field by settings.local.json, options by key."""
    options = [s.get("strategy_options") for s in (shared, local)]
    joined = {k: v for chosen in options if isinstance(chosen, dict) for k, v in chosen.items()}
    return {**shared, **local, "strategy_options": joined}


def translate(settings: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """git config key -> value, for what is not our default; and what to tell the person."""
    values, notes = {}, []
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
    """The URL of the repository, else the remote, that Entire's settings name for checkpoints; ""
    for none, and for what is neither.  url: the code's, for whether git goes there by ssh."""
    options = settings.get("strategy_options") if isinstance(settings, dict) else None
    named = options if isinstance(options, dict) else {}
    remote, name = named.get("checkpoint_remote"), named.get("checkpoint_push_remote")
    if isinstance(remote, dict) and (address := _build_url(remote, url)):
        return address
    return name if isinstance(name, str) and name in remotes else ""


def _build_url(remote: Mapping[str, object], url: str) -> str:
    """The URL of a repository of a forge; "" where a part of it is missing or strange."""
    host, path = _HOSTS.get(str(remote.get("provider"))), str(remote.get("repo") or "")
    parts = path.removesuffix(".git").split("/")
    strange = any(not part.strip(".-") or not _NAME.issuperset(part) for part in parts)
    if host is None or strange or len(parts) < 2 or path.startswith("-"):
        return ""
    by_ssh = url.startswith("ssh:") or ("://" not in url and "@" in url)
    return (
        f"git@{host}:{'/'.join(parts)}.git" if by_ssh else f"https://{host}/{'/'.join(parts)}.git"
    )
