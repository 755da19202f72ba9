"""Plan what enable writes, then write it; find what disable removes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager

import gitcp
from gitcp import agents, git
from gitcp.errors import Error, format_error
from gitcp.git import Git, decode_name, encode_name, files, gitdir, jj
from gitcp.git.files import exclusive, move_aside
from gitcp.git.gitdir import is_tracked
from gitcp.git.objects import Objects, object_lists
from gitcp.git.repo import Repo
from gitcp.lines.committed import recorded
from gitcp.record import locate_off, registered, stream
from gitcp.record.journal.worktrees import look_after_gap
from gitcp.record.snapshot import own_index
from gitcp.record.unheard import unrecorded
from gitcp.setup import (
    adapters,
    configured_hooks,
    entire_settings,
    exclude_file,
    git_hooks,
    guard_files,
    hook_texts,
    sites,
    skill,
    takeover,
)
from gitcp.setup.clients import enabling, own_files
from gitcp.setup.clients.enabling import Surroundings
from gitcp.setup.entire_settings import ENTIRE_SWITCH
from gitcp.text import console, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.setup.hook_texts import Write
    from gitcp.setup.takeover import Entry, Manifest, Strip

    Plan = tuple[list[Write], list[str]]  # writes, notes


@value_class
class Options:
    """The options of enable.  names: of agents, empty for all that are on this machine; scope: a
    key of Client.list_settings_paths(); worktree: only for clients that look in this worktree
    alone; destination: where checkpoints are sent, '' for no change; skills: write the skill by
    which agents ask gitcp."""

    names: Sequence[str] = ()
    scope: str = "local"
    force: bool = False
    strategy: str = ""
    guard: str = ""
    worktree: bool = False
    destination: str = ""
    skills: bool = False


@value_class
class Installed:
    """What an installation has done."""

    writes: list[Write]
    done: list[str]  # what else was done
    notes: list[str]


def install(repo: Repo, options: Options) -> Installed:
    """Install gitcp in a repository.

    Damaged files of gitcp are moved aside; hooks that are then without a record are recorded again.
    """
    moved = _clear_the_way(repo)
    if not options.worktree:
        registered.add_repository(repo)
        if repo.has_git:
            jj.add_worktree(repo.worktree)
    with exclusive(repo, "install"):
        record = takeover.load_manifest(repo)
        writes, notes = plan_install(repo, options, record)
        written = [write for write in writes if carry_out(repo, write, record)]
        if options.worktree:
            _settle_worktree(repo, record)
            done = []
        else:
            done = _prepare(repo, record)
    if not options.worktree and options.scope == "local":
        elsewhere = _install_elsewhere(repo)
        written += elsewhere.writes
        notes += elsewhere.notes
    return Installed(written, [*moved, *done], notes)


def _clear_the_way(repo: Repo) -> list[str]:
    """Move aside files in the place of gitcp's directories, and damaged records of what enable
    wrote; return what was done."""
    done = []
    for path in sites.find_no_directories(repo):
        aside = f"{path}.damaged-{time.time_ns()}"
        os.rename(path, aside)
        done.append(f"moved '{path}', which was not a directory, to '{aside}'")
    for damaged in takeover.load_all(repo)[1]:
        moved = move_aside(repo.common, damaged.path)
        done.append(f"moved '{damaged.path}', which was damaged, to '{moved}'")
    return done


def carry_out(repo: Repo, write: Write, record: Manifest) -> bool:
    """Write one file; return whether it was.  That an agent's file cannot be written is a
    warning."""
    if write.get("user"):
        record = takeover.load_person()
    try:
        if write["kind"] == "stray":
            git_hooks.clear_stray(write)
            return True
        if write["kind"] == adapters.KIND:
            adapters.write_hooks(repo, write)
        if not write.get("user"):
            _refuse_links(repo, write["path"])
        if os.path.isdir(write["path"]):
            move_aside(repo.common, write["path"])
        record.put(write, make_stripper(repo, record))
    except (OSError, Error) as e:
        if "agent" not in write:
            raise
        console.warn_lacking(f"{format_error(e)}: {write['agent']} is not set up")
        return False
    return True


def _refuse_links(repo: Repo, path: str) -> None:
    """Raise Error if a link that git tracks leads to a path of this worktree or the main one: a
    stranger may have made it, and it may lead anywhere."""
    tops = dict.fromkeys((repo.worktree, sites.find_main_worktree(repo).worktree))
    for top in (top for top in tops if path.startswith(f"{top}/")):
        folder = top
        for name in os.path.relpath(path, top).split("/"):
            link = os.path.join(folder, name)
            if os.path.islink(link) and is_tracked(folder, name):
                raise Error(f"'{link}' is a link that git tracks: gitcp writes nothing through it")
            folder = link


def plan_install(repo: Repo, options: Options, record: Manifest) -> Plan:
    """Plan everything before anything is written."""
    program = locate_program()
    if options.worktree:
        return plan_worktree(repo, record, program), []
    plans: list[Plan] = []
    if repo.has_git:  # else no git runs hooks here, and the next event finds commits
        plans.append(git_hooks.plan_hooks(repo, record, program, options.force))
    names = options.names
    choice_notes: list[str] = []
    if not names:
        names, choice_notes = find_agents(repo)
    plans.append(([], choice_notes))
    plans.append(plan_clients(repo, names, options.scope, program, options.force))
    if options.skills:
        if options.scope == "user":
            person_or_repo = takeover.load_person()
        else:
            person_or_repo = record
        plans.append(plan_skills(repo, person_or_repo, options.scope, options.force))
    writes = [write for plan in plans for write in plan[0]]
    notes = [note for plan in plans for note in plan[1]]
    chosen = {
        "gitcp.strategy": entire_settings.find_strategy(options.strategy),
        "gitcp.guard": options.guard,
        "gitcp.remote": options.destination,
    }
    values, unread = takeover.read_settings(repo, record)
    values |= {key: value for key, value in chosen.items() if value}
    if repo.has_git and configured_hooks.are_supported():
        values |= configured_hooks.build_values(program)
    config = takeover.plan_config(repo, values)
    hidden = _plan_exclude(repo, writes)
    return [*hidden, *writes, *([config] if config else [])], notes + unread


def find_agents(repo: Repo) -> tuple[Sequence[str], list[str]]:
    """(the agents on this machine, with those of adapters on PATH; notes about the choice)."""
    clients = list(adapters.find_adapters(repo))
    names_on_path = [client.NAME for client in clients if not isinstance(client, str)]
    names, notes = enabling.find_clients(os.path.expanduser("~"), repo.worktree, names_on_path)
    return names, [*notes, *(why for why in clients if isinstance(why, str))]


def _plan_exclude(repo: Repo, writes: Sequence[Write]) -> list[Write]:
    """Plan to make git ignore the files that are for this clone alone."""
    asides = [(w["path"], w.get("aside")) for w in writes if w.get("alone")]
    paths = [path + end for path, aside in asides for end in ("", aside) if end is not None]
    outside = [path for path in paths if not object_lists.is_inside(path, repo.worktree)]
    names = git_hooks.list_addable(repo, paths)
    if outside:
        names += git_hooks.list_addable(sites.find_main_worktree(repo), outside)
    if names:
        return [git_hooks.plan_exclude(repo, sorted(set(names)))]
    return []


def locate_program() -> tuple[str, str]:
    """The interpreter and the file that hooks start."""
    entry = os.path.join(os.path.dirname(os.path.abspath(gitcp.__file__)), "entry.py")
    return os.path.abspath(sys.executable), entry


def _settle_worktree(repo: Repo, record: Manifest) -> None:
    """Remove the entries of worktrees that are gone, and update `watched` (guard_files)."""
    for entry in record.entries[:]:
        top = record.get_worktree(entry)
        if top and not os.path.isdir(top):
            record.entries.remove(entry)
    record.save()
    guard_files.write_watched(repo, record)


def _prepare(repo: Repo, record: Manifest) -> list[str]:
    """Write the data that hooks need: gitcp's index, markers, states; return what was done."""
    own_index.seed_index(repo)
    guard_files.write_configured(repo)
    guard_files.write_watched(repo, record)
    takeover.write_markers(repo)
    with Objects(repo):
        stream.move_home(repo)
        taken = takeover.adopt_sessions(repo)
        if recorded.has_ended(repo):
            _look_after_gap(repo)
        recorded.begin_recording(repo)
        recorded.share_recording(repo)
    unrecorded.look(repo)
    if taken:
        done = [f"took over {len(taken)} unsettled sessions of Entire"]
    else:
        done = []
    try:
        os.unlink(locate_off(repo))
        done.append("gitcp is awake again here")
    except FileNotFoundError:
        pass
    return done


def _look_after_gap(repo: Repo) -> None:
    """Look at each worktree: it is not known who changed what while nothing was recorded."""
    look_after_gap(repo)
    for top in sites.list_other_worktrees(repo):
        try:
            look_after_gap(Repo.find(top, sites.list_environment()))
        except (Error, OSError) as e:
            git.append_trace("install", f"'{top}': {e}")


def hook_folders(repo: Repo, record: Manifest) -> list[str]:
    """The directories of hooks that enable wrote to, and the one that git uses now."""
    folders = [os.path.dirname(record.get_path(e)) for e in record.entries if e["kind"] == "hook"]
    current = git_hooks.find_folder(repo)
    if any(object_lists.is_inside(current, home) for home in (repo.common, repo.top) if home):
        folders.append(current)
    return list(dict.fromkeys(folders))


def end_recording(repo: Repo) -> None:
    """Note that work is not recorded any more."""
    recorded.end_recording(repo)
    with Objects(repo):
        recorded.share_recording(repo)


def make_stripper(repo: Repo, record: Manifest) -> Strip:
    """The function that removes gitcp's part from a file that was edited after gitcp wrote it."""

    def strip(entry: Entry, data: bytes) -> bytes | None:
        if entry["kind"] == "hook":
            return git_hooks.remove_ours(record.get_path(entry), entry, data)
        if entry["kind"] == "settings":
            return enabling.remove_ours(entry["agent"], data, bool(entry["before"]))
        if entry["kind"] in ("plugin", "script"):
            return None if own_files.is_ours(data) else data
        if entry["kind"] == entire_settings.ENTIRE_SWITCH:
            return takeover.remove_switch(data)
        if entry["kind"] == "config":
            return takeover.remove_values(repo, entry, data)
        if entry["kind"] == adapters.KIND:
            return None
        rest = encode_name(exclude_file.remove_lines(decode_name(data), entry["lines"]))
        return rest if rest or entry["before"] else None

    return strip


_UNREAD = "{}: {} is not set up; fix the file, then 'gitcp enable --agent {}'"


def plan_clients(
    repo: Repo, clients: Iterable[str], scope: str, baked: tuple[str, str], force: bool
) -> Plan:
    """Plan the settings by which these agents run gitcp's hooks; scope: a key of
    Client.list_settings_paths().  Settings that cannot be read are a warning.
    """
    writes: list[Write] = []
    notes: list[str] = []
    home = os.path.expanduser("~")
    main = sites.find_main_worktree(repo)
    has_entires = False
    for name in clients:
        if name not in agents.list_names():
            writes += adapters.plan_adapter(repo, name, scope, baked, force)
            continue
        client = agents.get_client(name)
        is_local = scope == "local" and scope in client.list_settings_paths(home, "")
        top = (main if is_local else repo).worktree
        surroundings = _make_surroundings(main if is_local else repo, baked)
        try:
            plan = enabling.plan_client(client, scope, home, top, surroundings, force)
        except Error as e:
            console.warn_lacking(_UNREAD.format(e, name, name))
        else:
            writes += plan[0]
            notes += plan[1]
            has_entires |= enabling.keep_entires(client, home, top, surroundings, force)
    if has_entires:
        switch = takeover.plan_switch(repo)
    else:
        switch = ([], [])
    return writes + switch[0], notes + switch[1]


def plan_worktree(repo: Repo, record: Manifest, baked: tuple[str, str]) -> list[Write]:
    """Plan the settings in another worktree, of the clients that enable set up for this clone in
    the main one or elsewhere.  Some look only there, others do in some versions."""
    surroundings = _make_surroundings(repo, baked)
    home = os.path.expanduser("~")
    top = repo.worktree
    writes: list[Write] = []
    for client in map(agents.get_client, sites.list_local_agents(record)):
        for write in enabling.plan_client(client, "local", home, top, surroundings, False)[0]:
            write["worktree"] = os.path.realpath(top)
            writes.append(write)
    if any(entry["kind"] == ENTIRE_SWITCH for entry in record.entries):
        writes += takeover.plan_switch(repo)[0]
    hidden = git_hooks.list_addable(repo, [write["path"] for write in writes])
    return [*([git_hooks.plan_exclude(repo, hidden)] if hidden else []), *writes]


def _install_elsewhere(repo: Repo) -> Installed:
    """Install in the repository's other worktrees what their clients look for there."""
    installed = Installed([], [], [])
    for top in sites.list_other_worktrees(repo):
        try:
            there = install(Repo.find(top, sites.list_environment()), Options(worktree=True))
        except (Error, OSError) as e:
            installed.notes.append(f"'{top}' is left out: {format_error(e)}")
        else:
            installed.writes.extend(there.writes)
    return installed


def _make_surroundings(repo: Repo, baked: tuple[str, str]) -> Surroundings:
    records = (takeover.load_manifest(repo), takeover.load_person())

    def is_tracked(path: str) -> bool:
        return bool(object_lists.list_tracked(repo, [path]))

    def is_recorded(path: str) -> bool:
        return any(record.find(path) for record in records)

    return Surroundings(files.read_bytes, is_tracked, baked, is_recorded)


def plan_skills(repo: Repo, record: Manifest, scope: str, force: bool) -> Plan:
    """Plan the skill files for the clients of a scope.

    A skill that gitcp did not write stays unless force is given.  record: of the repository, or of
    the person for the scope `user`.
    """
    home = os.path.expanduser("~")
    data = skill.TEXT.encode()
    writes: list[Write] = []
    notes: list[str] = []
    for folder in skill.FOLDERS:
        below = os.path.join(folder, skill.NAME)
        path = os.path.join(repo.worktree, below)
        if scope == "user":
            path = agents.locate_below(home, below)
        old = files.read_bytes(path)
        if old == data:
            continue
        entry = record.find(path)
        if old is not None and not force and not (entry and record.is_intact(entry)):
            notes.append(f"'{path}' is not as gitcp wrote it and stays; --force replaces it")
            continue
        write: Write = {"path": path, "kind": "skill", "data": data, "note": f"wrote '{path}'"}
        writes.append({**write, "alone": scope == "local", "user": scope == "user"})
    return writes, notes


# Enable gitcp in all repositories of a person: by hooks in git's configuration, with an older git
# by its template for new repositories; and by agents' hooks in the person's own settings.
_HOOKS_KEY = "init.templateDir"
_NOT_SET = (
    "'{}' is {}: 'gitcp enable' in a new repository sets it up, or put hooks into it yourself"
)


def locate_template() -> str:
    """The template directory of gitcp, which git copies into a new repository."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(data, "gitcp", "template")


@contextmanager
def open_scratch_repository() -> Iterator[Repo]:
    """Yield an empty repository: plans for a person's own files need one."""
    with tempfile.TemporaryDirectory() as folder:
        Git(folder).run("init", "-q", "--template=", folder)
        yield Repo.find(folder)


def install_person(
    clients: Sequence[str], force: bool, dry_run: bool = False
) -> tuple[list[str], list[str]]:
    """Set up git's hooks and the agents in the person's settings; (what was done, notes).

    clients: none for all agents that are on this machine.  dry_run: write nothing.
    Raises Error, with nothing done, if git's global configuration is not a regular file."""
    path = _find_special_config()
    if path:
        raise Error(f"'{path}' is not a file, so git cannot keep its global configuration there")
    with open_scratch_repository() as repo:
        present = clients or find_agents(repo)[0]
        record = takeover.load_person()
        writes, notes = plan_clients(repo, present, "user", locate_program(), force)
        done = [w["note"] for w in writes if dry_run or carry_out(repo, w, record)]
        if configured_hooks.are_supported():
            done += _configure_hooks(dry_run)
            if _read_template() == locate_template():  # of an older git, which may still be in use
                done += _set_template(repo, dry_run)
        elif _may_set_template(repo, force, notes):
            done += _set_template(repo, dry_run)
    return done, notes


def _configure_hooks(dry_run: bool) -> list[str]:
    """Set gitcp's hooks in the person's configuration of git; return what was done.  dry_run: write
    nothing."""
    values = configured_hooks.build_values(locate_program())
    if configured_hooks.are_set_for_person(values):
        return []
    if not dry_run:
        configured_hooks.set_for_person(values)
    return ["set hook.gitcp-* in your configuration of git, for every repository"]


def _may_set_template(repo: Repo, force: bool, notes: list[str]) -> bool:
    """Whether git's template may be set for the person; append the reason to notes if not, or if it
    will have no effect."""
    hooks = repo.config.get("core.hookspath")
    if hooks:
        notes.append(_NOT_SET.format(hooks, "core.hooksPath of all repositories"))
    configured = _read_template()
    if configured in ("", locate_template()) or force:
        return True
    notes.append(_NOT_SET.format(configured, _HOOKS_KEY))
    return False


def _set_template(repo: Repo, dry_run: bool) -> list[str]:
    """Write git's template and set init.templateDir for the person; return what was done.
    dry_run: write nothing."""
    template = locate_template()
    record = takeover.load_person()
    if not os.path.isdir(template) and not dry_run:
        _copy_template(template)
    writes = _plan_hooks(template, locate_program())
    done = [w["note"] for w in writes if dry_run or carry_out(repo, w, record)]
    if _read_template() != template:
        if not dry_run:
            Git().run("config", "--global", _HOOKS_KEY, template)
        done.append(f"set {_HOOKS_KEY} to '{template}'")
    return done


def _find_special_config() -> str:
    """The path of git's global configuration if it is not a regular file, else ''.  git would
    replace it by a file, even a device."""
    paths = gitdir.list_person_sources(os.environ)
    return next((p for p in paths if os.path.exists(p) and not os.path.isfile(p)), "")


def _read_template() -> str:
    """init.templateDir of the person's configuration, '' if it is not set."""
    return decode_name(Git().run("config", "--global", "--get", _HOOKS_KEY, ok=(0, 1))[1]).rstrip(
        "\n"
    )


def _copy_template(target: str) -> None:
    """Copy git's default template, which gitcp's template replaces."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        Git(folder).run("init", "-q", "--bare", os.path.join(folder, "new"))
        template = os.path.join(folder, "template")
        os.mkdir(template)
        for name in ("description", "hooks", "info"):
            if os.path.exists(path := os.path.join(folder, "new", name)):
                shutil.move(path, os.path.join(template, name))
        hooks = os.path.join(template, "hooks")
        os.makedirs(hooks, exist_ok=True)
        for hook in hook_texts.WRITTEN:
            if os.path.exists(path := os.path.join(hooks, hook)):
                os.rename(path, path + hook_texts.BACKUP)
        os.rename(template, target)


def _plan_hooks(template: str, baked: tuple[str, str]) -> Iterator[Write]:
    for hook in hook_texts.WRITTEN:
        path = os.path.join(template, "hooks", hook)
        data = hook_texts.build_script(hook, *baked).encode("utf-8", "surrogateescape")
        if git_hooks.read_hook(os.path.dirname(path), hook).texts[""].encode() != data:
            note = f"wrote '{path}', for new repositories"
            yield {"path": path, "kind": "hook", "data": data, "note": note, "user": True}


def remove_of_person() -> list[str]:
    """Remove gitcp's hooks from the person's configuration of git, and init.templateDir if it is
    gitcp's; return what was done."""
    if _find_special_config():
        return []
    done = []
    if configured_hooks.remove_of_person():
        done.append("removed hook.gitcp-* from your configuration of git")
    if _read_template() == locate_template():
        Git().run("config", "--global", "--unset", _HOOKS_KEY)
        done.append(f"unset {_HOOKS_KEY}")
    return done


def install_repository(
    path: str, clients: Sequence[str], dry_run: bool = False
) -> tuple[list[str], str]:
    """Set up an existing repository; return (what was written, why it was left out or '').
    dry_run: write nothing."""
    try:
        repo = Repo.find(path)
        if repo.top is None:
            return [], "it has no work tree"
        if os.path.exists(locate_off(repo)):
            return [], "gitcp is disabled there"
        options = Options(clients, scope="user")
        if dry_run:
            writes, notes = plan_install(repo, options, takeover.load_manifest(repo))
        else:
            installed = install(repo, options)
            writes = installed.writes
            notes = installed.notes
    except (Error, OSError) as e:
        return [], str(e)
    where = git_hooks.find_folder(repo)
    missing = () if dry_run else git_hooks.list_missing(Repo.find(path), where)
    reason = next(iter(notes), f"git does not run '{missing[0]}'") if missing else ""
    return [write["note"] for write in writes], reason.partition("\n")[0]
