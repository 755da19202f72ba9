"""The person's hooks around a commit that gitcp makes, with the person's own environment and git.

Hooks and signers get the environment of the agent's client, and of gitcp's variables only
GIT_INDEX_FILE and GITCP_ACTIVE.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.errors import Error, GitError, Late
from gitcp.git import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.git.repo import Repo

_NOISE = ("[GNUPG:]", "hint:", "warning:", "fatal: failed to write commit object")
# Lines about their progress that pre-commit and lint-staged print before the reason.
_PROGRESS = tuple(f"[{word}]" for word in "INFO WARNING STARTED COMPLETED SKIPPED".split())
_LONG = 300  # characters of a reason that a person reads


class Refused(Error):
    """No commit is made; the message continues 'not committed: '."""


def list_paths(paths: Collection[str], what: str) -> str:
    """`'<path>' and 2 more <what>`."""
    first, *further = sorted(paths)
    if further:
        return f"'{first}' and {len(further)} more {what}"
    return f"'{first}' {what}"


def format_reason(e: GitError) -> str:
    """The message of git, or of a program that it called, on one line."""
    return shorten_lines(e.complaint.splitlines()) or "git says nothing about it"


def shorten_lines(lines: Iterable[str]) -> str:
    """The useful lines, joined by '; ' and cut to _LONG characters."""
    useful: dict[str, None] = {}
    for line in lines:
        words = line.strip()
        if words and not words.startswith((*_NOISE, *_PROGRESS)):
            useful[words.removeprefix("fatal: ").removeprefix("error: ")] = None
    text = "; ".join(useful)
    while "...." in text:  # leaders to a column
        text = text.replace("....", "...")
    if len(text) <= _LONG:
        return text
    return f"{text[:_LONG].rstrip()}…"


# The variables that tie git to a repository or an index.
TIES = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
# The value of GITCP_ACTIVE with which gitcp's own hooks run only pipelines that the person
# configured.
CONFIGURED = "configured"


def make_environment(repo: Repo, index: str | None = None) -> dict[str, str]:
    """The person's environment, as for a `git commit -m` here."""
    env = {k: v for k, v in os.environ.items() if k not in TIES}
    env |= {"GITCP_ACTIVE": CONFIGURED, "GIT_EDITOR": ":"}
    if repo.git_dir != os.path.join(repo.worktree, ".git"):
        env |= {"GIT_DIR": repo.git_dir, "GIT_WORK_TREE": repo.worktree}
    if index:
        return {**env, "GIT_INDEX_FILE": index}
    return env


def run_person_hook(repo: Repo, name: str, *args: str, index: str | None = None) -> None:
    """Run a hook as `git commit` does, if there is one; raises Refused if it fails."""
    command = ("git", "-C", repo.worktree, "hook", "run", "--ignore-missing", name, "--", *args)
    hook = Running(command, make_environment(repo, index), False, apart=True)
    try:
        status, _ = hook.finish(ok=range(256))
    except Late:
        git.extend_deadline(10)  # to clean up after it
        raise Refused(f"the {name} hook takes too long") from None
    if status:
        why = shorten_lines(hook.errors.decode(errors="replace").splitlines())
        message = f"the {name} hook says no"
        if why:
            message += f": {why}"
        raise Refused(message)


def has_hook(repo: Repo, *hooks: str) -> bool:
    """Whether one of these hooks of the person's is an executable file, or configured."""
    for key in repo.config.list_keys("hook.", ".event"):
        if key.startswith("hook.gitcp-"):
            continue
        events = repo.config.get_all(key)
        if not set(events).isdisjoint(hooks):
            return True
    folder = repo.git.read_line("rev-parse", "--git-path", "hooks")
    hooks_folder = os.path.join(os.fsencode(repo.worktree), folder)
    return any(os.access(os.path.join(hooks_folder, os.fsencode(name)), os.X_OK) for name in hooks)
