"""The hook entries of a client's settings: put in, taken out, all else left as it is.

Most clients nest alike: {"hooks": {event: [{"matcher", "hooks": [{"type", "command"}]}]}}.
Cursor and Copilot CLI do not: {"version": 1, "hooks": {event: [{"matcher", "command"}]}}, the
command of the latter being named `bash`.
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
    form: str = "nested",
) -> Settings:
    """settings with one entry for each of an adapter's HOOKS, in place of those that are ours.

    command gives the command line for a client's event; ours tells which commands are ours;
    form is how the client nests: nested, cursor or copilot.
    """
    rest = remove(settings, ours)
    events = dict(_events(rest))
    for event, matcher, timeout in hooks:
        entry = _entry(form, matcher, timeout, command(event))
        events[event] = [*events.get(event, []), entry]
    version = {} if form == "nested" else {"version": 1}
    return {**version, **rest, "hooks": events}


def _entry(form: str, matcher: str | None, timeout: int | None, command: str) -> Settings:
    matched: Settings = {} if matcher is None else {"matcher": matcher}
    if form == "cursor":
        return {**matched, "command": command}
    if form == "copilot":
        return {"type": "command", **matched, "bash": command}
    hook: Settings = {"type": "command", "command": command}
    if timeout is not None:
        hook["timeout"] = timeout
    return {**matched, "hooks": [hook]}


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
        (event, command)
        for event, entries in _events(settings).items()
        for entry in entries
        for hook in hooks_of(entry)
        if (command := command_of(hook))
    ]


def _events(settings: Settings) -> dict[str, list[Any]]:
    events = settings.get("hooks", {})
    if not isinstance(events, dict) or not all(isinstance(e, list) for e in events.values()):
        raise InputError("'hooks' in the client's settings is not an object of lists")
    return events


def hooks_of(entry: object) -> list[Any]:
    """The hooks of an entry: those it nests, or itself."""
    nested = entry.get("hooks") if isinstance(entry, dict) else None
    if isinstance(nested, list):
        return nested
    return [entry] if command_of(entry) else []


def command_of(hook: object) -> str:
    """The command line of a hook, "" when it has none."""
    given = (hook.get("command") or hook.get("bash")) if isinstance(hook, dict) else None
    return given if isinstance(given, str) else ""


def _without(entry: Any, ours: Callable[[str], bool]) -> Any:
    """The entry without our hooks; None when it had only ours."""
    hooks = hooks_of(entry)
    kept = [hook for hook in hooks if not ours(command_of(hook))]
    if len(kept) == len(hooks):
        return entry
    return {**entry, "hooks": kept} if kept else None
