"""Signed commits of the permanent store; git runs the program that signs."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.upkeep import shapes
from gitcp.errors import Error, GitError, Late
from gitcp.record import encode_name
from gitcp.store.git import private
from gitcp.store.git.commit import read_ident, write_commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SECONDS = 2.0
# The ways by which a signing program could ask a person.
_SILENT = ("GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS")
_MOST = 200  # sessions that are remembered


def is_wanted(repo: Repo) -> bool:
    """Whether commits of the store are to be signed: gitcp.sign, else commit.gpgSign."""
    try:
        own = repo.config.get_option("gitcp.sign")
        return repo.config.get_flag("commit.gpgsign") if own is None else bool(own)
    except Error:
        return False  # git itself refuses to commit with such a value


def write_signed(
    objects: Objects, repo: Repo, tree: str, parents: Sequence[str], message: str, about: str = ""
) -> str:
    """Write a commit by the person; return its oid.  It is signed if that takes no question and at
    most 2 seconds.  about: its session.  After a failure, which is a warning, the session's commits
    are not signed."""
    path, session_id = repo.join_shared("unsigned"), about or "-"
    failed = private.read_words(path, shapes.is_printable) if is_wanted(repo) else [session_id]
    if session_id not in failed:
        try:
            return _write_signed(repo, tree, parents, message)
        except (Late, GitError) as e:
            private.write_words(repo, path, [*failed[-_MOST:], session_id])
            why = "it takes too long" if isinstance(e, Late) else " ".join(e.complaint.split())
            notice.warn(f"checkpoints are not signed, and wait no more: {why}")
    return write_commit(objects, repo, tree, parents, message)


def _write_signed(repo: Repo, tree: str, parents: Sequence[str], message: str) -> str:
    env = {name: "" for name in _SILENT if name in repo.git.env}
    for role in ("AUTHOR", "COMMITTER"):
        name, _, address = read_ident(repo, role).rpartition(" <")
        mail, _, date = address.partition("> ")
        env |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": date}
    parent_args = [arg for parent in parents for arg in ("-p", parent)]
    running = repo.git.start(
        *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", *parent_args, "-F", "-", tree),
        env={**env, "SSH_ASKPASS_REQUIRE": "never"},
        feed=True,
        apart=True,  # no terminal to ask at, and all of it ends together
    )
    _, out = running.finish(encode_name(message.rstrip("\n") + "\n"), limit=_SECONDS)
    return out.decode().strip()
