"""The reasons why no commit can be made, as a person reads them."""

from __future__ import annotations

import os

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.errors import GitError
    from gitcp.repo import Repo

_UNDER_WAY = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_NOISE = ("[GNUPG:]", "hint:", "warning:", "fatal: failed to write commit object")
# Lines about their progress that pre-commit and lint-staged print before the reason.
_PROGRESS = tuple(f"[{word}]" for word in "INFO WARNING STARTED COMPLETED SKIPPED".split())
_LONG = 300  # characters of a reason that a person reads


class Refused(Error):
    """No commit is made; the message continues 'not committed: '."""


def list_under_way(repo: Repo) -> list[str]:
    """The operations of git that are in progress, as 'a rebase'."""
    names = (name for name in _UNDER_WAY if os.path.lexists(os.path.join(repo.git_dir, name)))
    return list(dict.fromkeys(_UNDER_WAY[name] for name in names))


def list_paths(paths: Collection[str], what: str) -> str:
    """`'<path>' and 2 more <what>`."""
    first, *further = sorted(paths)
    return f"'{first}'{f' and {len(further)} more' if further else ''} {what}"


def format_reason(e: GitError) -> str:
    """The message of git, or of a program that it called, on one line."""
    return shorten_lines(e.complaint.splitlines()) or "git says nothing about it"


def shorten_lines(lines: Iterable[str]) -> str:
    """The useful lines, joined by '; ' and cut to _LONG characters."""
    useful = [line.strip() for line in lines if line.strip()]
    useful = [line for line in dict.fromkeys(useful) if not line.startswith((*_NOISE, *_PROGRESS))]
    text = "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in useful)
    while "...." in text:  # leaders to a column
        text = text.replace("....", "...")
    return text if len(text) <= _LONG else f"{text[:_LONG].rstrip()}…"
