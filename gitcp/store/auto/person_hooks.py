"""The person's hooks around a commit of ours, with the person's own environment and git.

What we set to keep our own git quiet is not theirs: hooks and signers see what the agent's
client was started with, and of ours only GIT_INDEX_FILE and the sign that it is us.
"""

from __future__ import annotations

import os

from gitcp.errors import Late
from gitcp.process import deadline
from gitcp.process.running import Running
from gitcp.store.auto import refusal
from gitcp.store.auto.refusal import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

# What ties git to a repository or an index: each of ours is found from the top of the worktree.
_TIES = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
# Our own hooks rest; what the person configured as their pipelines does not.
CONFIGURED = "configured"


def make_environment(repo: Repo, index: str | None = None) -> dict[str, str]:
    """The person's, as for a `git commit -m` here."""
    env = {k: v for k, v in os.environ.items() if k not in _TIES}
    env |= {"GITCP_ACTIVE": CONFIGURED, "GIT_EDITOR": ":"}
    if repo.git_dir != os.path.join(repo.worktree, ".git"):
        env |= {"GIT_DIR": repo.git_dir, "GIT_WORK_TREE": repo.worktree}
    return {**env, "GIT_INDEX_FILE": index} if index else env


def run(repo: Repo, name: str, *args: str, index: str | None = None) -> None:
    """Run a hook as `git commit` does, if there is one; raise Refused when it says no."""
    words = ("git", "-C", repo.worktree, "hook", "run", "--ignore-missing", name, "--", *args)
    hook = Running(words, make_environment(repo, index), False, apart=True)
    try:
        status, _ = hook.finish(ok=range(256))
    except Late:
        deadline.extend(10)  # to put in order what it left
        raise Refused(f"the {name} hook takes too long") from None
    if status:
        why = refusal.shorten_lines(hook.errors.decode(errors="replace").splitlines())
        raise Refused(f"the {name} hook says no{f': {why}' if why else ''}")


def has_hook(repo: Repo, *hooks: str) -> bool:
    """Whether one of these hooks is there and can be run."""
    folder = repo.git.read_line("rev-parse", "--git-path", "hooks")
    at = os.path.join(os.fsencode(repo.worktree), folder)
    return any(os.access(os.path.join(at, os.fsencode(name)), os.X_OK) for name in hooks)
