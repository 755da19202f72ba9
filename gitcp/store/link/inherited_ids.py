"""The ids a new commit inherits: of what it amends, of what is squashed into it, and of what
was taken back by a reset and is committed again (behaviour.md §5.2)."""

from __future__ import annotations

import os

from gitcp.core.message import trailers
from gitcp.record import raw
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup
from gitcp.store.link import commit_match
from gitcp.store.session import markers, process
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo
    from gitcp.store.git.commit import Commit
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Changes

_MOST = 50  # commits taken back that are looked at


def amends(args: Sequence[str]) -> bool:
    """Whether this commit replaces HEAD, given the arguments of prepare-commit-msg.

    `--amend -m` looks like any message to the hook: the arguments of git itself tell.
    """
    words = process.git_arguments()
    if words is not None:
        return any(len(word) > 3 and "--amend".startswith(word) for word in words)
    return args[1:] == ["commit", "HEAD"]


def amended(repo: Repo, objects: Objects, commit: Commit) -> list[str]:
    """The ids of a commit: its own, a note's, else what its session was given last."""
    found = trailers.read(raw(commit["message"])) or notes.read(repo, objects, commit["oid"])
    if found:
        return found
    for marker in markers.here(repo):
        if marker["base_commit"] == commit["oid"]:
            state = states.peek(repo, marker["session_id"])
            if state and state.get("last_checkpoint_id"):
                return [state["last_checkpoint_id"]]
    return []


def squashed(repo: Repo) -> list[str]:
    """The ids of what `merge --squash` brought, for a message that does not show them."""
    try:
        with open(os.path.join(repo.git_dir, "SQUASH_MSG"), "rb") as f:
            return trailers.anywhere(f.read())
    except OSError:
        return []


def undone(repo: Repo, objects: Objects, head: str, changes: Changes) -> list[str]:
    """The ids of commits that a reset took back from HEAD, of whose last state changes has a
    path as it was; oldest first."""
    top = read_commit(objects, head)
    try:
        with open(os.path.join(repo.git_dir, "ORIG_HEAD"), encoding="ascii") as f:
            commit = read_commit(objects, f.read().strip())
    except (OSError, UnicodeDecodeError):
        return []
    since = _time(top) if top else 0
    taken: list[Commit] = []
    while commit and commit["oid"] != head:
        if len(taken) == _MOST or len(commit["parents"]) != 1 or _time(commit) < since:
            return []  # HEAD is not below it: what set ORIG_HEAD was no such reset
        taken.append(commit)
        commit = read_commit(objects, commit["parents"][0])
    if not taken or commit is None:
        return []
    last = Lookup(objects, taken[0]["tree"])
    again = {path for path, (*_, mode, oid) in changes.items() if oid and last(path) == (mode, oid)}
    found: list[str] = []
    for one in reversed(taken if again else []):
        if again.intersection(commit_match.of_commit(objects, one)[1]):
            found += trailers.read(raw(one["message"])) or notes.read(repo, objects, one["oid"])
    return found


def _time(commit: Commit) -> int:
    return int(commit["committer"].split(" ")[-2] or 0)
