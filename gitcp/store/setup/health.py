"""Whether what enable installed is there and runs: looked at, not remembered (status, doctor)."""

from __future__ import annotations

import os
import sys

from gitcp.core.setup import hook_scripts, hook_text
from gitcp.core.setup.install_findings import finding
from gitcp.jj import workspace
from gitcp.process.regular_file import Damaged
from gitcp.record import text
from gitcp.store.git import files
from gitcp.store.setup import exclude, git_hooks, heard, manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.agents import Client
    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo


WEEK = 7 * 86400
ENABLED, DISABLED = "enabled", "disabled"
FORGOTTEN = "was kept aside, and what called it has given way to another tool's hook"


def git(repo: Repo) -> Iterator[Finding]:
    """git's hooks, in the directory that git will use, and the programs they start."""
    if workspace.is_apart(repo):
        return
    where = git_hooks.folder(repo)
    if os.path.lexists(where) and not os.path.isdir(where):
        reason = f"git runs no hooks here: '{where}' is not a directory"
        yield finding("git-hook", where, reason, "see core.hooksPath in git-config(1)")
        return
    every = {hook: git_hooks.read_texts(where, hook) for hook in hook_scripts.HOOKS}
    missing = [hook for hook in every if not git_hooks.calls_ours(where, hook)]
    if missing:
        tools = {hook_text.tool(every[hook][""]) for hook in missing} - {""}
        who = f" (they are {' and '.join(sorted(tools))}'s)" if tools else ""
        do_not = "does not" if len(missing) == 1 else "do not"
        reason = f"{', '.join(missing)} in '{where}' {do_not} call gitcp{who}"
        yield finding("git-hook", where, reason, _remedy(repo, where))
    if any(hook_text.is_entires(texts[""]) for texts in every.values()):
        reason = "the original program's hooks are back: two programs record the same work"
        yield finding("entire", where, reason, "gitcp enable")
    for path in git_hooks.forgotten([where]):
        yield finding(
            "kept-hook", path, f"'{path}' {FORGOTTEN}", "call it from there, or remove it"
        )
    baked = {hook_text.baked(t) for texts in every.values() for t in texts.values()}
    for pair in sorted(pair for pair in baked if pair):
        yield from _program(where, pair, "git's hooks start")


def failures(repo: Repo, now: float) -> Iterator[Finding]:
    """The hooks that failed in the last week, told as one finding of the newest."""
    lately = [entry for entry in heard.warnings(repo) if entry[0] > now - WEEK]
    if lately:
        count = f"{len(lately)} times" if len(lately) > 1 else "once"
        reason = f"hooks failed {count} this week, at last: {lately[-1][1]}"
        yield finding("warning", repo.common, reason, "gitcp doctor")


def _remedy(repo: Repo, where: str) -> str:
    if any(exclude.inside(where, home) for home in (repo.common, repo.top) if home):
        return "gitcp enable"
    return "gitcp enable --force"


def _program(subject: str, pair: Iterable[str], who: str) -> Iterator[Finding]:
    """What is wrong with an interpreter and the entry it is to run."""
    from shutil import which

    py, entry = pair
    gone = [path for path in (py, entry) if not os.path.exists(path)]
    if gone and which("gitcp-hook") is None:
        yield finding("program", subject, f"{who} '{gone[0]}', which is gone", "gitcp enable")
    elif not gone and hook_text.upgraded(os.path.realpath(py), entry):
        reason = f"{who} '{py}', which is another Python than gitcp was installed for"
        yield finding("program", subject, reason, "install gitcp again")
    elif not gone and not _begins(py):
        yield finding("program", subject, f"{who} '{py}', which cannot run", "install gitcp again")


def _begins(py: str) -> bool:
    """Whether an interpreter runs; that of this process does."""
    from subprocess import DEVNULL, call

    try:
        return py == sys.executable or not call([py, "-I", "-S", "-c", ""], stderr=DEVNULL)
    except OSError:
        return False


def enabled(repo: Repo) -> list[str]:
    """The agents whose entries enable wrote, here or for all of the person's repositories."""
    entries = [entry for one in manifests(repo)[0] for entry in one.entries]
    return sorted({entry["agent"] for entry in entries if entry.get("agent")})


def manifests(repo: Repo) -> tuple[list[manifest.Manifest], list[Damaged]]:
    """(the records of what enable wrote, here and for the person; those that are damaged)."""
    read: list[manifest.Manifest] = []
    damaged: list[Damaged] = []
    for here in (True, False):
        try:
            read.append(manifest.of(repo) if here else manifest.of_person())
        except Damaged as e:
            damaged.append(e)
    return read, damaged


def state(repo: Repo) -> str:
    """Whether gitcp records here: ENABLED, DISABLED or not set up."""
    if os.path.exists(repo.shared("off")):
        return DISABLED
    try:
        return ENABLED if manifest.of(repo).entries else "not set up"
    except Damaged:
        return ENABLED  # as far as anybody can tell: it is told by check()


def check(repo: Repo, now: float, called: Iterable[str] = ()) -> list[Finding]:
    """All of it, where gitcp is installed and not silenced."""
    if state(repo) != ENABLED:
        return []
    from gitcp.store.setup import configuration

    damaged = manifests(repo)[1]
    what = "move it away, and run 'gitcp enable'"
    findings = [finding("manifest", e.path, str(e), what) for e in damaged]
    findings += configuration.findings(repo)
    findings += git(repo)
    if not damaged:
        findings += agents(repo, enabled(repo), called)
    findings += failures(repo, now)
    return list({(f["kind"], f["subject"], f["reason"]): f for f in findings}.values())


def agents(repo: Repo, enabled: Sequence[str], called: Iterable[str]) -> Iterator[Finding]:
    """The entries of each enabled agent, where its client will look in this worktree.  There is
    none where `enable` was ended in the middle.

    called: those that are known to have sent an event, besides what heard knows.
    """
    from gitcp.agents import adapter

    if not enabled:
        why = "no agent is recorded: none has hooks of ours"
        yield finding("agent-hook", repo.common, why, "gitcp enable")
    for name in enabled:
        client = adapter(name)
        if client.FORM in ("plugin", "scripts"):
            yield from _own_files(repo, client)
        else:
            yield from _entries(client, _settings(repo, client))
        if client.HERE_ONLY and os.getcwd() != os.path.realpath(repo.worktree):
            yield from _below(repo, client)
        if not heard.last(repo, name) and client.AGENT_TYPE not in called:
            hint = f"it {client.TRUST}; start it here" if client.TRUST else "start it here once"
            yield finding("silent-agent", name, f"enabled, but {name} has never called", hint)


def _own_files(repo: Repo, client: Client) -> Iterator[Finding]:
    """The files of a client that has no settings for hooks, in the first place that has any."""
    from gitcp.agents.install import own_files

    name, paths = client.NAME, client.settings_paths(os.path.expanduser("~"), repo.worktree)
    absent: list[str] = []
    for path in dict.fromkeys(paths.values()):
        wanted = own_files.files(client, path, None)
        absent = [file for file in wanted if not own_files.is_ours(files.read(file) or b"")]
        if len(absent) < len(wanted):
            break
    if absent:
        reason = f"{name} does not tell of all that it does: '{absent[0]}' is not gitcp's"
        yield finding("agent-hook", name, reason, f"gitcp enable --agent {name}")


def _below(repo: Repo, client: Client) -> Iterator[Finding]:
    """A client that reads the settings of the directory it is started in, not those of the top."""
    path = client.settings_paths(os.path.expanduser("~"), repo.worktree)["user"]
    if client.NAME.encode() not in (files.read(path) or b""):
        reason = f"{client.NAME} started in a subdirectory does not read the settings of the top"
        what = f"start it at the top, or 'gitcp enable --user --agent {client.NAME}'"
        yield finding("subdirectory", os.getcwd(), reason, what)


def _settings(repo: Repo, client: Client) -> dict[str, str]:
    """path -> text of the settings a client reads in this worktree, by its scopes."""
    home, main = os.path.expanduser("~"), os.path.dirname(repo.common)
    paths: dict[str, str] = client.settings_paths(home, repo.worktree)
    if "local" in paths and repo.worktree_id:
        paths["local"] = client.settings_paths(home, main)["local"]
    return {path: text(files.read(path) or b"") for path in paths.values()}


def _entries(client: Client, texts: dict[str, str]) -> Iterator[Finding]:
    from gitcp.agents.install import settings, settings_file
    from gitcp.errors import InputError

    name, form = client.NAME, client.FORM
    events: set[str] = set()
    programs: set[tuple[str, ...]] = set()
    mine = settings_file.ours(name)
    for path, content in texts.items():
        try:
            commands = settings.commands(settings_file.parse(content, form)) if content else []
        except (InputError, ValueError) as e:
            yield finding("settings", path, f"{name} cannot read its settings: {e}", "edit it")
            continue
        for event, command in commands:
            if mine(command):
                events.add(event)
                programs.add(tuple(settings_file.programs(command)))
            elif settings_file.is_entires(command):
                reason = f"'{path}' runs the original program at {event}"
                yield finding("entire", path, reason, f"gitcp enable --agent {name}")
    absent = [event for event, *_ in client.HOOKS if event not in events]
    if absent:
        which = "is not recorded" if not events else f"does not tell of {', '.join(absent)}"
        reason = f"{name} {which} in this worktree: its settings have no such hooks"
        yield finding("agent-hook", name, reason, f"gitcp enable --agent {name}")
    for pair in sorted(pair for pair in programs if pair):
        yield from _program(name, pair, f"the hooks of {name} start")
