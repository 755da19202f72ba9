"""Checks of what enable installed: hooks, programs and settings, as they are on disk now."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from gitcp.agents import get_agent_type, get_client, list_names
from gitcp.errors import InputError
from gitcp.git import decode_name, files, hook_warnings
from gitcp.git.files import Damaged, locate_scratch
from gitcp.git.objects import object_lists
from gitcp.record import locate_heard, locate_off
from gitcp.record.session import is_home
from gitcp.setup import (
    configuration,
    configured_hooks,
    git_hooks,
    hook_texts,
    install,
    lfs,
    sites,
    takeover,
)
from gitcp.setup.care import switches
from gitcp.setup.care.findings import ENABLE, WARNING, Finding, Row
from gitcp.setup.clients import enabling, own_files, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.agents import Client
    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Case
    from gitcp.setup.care.checks import Check, Checks

WEEK = 7 * 86400
_PAGE = 4096  # bytes, the least that a disk gives
ENABLED = "enabled"
DISABLED = "disabled"
ABSENT = "not set up"
_LATE = r"did not end (in [\d.]+ seconds|before the time of)"


def read_state(repo: Repo) -> str:
    """Whether gitcp records here: ENABLED, DISABLED or ABSENT."""
    if os.path.exists(locate_off(repo)):
        return DISABLED
    try:
        if takeover.load_manifest(repo).entries or _has_persons_hooks(repo):
            return ENABLED
        return ABSENT
    except Damaged:
        return ENABLED  # look_at_record() reports the damage


def _has_persons_hooks(repo: Repo) -> bool:
    """Whether git's hooks here are those that `enable --global` wrote: in the person's
    configuration, or in the template."""
    if configured_hooks.is_of_person(repo):
        return True
    entries = takeover.load_person().entries
    if not any(entry["kind"] == "hook" for entry in entries):
        return False
    return not git_hooks.list_missing(repo, git_hooks.find_folder(repo))


def list_enabled(repo: Repo) -> list[str]:
    """The agents whose entries enable wrote, here or for all of the person's repositories."""
    names: set[str] = set()
    for record in takeover.load_all(repo)[0]:
        names |= {entry["agent"] for entry in record.entries if entry.get("agent")}
    return sorted(names)


def look_at_record(case: Case) -> Iterator[Finding]:
    """Check the record of what enable wrote, and look for hooks that are not in it."""
    repo = case.repo
    folder = repo.join_shared()
    remedy = "gitcp enable"
    for path in sites.find_no_directories(repo):
        reason = f"'{path}' is not a directory, so nothing is recorded"
        yield Finding("manifest", path, reason, remedy=remedy)
    if not os.path.isdir(folder) and os.path.lexists(folder):
        return
    for e in takeover.load_all(repo)[1]:
        yield Finding("manifest", e.path, str(e), remedy=remedy)
    if read_state(repo) != ABSENT:
        return
    if len(git_hooks.list_missing(repo, git_hooks.find_folder(repo))) < len(hook_texts.HOOKS):
        reason = f"git runs hooks of gitcp, and '{folder}' has no record of what enable wrote"
        yield Finding("manifest", folder, reason, remedy=remedy)
        return
    names = list_enabled(repo)
    if names:
        who = ", ".join(map(get_agent_type, names))
        reason = f"{who} is recorded by your own settings, and git has no hooks of gitcp here"
        yield Finding("own-settings", folder, f"{reason}: commits are linked late", remedy=remedy)


def make_check(find: Callable[[Repo], Iterable[Finding]]) -> Check:
    """A check that is made only where gitcp records."""

    def look(case: Case) -> Iterator[Finding]:
        if read_state(case.repo) == ENABLED:
            yield from find(case.repo)

    return look


def find_no_room(repo: Repo) -> Iterator[Finding]:
    """Check that gitcp can write its files here, by a page that is removed again."""
    folder = locate_scratch(repo)
    try:
        repo.make_folder(folder)
        with tempfile.TemporaryFile(dir=folder) as f:
            f.write(bytes(_PAGE))
    except OSError as e:
        remedy = "make it writable"
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "make room"
        reason = f"nothing can be written to '{folder}', so nothing is recorded: {e.strerror}"
        yield Finding("no-room", folder, reason, remedy=remedy)


def find_in_hooks(repo: Repo) -> Iterator[Finding]:
    """Check git's hooks in the directory that git uses, and the programs that they start; nothing
    if git does not see the worktree."""
    if not repo.has_git:
        return
    where = git_hooks.find_folder(repo)
    if where in sites.find_no_directories(repo):
        return  # look_at_record() reports it
    missing = git_hooks.list_missing(repo, where)
    if missing and os.path.lexists(where) and not os.path.isdir(where):
        reason = f"git runs no hooks here: '{where}' is not a directory"
        yield Finding("git-hook", where, reason, remedy="see core.hooksPath in git-config(1)")
        return
    hooks = {hook: git_hooks.read_texts(repo, where, hook) for hook in hook_texts.HOOKS}
    if missing:
        tools = {hook_texts.find_tool(hooks[hook][""]) for hook in missing} - {""}
        who = ""
        if tools:
            who = f" (they are {' and '.join(sorted(tools))}'s)"
        do_not = "does not" if len(missing) == 1 else "do not"
        reason = f"{', '.join(missing)} in '{where}' {do_not} call gitcp{who}"
        if configured_hooks.read_commands(repo.config) and not configured_hooks.are_supported():
            old = "this git is older than 2.54: it runs no hooks from its configuration, where"
            reason = f"{old} gitcp's are, and {reason}"
        inside = any(
            object_lists.is_inside(where, home) for home in (repo.common, repo.top) if home
        )
        remedy = "gitcp enable --force"
        if inside:
            remedy = "gitcp enable"
        yield Finding("git-hook", where, reason, remedy=remedy)
    if any(hook_texts.is_entire_hook(texts[""]) for texts in hooks.values()):
        reason = "Entire's hooks are back: two programs record the same work"
        yield Finding("entire", where, reason, remedy="gitcp enable")
    for path in git_hooks.list_forgotten([where]):
        remedy = "call it from there, or remove it"
        yield Finding("kept-hook", path, f"'{path}' {git_hooks.FORGOTTEN}", remedy=remedy)
    scripts = [*configured_hooks.read_commands(repo.config).values()]
    for texts in hooks.values():
        scripts += texts.values()
    programs = {hook_texts.parse_program(text) for text in scripts}
    for program in sorted(program for program in programs if program):
        yield from find_in_program(where, program, "git's hooks start")


def find_on_branches(repo: Repo) -> Iterator[Finding]:
    """Check the hooks of other branches than this one, for which git's configuration names another
    directory."""
    if not repo.has_git:
        return
    for branches, folder in git_hooks.list_on_branches(repo):
        missing = git_hooks.list_missing(repo, folder)
        if missing:
            reason = f"on {branches} git runs '{folder}', where {', '.join(missing)} call no gitcp"
            remedy = "run 'gitcp enable' there, too"
            yield Finding("git-hook", folder, reason, remedy=remedy)


def find_in_lfs(repo: Repo) -> Iterator[Finding]:
    """Report what keeps Git LFS from sending its objects."""
    if repo.has_git and repo.top:
        reason, remedy = lfs.find_missing(repo)
        if reason:
            yield Finding("lfs", repo.common, reason, remedy=remedy)


def find_old_hooks(repo: Repo) -> Iterator[Finding]:
    """Report hooks that an older gitcp wrote; upgrading gitcp does not change them."""
    if not repo.has_git:
        return
    where = git_hooks.find_folder(repo)
    records = takeover.load_all(repo)[0]
    old: list[str] = []
    for hook in hook_texts.WRITTEN:
        texts = git_hooks.read_texts(repo, where, hook).values()
        if any(git_hooks.is_former(hook, text, records) for text in texts):
            old.append(hook)
    if old:
        verb = "was" if len(old) == 1 else "were"
        reason = f"{', '.join(old)} in '{where}' {verb} written by an older gitcp"
        yield Finding("old-hook", where, reason, remedy="gitcp enable")
    for hook, command in configured_hooks.read_commands(repo.config).items():
        program = hook_texts.parse_program(command)
        if program and command != hook_texts.build_command(hook, *program):
            reason = f"hook.{hook_texts.CONFIGURED}{hook} was written by an older gitcp"
            yield Finding("old-hook", hook, reason, remedy="gitcp enable")


def find_in_program(subject: str, program: Iterable[str], who: str) -> Iterator[Finding]:
    """The findings on a program: an interpreter and the file that it runs."""
    py, entry = program
    gone = [path for path in (py, entry) if not os.path.exists(path)]
    if gone:
        other = shutil.which("gitcp-hook")
        instead = ""
        if other:
            instead = f"; '{other}' stands in for it, more slowly"
        reason = f"{who} '{gone[0]}', which is gone{instead}"
        yield Finding("program", subject, reason, remedy="gitcp enable")
    elif hook_texts.is_upgraded(os.path.realpath(py), entry):
        reason = f"{who} '{py}', which is not the Python that gitcp was installed for"
        yield Finding("program", subject, reason, remedy="install gitcp again")
    elif not _can_run(py):
        reason = f"{who} '{py}', which cannot run"
        yield Finding("program", subject, reason, remedy="install gitcp again")


def _can_run(py: str) -> bool:
    """Whether an interpreter runs."""
    if py == sys.executable:
        return True
    argv = [py, "-I", "-S", "-c", ""]
    try:
        return subprocess.call(argv, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def find_failures(repo: Repo) -> Iterator[Finding]:
    """Report each hook that failed in the last week and has not succeeded since."""
    since = time.time() - WEEK
    messages: dict[str, list[str]] = {}
    for seconds, message in hook_warnings.list_warnings(repo):
        if seconds > since:
            hook = message.partition(": ")[0]
            if len(hook.split()) > 2:
                hook = ""
            messages.setdefault(hook, []).append(message)
    for hook, failures in messages.items():
        count = "once"
        if len(failures) > 1:
            count = f"{len(failures)} times"
        last = failures[-1].removeprefix(hook + ": ")
        reason = f"{hook or 'a hook'} failed {count} this week, at last: {last}"
        remedy = "this is shown until the hook succeeds"
        if all(re.search(_LATE, message) for message in failures):
            remedy = "find what is slow here, or raise gitcp.hook-timeout and gitcp.git-timeout"
        yield Finding("warning", repo.common, reason, remedy=remedy)


def enable_again(case: Case, item: Finding) -> str:
    """Install again for the enabled agents; damaged files are moved aside."""
    done = install.install(case.repo, install.Options(list_enabled(case.repo))).done
    return "; ".join(["enabled again", *done])


_MENDED = (ENABLE, enable_again)
ENTIRE = Row("entire", WARNING, "Entire records the same work too", *_MENDED)
PROGRAM = Row("program", WARNING, "what hooks start is gone or cannot run", *_MENDED)
CHECKS: Checks = {
    look_at_record: (
        Row("manifest", WARNING, "the record of what enable wrote is damaged or gone", *_MENDED),
        Row("own-settings", WARNING,
            "the person's own settings record an agent in a repository that is not enabled",
            *_MENDED),
    ),
    make_check(configuration.list_findings): (
        Row("config", WARNING, "a setting has a value that it cannot have"),
    ),
    make_check(find_in_hooks): (
        Row("git-hook", WARNING, "git does not run a hook of gitcp", *_MENDED),
        Row("kept-hook", WARNING, "a hook that was moved aside is not called any more"),
        ENTIRE,
        PROGRAM,
    ),
    make_check(find_on_branches): (
        Row("git-hook", WARNING, "git does not run a hook of gitcp on some branches"),
    ),
    make_check(find_in_lfs): (
        Row("lfs", WARNING, "a push sends no object of Git LFS"),
    ),
}  # fmt: skip
ROOM: Checks = {
    make_check(find_no_room): (Row("no-room", WARNING, "gitcp cannot write its files"),)
}
FAILURES: Checks = {
    make_check(find_failures): (
        Row("warning", WARNING, "a hook failed and has not succeeded since"),
    )
}
OLD: Checks = {
    make_check(find_old_hooks): (Row("old-hook", WARNING, "an older gitcp wrote a hook", *_MENDED),)
}


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
        yield Finding("agent-hook", repo.common, why, remedy="gitcp enable")
    here = [state for state in case.states if is_home(repo, state)]
    called = {str(state.get("agent_type")) for state in here}
    for name in [name for name in names if name in list_names()]:  # adapters check their own
        client = get_client(name)
        if client.FORM in own_files.FORMS:
            texts = {}
            yield from _find_in_own_files(repo, client)
        else:
            texts = _read_settings(repo, client)
            yield from _find_in_settings(client, texts)
            yield from switches.find_switches(client, repo.worktree, texts)
        yield from _find_entires(repo, client, texts)
        if client.HERE_ONLY and os.getcwd() != os.path.realpath(repo.worktree):
            yield from _find_subdirectory(repo, client)
        if not os.path.exists(locate_heard(repo, name)) and client.AGENT_TYPE not in called:
            yield _describe_silence(repo, client)
    if not repo.worktree_id:
        yield from _find_bare_worktrees(repo)


def _describe_silence(repo: Repo, client: Client) -> Finding:
    """The finding that a client has not run its hooks in this worktree."""
    version = enabling.find_version(client.PROGRAM)
    if version:
        who = f"{client.AGENT_TYPE} ({version})"
    else:
        who = client.AGENT_TYPE
    where = ""
    if sites.list_other_worktrees(repo):
        where = " in this worktree"
    hint = "start it here once"
    if client.TRUST_NOTE:
        hint = f"start it here; it {client.TRUST_NOTE}"
    reason = f"the hooks of {who} have not run{where} yet"
    return Finding("silent-agent", client.NAME, reason, remedy=hint)


def _find_bare_worktrees(repo: Repo) -> Iterator[Finding]:
    """Report other worktrees that lack what enable wrote here for some client, as those do that
    were made without git's hooks."""
    names = sites.list_local_agents(takeover.load_manifest(repo))
    home = os.path.expanduser("~")
    for top in sites.list_other_worktrees(repo):
        lacking = []
        for client in map(get_client, names):
            paths = client.list_settings_paths(home, top).values()
            texts = [files.peek(path) for path in paths]
            if not any(
                b"gitcp" in text or os.path.isdir(path)
                for path, text in zip(paths, texts, strict=True)
            ):
                lacking.append(client.AGENT_TYPE)
        if lacking:
            reason = f"'{top}' has no hooks of {', '.join(lacking)}"
            yield Finding("worktree", top, reason, remedy="gitcp enable")


def _find_in_own_files(repo: Repo, client: Client) -> Iterator[Finding]:
    """Check the hook files of a client that has no settings for hooks, in its first scope with
    any."""
    name = client.NAME
    paths = client.list_settings_paths(os.path.expanduser("~"), repo.worktree)
    absent: list[str] = []
    for path in dict.fromkeys(paths.values()):
        built = own_files.build_files(client, path, None)
        texts = {file: files.read_bytes(file) or b"" for file in built}
        absent = [file for file, data in texts.items() if not own_files.has_our_call(data)]
        if len(absent) < len(built):
            break
    foreign = [file for file in absent if texts[file]]
    for file in foreign:
        reason = f"{client.AGENT_TYPE} is recorded in part: '{file}' is yours"
        yield Finding("own-hook", file, reason, remedy=own_files.spell_remedy(client, file))
    missing = [file for file in absent if file not in foreign]
    if missing:
        reason = f"{client.AGENT_TYPE} is recorded in part: '{missing[0]}' is gone"
        yield Finding("agent-hook", name, reason, remedy=f"gitcp enable --agent {name}")


def _find_subdirectory(repo: Repo, client: Client) -> Iterator[Finding]:
    """Report a client that reads the settings of the current directory, not those of the top."""
    path = client.list_settings_paths(os.path.expanduser("~"), repo.worktree)["user"]
    if client.NAME.encode() not in (files.read_bytes(path) or b""):
        who = client.AGENT_TYPE
        reason = f"{who} started in a subdirectory does not read the settings of the top"
        what = f"start it at the top, or 'gitcp enable --user --agent {client.NAME}'"
        yield Finding("subdirectory", os.getcwd(), reason, remedy=what)


def _read_settings(repo: Repo, client: Client) -> dict[str, str]:
    """path -> text of each settings file that a client reads in this worktree."""
    home = os.path.expanduser("~")
    paths: dict[str, str] = client.list_settings_paths(home, repo.worktree)
    read = list(paths.values())
    if "local" in paths:
        main = sites.find_main_worktree(repo).worktree
        read.append(client.list_settings_paths(home, main)["local"])
    return {path: decode_name(files.peek(path)) for path in read}


def _find_in_settings(client: Client, texts: dict[str, str]) -> Iterator[Finding]:
    name = client.NAME
    form = client.FORM
    events: set[str] = set()
    programs: set[tuple[str, ...]] = set()
    mine = settings.make_own_test(name)
    for path, content in texts.items():
        try:
            parsed = settings.parse(content or "{}", form)
            commands = settings.list_commands(parsed, form)
        except (InputError, ValueError) as e:
            reason = f"{client.AGENT_TYPE} cannot read its settings '{path}': {e}"
            yield Finding("settings", path, reason, remedy="edit it")
            return
        for event, command in commands:
            if mine(command):
                events.add(event)
                programs.add(tuple(settings.parse_programs(command)))
    needed = [event for event, *_ in client.list_hooks()]
    absent = [event for event in needed if event not in events]
    if absent:
        what = "is not recorded"
        if events:
            what = f"runs no hook at {', '.join(absent)}"
        who = client.AGENT_TYPE
        reason = f"{who} {what} in this worktree: its settings have no such hooks"
        yield Finding("agent-hook", name, reason, remedy=f"gitcp enable --agent {name}")
    for program in sorted(program for program in programs if program):
        yield from find_in_program(name, program, f"the hooks of {client.AGENT_TYPE} start")


def _find_entires(repo: Repo, client: Client, texts: dict[str, str]) -> Iterator[Finding]:
    """Report files with hooks of Entire's that do something here: the client's settings, and the
    file that is Entire's own.  enable clears settings that are not tracked, and switches off the
    rest."""
    entires = os.path.join(repo.worktree, client.ENTIRES)
    paths = [path for path, text in texts.items() if _has_entires(client, text)]
    if client.ENTIRES and os.path.isfile(entires):
        paths.append(entires)
    for path in paths:
        stays = path == entires or bool(object_lists.list_tracked(repo, [path]))
        needs_switch = True
        remedy = f"gitcp enable --agent {client.NAME}"
        if stays:
            writes, notes = takeover.plan_switch(repo)
            needs_switch = bool(writes or notes)
            if notes:
                remedy = "entire disable"
        if needs_switch:
            reason = f"Entire's hooks in '{path}' record the same work"
            yield Finding("entire", path, reason, remedy=remedy)


def _has_entires(client: Client, text: str) -> bool:
    try:
        commands = settings.list_commands(settings.parse(text or "{}", client.FORM), client.FORM)
    except (InputError, ValueError):
        return False  # _find_in_settings() reports it
    return any(settings.is_entires_command(command) for _, command in commands)


CLIENT_CHECKS: Checks = {
    look_at_clients: (
        Row("agent-hook", WARNING, "an agent is not recorded, or in part", *_MENDED),
        Row("settings", WARNING, "settings of an agent cannot be read"),
        Row("no-hooks", WARNING, "an agent is told to run no hooks"),
        Row("own-hook", WARNING, "a hook of the person is where an agent looks for gitcp's"),
        Row("subdirectory", WARNING, "an agent does not read its settings from here"),
        Row("silent-agent", WARNING, "the hooks of an agent have not run here yet"),
        Row("worktree", WARNING, "a worktree has no hooks of an agent", *_MENDED),
        ENTIRE,
        PROGRAM,
    ),
}
