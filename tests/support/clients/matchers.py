"""Which of the hooks that are installed a client runs: its settings, read as it reads them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gitcp import agents

_NAMES = re.compile(r"[A-Za-z0-9_|]*")


def commands(settings: Iterable[Path], event: str, tool: str | None = None) -> list[str]:
    """The commands that an event, of a tool or of none, runs; the same one runs once."""
    found: list[str] = []
    for path in settings:
        if path.exists():
            for entry in json.loads(path.read_text())["hooks"].get(event, ()):
                if tool is None or matches(entry.get("matcher"), tool):
                    found += [_command(hook) for hook in entry.get("hooks", [entry])]
    return list(dict.fromkeys(found))


def matches(matcher: str | None, tool: str) -> bool:
    """Whether a matcher lets a tool through.

    Letters and `|` are names; anything else is looked for as a regular expression.
    """
    if matcher in (None, "", "*"):
        return True
    assert matcher is not None
    if _NAMES.fullmatch(matcher):
        return tool in matcher.split("|")
    return re.search(matcher, tool) is not None


def _command(hook: dict[str, Any]) -> str:
    return str(hook.get("command") or hook["bash"])


class Installed:
    """The command lines that what `enable` wrote makes a client run."""

    def __init__(self, agent: str, top: Path, home: Path) -> None:
        self._client = agents.get_client(agent)
        paths = self._client.list_settings_paths(str(home), str(top))
        self._paths = [Path(path) for path in paths.values()]

    def __call__(self, event: str, tool: str | None) -> list[str]:
        if self._client.FORM == "scripts":
            return [str(p / event) for p in self._paths if (p / event).exists()]
        if self._client.FORM == "plugin":
            texts = [path.read_text() for path in self._paths if path.exists()]
            own = [json.loads(re.findall(r"^const own = (.*)$", t, re.M)[0]) for t in texts]
            return [shlex.join([*argv, self._client.NAME, event]) for argv in own]
        return commands(self._paths, event, tool)
