"""Git LFS beside gitcp's hooks, which run it (gitcp/hooks.sh): whether it is at work, and its own
hooks at the end of gitcp's."""

from __future__ import annotations

import os
import shutil

from gitcp.errors import Error
from gitcp.git import files
from gitcp.setup import git_hooks, hook_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.repo import Repo
    from gitcp.setup.hook_texts import Write


def is_at_work(repo: Repo) -> bool:
    """Whether Git LFS has stored objects for this repository: any run of it makes the directory."""
    return os.path.isdir(os.path.join(repo.common, "lfs")) or bool(repo.config.get("lfs.storage"))


def is_set_up(repo: Repo) -> bool:
    """Whether `git lfs install` has configured its filters; `git lfs uninstall` removes them."""
    return any(repo.config.get(f"filter.lfs.{name}") for name in ("clean", "process"))


def is_named(repo: Repo) -> bool:
    """Whether the attributes at the top of the worktree name the filter."""
    attributes = files.peek(os.path.join(repo.worktree, ".gitattributes")) or b""
    return b"filter=lfs" in attributes


def find_program() -> str | None:
    """The path of git-lfs, None if it is not on PATH."""
    return shutil.which("git-lfs")


def plan_leftovers(repo: Repo, folders: Iterable[str]) -> list[Write]:
    """Plan the removal of hooks of Git LFS that enable moved aside, where `git lfs uninstall` has
    run since, which does not find them there."""
    if is_set_up(repo):
        return []
    writes: list[Write] = []
    for folder in folders:
        for hook in hook_texts.LFS_HOOKS:
            writes += git_hooks.read_hook(folder, hook).plan_aside_of(hook_texts.LFS)
    return writes


def write_hooks(repo: Repo) -> str:
    """Let Git LFS write its own hooks, where gitcp's ran it until now; what was done, '' for
    nothing.  It leaves the hooks of others as they are."""
    if not (is_at_work(repo) and is_set_up(repo) and find_program()):
        return ""
    where = git_hooks.find_folder(repo)
    if os.path.lexists(os.path.join(where, "pre-push")):
        return ""
    try:
        repo.git.run("lfs", "update")
    except Error:
        pass  # it stops at the first hook of others; the one that sends is its first
    return f"Git LFS has its own hooks in '{where}' now"


def find_missing(repo: Repo) -> tuple[str, str]:
    """(what keeps `git push` from sending objects of Git LFS, what to do); two empty texts for
    nothing."""
    if not is_at_work(repo):
        return "", ""
    if not is_set_up(repo):
        if not is_named(repo):
            return "", ""  # it was taken out
        return "Git LFS is at work here, and it is not set up for you", "git lfs install"
    if not find_program():
        return "Git LFS is at work here, and 'git-lfs' is not found", "install it"
    where = git_hooks.find_folder(repo)
    texts = git_hooks.read_texts(repo, where, "pre-push")
    if not texts[""] or hook_texts.is_ours_called("pre-push", texts[""], texts):
        return "", ""  # without a hook it writes its own
    if any("git lfs" in text or "git-lfs" in text for text in texts.values()):
        return "", ""
    if hook_texts.find_tool(texts[""]) == "lefthook":
        return "", ""
    path = os.path.join(where, "pre-push")
    reason = f"'{path}' does not run 'git lfs pre-push', so that a push sends no object of Git LFS"
    return reason, "git lfs update --manual"
