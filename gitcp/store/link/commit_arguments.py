"""The arguments of the `git commit` that runs a hook, which git does not pass to it."""

from __future__ import annotations

from gitcp.store.session import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo

_VALUED = "mFcCtSu"  # one-letter options that take the rest of their word, or the next one


def is_amend(repo: Repo, args: Sequence[str]) -> bool:
    """Whether this commit replaces HEAD, given the arguments of prepare-commit-msg.

    git passes the hook the same for `--amend -m` as for `-m`.  If git's own arguments cannot be
    read, post-commit notices the amend.
    """
    words = process.read_git_arguments(repo, "commit")
    if words is not None:
        return any(len(word) > 3 and "--amend".startswith(word) for word in words)
    return list(args[1:]) == ["commit", "HEAD"]


def will_check_message(repo: Repo) -> bool:
    """Whether git will run commit-msg: not with -n.  True if its arguments cannot be read."""
    for word in process.read_git_arguments(repo, "commit") or ():
        if len(word) > 6 and "--no-verify".startswith(word):
            return False
        if word[:1] == "-" and word[1:2] not in ("", "-"):
            letters = word[1:]
            ends = [i for i, letter in enumerate(letters) if letter in _VALUED]
            if "n" in letters[: min(ends, default=len(letters))]:
                return False
    return True


def find_cleanup_mode(repo: Repo) -> str:
    """git's cleanup mode for the message, by an argument of this commit, else the configuration."""
    words = process.read_git_arguments(repo, "commit") or []
    for i, word in enumerate(words):
        if word == "--cleanup":
            return "".join(words[i + 1 : i + 2])
        if word.startswith("--cleanup="):
            return word.partition("=")[2]
    return repo.config.get("commit.cleanup", "default")
