"""The one door to jj: it is asked where it works, and never takes a snapshot for us."""

from __future__ import annotations

import os

from gitcp.errors import NoJj
from gitcp.git import Git
from gitcp.process.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    class Change(TypedDict):
        """A change as jj shows it; parents and commit are oids, workspaces where it is `@`."""

        change: str
        commit: str
        parents: list[str]
        workspaces: str
        message: bytes


OWN = "gitcp.git"  # gitcp's git directory in .jj
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


def program(recorded: str = "") -> str:
    """The path of jj: on PATH, as recorded, or where package managers put it; else raise NoJj."""
    folders = [*os.get_exec_path(), os.path.dirname(recorded), *map(os.path.expanduser, _PLACES)]
    for path in (os.path.join(folder, "jj") for folder in folders if folder):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise NoJj("jj is not on PATH")


def ask(root: str, *args: str, ok: tuple[int, ...] = (0,)) -> tuple[int, bytes]:
    """Run jj in a workspace; (status, stdout); GitError where it fails, NoJj without one."""
    env = {k: v for k, v in Git().env.items() if not k.startswith("GIT_")}
    jj = program(recorded(root))
    return Running((jj, "-R", root, *_QUIET, *args), env, False).finish(ok=ok)


def recorded(root: str) -> str:
    """The path of jj when gitcp was enabled in a workspace, '' where none is written."""
    try:
        with open(os.path.join(root, ".jj", OWN, "jj"), errors="surrogateescape") as f:
            return f.read().rstrip("\n")
    except OSError:
        return ""


def here(root: str) -> Change:
    """The change at `@` as of jj's last snapshot."""
    return _change(ask(root, "log", "--no-graph", "-r", "@", "-T", _TEMPLATE)[1])


def change(root: str, name: str) -> Change | None:
    """The change that has an id now; None when it is gone or more than one has it."""
    if not name.isalpha():
        return None  # jj's ids are letters: anything else is not one, and no revset either
    argv = ("log", "--no-graph", "-r", f"change_id({name})", "-T", _TEMPLATE)
    status, out = ask(root, *argv, ok=(0, 1))
    return _change(out) if status == 0 and out.count(b"\0") == len(_FIELDS) - 1 else None


def operations(root: str) -> list[str]:
    """What jj says of its last operations, the newest first."""
    argv = ("op", "log", "--no-graph", "--limit=50", "-T", 'description.first_line() ++ "\n"')
    return ask(root, *argv)[1].decode("utf-8", "replace").splitlines()


def predecessors(root: str, commits: Iterable[str]) -> dict[str, list[str]]:
    """commit -> those that it was made of, for commits and all that is behind them.

    Before 0.30 jj tells them of one commit at a time, and does not say which is made of which.
    """
    revset = " | ".join(commits)
    each = 'commit.commit_id() ++ " " ++ predecessors.map(|p| p.commit_id()).join(" ") ++ "\\n"'
    argv = ("evolog", "--no-graph", "-r")
    status, out = ask(root, *argv, revset, "-T", each, ok=(0, 1, 2))
    if status == 0:
        rows = [line.split(" ") for line in out.decode().splitlines()]
        return {row[0]: [oid for oid in row[1:] if oid] for row in rows}
    sources = {}
    for commit in revset.split(" | "):
        new, *olds = ask(root, *argv, commit, "-T", 'commit_id ++ "\\n"')[1].decode().split()
        sources[new] = olds
    return sources


def mail(root: str) -> str:
    """The address that jj gives to commits made now, '' where none is configured."""
    status, out = ask(root, "config", "get", "user.email", ok=(0, 1))
    return out.decode("utf-8", "surrogateescape").strip() if status == 0 else ""


def _change(out: bytes) -> Change:
    change_id, commit, parents, workspaces, message = out.split(b"\0", 4)
    return {
        "change": change_id.decode(),
        "commit": commit.decode(),
        "parents": parents.decode().split(),
        "workspaces": workspaces.decode("utf-8", "surrogateescape"),
        "message": message,
    }


def made_since(root: str, old: str) -> list[str]:
    """The person's own commits from old to `@-`, oldest first; none when old is no longer known.

    What came from elsewhere, by a fetch, has another author.
    """
    revset = f"({old}..@-) & mine()" if old.strip("0") else "(::@-) & mine()"
    argv = ("log", "--no-graph", "--reversed", "--limit=100", "-r", revset)
    status, out = ask(root, *argv, "-T", 'commit_id ++ "\n"', ok=(0, 1))
    return out.decode().split() if status == 0 else []
