"""The worktrees of a repository, as git lists them."""

from __future__ import annotations

import os

from gitcp.git import decode_name, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

_LINK = "/.git"


def list_roots(repo: Repo) -> list[str]:
    """The directory of each worktree, the main one first, there or not; that of a bare repository
    is the repository's own.  git is asked only with GITCP_PLAIN."""
    if repo.uses_git_alone:
        facts = map(decode_name, repo.git.read_records("worktree", "list", "--porcelain", "-z"))
        return [fact.removeprefix("worktree ") for fact in facts if fact.startswith("worktree ")]
    roots = [repo.common.removesuffix(_LINK)]
    folder = os.path.join(repo.common, "worktrees")
    for name in files.list_names(folder):
        git_dir = os.path.join(folder, name)
        link = os.fsdecode(files.peek(os.path.join(git_dir, "gitdir"))).rstrip("\n")
        if link:
            # With worktree.useRelativePaths it is relative.
            roots.append(os.path.normpath(os.path.join(git_dir, link)).removesuffix(_LINK))
    return roots
