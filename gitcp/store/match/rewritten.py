"""What git and jj say was rewritten: new commits, each with the olds that it was made of."""

from __future__ import annotations

import os

from gitcp import jj, trace
from gitcp.core.upkeep.shapes import is_object_name
from gitcp.errors import Error
from gitcp.store.git import private, reflog
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.match import commit_memory
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_MOST = 2000  # commits looked at


class Rewrite:
    """What post-rewrite tells of a command.  olds: of each new commit what it was made of, oldest
    first; news: those that the links follow to; added: those of them that a rebase made and git
    tells nothing of."""

    def __init__(
        self,
        command: str,
        olds: Mapping[str, Sequence[str]],
        news: Sequence[str],
        added: Sequence[str] = (),
    ) -> None:
        self.command, self.olds, self.news, self.added = command, olds, news, added

    def list_replayed(self) -> dict[str, Sequence[str]]:
        """The commits that a rebase made, oldest first, each with its olds; {} without one."""
        return {oid: self.olds.get(oid, ()) for oid in self.news if self.command == "rebase"}


NOTHING = Rewrite("", {}, ())


def read_rewrite(repo: Repo, objects: Objects, command: str, lines: Iterable[str]) -> Rewrite:
    """The rewrite that post-rewrite tells of; lines: `<old> <new> …`, several olds of one new were
    squashed.  To a step of a rebase no link follows: that has a post-rewrite of its own."""
    olds: dict[str, list[str]] = {}
    for old, new in (line.split(" ")[:2] for line in lines if " " in line):
        olds.setdefault(new, []).append(old)
    if command != "rebase":
        return Rewrite(command, olds, () if commit_memory.is_replaying(repo) else [*olds])
    branch, were = _find_replayed(repo, olds)
    added = [oid for oid in branch if oid not in were] if were is not None else []
    olds = _add_amended(repo, objects, olds, added, were or ())
    news = [oid for oid in branch if oid in olds or oid in added]
    return Rewrite(command, olds, news, [oid for oid in added if oid not in olds])


def _find_replayed(repo: Repo, olds: Iterable[str]) -> tuple[list[str], Collection[str] | None]:
    """(what a rebase that ends made of its branch, oldest first; what the branch was before).  With
    --apply git notes nothing of itself until it stops: olds is all there is."""
    onto, before = (_read_noted(repo, name) for name in ("onto", "orig-head"))
    if not onto:
        return list(olds), None
    args = ("--reverse", f"--max-count={_MOST}", f"^{onto}")
    were = set(list_commits(repo, *args, before)) if before else None
    return list_commits(repo, *args, "HEAD"), were


def _read_noted(repo: Repo, name: str) -> str:
    """What git has noted of a rebase that is under way, '' where it has not."""
    folders = (os.path.join(repo.git_dir, way) for way in ("rebase-merge", "rebase-apply"))
    words = (private.read_words(os.path.join(folder, name), is_object_name) for folder in folders)
    return next((one[0] for one in words if one), "")


def _add_amended(
    repo: Repo,
    objects: Objects,
    olds: Mapping[str, list[str]],
    added: Sequence[str],
    were: Collection[str],
) -> dict[str, list[str]]:
    """The olds with what a rebase amended itself: of a commit that it goes on to amend, behind an
    exec, git tells as it was before, and of one it left in its place and then amended nothing."""
    moves = reflog.list_head_moves(repo) if added else []
    came = {new: old for old, new, _ in moves if old != new}
    every = dict(olds)
    for new in added:
        sources, step = list(olds.get(new, ())), new
        while _is_amend(objects, old := came.pop(step, ""), step):
            sources = [*every.pop(old, [old] if old in were else []), *sources]
            step = old
        if sources:
            every[new] = list(dict.fromkeys(sources))
    return every


def _is_amend(objects: Objects, old: str, new: str) -> bool:
    before, after = read_commit(objects, old) if old else None, read_commit(objects, new)
    return bool(before and after and before["parents"] == after["parents"])


def list_jj(repo: Repo, objects: Objects, commits: Sequence[str]) -> dict[str, list[str]]:
    """The nearest commits with a link that jj made each of these of (`jj evolog`), in its order;
    jj runs no hooks.  One jj process; {} where it cannot be asked."""
    try:
        sources = jj.list_predecessors(repo.jj_root, commits)
    except Error as e:
        trace.append_note("jj", str(e))
        return {}
    return {new: _find_linked(objects, sources, new) for new in commits}


def _find_linked(objects: Objects, sources: Mapping[str, Sequence[str]], new: str) -> list[str]:
    linked, seen, waiting = [], {new}, list(sources.get(new, ()))
    while waiting:
        old = waiting.pop(0)
        if old in seen:
            continue
        seen.add(old)
        if find_commits.list_linked(objects, old):
            linked.append(old)
        else:
            waiting += sources.get(old, ())
    return linked
