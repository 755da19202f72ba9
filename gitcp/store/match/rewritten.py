"""What git and jj say was rewritten: new commits, each with its sources, the commits that it was
made of."""

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

_MOST = 2000  # commits of a rebased branch


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
        self.command, self.sources, self.targets, self.added = command, sources, targets, added

    def list_replayed(self) -> dict[str, Sequence[str]]:
        """The commits that a rebase made, oldest first, each with its sources; {} if the command
        is no rebase."""
        return {oid: self.sources.get(oid, ()) for oid in self.targets if self.command == "rebase"}


NOTHING = Rewrite("", {}, ())


def read_rewrite(repo: Repo, objects: Objects, command: str, lines: Iterable[str]) -> Rewrite:
    """The rewrite that post-rewrite says; lines: `<old> <new> …`, with several lines of one new
    commit if it squashes.  The steps of a rebase have no targets: the rebase has a post-rewrite of
    its own."""
    sources: dict[str, list[str]] = {}
    for old, new in (line.split(" ")[:2] for line in lines if " " in line):
        sources.setdefault(new, []).append(old)
    if command != "rebase":
        return Rewrite(command, sources, () if commit_memory.is_replaying(repo) else [*sources])
    branch, before = _find_replayed(repo, sources)
    added = [oid for oid in branch if oid not in before] if before is not None else []
    sources = _add_amended(repo, objects, sources, added, before or ())
    targets = [oid for oid in branch if oid in sources or oid in added]
    return Rewrite(command, sources, targets, [oid for oid in added if oid not in sources])


def _find_replayed(repo: Repo, new: Iterable[str]) -> tuple[list[str], Collection[str] | None]:
    """(the rebased commits, oldest first; those of the branch before the rebase).

    `git rebase --apply` leaves no files unless it stops: then (new, None)."""
    onto, tip = (_read_rebase_file(repo, name) for name in ("onto", "orig-head"))
    if not onto:
        return list(new), None
    args = ("--reverse", f"--max-count={_MOST}", f"^{onto}")
    before = set(list_commits(repo, *args, tip)) if tip else None
    return list_commits(repo, *args, "HEAD"), before


def _read_rebase_file(repo: Repo, name: str) -> str:
    """The oid in a file of the rebase that is under way, '' if there is none."""
    for folder in ("rebase-merge", "rebase-apply"):
        oids = private.read_words(os.path.join(repo.git_dir, folder, name), is_object_name)
        if oids:
            return oids[0]
    return ""


def _add_amended(
    repo: Repo,
    objects: Objects,
    git_sources: Mapping[str, list[str]],
    added: Sequence[str],
    before: Collection[str],
) -> dict[str, list[str]]:
    """The sources that git named, and those of commits that the rebase itself amended.

    If the rebase amends a commit after an exec, git names the commit before the amend as the new
    one.  If it fast-forwards over a commit and then amends it, git does not name it at all."""
    moves = reflog.list_head_moves(repo) if added else []
    previous = {new: old for old, new, _ in moves if old != new}
    sources = dict(git_sources)
    for new in added:
        olds, step = list(git_sources.get(new, ())), new
        while _is_amend(objects, old := previous.pop(step, ""), step):
            olds = [*sources.pop(old, [old] if old in before else []), *olds]
            step = old
        if olds:
            sources[new] = list(dict.fromkeys(olds))
    return sources


def _is_amend(objects: Objects, old: str, new: str) -> bool:
    before, after = read_commit(objects, old) if old else None, read_commit(objects, new)
    return bool(before and after and before["parents"] == after["parents"])


def list_jj(repo: Repo, objects: Objects, commits: Sequence[str]) -> dict[str, list[str]]:
    """The nearest linked commits that jj made each of these commits of (`jj evolog`), nearest
    first; {} if jj fails."""
    try:
        sources = jj.list_predecessors(repo.jj_root, commits)
    except Error as e:
        trace.append_note("jj", str(e))
        return {}
    return {new: _find_linked(objects, sources, new) for new in commits}


def _find_linked(objects: Objects, sources: Mapping[str, Sequence[str]], new: str) -> list[str]:
    linked, visited, waiting = [], {new}, list(sources.get(new, ()))
    while waiting:
        old = waiting.pop(0)
        if old in visited:
            continue
        visited.add(old)
        if find_commits.list_linked(objects, old):
            linked.append(old)
        else:
            waiting += sources.get(old, ())
    return linked
