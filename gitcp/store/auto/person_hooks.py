"""The person's hooks around an auto-commit, with the person's own environment and git.

Hooks and signers get the environment of the agent's client, and of gitcp's variables only
GIT_INDEX_FILE and GITCP_ACTIVE.
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

# The variables that tie git to a repository or an index.
_TIES = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
# gitcp's own hooks do nothing then, except the pipelines that the person configured.
CONFIGURED = "configured"


def make_environment(repo: Repo, index: str | None = None) -> dict[str, str]:
    """The person's environment, as for a `git commit -m` here."""
    env = {k: v for k, v in os.environ.items() if k not in _TIES}
    env |= {"GITCP_ACTIVE": CONFIGURED, "GIT_EDITOR": ":"}
    if repo.git_dir != os.path.join(repo.worktree, ".git"):
        env |= {"GIT_DIR": repo.git_dir, "GIT_WORK_TREE": repo.worktree}
    return {**env, "GIT_INDEX_FILE": index} if index else env


def run(repo: Repo, name: str, *args: str, index: str | None = None) -> None:
    """Run a hook as `git commit` does, if there is one; raises Refused if it fails."""
    command = ("git", "-C", repo.worktree, "hook", "run", "--ignore-missing", name, "--", *args)
    hook = Running(command, make_environment(repo, index), False, apart=True)
    try:
        status, _ = hook.finish(ok=range(256))
    except Late:
        deadline.extend(10)  # to clean up after it
        raise Refused(f"the {name} hook takes too long") from None
    if status:
        why = refusal.shorten_lines(hook.errors.decode(errors="replace").splitlines())
        raise Refused(f"the {name} hook says no{f': {why}' if why else ''}")


def has_hook(repo: Repo, *hooks: str) -> bool:
    """Whether one of these hooks exists and is executable."""
    folder = repo.git.read_line("rev-parse", "--git-path", "hooks")
    hooks_folder = os.path.join(os.fsencode(repo.worktree), folder)
    return any(os.access(os.path.join(hooks_folder, os.fsencode(name)), os.X_OK) for name in hooks)
