"""The hook entries of a client's settings: put in, taken out, all else left as it is.

All three clients nest alike: {"hooks": {event: [{"matcher", "hooks": [{"type", "command"}]}]}}.
"""

from __future__ import annotations

from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Settings = dict[str, Any]
    Hook = tuple[str, str | None, int | None]


def install(
    settings: Settings,
    hooks: Iterable[Hook],
    command: Callable[[str], str],
    ours: Callable[[str], bool],
) -> Settings:
    """settings with one entry for each of an adapter's HOOKS, in place of those that are ours.

    command gives the command line for a client's event; ours tells which commands are ours.
    """
    found = remove(settings, ours)
    events = dict(_events(found))
    for event, matcher, timeout in hooks:
        hook: Settings = {"type": "command", "command": command(event)}
        if timeout is not None:
            hook["timeout"] = timeout
        entry: Settings = {} if matcher is None else {"matcher": matcher}
        events[event] = [*events.get(event, []), {**entry, "hooks": [hook]}]
    return {**found, "hooks": events}


def remove(settings: Settings, ours: Callable[[str], bool]) -> Settings:
    """settings without the hooks that are ours, and without what became empty by that."""
    events: Settings = {}
    for event, entries in _events(settings).items():
        kept = [entry for entry in (_without(e, ours) for e in entries) if entry is not None]
        if kept or not entries:
            events[event] = kept
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    return {**settings, "hooks": events} if events or settings.get("hooks") == {} else rest


def commands(settings: Settings) -> list[tuple[str, str]]:
    """Each (client's event, command) that is installed, in order."""
    return [
        (event, hook["command"])
        for event, entries in _events(settings).items()
        for entry in entries
        for hook in _hooks(entry)
        if isinstance(hook, dict) and isinstance(hook.get("command"), str)
    ]


def _events(settings: Settings) -> dict[str, list[Any]]:
    events = settings.get("hooks", {})
    if not isinstance(events, dict) or not all(isinstance(e, list) for e in events.values()):
        raise InputError("'hooks' in the client's settings is not an object of lists")
    return events


def _hooks(entry: object) -> list[Any]:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    return hooks if isinstance(hooks, list) else []


def _without(entry: Any, ours: Callable[[str], bool]) -> Any:
    """The entry without our hooks; None when it had only ours."""
    hooks = _hooks(entry)
    kept = [h for h in hooks if not (isinstance(h, dict) and ours(str(h.get("command", ""))))]
    if len(kept) == len(hooks):
        return entry
    return {**entry, "hooks": kept} if kept else None
