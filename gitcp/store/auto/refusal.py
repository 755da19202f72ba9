"""Why no commit can be made now, in a sentence: what is under way, what the person staged."""

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
# How pre-commit and lint-staged tell of their own doings, before they come to the reason.
_DOINGS = tuple(f"[{word}]" for word in "INFO WARNING STARTED COMPLETED SKIPPED".split())
_LONG = 300  # characters of a reason that a person reads


class Refused(Error):
    """No commit is made; the reason reads on after 'not committed: '."""


def list_under_way(repo: Repo) -> list[str]:
    """What git is in the middle of here."""
    names = (name for name in _UNDER_WAY if os.path.lexists(os.path.join(repo.git_dir, name)))
    return list(dict.fromkeys(_UNDER_WAY[name] for name in names))


def list_paths(paths: Collection[str], what: str) -> str:
    """`'<path>' and 2 more <what>`."""
    first, *more = sorted(paths)
    return f"'{first}'{f' and {len(more)} more' if more else ''} {what}"


def format_reason(e: GitError) -> str:
    """What git, or the program it called, says of a failure: its own words, on one line."""
    return shorten_lines(e.complaint.splitlines()) or "git says nothing about it"


def shorten_lines(lines: Iterable[str]) -> str:
    """The lines that matter, joined and cut to what a person reads."""
    kept = [line.strip() for line in lines if line.strip()]
    kept = [line for line in dict.fromkeys(kept) if not line.startswith((*_NOISE, *_DOINGS))]
    words = "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in kept)
    while "...." in words:  # leaders to a column
        words = words.replace("....", "...")
    return words if len(words) <= _LONG else f"{words[:_LONG].rstrip()}…"
