"""The one door to jj: it is asked where it works, and never takes a snapshot for us."""

from __future__ import annotations

from gitcp.git import Git
from gitcp.process.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Change(TypedDict):
        """A change as jj shows it; parents and commit are oids, workspaces where it is `@`."""

        change: str
        commit: str
        parents: list[str]
        workspaces: str
        message: bytes


_QUIET = ("--ignore-working-copy", "--no-pager", "--color=never", "--quiet")
_FIELDS = (
    "change_id",
    "commit_id",
    'parents.map(|p| p.commit_id()).join(" ")',
    "working_copies",
    "description",
)
_TEMPLATE = ' ++ "\\0" ++ '.join(_FIELDS)


def ask(root: str, *args: str, ok: tuple[int, ...] = (0,)) -> tuple[int, bytes]:
    """Run jj in a workspace; (status, stdout); GitError, 127 when there is no jj."""
    env = {k: v for k, v in Git().env.items() if not k.startswith("GIT_")}
    return Running(("jj", "-R", root, *_QUIET, *args), env, False).finish(ok=ok)


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
    argv = ("op", "log", "--no-graph", "--limit=50", "-T", 'description.first_line() ++ "\\n"')
    return ask(root, *argv)[1].decode("utf-8", "replace").splitlines()


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
    status, out = ask(root, *argv, "-T", 'commit_id ++ "\\n"', ok=(0, 1))
    return out.decode().split() if status == 0 else []
