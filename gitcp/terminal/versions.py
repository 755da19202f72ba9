"""What a report of a fault begins with: the versions of gitcp and of what it runs on."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import gitcp
from gitcp.checkpoints import stored
from gitcp.errors import Error
from gitcp.git import Git
from gitcp.git.repo import Repo
from gitcp.terminal import extras

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Record


def build_record() -> Record:
    """The record of type version.  Without git, or outside a repository, its value is empty."""
    return {
        "type": "version",
        "gitcp": gitcp.VERSION,
        "commit": find_commit(),
        "python": platform.python_version(),
        "git": _find_git(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "store": _find_store(),
        "packages": _list_packages(),
    }


def find_commit() -> str:
    """The commit that this gitcp was built from, or that of the checkout that runs; "" for
    neither."""
    top = find_checkout()
    if gitcp.COMMIT or not top:
        return gitcp.COMMIT
    try:
        return Git(top, drop_git_variables()).read_line("rev-parse", "HEAD").decode()
    except Error:
        return ""


def find_checkout() -> str:
    """The top of the checkout whose gitcp runs, "" if an installed one does."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(gitcp.__file__)))
    if os.path.exists(os.path.join(top, ".git")):
        return top
    return ""


def drop_git_variables() -> dict[str, str]:
    """The environment without the variables that point git at another repository."""
    return {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}


def _find_git() -> str:
    """What git says of its version, without the words before it."""
    try:
        said = Git().read_line("version")
    except Error:
        return ""
    return said.decode(errors="replace").removeprefix("git version ")


def _find_store() -> str:
    """Where a new checkpoint goes in the repository around: branch or refs."""
    try:
        repo = Repo.find()
    except Error:
        return ""
    if stored.needs_own_ref(repo):
        return "refs"
    return "branch"


def _list_packages() -> dict[str, str]:
    """Name -> version of each installed package that gitcp or one of its extras names."""
    found = {}
    for name in extras.list_names():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
