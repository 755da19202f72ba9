"""Plans the changes of a client's settings that make it run gitcp's hooks, and not Entire's."""

from __future__ import annotations

import os
import re
import shutil

from gitcp import agents
from gitcp.agents import answers
from gitcp.errors import InputError
from gitcp.setup.clients import json_text, own_files, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from gitcp.agents import Client
    from gitcp.setup.hook_texts import Write

_VERSION = r"\d{1,6}(\.\d{1,6}){1,3}([-+][0-9A-Za-z.+-]{1,40})?"
# directories above a program; characters of a package.json
_ABOVE = 4
_MOST = 1 << 18
_NOTICE_WITHOUT_GITCP = (
    "gitcp is not installed where it was: nothing is recorded; 'gitcp enable' mends it"
)
_OUTSIDE = "'{}' lies outside the repository and was left as it is: --force writes it"
_TRACKED = (
    "'{}' is tracked and was left as it is: --shared writes it for all who clone,"
    " --user writes your own settings"
)
_THEIRS = "'{}' is not gitcp's and was left as it is: {}"


NONE_FOUND = "no agent was found here"


class Surroundings:
    """What a plan must know of a repository.

    read: path -> bytes, None without a file.  tracked: path -> whether git tracks it.  baked: the
    interpreter and the entry point of commands.  recorded: path -> whether the manifest has it.
    """

    def __init__(
        self,
        read: Callable[[str], bytes | None],
        tracked: Callable[[str], bool],
        baked: tuple[str, str],
        recorded: Callable[[str], bool],
    ) -> None:
        self.read = read
        self.tracked = tracked
        self.baked = baked
        self.recorded = recorded


def find_clients(home: str, top: str, besides: Collection[str]) -> tuple[list[str], list[str]]:
    """(the agents whose configuration or program exists, the messages about the choice).

    Claude Code is the default.  An agent that runs the hooks of another one is left out.
    besides: agents found elsewhere.
    """
    clients: dict[str, Client] = {}
    for name in agents.list_names():
        client = agents.get_client(name)
        folders = [os.path.join(top, folder) for folder in client.FOLDERS]
        folders += [client.locate(home, folder) for folder in client.FOLDERS]
        if any(map(os.path.isdir, folders)) or shutil.which(client.PROGRAM):
            clients[name] = client
    if not clients and not besides:
        default = agents.get_client("claude-code")
        note = (
            f"{NONE_FOUND}: {default.AGENT_TYPE} is set up, 'gitcp enable --list' names the others"
        )
        return [default.NAME], [note]
    shown = [f"{c.AGENT_TYPE} {find_version(c.PROGRAM)}".strip() for c in clients.values()]
    notes = ["found " + ", ".join([*shown, *besides])]
    chosen = []
    for name, client in clients.items():
        if client.COVERED_BY in clients:
            whose = agents.get_agent_type(client.COVERED_BY)
            notes.append(
                f"{client.AGENT_TYPE} runs the hooks of {whose}: --agent={name} writes its own"
            )
        elif client.WHY_IF_ASKED:
            who = client.AGENT_TYPE
            notes.append(f"{who} is left out, {client.WHY_IF_ASKED}: --agent={name} writes them")
        else:
            chosen.append(name)
    return [*chosen, *besides], notes


def find_version(program: str) -> str:
    """The version of a program on PATH by where it lies, which starts nothing; '' if that does not
    tell: the nearest package.json above it that names the program, the name of the file itself, or
    the directory of Homebrew."""
    path = shutil.which(program) if program else None
    if path is None:
        return ""
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    for _ in range(_ABOVE):
        package = _read_package(os.path.join(folder, "package.json"))
        if program in package.get("bin", {}):
            return _check_version(package.get("version"))
        folder = os.path.dirname(folder)
    parts = real.split(os.sep)
    if "Cellar" in parts:
        cellar = parts[parts.index("Cellar") + 2 :][:1]
    else:
        cellar = []
    return _check_version(parts[-1]) or _check_version("".join(cellar))


def _read_package(path: str) -> dict[str, Any]:
    """A package.json whose `bin` is a table; {} for none."""
    try:
        with open(path, encoding="utf-8") as f:
            package = json_text.parse(f.read(_MOST))
    except (OSError, UnicodeDecodeError, InputError):
        return {}
    if isinstance(package.get("bin"), dict):
        return package
    return {}


def _check_version(text: object) -> str:
    if isinstance(text, str) and re.fullmatch(_VERSION, text):
        return text
    return ""


def plan_client(
    adapter: Client, scope: str, home: str, top: str, surroundings: Surroundings, force: bool
) -> tuple[list[Write], list[str]]:
    """The files and messages that make a client run gitcp's hooks, and not Entire's.

    scope: local, shared or user.  A client without local settings gets the shared file, written for
    this clone unless it is tracked.
    """
    if adapter.FORM == "run":
        return [], [f"{adapter.AGENT_TYPE} has no hooks: 'gitcp run {adapter.PROGRAM}' records it"]
    paths: dict[str, str] = adapter.list_settings_paths(home, top)
    target = os.path.realpath(paths.get(scope, paths["shared"]))
    writes: list[Write | None] = []
    notes = []
    root = os.path.realpath(top) + os.sep
    if scope != "user" and not force and not target.startswith(root):
        notes.append(_OUTSIDE.format(target))
    elif scope == "local" and not force and surroundings.tracked(target):
        notes.append(_TRACKED.format(target))
    elif adapter.FORM in own_files.FORMS:
        own, notes = _plan_own_files(adapter, target, scope, surroundings)
        writes += own
    else:
        writes.append(_plan_settings(adapter, target, scope, surroundings, force))
    if scope == "local" and "local" not in paths:
        for write in filter(None, writes):
            write["worktree"] = os.path.realpath(top)
    if any(writes) and adapter.TRUST_NOTE:
        notes.append(f"{adapter.AGENT_TYPE} {adapter.TRUST_NOTE}")
    for path in _list_with_entires(adapter, paths, surroundings):
        if os.path.realpath(path) != target and (force or not surroundings.tracked(path)):
            writes.append(plan_removal(adapter, path, surroundings.read(path) or b""))
    return [write for write in writes if write], notes


def keep_entires(
    adapter: Client, home: str, top: str, surroundings: Surroundings, force: bool
) -> bool:
    """Whether Entire's hooks stay: in a file of its own, and in settings that git tracks, since
    other people use those, so that only force removes them."""
    if adapter.ENTIRES and surroundings.read(os.path.join(top, adapter.ENTIRES)):
        return True
    paths = _list_with_entires(adapter, adapter.list_settings_paths(home, top), surroundings)
    return not force and any(map(surroundings.tracked, paths))


def _list_with_entires(
    adapter: Client, paths: dict[str, str], surroundings: Surroundings
) -> list[str]:
    """The client's settings in a repository that have hooks of Entire's."""
    if adapter.FORM not in ("nested", "commented"):
        return []
    inside = [paths[scope] for scope in ("local", "shared") if scope in paths]
    return [path for path in inside if plan_removal(adapter, path, surroundings.read(path) or b"")]


def _plan_own_files(
    adapter: Client, target: str, scope: str, surroundings: Surroundings
) -> tuple[list[Write], list[str]]:
    """The client's own files of gitcp that are missing or outdated, except the person's."""
    if scope == "shared":
        baked = None
    else:
        baked = surroundings.baked
    writes: list[Write] = []
    notes = []
    for path, data in own_files.build_files(adapter, target, baked).items():
        old = surroundings.read(path)
        if old is not None and not own_files.is_ours(old):
            notes.append(_THEIRS.format(path, own_files.spell_remedy(adapter, path)))
        elif old != data or (scope != "shared" and not surroundings.recorded(path)):
            note = f"wrote the hooks of {adapter.AGENT_TYPE} into '{path}'"
            kind = "plugin"
            if adapter.FORM == "scripts":
                kind = "script"
            writes.append(
                {
                    "path": path,
                    "kind": kind,
                    "data": data,
                    "note": note,
                    "agent": adapter.NAME,
                    "alone": scope == "local",
                    "user": scope == "user",
                    "adopted": old is not None,
                }
            )
    return writes, notes


def _plan_settings(
    adapter: Client, path: str, scope: str, surroundings: Surroundings, force: bool
) -> Write | None:
    """The settings at path with gitcp's hooks and, unless git tracks them, without Entire's; None
    if unchanged.  Raises InputError, naming path, for unreadable settings.
    """
    name = adapter.NAME
    old = surroundings.read(path)
    notice = answers.format_message(adapter.ANSWERS, _NOTICE_WITHOUT_GITCP)
    command = settings.make_own_command(*surroundings.baked, name, notice)
    if scope == "shared":
        command = settings.make_shared_command(name)
    try:
        text = None if old is None else old.decode()
        cleaned = text
        if text and (force or not surroundings.tracked(path)):
            cleaned = settings.remove(text, settings.is_entires_command, adapter.FORM)
        new = settings.install(cleaned or None, name, adapter.list_hooks(), command, adapter.FORM)
    except UnicodeDecodeError:
        raise InputError(f"'{path}': not UTF-8") from None
    except (InputError, ValueError) as e:
        raise InputError(f"'{path}': {e}") from None
    note = f"wrote the hooks of {adapter.AGENT_TYPE} into '{path}'"
    if cleaned != text:
        note += ", in place of Entire's"
    write = _make_write(path, name, new, note)
    write["alone"] = scope == "local"
    write["user"] = scope == "user"
    write["adopted"] = new == text
    is_unrecorded = scope != "shared" and not surroundings.recorded(path)
    return write if is_unrecorded or new != text else None


def plan_removal(adapter: Client, path: str, old: bytes) -> Write | None:
    """The settings at path without Entire's hooks; None if it has none."""
    try:
        text = old.decode()
        new = settings.remove(text, settings.is_entires_command, adapter.FORM)
    except (InputError, ValueError):
        return None  # a foreign file: nothing is added
    note = f"took Entire's hooks out of '{path}'"
    if new != text:
        return _make_write(path, adapter.NAME, new, note)
    return None


def remove_ours(agent: str, data: bytes, keep: bool) -> bytes | None:
    """Settings without gitcp's hooks; None if they are empty then and keep is not set."""
    try:
        text = data.decode()
        form = agents.get_client(agent).FORM
        left = settings.remove(text, settings.make_own_test(agent), form)
        empty = settings.parse(left, form) in ({}, {"version": 1})
        return None if not keep and empty else left.encode()
    except (InputError, ValueError):
        return data  # no settings any more


def _make_write(path: str, agent: str, new: str, note: str) -> Write:
    data = new.encode("utf-8", "surrogatepass")
    return {"path": path, "kind": "settings", "data": data, "note": note, "agent": agent}
