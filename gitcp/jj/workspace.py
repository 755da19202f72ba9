"""A jj workspace whose files are not also a git worktree, seen through git.

It gets a git directory of ours, `.jj/gitcp.git`: refs and objects are the store's (`commondir`,
as in a linked worktree), HEAD is `@-`.  All that reads a worktree through git works there
unchanged.
"""

from __future__ import annotations

import os
import time

from gitcp.errors import Error, GitError, NoJj
from gitcp.git import Git
from gitcp.jj import log
from gitcp.jj.log import OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.jj.log import Change
    from gitcp.repo import Repo

# A name that no branch can have: HEAD before the first commit, when @- is jj's root.
_UNBORN = "ref: refs/heads/@gitcp-unborn\n"


def root_above(start: str, stop: str | None = None) -> str | None:
    """The nearest directory with a `.jj`, from start upwards and below stop; None without one."""
    folder = os.path.realpath(start)
    end = os.path.realpath(stop) if stop else None
    while folder != end:
        if os.path.isdir(os.path.join(folder, ".jj")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return None


def is_apart(repo: Repo) -> bool:
    """Whether git sees the worktree through a directory in .jj alone: no git runs hooks there."""
    return os.path.basename(repo.git_dir) == OWN


def git_here(repo: Repo) -> Git:
    """git as a person runs it in the current directory; in a workspace that is no git worktree,
    git of its store."""
    return repo.git.bound(os.getcwd(), {}) if is_apart(repo) else Git()


def opened(root: str, create: str | None = None) -> tuple[str, str, str]:
    """(git directory, common directory, name) of a workspace that is no git worktree; the name
    is '' for the default one.

    Its HEAD is brought to `@-`.  create: the directory below which it is made where there is
    none yet, '' for the workspace itself; None: Error where gitcp is not enabled.
    """
    own = os.path.join(root, ".jj", OWN)
    at = _asked(root, own)
    if not os.path.isfile(os.path.join(own, "commondir")):
        own = os.path.join(create or root, ".jj", OWN)
        _create(root, own, at, create is not None)
    _move(root, own, at)
    common = os.path.normpath(os.path.join(own, _line(own, "commondir")))
    return own, common, _line(own, "workspace")


def _move(root: str, own: str, at: Change) -> None:
    """Bring HEAD to `@-`; its reflog tells the commits made here, as jj does where git sees it."""
    before, now = _line(own, "HEAD") + "\n", _base(at)
    if before == now:
        return
    old = before.strip() if before != _UNBORN else "0" * len(at["commit"])
    logs = os.path.join(own, "logs")
    os.makedirs(logs, exist_ok=True)
    with open(os.path.join(logs, "HEAD"), "a", encoding="utf-8") as f:
        for oid in log.made_since(root, old):
            f.write(f"{old} {oid} jj <> {int(time.time())} +0000\texport from jj\n")
            old = oid
    _write(os.path.join(own, "HEAD"), now)


def _asked(root: str, own: str) -> Change:
    try:
        return log.here(root)
    except NoJj as e:
        if not os.path.isdir(own):
            raise Error(f"cannot ask jj about '{root}': {e}") from None
        raise NoJj(f"{e}: nothing is recorded in the workspace '{root}'") from None
    except GitError as e:
        raise Error(f"cannot ask jj about '{root}': {e}") from None


def _create(root: str, own: str, at: Change, create: bool) -> None:
    store = log.ask(root, "git", "root")[1].decode("utf-8", "surrogateescape").rstrip("\n")
    if not create and not os.path.isdir(os.path.join(store, "gitcp")):
        raise Error(f"gitcp is not enabled in the jj repository '{root}'")
    os.makedirs(own, 0o750, exist_ok=True)
    ignore = os.path.join(os.path.dirname(own), ".gitignore")
    if not os.path.exists(ignore):
        _write(ignore, "/*\n")  # as jj itself does where git shares the directory
    name = at["workspaces"].partition("@")[0]
    _write(os.path.join(own, "workspace"), "" if name in ("", "default") else f"jj-{name}")
    _write(os.path.join(own, "HEAD"), _base(at))
    _write(os.path.join(own, "jj"), log.program() + "\n")
    # Relative, as a move of the whole must not matter; last, for with it the directory is whole.
    _write(os.path.join(own, "commondir"), os.path.relpath(store, own) + "\n")


def _base(at: Change) -> str:
    """HEAD for a change: its first parent, unborn when that is jj's root commit."""
    base = (at["parents"] or [""])[0]
    return base + "\n" if base.strip("0") else _UNBORN


def _line(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as f:
        return f.read().rstrip("\n")


def _write(path: str, text: str) -> None:
    """Replace a small file, unless it says so already."""
    data = os.fsencode(text)
    try:
        with open(path, "rb") as f:
            if f.read() == data:
                return
    except FileNotFoundError:
        pass
    tmp = f"{path}.{os.getpid()}"
    with open(tmp, "wb") as f:
        f.write(data)
    os.rename(tmp, path)
