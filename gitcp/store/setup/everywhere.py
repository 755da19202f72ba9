"""Enable gitcp in all repositories of a person: by git's template for new repositories, and by
agents' hooks in the person's own settings."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager

from gitcp import asked
from gitcp.core.setup import hook_scripts
from gitcp.errors import Error
from gitcp.git import Git
from gitcp.record import decode_name
from gitcp.repo import Repo
from gitcp.store.setup import git_hooks, install, manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.setup.installation import Write

_KEY = "init.templateDir"
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


def install_person(clients: Sequence[str], force: bool) -> tuple[list[str], list[str]]:
    """Set up git's template and the agents in the person's settings; (what was done, notes).

    clients: none for all agents that are on this machine.  Raises Error, with nothing done, if
    git's global configuration is not a regular file."""
    path = _find_special_config()
    if path:
        raise Error(f"'{path}' is not a file, so git cannot keep its global configuration there")
    with open_scratch_repository() as repo:
        present = clients or install.find_agents(repo)[0]
        baked, record = install.locate_program(), manifest.load_person()
        writes, notes = install.plan_clients(repo, present, "user", baked, force)
        done = [write["note"] for write in writes if install.carry_out(repo, write, record)]
        done += _set_template(repo, baked, force, notes)
    return done, notes


def _set_template(repo: Repo, baked: tuple[str, str], force: bool, notes: list[str]) -> list[str]:
    """Write git's template and set init.templateDir for the person; return what was done."""
    hooks = repo.config.get("core.hookspath")
    if hooks:
        notes.append(_NOT_SET.format(hooks, "core.hooksPath of all repositories"))
    configured, own = _read_template(), locate_template()
    if configured not in ("", own) and not force:
        notes.append(_NOT_SET.format(configured, _KEY))
        return []
    if not os.path.isdir(own):
        _copy_template(own)
    writes = list(_plan_hooks(own, baked))
    record = manifest.load_person()
    done = [write["note"] for write in writes if install.carry_out(repo, write, record)]
    if configured != own:
        Git().run("config", "--global", _KEY, own)
        done.append(f"set {_KEY} to '{own}'")
    return done


def _find_special_config() -> str:
    """Git's global configuration if it is no regular file, else ''.  To write it, git would replace
    it by a file, even a device."""
    paths = asked.list_person_sources(os.environ)
    return next((p for p in paths if os.path.exists(p) and not os.path.isfile(p)), "")


def _read_template() -> str:
    """init.templateDir of the person's configuration, '' if it is not set."""
    return decode_name(Git().run("config", "--global", "--get", _KEY, ok=(0, 1))[1]).rstrip("\n")


def _copy_template(own: str) -> None:
    """Copy git's default template, which gitcp's template replaces."""
    os.makedirs(os.path.dirname(own), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(own)) as folder:
        Git(folder).run("init", "-q", "--bare", os.path.join(folder, "new"))
        template = os.path.join(folder, "template")
        os.mkdir(template)
        for name in ("description", "hooks", "info"):
            if os.path.exists(path := os.path.join(folder, "new", name)):
                shutil.move(path, os.path.join(template, name))
        hooks = os.path.join(template, "hooks")
        os.makedirs(hooks, exist_ok=True)
        for hook in hook_scripts.HOOKS:
            if os.path.exists(path := os.path.join(hooks, hook)):
                os.rename(path, path + hook_scripts.BACKUP)
        os.rename(template, own)


def _plan_hooks(own: str, baked: tuple[str, str]) -> Iterator[Write]:
    for hook in hook_scripts.HOOKS:
        path = os.path.join(own, "hooks", hook)
        data = hook_scripts.build_script(hook, *baked).encode("utf-8", "surrogateescape")
        if git_hooks.read_texts(os.path.dirname(path), hook)[""].encode() != data:
            note = f"wrote '{path}', for new repositories"
            yield {"path": path, "kind": "hook", "data": data, "note": note, "user": True}


def remove_template() -> str:
    """Unset init.templateDir if it is gitcp's; return what was done, '' for nothing."""
    if _find_special_config() or _read_template() != locate_template():
        return ""
    Git().run("config", "--global", "--unset", _KEY)
    return f"unset {_KEY}"


def install_repository(path: str, clients: Sequence[str]) -> tuple[list[str], str]:
    """Set up an existing repository; (what was written, why it was left out or '')."""
    try:
        repo = Repo.find(path)
        if repo.top is None:
            return [], "it has no work tree"
        if os.path.exists(repo.join_shared("off")):
            return [], "gitcp is disabled there"
        options = install.Options(agents=clients, scope="user")
        writes, _, notes = install.install(repo, options)
    except (Error, OSError) as e:
        return [], str(e)
    where = git_hooks.find_folder(repo)
    missing = git_hooks.list_missing(where)
    reason = next(iter(notes), f"git does not run '{missing[0]}'") if missing else ""
    return [write["note"] for write in writes], reason.partition("\n")[0]
