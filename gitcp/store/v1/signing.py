"""Signed commits of the permanent store: by git's own program, or not at all."""

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
# What a program that signs could ask a person through.
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
    """Store a commit by the person, now, signed where that can be done in 2 seconds without a
    question; return its oid.

    about: the session that it is of.  Once that failed its commits are unsigned, and it is said.
    """
    path = repo.join_shared("unsigned")
    failed = private.read_words(path, shapes.is_printable)
    if is_wanted(repo) and (about or "-") not in failed:
        try:
            return _write_signed(repo, tree, parents, message)
        except (Late, GitError) as e:
            private.write_words(repo, path, [*failed[-_MOST:], about or "-"])
            why = "it takes too long" if isinstance(e, Late) else e.complaint.strip()
            words = f"checkpoints are not signed, and wait no more: {' '.join(why.split())}"
            notice.warn(words)
    return write_commit(objects, repo, tree, parents, message)


def _write_signed(repo: Repo, tree: str, parents: Sequence[str], message: str) -> str:
    env = {name: "" for name in _SILENT if name in repo.git.env}
    for role in ("AUTHOR", "COMMITTER"):
        name, _, rest = read_ident(repo, role).rpartition(" <")
        mail, _, date = rest.partition("> ")
        env |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": date}
    above = [word for parent in parents for word in ("-p", parent)]
    running = repo.git.start(
        *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", *above, "-F", "-", tree),
        env={**env, "SSH_ASKPASS_REQUIRE": "never"},
        feed=True,
        apart=True,  # no terminal to ask at, and all of it ends together
    )
    return (
        running.finish(encode_name(message.rstrip("\n") + "\n"), limit=_SECONDS)[1].decode().strip()
    )
