"""jj: a workspace whose files are not also a git worktree, seen through git; and its log.

Such a workspace gets a git directory of ours, `.jj/gitcp.git`: refs and objects are the store's
(`commondir`, as in a linked worktree), HEAD is `@-`.  All that reads a worktree through git works
there unchanged.
"""

from __future__ import annotations

import os
import time

from gitcp.errors import Error, GitError, NoJj
from gitcp.git import Git
from gitcp.process.files import read_file
from gitcp.process.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from gitcp.repo import Repo

    class Change(TypedDict):
        """A change as jj shows it; parents and commit are oids, workspaces where it is `@`."""

        change: str
        commit: str
        parents: list[str]
        workspaces: str
        message: bytes


# A name that no branch can have: HEAD before the first commit, when @- is jj's root.
_UNBORN = "ref: refs/heads/@gitcp-unborn\n"


def find_root(start: str, stop: str | None = None) -> str | None:
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


def choose_git(repo: Repo) -> Git:
    """git as a person runs it in the current directory; in a workspace that is no git worktree,
    git of its store."""
    return repo.git.copy_with(os.getcwd(), {}) if is_apart(repo) else Git()


def open_workspace(root: str, create: str | None = None) -> tuple[str, str, str]:
    """(git directory, common directory, name) of a workspace that is no git worktree; the name
    is '' for the default one.

    Its HEAD is brought to `@-`.  create: the directory below which it is made where there is
    none yet, '' for the workspace itself; None: Error where gitcp is not enabled.
    """
    own = os.path.join(root, ".jj", OWN)
    at = _ask_here(root, own)
    if not os.path.isfile(os.path.join(own, "commondir")):
        own = os.path.join(create or root, ".jj", OWN)
        _create_own(root, own, at, create is not None)
    _move_head(root, own, at)
    common = os.path.normpath(os.path.join(own, _read_line(own, "commondir")))
    return own, common, _read_line(own, "workspace")


def _move_head(root: str, own: str, at: Change) -> None:
    """Bring HEAD to `@-`; its reflog tells the commits made here, as jj does where git sees it."""
    before, now = _read_line(own, "HEAD") + "\n", _format_head(at)
    if before == now:
        return
    old = before.strip() if before != _UNBORN else "0" * len(at["commit"])
    logs = os.path.join(own, "logs")
    os.makedirs(logs, exist_ok=True)
    with open(os.path.join(logs, "HEAD"), "a", encoding="utf-8") as f:
        for oid in list_made_since(root, old):
            f.write(f"{old} {oid} jj <> {int(time.time())} +0000\texport from jj\n")
            old = oid
    _write_file(os.path.join(own, "HEAD"), now)


def _ask_here(root: str, own: str) -> Change:
    try:
        return read_here(root)
    except NoJj as e:
        if not os.path.isdir(own):
            raise Error(f"cannot ask jj about '{root}': {e}") from None
        raise NoJj(f"{e}: nothing is recorded in the workspace '{root}'") from None
    except GitError as e:
        raise Error(f"cannot ask jj about '{root}': {e}") from None


def _create_own(root: str, own: str, at: Change, create: bool) -> None:
    store = ask(root, "git", "root")[1].decode("utf-8", "surrogateescape").rstrip("\n")
    if not create and not os.path.isdir(os.path.join(store, "gitcp")):
        raise Error(f"gitcp is not enabled in the jj repository '{root}'")
    os.makedirs(own, 0o750, exist_ok=True)
    ignore = os.path.join(os.path.dirname(own), ".gitignore")
    if not os.path.exists(ignore):
        _write_file(ignore, "/*\n")  # as jj itself does where git shares the directory
    name = at["workspaces"].partition("@")[0]
    _write_file(os.path.join(own, "workspace"), "" if name in ("", "default") else f"jj-{name}")
    _write_file(os.path.join(own, "HEAD"), _format_head(at))
    _write_file(os.path.join(own, "jj"), find_program() + "\n")
    # Relative, as a move of the whole must not matter; last, for with it the directory is whole.
    _write_file(os.path.join(own, "commondir"), os.path.relpath(store, own) + "\n")


def _format_head(at: Change) -> str:
    """HEAD for a change: its first parent, unborn when that is jj's root commit."""
    base = (at["parents"] or [""])[0]
    return base + "\n" if base.strip("0") else _UNBORN


def _read_line(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as f:
        return f.read().rstrip("\n")


def _read_small_file(path: str) -> bytes | None:
    """What a small file of ours holds; None where there is none that can be read."""
    try:
        return read_file(path)
    except Error:
        return None


def _write_file(path: str, text: str | bytes) -> None:
    """Replace a small file, unless it says so already."""
    data = os.fsencode(text)
    if _read_small_file(path) == data:
        return
    tmp = f"{path}.{os.getpid()}"
    with open(tmp, "wb") as f:
        f.write(data)
    os.rename(tmp, path)


OWN = "gitcp.git"  # gitcp's git directory in .jj
_KEPT = "jj-at"  # an operation's id, NUL, what jj said of `@` then
# Where package managers put it: an agent's client may start its hooks without them on PATH.
_PLACES = (
    "~/.cargo/bin",
    "~/.local/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "~/.nix-profile/bin",
)
_QUIET = ("--ignore-working-copy", "--no-pager", "--color=never", "--quiet")
_FIELDS = (
    "change_id",
    "commit_id",
    'parents.map(|p| p.commit_id()).join(" ")',
    "working_copies",
    "description",
)
_TEMPLATE = ' ++ "\\0" ++ '.join(_FIELDS)


_MADE_OF = 'commit.commit_id() ++ " " ++ predecessors.map(|p| p.commit_id()).join(" ")'
_ONE_BY_ONE = ("commit.commit_id()", "commit_id")  # as of 0.30, and before


def find_program(recorded: str = "") -> str:
    """The path of jj: on PATH, as recorded, or where package managers put it; else raise NoJj."""
    folders = [*os.get_exec_path(), os.path.dirname(recorded), *map(os.path.expanduser, _PLACES)]
    for path in (os.path.join(folder, "jj") for folder in folders if folder):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise NoJj("jj is not on PATH")


def ask(root: str, *args: str, ok: tuple[int, ...] = (0,)) -> tuple[int, bytes]:
    """Run jj in a workspace; (status, stdout); GitError where it fails, NoJj without one."""
    env = {k: v for k, v in Git().env.items() if not k.startswith("GIT_")}
    jj = find_program(read_recorded_program(root))
    return Running((jj, "-R", root, *_QUIET, *args), env, False).finish(ok=ok)


def read_recorded_program(root: str) -> str:
    """The path of jj when gitcp was enabled in a workspace, '' where none is written."""
    try:
        with open(os.path.join(root, ".jj", OWN, "jj"), errors="surrogateescape") as f:
            return f.read().rstrip("\n")
    except OSError:
        return ""


def read_here(root: str) -> Change:
    """The change at `@` as of jj's last snapshot; jj is asked once for each of its operations.
    NoJj where there is none to ask at the next one."""
    find_program(read_recorded_program(root))
    at = _find_operation(root)
    if at and (answer := _read_kept(root, at)):
        return _parse_change(answer)
    answer = ask(root, "log", "--no-graph", "-r", "@", "-T", _TEMPLATE)[1]
    if at and at == _find_operation(root):
        _keep_answer(root, at + b"\0" + answer)
    return _parse_change(answer)


def _find_operation(root: str) -> bytes:
    """The id of jj's last operation; none where there are several, or jj keeps it elsewhere."""
    repo = os.path.join(root, ".jj", "repo")
    try:
        if os.path.isfile(repo):  # another workspace has it
            repo = os.path.join(root, ".jj", _read_line(os.path.dirname(repo), "repo"))
        heads = os.listdir(os.path.join(repo, "op_heads", "heads"))
    except OSError:
        return b""
    return os.fsencode(heads[0]) if len(heads) == 1 else b""


def _find_folder(root: str) -> str:
    """The directory of ours for what jj said in a workspace; it is there where we are enabled."""
    own = os.path.join(root, ".jj", OWN)
    return own if os.path.isdir(own) else os.path.join(root, ".git", "gitcp")


def _read_kept(root: str, operation: bytes) -> bytes:
    """What jj answered at this operation; nothing where that is not kept."""
    content = _read_small_file(os.path.join(_find_folder(root), _KEPT)) or b""
    at, _, answer = content.partition(b"\0")
    return answer if at == operation and answer.count(b"\0") >= len(_FIELDS) - 1 else b""


def _keep_answer(root: str, answer: bytes) -> None:
    try:
        _write_file(os.path.join(_find_folder(root), _KEPT), answer)
    except OSError:
        pass  # gitcp is not enabled here, or the disk is full: jj is asked again


def find_change(root: str, name: str) -> Change | None:
    """The change that has an id now; None when it is gone or more than one has it."""
    if not name.isalpha():
        return None  # jj's ids are letters: anything else is not one, and no revset either
    argv = ("log", "--no-graph", "-r", f"change_id({name})", "-T", _TEMPLATE)
    status, out = ask(root, *argv, ok=(0, 1))
    return _parse_change(out) if status == 0 and out.count(b"\0") == len(_FIELDS) - 1 else None


def list_operations(root: str) -> list[str]:
    """What jj says of its last operations, the newest first."""
    argv = ("op", "log", "--no-graph", "--limit=50", "-T", 'description.first_line() ++ "\n"')
    return ask(root, *argv)[1].decode("utf-8", "replace").splitlines()


def list_predecessors(root: str, commits: Iterable[str]) -> dict[str, list[str]]:
    """commit -> those that it was made of, for commits and all that is behind them.

    An older jj tells them of one commit at a time, and does not say which is made of which.
    """
    argv, names = ("evolog", "--no-graph", "-r"), list(commits)

    def ask_evolution(revset: str, template: str) -> list[list[str]] | None:
        """The words of each line; None where this jj does not know the template."""
        status, out = ask(root, *argv, revset, "-T", f'{template} ++ "\\n"', ok=(0, 1, 2))
        return [line.split() for line in out.decode().splitlines()] if status == 0 else None

    if (rows := ask_evolution(" | ".join(names), _MADE_OF)) is not None:
        return {row[0]: row[1:] for row in rows}
    sources = {}
    for commit in names:
        for template in _ONE_BY_ONE:
            if rows := ask_evolution(commit, template):
                sources[rows[0][0]] = [row[0] for row in rows[1:]]
                break
    return sources


def read_user_mail(root: str) -> str:
    """The address that jj gives to commits made now, '' where none is configured."""
    status, out = ask(root, "config", "get", "user.email", ok=(0, 1))
    return out.decode("utf-8", "surrogateescape").strip() if status == 0 else ""


def _parse_change(out: bytes) -> Change:
    change_id, commit, parents, workspaces, message = out.split(b"\0", 4)
    return {
        "change": change_id.decode(),
        "commit": commit.decode(),
        "parents": parents.decode().split(),
        "workspaces": workspaces.decode("utf-8", "surrogateescape"),
        "message": message,
    }


def list_made_since(root: str, old: str) -> list[str]:
    """The person's own commits from old to `@-`, oldest first; none when old is no longer known.

    What came from elsewhere, by a fetch, has another author.
    """
    revset = f"({old}..@-) & mine()" if old.strip("0") else "(::@-) & mine()"
    argv = ("log", "--no-graph", "--reversed", "--limit=100", "-r", revset)
    status, out = ask(root, *argv, "-T", 'commit_id ++ "\n"', ok=(0, 1))
    return out.decode().split() if status == 0 else []
