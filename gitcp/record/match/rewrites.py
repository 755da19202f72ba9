"""What a rewrite replaced: by post-rewrite, of an amend or a rebase, and by jj."""

from __future__ import annotations

import os

from gitcp import git
from gitcp.checkpoints import listing
from gitcp.errors import Error
from gitcp.git import files, jj, refs
from gitcp.git.objects import read_commit
from gitcp.git.objects.object_lists import list_commits
from gitcp.record import match
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo

    Sources = dict[str, list[str]]  # new commit -> the old ones that it was made of, oldest first

_MOST = 2000  # commits of a rebase


class Rewrite:
    """What post-rewrite says of a command.

    sources: new commit -> its sources, oldest first; targets: the new commits that get links;
    added: the targets that a rebase made and git does not name."""

    def __init__(
        self,
        command: str,
        sources: Mapping[str, Sequence[str]],
        targets: Sequence[str],
        added: Sequence[str] = (),
    ) -> None:
        self.command = command
        self.sources = sources
        self.targets = targets
        self.added = added

    def list_replayed(self) -> dict[str, Sequence[str]]:
        """The commits that a rebase made, oldest first, each with its sources; {} if the command
        is no rebase."""
        if self.command != "rebase":
            return {}
        return {oid: self.sources.get(oid, ()) for oid in self.targets}


NOTHING = Rewrite("", {}, ())


def read_rewrite(repo: Repo, command: str, lines: Iterable[str]) -> Rewrite:
    """The rewrite that post-rewrite says; lines: `<old> <new> …`, with several lines of one new
    commit if it squashes.  The steps of a rebase have no targets: the rebase has a post-rewrite of
    its own."""
    sources: Sources = {}
    for line in lines:
        if " " in line:
            old, new = line.split(" ")[:2]
            sources.setdefault(new, []).append(old)
    if command == "rebase":
        return _read_rebase(repo, sources)
    if match.is_replaying(repo):
        return Rewrite(command, sources, ())
    return Rewrite(command, sources, [*sources])


def _read_rebase(repo: Repo, sources: Sources) -> Rewrite:
    """The rewrite of a rebase of which git names these sources."""
    onto = _read_rebase_file(repo, "onto")
    if not onto:  # `git rebase --apply` leaves no files unless it stops
        return Rewrite("rebase", sources, [*sources])
    branch = _list_since(repo, onto, "HEAD")
    tip = _read_rebase_file(repo, "orig-head")
    added: list[str] = []
    if tip:
        before = {*_list_since(repo, onto, tip)}
        added = [oid for oid in branch if oid not in before]
        sources = _add_amended(repo, sources, added, before)
    targets = [oid for oid in branch if oid in sources or oid in added]
    return Rewrite("rebase", sources, targets, [oid for oid in added if oid not in sources])


def _list_since(repo: Repo, onto: str, tip: str) -> list[str]:
    """The commits of a branch on its base, oldest first."""
    return list_commits(repo, "--reverse", f"--max-count={_MOST}", f"^{onto}", tip)


def _read_rebase_file(repo: Repo, name: str) -> str:
    """The oid in a file of the rebase that is under way, '' if there is none."""
    for folder in ("rebase-merge", "rebase-apply"):
        oids = files.read_words(os.path.join(repo.git_dir, folder, name), is_object_name)
        if oids:
            return oids[0]
    return ""


def _add_amended(repo: Repo, named: Sources, added: Sequence[str], before: set[str]) -> Sources:
    """The sources that git named, and those of commits that the rebase itself amended.  before:
    the commits of the branch before the rebase.

    If the rebase amends a commit after an exec, git names the commit before the amend as the new
    one.  If it fast-forwards over a commit and then amends it, git does not name it at all."""
    sources = dict(named)
    if not added:
        return sources
    moves = refs.list_head_moves(repo)
    previous = {new: old for old, new, _ in moves if old != new}
    for new in added:
        oldest_first = list(named.get(new, ()))
        step = new
        while True:
            old = previous.pop(step, "")
            if not _is_amend(repo.objects, old, step):
                break
            of_old = sources.pop(old, None)
            if of_old is None:
                of_old = [old] if old in before else []
            oldest_first = [*of_old, *oldest_first]
            step = old
        if oldest_first:
            sources[new] = list(dict.fromkeys(oldest_first))
    return sources


def _is_amend(objects: Objects, old: str, new: str) -> bool:
    """Whether a commit replaced another one on the same parents."""
    if not old:
        return False
    before = read_commit(objects, old)
    after = read_commit(objects, new)
    if before is None or after is None:
        return False
    return before["parents"] == after["parents"]


def list_jj(repo: Repo, commits: Sequence[str]) -> Sources:
    """commit -> its nearest linked predecessors, nearest first, for those of the commits that jj
    made of others (`jj evolog`); {} if jj fails."""
    try:
        sources = jj.list_predecessors(repo.jj_root, commits)
    except Error as e:
        git.append_trace("jj", str(e))
        return {}
    return {new: _find_linked(repo.objects, sources, new) for new in commits if sources.get(new)}


def _find_linked(objects: Objects, sources: Mapping[str, Sequence[str]], new: str) -> list[str]:
    """The nearest linked predecessors of a commit."""
    linked: list[str] = []
    visited = {new}
    waiting = list(sources.get(new, ()))
    while waiting:
        old = waiting.pop(0)
        if old in visited:
            continue
        visited.add(old)
        if listing.list_linked(objects, old):
            linked.append(old)
        else:
            waiting += sources.get(old, ())
    return linked
