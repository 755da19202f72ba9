"""gitcp's hooks in git's configuration (doc/git.md "Hooks in configuration").

git 2.54 and later run the command of each `hook.<name>` for its event, then the script in the hooks
directory.  gitcp has one name for each event, `gitcp-<event>`.
"""

from __future__ import annotations

import os
import re
import time
from functools import cache

from gitcp.git import Git, decode_name
from gitcp.record.unheard import ENABLED
from gitcp.setup import hook_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.git import Config
    from gitcp.git.repo import Repo

_SINCE = (2, 54)
_VERSION = rb"git version (\d+)\.(\d+)"
_NONE = 1  # the status of `git hook list` for an event without a hook


def are_supported() -> bool:
    """Whether the git on PATH runs hooks from its configuration."""
    return _can_run(os.environ.get("PATH", ""))


@cache
def _can_run(search_path: str) -> bool:
    version = re.match(_VERSION, Git().run("version")[1])
    return version is not None and (int(version[1]), int(version[2])) >= _SINCE


def build_values(program: tuple[str, str]) -> dict[str, str]:
    """The keys of the configuration and their values; program: the interpreter and the entry file
    that the hooks start."""
    values = {}
    for hook in hook_texts.HOOKS:
        name = hook_texts.CONFIGURED + hook
        values[f"hook.{name}.event"] = hook
        values[f"hook.{name}.command"] = hook_texts.build_command(hook, *program)
    return values


def read_commands(config: Config) -> dict[str, str]:
    """hook -> the command that is configured for it, of gitcp's hooks."""
    commands = {}
    for hook in hook_texts.HOOKS:
        command = config.get(f"hook.{hook_texts.CONFIGURED}{hook}.command")
        if command:
            commands[hook] = command
    return commands


def list_running(repo: Repo) -> dict[str, str]:
    """hook -> the scope of its command (local, worktree, global, system, command), for the hooks
    that git runs from its configuration here."""
    running: dict[str, str] = {}
    if not are_supported():
        return running
    for hook in read_commands(repo.config):
        scope = _ask_git(repo, hook).get(hook_texts.CONFIGURED + hook)
        if scope:
            running[hook] = scope
    return running


def is_of_person(repo: Repo) -> bool:
    """Whether the hooks that git runs from its configuration here are not the repository's own."""
    return not {"local", "worktree"}.issuperset(list_running(repo).values())


def has_later(repo: Repo, hook: str) -> bool:
    """Whether git runs another hook after gitcp's configured one, be it a script."""
    names = list(_ask_git(repo, hook))
    ours = hook_texts.CONFIGURED + hook
    return ours in names and names[-1] != ours


def _ask_git(repo: Repo, hook: str) -> dict[str, str]:
    """name -> scope of the hooks that git runs for an event, in its order; the script in the hooks
    directory has a name of git's own, and no scope."""
    out = repo.git.run("hook", "list", "-z", "--show-scope", hook, ok=(0, _NONE))[1]
    scopes = {}
    for record in out.split(b"\0"):
        *words, name = record.split(b"\t")
        if name and b"disabled" not in words:
            scopes[decode_name(name)] = decode_name(words[0] if words else b"")
    return scopes


def set_for_person(values: Mapping[str, str]) -> None:
    """Set keys in the person's configuration, and since when they are there."""
    if not _read_of_person():
        values = {**values, ENABLED: str(int(time.time()))}
    for key, value in values.items():
        Git().run("config", "--global", "--replace-all", key, value)


def are_set_for_person(values: Mapping[str, str]) -> bool:
    """Whether the person's configuration has these values."""
    present = _read_of_person()
    return all(present.get(key) == value for key, value in values.items())


def remove_of_person() -> bool:
    """Remove gitcp's hooks from the person's configuration; return whether there were some."""
    sections = {key.rpartition(".")[0] for key in _read_of_person()}
    for section in sorted(sections):
        Git().run("config", "--global", "--remove-section", section)
    return bool(sections)


def _read_of_person() -> dict[str, str]:
    """The keys of gitcp's hooks in the person's configuration, with their last values."""
    pattern = rf"^hook\.{hook_texts.CONFIGURED}"
    out = Git().run("config", "--global", "--null", "--get-regexp", pattern, ok=(0, 1))[1]
    values = {}
    for record in out.split(b"\0"):
        key, has_value, value = record.partition(b"\n")
        if has_value:
            values[decode_name(key)] = decode_name(value)
    return values
