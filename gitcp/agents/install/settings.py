"""The hook entries of a client's settings: put in, taken out, all else left as it is.

Most clients nest alike: {"hooks": {event: [{"matcher", "hooks": [{"type", "command"}]}]}},
in a file that may have comments where an adapter's FORM is commented.
Cursor and Copilot CLI do not: {"version": 1, "hooks": {event: [{"matcher", "command"}]}}, the
command of the latter being named `bash`; Windsurf and VS Code do as Cursor, without version and
matcher.
"""

from __future__ import annotations

from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Settings = dict[str, Any]
    Hook = tuple[str, str | None, int | None]


def additions(
    hooks: Iterable[Hook], command: Callable[[str], str], form: str
) -> list[tuple[str, Settings]]:
    """(client's event, entry to put at the end of its list) for each of an adapter's HOOKS.

    command gives the command line for a client's event; form is how the client nests: cursor,
    windsurf, vs-code, copilot, else as most do.
    """
    return [(event, _entry(form, matcher, time, command(event))) for event, matcher, time in hooks]


def _entry(form: str, matcher: str | None, timeout: int | None, command: str) -> Settings:
    matched: Settings = {} if matcher is None else {"matcher": matcher}
    if form in ("cursor", "windsurf"):
        return {**matched, "command": command}
    if form == "vs-code":
        return {"type": "command", "command": command}
    if form == "copilot":
        return {"type": "command", **matched, "bash": command}
    hook: Settings = {"type": "command", "command": command}
    if timeout is not None:
        hook["timeout"] = timeout
    return {**matched, "hooks": [hook]}


def surplus(settings: Settings, ours: Callable[[str], bool]) -> tuple[str | int, ...] | None:
    """The path of what to take out next until no hook is ours, with what is empty by that.

    ours tells which commands are ours; None: nothing is.
    """
    events = _events(settings)
    for event, entries in events.items():
        for number, entry in enumerate(entries):
            mine = [ours(command_of(hook)) for hook in hooks_of(entry)]
            if any(mine) and not all(mine):
                return "hooks", event, number, "hooks", mine.index(True)
            if any(mine) and len(entries) > 1:
                return "hooks", event, number
            if any(mine):
                return ("hooks", event) if len(events) > 1 else ("hooks",)
    return None


def commands(settings: Settings) -> list[tuple[str, str]]:
    """Each (client's event, command) that is installed, in order."""
    named = [(event, command_of(hook)) for event, _, hook in listed(settings)]
    return [(event, command) for event, command in named if command]


def listed(settings: Settings) -> list[tuple[str, Any, Any]]:
    """Each (client's event, entry, hook of it), in order."""
    return [
        (event, entry, hook)
        for event, entries in _events(settings).items()
        for entry in entries
        for hook in hooks_of(entry)
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
