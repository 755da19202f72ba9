"""Whether the enabled agents run gitcp's hooks, by the settings that their clients read here."""

from __future__ import annotations

import os

from gitcp.agents import get_client, list_names
from gitcp.agents.install import json_text, own_files, settings
from gitcp.core.upkeep.findings import WARNING, make_finding
from gitcp.errors import InputError
from gitcp.process import files
from gitcp.record import decode_name
from gitcp.store.care.case import Row
from gitcp.store.care.installation import (
    ENABLE,
    ENABLED,
    ENTIRE,
    PROGRAM,
    enable_again,
    find_in_program,
    list_enabled,
    look_at_record,
    read_state,
)  # fmt: skip
from gitcp.store.setup import heard
from gitcp.store.setup.install import find_main_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents import Client
    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.care.case import Case, Checks


def look_at_clients(case: Case) -> Iterator[Finding]:
    """Check the hooks of each enabled agent where its client looks in this worktree.  Nothing is
    checked where no agent works, in a bare repository, and when the record of `enable` is damaged:
    look_at_record() reports that."""
    repo = case.repo
    if repo.top is None or read_state(repo) != ENABLED or any(look_at_record(case)):
        return
    names = list_enabled(repo)
    if not names:
        why = "no agent is recorded: none has hooks of gitcp"
        yield make_finding("agent-hook", repo.common, why, remedy="gitcp enable")
    called = {str(state.get("agent_type")) for state in case.states}
    for name in [name for name in names if name in list_names()]:  # adapters check their own
        client = get_client(name)
        if client.FORM in own_files.FORMS:
            yield from _find_in_own_files(repo, client)
        else:
            texts = _read_settings(repo, client)
            yield from _find_in_settings(client, texts)
            yield from find_switch(client, texts)
        if client.HERE_ONLY and os.getcwd() != os.path.realpath(repo.worktree):
            yield from _find_subdirectory(repo, client)
        if not heard.read_last(repo, name) and client.AGENT_TYPE not in called:
            hint = f"it {client.TRUST}; start it here" if client.TRUST else "start it here once"
            reason = f"the hooks of {name} have not run yet"
            yield make_finding("silent-agent", name, reason, remedy=hint)


def _find_in_own_files(repo: Repo, client: Client) -> Iterator[Finding]:
    """Check the hook files of a client that has no settings for hooks, in its first scope with
    any."""
    name, paths = client.NAME, client.list_settings_paths(os.path.expanduser("~"), repo.worktree)
    absent: list[str] = []
    for path in dict.fromkeys(paths.values()):
        built = own_files.build_files(client, path, None)
        texts = {file: files.read_bytes(file) or b"" for file in built}
        absent = [file for file, data in texts.items() if not own_files.has_our_call(data)]
        if len(absent) < len(built):
            break
    foreign = [file for file in absent if texts[file]]
    for file in foreign:
        reason = f"{name} is recorded in part: '{file}' is yours"
        yield make_finding("own-hook", file, reason, remedy=own_files.spell_remedy(client, file))
    if missing := [file for file in absent if file not in foreign]:
        reason = f"{name} is recorded in part: '{missing[0]}' is gone"
        yield make_finding("agent-hook", name, reason, remedy=f"gitcp enable --agent {name}")


def find_switch(client: Client, texts: dict[str, str]) -> Iterator[Finding]:
    """Settings that stop a client from running hooks; those of its administrator come first."""
    if not client.NO_HOOKS:
        return
    managed = {path: decode_name(files.peek(path)) for path in client.MANAGED}
    for path, content in (*managed.items(), *texts.items()):
        try:
            value = json_text.parse(content or "{}").get(client.NO_HOOKS)
        except InputError:
            continue
        if value is not None:
            if value:
                reason = f"'{client.NO_HOOKS}' in '{path}': {client.NAME} runs no hooks"
                yield make_finding("no-hooks", path, reason, remedy="remove it to be recorded")
            return


def _find_subdirectory(repo: Repo, client: Client) -> Iterator[Finding]:
    """Report a client that reads the settings of the current directory, not those of the top."""
    path = client.list_settings_paths(os.path.expanduser("~"), repo.worktree)["user"]
    if client.NAME.encode() not in (files.read_bytes(path) or b""):
        reason = f"{client.NAME} started in a subdirectory does not read the settings of the top"
        what = f"start it at the top, or 'gitcp enable --user --agent {client.NAME}'"
        yield make_finding("subdirectory", os.getcwd(), reason, remedy=what)


def _read_settings(repo: Repo, client: Client) -> dict[str, str]:
    """path -> text of each settings file that a client reads in this worktree."""
    home = os.path.expanduser("~")
    paths: dict[str, str] = client.list_settings_paths(home, repo.worktree)
    if "local" in paths:
        main = find_main_worktree(repo).worktree
        paths["local"] = client.list_settings_paths(home, main)["local"]
    return {path: decode_name(files.peek(path)) for path in paths.values()}


def _find_in_settings(client: Client, texts: dict[str, str]) -> Iterator[Finding]:
    name, form = client.NAME, client.FORM
    events: set[str] = set()
    programs: set[tuple[str, ...]] = set()
    mine = settings.make_matcher(name)
    for path, content in texts.items():
        try:
            parsed = settings.parse(content or "{}", form)
            commands = settings.list_commands(parsed, form)
        except (InputError, ValueError) as e:
            reason = f"{name} cannot read its settings '{path}': {e}"
            yield make_finding("settings", path, reason, remedy="edit it")
            return
        for event, command in commands:
            if mine(command):
                events.add(event)
                programs.add(tuple(settings.parse_programs(command)))
            elif settings.is_entires_command(command):
                reason = f"'{path}' runs the original program at {event}"
                yield make_finding("entire", path, reason, remedy=f"gitcp enable --agent {name}")
    absent = [event for event, *_ in client.HOOKS if event not in events]
    if absent:
        which = f"runs no hook at {', '.join(absent)}" if events else "is not recorded"
        reason = f"{name} {which} in this worktree: its settings have no such hooks"
        yield make_finding("agent-hook", name, reason, remedy=f"gitcp enable --agent {name}")
    for program in sorted(program for program in programs if program):
        yield from find_in_program(name, program, f"the hooks of {name} start")


_MENDED = (ENABLE, enable_again)
CHECKS: Checks = {
    look_at_clients: (
        Row("agent-hook", WARNING, "an agent is not recorded, or in part", *_MENDED),
        Row("settings", WARNING, "settings of an agent cannot be read"),
        Row("no-hooks", WARNING, "an agent is told to run no hooks"),
        Row("own-hook", WARNING, "a hook of the person is where an agent looks for gitcp's"),
        Row("subdirectory", WARNING, "an agent does not read its settings from here"),
        Row("silent-agent", WARNING, "the hooks of an agent have not run yet"),
        ENTIRE,
        PROGRAM,
    ),
}
