"""Signed commits of the permanent store; git runs the program that signs."""

from __future__ import annotations

from gitcp.errors import GitError, Late
from gitcp.git import encode_name, files
from gitcp.git.objects import read_ident, write_commit
from gitcp.text import console, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo

_SECONDS = 2.0
# The ways by which a signing program could ask a person.
_SILENT = ("GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS")
_MOST_SIGNED = 200  # sessions that are remembered


def write_signed(
    repo: Repo, tree: str, parents: Sequence[str], message: str, session_id: str = "-"
) -> str:
    """Write a commit by the person; return its oid.  It is signed if that takes no question and at
    most 2 seconds.  After a failure, which is a warning, the session's commits are not signed."""
    path = repo.join_shared_cache("unsigned")
    failed = files.read_words(path, shapes.is_printable)
    if session_id in failed:
        return write_commit(repo, tree, parents, message)
    try:
        return _write_signed(repo, tree, parents, message)
    except (Late, GitError) as e:
        files.write_words(repo, path, [*failed[-_MOST_SIGNED:], session_id])
        if isinstance(e, Late):
            why = "it takes too long"
        else:
            why = " ".join(e.complaint.split())
        console.warn(f"checkpoints of this session are not signed: {why}")
    return write_commit(repo, tree, parents, message)


def _write_signed(repo: Repo, tree: str, parents: Sequence[str], message: str) -> str:
    env = {name: "" for name in _SILENT if name in repo.git.env}
    for role in ("AUTHOR", "COMMITTER"):
        name, _, address = read_ident(repo, role).rpartition(" <")
        mail, _, date = address.partition("> ")
        env[f"GIT_{role}_NAME"] = name
        env[f"GIT_{role}_EMAIL"] = mail
        env[f"GIT_{role}_DATE"] = date
    parent_args: list[str] = []
    for parent in parents:
        parent_args += ("-p", parent)
    repo.objects.flush()
    running = repo.git.start(
        *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", *parent_args, "-F", "-", tree),
        env={**env, "SSH_ASKPASS_REQUIRE": "never"},
        feed=True,
        apart=True,  # no terminal to ask at, and all of it ends together
    )
    _, out = running.finish(encode_name(message.rstrip("\n") + "\n"), limit=_SECONDS)
    return out.decode().strip()
