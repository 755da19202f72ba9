"""Settings with which a client runs no hooks, or only those of its administrator."""

from __future__ import annotations

import os
import tomllib

from gitcp.errors import InputError
from gitcp.git import decode_name, files
from gitcp.setup.care.findings import Finding
from gitcp.setup.clients import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gitcp.agents import Client


def find_switches(client: Client, top: str, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Settings that stop a client from running hooks in a worktree; those of its administrator come
    first.

    top: of the worktree, '' for none.  texts: path -> text of the client's settings for hooks.
    """
    managed = {path: _read(path) for path in client.MANAGED}
    own = {path: _parse(path, text) for path, text in texts.items()}
    own |= {path: _read(path) for path in _list_further(client, top)}
    for key, value in client.SWITCHES.items():
        for path, parsed in (*managed.items(), *own.items()):
            found = _get(parsed, key)
            if found is not None:
                if found is value:
                    yield _make(client, path, key, "runs no hooks")
                break
    for key, value in client.MANAGED_SWITCHES.items():
        for path, parsed in managed.items():
            if _get(parsed, key) is value:
                yield _make(client, path, key, "runs only the hooks of its administrator")
    if client.DISTRUST and top:
        name, table, key, distrusted = client.DISTRUST
        path = client.locate(os.path.expanduser("~"), name)
        folder = (_read(path).get(table) or {}).get(os.path.realpath(top))
        if isinstance(folder, dict) and folder.get(key, None) == distrusted:
            yield _make(client, path, key, "does not trust this folder, and runs no hooks of it")


def _list_further(client: Client, top: str) -> list[str]:
    home = os.path.expanduser("~")
    if top:
        paths = [os.path.join(top, name) for name in client.SWITCH_FILES]
    else:
        paths = []
    return [*paths, *(client.locate(home, name) for name in client.SWITCH_FILES)]


def _make(client: Client, path: str, key: str, what: str) -> Finding:
    reason = f"'{key}' in '{path}': {client.AGENT_TYPE} {what}"
    return Finding("no-hooks", path, reason, remedy="change it to be recorded")


def _get(parsed: Mapping[str, Any], key: str) -> object:
    """The value of a key with dots, which the key has itself in the settings of some clients; None
    without one."""
    if key in parsed:
        return parsed[key]
    value: Any = parsed
    for part in key.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        else:
            value = None
    return value


def _read(path: str) -> dict[str, Any]:
    return _parse(path, decode_name(files.peek(path)))


def _parse(path: str, text: str) -> dict[str, Any]:
    """The settings of a text, by the name of its file; {} if they cannot be read."""
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        return json_text.parse(text or "{}", comments=True)
    except (InputError, ValueError):
        return {}
