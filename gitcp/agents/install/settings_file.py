"""A client's settings file as text: our hooks put in or taken out, every other key kept.

A text that needs no change comes back as it is, so that a second run changes nothing.
"""

from __future__ import annotations

import json
import re

from gitcp.agents.install import settings
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gitcp.agents.install.settings import Hook, Settings

_OURS = r"(?:\bgitcp-hook|\bgitcp hook|/gitcp/entry\.py'?)\s+{agent}\s+[\w.]+\s*$"
_THERE = "command -v gitcp-hook >/dev/null 2>&1"
_ENTIRES = re.compile(r"\bentire(?:/main\.go)?['\"]? hooks [a-z-]+ ")


def is_entires(command: str) -> bool:
    """Whether a hook's command is the original program's (E§4.6, E§4.7)."""
    return bool(_ENTIRES.search(command))


def ours(agent: str) -> Callable[[str], bool]:
    """What tells whether a hook's command is one of ours for an agent."""
    pattern = re.compile(_OURS.format(agent=re.escape(agent)))
    return lambda command: bool(pattern.search(command))


def own_command(py: str, entry: str, agent: str, lost: str = "") -> Callable[[str], str]:
    """client's event -> the command for a file of the person's own; the paths are absolute.

    Where they are gone, gitcp-hook is looked for on PATH; where that is not there either, the
    start of a session prints lost.  Without the test a Python that cannot find entry would
    exit 2, with which a hook refuses.
    """
    from shlex import quote

    there = f"test -x {quote(py)} && test -f {quote(entry)}"
    baked = f"{there} && exec {quote(py)} -I -S {quote(entry)}"

    def command(event: str) -> str:
        either = _from_path(agent, event)
        if lost and event.lower() == "sessionstart":
            absent = f"{{ echo {quote(lost.strip())}; exit 0; }}"
            either = f"{_THERE} || {absent}; exec gitcp-hook {agent} {event}"
        return f"{baked} {agent} {event}; {either}"

    return command


def shared_command(agent: str) -> Callable[[str], str]:
    """client's event -> the command for a file that other people get too: who does not have
    gitcp is not bothered."""
    return lambda event: _from_path(agent, event)


def _from_path(agent: str, event: str) -> str:
    return f"! {_THERE} || exec gitcp-hook {agent} {event}"


def programs(command: str) -> list[str]:
    """The files that one of own_command's needs, [] for any other."""
    from shlex import split

    try:
        words = split(command)
    except ValueError:
        return []
    at = words.index("-S") if "-S" in words else 0
    return [words[at - 2], words[at + 1]] if at >= 2 and at + 1 < len(words) else []


def install(
    text: str | None,
    agent: str,
    hooks: Iterable[Hook],
    command: Callable[[str], str],
    form: str = "nested",
) -> str:
    """The settings with an agent's hooks, nested in its form; text None is no file yet.

    Raises InputError when text is not an object of JSON, or its hooks are not what they
    should be.
    """
    parsed = parse("{}" if text is None else text)
    mine, hooks = ours(agent), tuple(hooks)
    wanted = settings.install({}, hooks, command, mine, form)
    if text is not None and _entries(parsed, mine) == _entries(wanted, mine):
        return text
    return _dump(settings.install(parsed, hooks, command, mine, form), text or "")


def remove(text: str, mine: Callable[[str], bool]) -> str:
    """The settings without the hooks that are mine; InputError as for install()."""
    parsed = parse(text)
    if not any(mine(command) for _, command in settings.commands(parsed)):
        return text
    return _dump(settings.remove(parsed, mine), text)


def parse(text: str) -> Settings:
    """The object of a settings file; InputError when it is none, or has a key twice."""
    try:
        parsed = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as e:
        raise InputError(f"not JSON: {e}") from None
    if not isinstance(parsed, dict):
        raise InputError("not an object of JSON")
    return parsed


def _once(pairs: list[tuple[str, Any]]) -> Settings:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"key '{twice}' is there twice")
    return members


def _entries(parsed: Settings, mine: Callable[[str], bool]) -> list[str]:
    """What is ours in the settings, in a form to compare."""
    entries = []
    for event, matchers in parsed.get("hooks", {}).items() if settings.commands(parsed) else ():
        for matcher in matchers:
            for hook in settings.hooks_of(matcher):
                if mine(settings.command_of(hook)):
                    entries.append(json.dumps([event, matcher.get("matcher"), hook]))
    return sorted(entries)


def _dump(changed: Settings, like: str) -> str:
    """JSON in the manner of a text: its indentation, line ends and final newline."""
    indent = re.search(r"\n([ \t]+)\S", like)
    text = json.dumps(changed, indent=indent[1] if indent else 2, ensure_ascii=False)
    if any("\ud800" <= c <= "\udfff" for c in text):  # an escaped half of a pair
        text = json.dumps(changed, indent=indent[1] if indent else 2)
    text += "\n" if not like or like.endswith("\n") else ""
    text = text.replace("\n", "\r\n") if "\r\n" in like else text
    return "\ufeff" + text if like.startswith("\ufeff") else text
