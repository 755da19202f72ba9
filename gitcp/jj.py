"""Ask jj about a workspace, and give git a view of one that is no git worktree.

The view is the git directory `.jj/gitcp.git`: its refs and objects are those of jj's store
(`commondir`, as in a linked worktree), its HEAD is `@-`.  What reads a worktree through git works
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
        """A change as jj shows it.  commit, parents: oids; workspaces: those in which it is `@`."""

        change: str
        commit: str
        parents: list[str]
        workspaces: str
        message: bytes


OWN = "gitcp.git"  # the view's name in .jj
_ANSWER = "jj-at"  # the file with an operation's id, NUL, and what jj said of `@` at it
# HEAD while `@-` is jj's root commit: a name that no branch can have.
_UNBORN = "ref: refs/heads/@gitcp-unborn\n"
# Where package managers put jj: an agent's client may start its hooks without them on PATH.
_FOLDERS = "~/.cargo/bin ~/.local/bin /opt/homebrew/bin /usr/local/bin ~/.nix-profile/bin".split()
_QUIET = ("--ignore-working-copy", "--no-pager", "--color=never", "--quiet")
_FIELDS = (
    *("change_id", "commit_id", 'parents.map(|p| p.commit_id()).join(" ")'),
    *("working_copies", "description"),
)
_CHANGE = ' ++ "\\0" ++ '.join(_FIELDS)
_MADE_OF = 'commit.commit_id() ++ " " ++ predecessors.map(|p| p.commit_id()).join(" ")'
_COMMIT_IDS = ("commit.commit_id()", "commit_id")  # since 0.30, and before


def find_root(start: str, stop: str | None = None) -> str | None:
    """The nearest directory with a `.jj`, from start upwards and below stop; None for none."""
    folder, end = os.path.realpath(start), stop and os.path.realpath(stop)
    while folder != end:
        if os.path.isdir(os.path.join(folder, ".jj")):
            return folder
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            break
    return None


def choose_git(repo: Repo) -> Git:
    """The person's git in the current directory; where git sees no worktree, git of the view."""
    return Git() if repo.has_git else repo.git.copy_with(os.getcwd(), {})


def find_program(recorded: str = "") -> str:
    """The path of jj: on PATH, beside the recorded one, or in _FOLDERS; raise NoJj for none."""
    folders = [*os.get_exec_path(), os.path.dirname(recorded), *map(os.path.expanduser, _FOLDERS)]
    for path in (os.path.join(folder, "jj") for folder in folders if folder):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise NoJj("jj is not on PATH")


def read_recorded_program(root: str) -> str:
    """The path that jj had when gitcp was enabled in a workspace; '' if none is recorded."""
    try:
        return _read_line(os.path.join(root, ".jj", OWN), "jj")
    except OSError:
        return ""


def _ask(root: str, *args: str, may_fail: bool = False) -> bytes:
    """What jj prints in a workspace; b"" if it fails and may.  Raise GitError, and NoJj."""
    env = {k: v for k, v in Git().env.items() if not k.startswith("GIT_")}
    jj = find_program(read_recorded_program(root))
    running = Running((jj, "-R", root, *_QUIET, *args), env, False)
    status, out = running.finish(ok=(0, 1, 2) if may_fail else (0,))
    return b"" if status else out


def read_here(root: str) -> Change:
    """The change at `@` as of jj's last snapshot; jj is asked once for each of its operations.
    Raise NoJj even where the answer is stored: the next operation needs jj."""
    find_program(read_recorded_program(root))
    operation = _find_operation(root)
    answer = _recall_answer(root, operation) if operation else b""
    if not answer:
        answer = _ask(root, "log", "--no-graph", "-r", "@", "-T", _CHANGE)
        if operation and operation == _find_operation(root):
            _store_answer(root, operation, answer)
    return _parse_change(answer)


def _find_operation(root: str) -> bytes:
    """The id of jj's last operation; b"" if there are several, or jj stores it elsewhere."""
    folder = os.path.join(root, ".jj")
    try:
        # In a further workspace `repo` is a file that names the first one's.
        is_file = os.path.isfile(os.path.join(folder, "repo"))
        repo = os.path.join(folder, _read_line(folder, "repo") if is_file else "repo")
        heads = os.listdir(os.path.join(repo, "op_heads", "heads"))
    except OSError:
        return b""
    return os.fsencode(heads[0]) if len(heads) == 1 else b""


def _locate_answer(root: str) -> str:
    """The path of the stored answer; its directory exists if gitcp is enabled."""
    own = os.path.join(root, ".jj", OWN)
    return os.path.join(own if os.path.isdir(own) else os.path.join(root, ".git", "gitcp"), _ANSWER)


def _recall_answer(root: str, operation: bytes) -> bytes:
    """What jj answered at this operation; b"" if that is not stored."""
    try:
        content = read_file(_locate_answer(root)) or b""
    except Error:
        return b""
    stored, _, answer = content.partition(b"\0")
    return answer if stored == operation and answer.count(b"\0") >= len(_FIELDS) - 1 else b""


def _store_answer(root: str, operation: bytes, answer: bytes) -> None:
    try:
        _write_file(_locate_answer(root), operation + b"\0" + answer)
    except OSError:
        pass  # gitcp is not enabled here, or the disk is full: jj is asked again


def _parse_change(out: bytes) -> Change:
    change_id, commit, parents, workspaces, message = out.split(b"\0", 4)
    return {
        "change": change_id.decode(),
        "commit": commit.decode(),
        "parents": parents.decode().split(),
        "workspaces": workspaces.decode("utf-8", "surrogateescape"),
        "message": message,
    }


def find_change(root: str, name: str) -> Change | None:
    """The change that has an id now; None if it is gone, or more than one has it."""
    if not name.isalpha():
        return None  # no id of jj's, and no safe part of a revset
    argv = ("log", "--no-graph", "-r", f"change_id({name})", "-T", _CHANGE)
    out = _ask(root, *argv, may_fail=True)
    return _parse_change(out) if out.count(b"\0") == len(_FIELDS) - 1 else None


def list_operations(root: str) -> list[str]:
    """The descriptions of jj's last operations, newest first."""
    argv = ("op", "log", "--no-graph", "--limit=50", "-T", 'description.first_line() ++ "\n"')
    return _ask(root, *argv).decode("utf-8", "replace").splitlines()


def list_predecessors(root: str, commits: Iterable[str]) -> dict[str, list[str]]:
    """commit -> the commits that it was made of, for commits and all of their predecessors.

    An older jj is asked about each commit, and does not say which predecessor is made of which.
    """

    def ask_evolution(revset: str, template: str) -> list[list[str]]:
        """The words of each line; [] if this jj does not know the template."""
        argv = ("evolog", "--no-graph", "-r", revset, "-T", f'{template} ++ "\\n"')
        return [line.split() for line in _ask(root, *argv, may_fail=True).decode().splitlines()]

    names = list(commits)
    if rows := ask_evolution(" | ".join(names), _MADE_OF):
        return {commit: sources for commit, *sources in rows}
    evolutions = [
        next(filter(None, (ask_evolution(name, form) for form in _COMMIT_IDS)), [])
        for name in names
    ]
    return {rows[0][0]: [row[0] for row in rows[1:]] for rows in evolutions if rows}


def list_made_since(root: str, old: str) -> list[str]:
    """The person's own commits from old to `@-`, oldest first; [] if old is unknown now.

    Commits that a fetch brought have another author.
    """
    revset = f"({old}..@-) & mine()" if old.strip("0") else "(::@-) & mine()"
    argv = ("log", "--no-graph", "--reversed", "--limit=100", "-r", revset)
    return _ask(root, *argv, "-T", 'commit_id ++ "\n"', may_fail=True).decode().split()


def read_user_mail(root: str) -> str:
    """The address that jj gives to new commits, '' if none is configured."""
    out = _ask(root, "config", "get", "user.email", may_fail=True)
    return out.decode("utf-8", "surrogateescape").strip()


def open_workspace(root: str, create: str | None = None) -> tuple[str, str, str]:
    """(git directory, common directory, name) of a workspace that is no git worktree; the name
    is '' for the default one.

    Its HEAD is moved to `@-`.  create: the directory below which the git directory is made if
    there is none, '' for the workspace itself; with None raise Error if gitcp is not enabled.
    """
    own = os.path.join(root, ".jj", OWN)
    try:
        change = read_here(root)
    except (GitError, NoJj) as e:
        if isinstance(e, NoJj) and os.path.isdir(own):
            raise NoJj(f"{e}: nothing is recorded in the workspace '{root}'") from None
        raise Error(f"cannot ask jj about '{root}': {e}") from None
    if not os.path.isfile(os.path.join(own, "commondir")):
        own = os.path.join(create or root, ".jj", OWN)
        _create_view(root, own, change, create is not None)
    _move_head(root, own, change)
    common = os.path.normpath(os.path.join(own, _read_line(own, "commondir")))
    return own, common, _read_line(own, "workspace")


def _create_view(root: str, own: str, change: Change, create: bool) -> None:
    store = _ask(root, "git", "root").decode("utf-8", "surrogateescape").rstrip("\n")
    if not create and not os.path.isdir(os.path.join(store, "gitcp")):
        raise Error(f"gitcp is not enabled in the jj repository '{root}'")
    os.makedirs(own, 0o750, exist_ok=True)
    ignore = os.path.join(os.path.dirname(own), ".gitignore")
    if not os.path.exists(ignore):
        _write_file(ignore, b"/*\n")  # as jj itself does where git shares the directory
    name = change["workspaces"].partition("@")[0]
    contents = {
        "workspace": "" if name in ("", "default") else f"jj-{name}",
        "HEAD": _format_head(change),
        "jj": find_program() + "\n",
        # Relative, so that the repository can be moved; last, since with it the view is complete.
        "commondir": os.path.relpath(store, own) + "\n",
    }
    for file, text in contents.items():
        _write_file(os.path.join(own, file), os.fsencode(text))


def _move_head(root: str, own: str, change: Change) -> None:
    """Move HEAD to `@-`; its reflog names the commits made here, as jj does where git sees it."""
    before, head = _read_line(own, "HEAD") + "\n", _format_head(change)
    if before == head:
        return
    old = before.strip() if before != _UNBORN else "0" * len(change["commit"])
    logs = os.path.join(own, "logs")
    os.makedirs(logs, exist_ok=True)
    with open(os.path.join(logs, "HEAD"), "a", encoding="utf-8") as f:
        for oid in list_made_since(root, old):
            f.write(f"{old} {oid} jj <> {int(time.time())} +0000\texport from jj\n")
            old = oid
    _write_file(os.path.join(own, "HEAD"), head.encode())


def _format_head(change: Change) -> str:
    """HEAD for a change: its first parent, unborn if that is jj's root commit."""
    base = (change["parents"] or [""])[0]
    return base + "\n" if base.strip("0") else _UNBORN


def _read_line(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as f:
        return f.read().rstrip("\n")


def _write_file(path: str, data: bytes) -> None:
    tmp = f"{path}.{os.getpid()}"
    with open(tmp, "wb") as f:
        f.write(data)
    os.rename(tmp, path)
