"""Commits that our hooks did not see and that HEAD left for another form of them, before an event
of ours: rebased, or squashed by a forge and pulled (doc/behaviour.md "Commits without hooks").

Their sessions are linked to the commits that were made here, as if those had been seen.  What
searches for lost links then finds the new ones by them.
"""

from __future__ import annotations

from gitcp.git import refs
from gitcp.git.objects import object_lists, read_commit
from gitcp.git.objects.object_lists import list_commits
from gitcp.record import match, session
from gitcp.record.match import candidates
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

    from gitcp.git.gitdir import Move
    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, State

MOST_LEFT = 50  # commits on either side


@value_class
class Replaced:
    """A commit that HEAD left, and the last of those that replaced it."""

    commit: Commit
    replaced_by: str


def find_left_behind(
    repo: Repo, state: State, moves: Sequence[Move], head: str
) -> Iterator[Replaced]:
    """Yield the commits made here whose rebased or squashed form HEAD has."""
    unjudged = refs.select_made(moves).difference(match.read_judged(repo))
    if unjudged and session.is_unsettled(state):
        made_here = sort_commits(moves, unjudged)
        base = state.get("base_commit") or ""
        yield from _find_replaced(repo, made_here, base, head)


def sort_commits(moves: Sequence[Move], commits: Container[str]) -> list[str]:
    """Those of the commits to which HEAD moved, in that order, without amended ones."""
    amended = {old for old, _, reason in moves if reason.startswith(b"commit (amend)")}
    in_order: dict[str, None] = {}
    for _, new, _ in moves:
        if new in commits and new not in amended:
            in_order[new] = None
    return [*in_order]


def _find_replaced(repo: Repo, made_here: Sequence[str], old: str, new: str) -> Iterator[Replaced]:
    """Yield each of the commits made here that HEAD, now at new, has left and that others have
    replaced, with the last of these.

    made_here: oids, oldest first; the newest are looked at.  The others came since HEAD was at old,
    and were not made here."""
    commits = read_all_commits(repo.objects, made_here[-MOST_LEFT:])
    lost = list_outside(repo, [commit["oid"] for commit in commits], new)
    if not lost:
        return
    base: list[str] = []
    if read_commit(repo.objects, old):
        base = [f"^{old}"]
    newer = list_commits(repo, "--no-merges", f"--max-count={MOST_LEFT}", new, *base)
    brought = read_all_commits(repo.objects, [oid for oid in newer if oid not in made_here])
    if not brought:
        return
    changed = object_lists.read_many_changes(repo, brought)
    for commit in commits:
        if changed and commit["oid"] in lost:
            other = _find_replacement(repo, commit, brought, changed)
            if other:
                yield Replaced(commit, other)


def _find_replacement(
    repo: Repo, commit: Commit, brought: Iterable[Commit], changed: dict[str, Changes]
) -> str:
    """The first of other commits that has enough of one, '' for none; changed: what each
    changes."""
    work = candidates.Work(repo.objects, commit, candidates.list_edits(repo.objects, commit))
    for other in brought:
        parent = "".join(other["parents"][:1])
        change = match.build_change(repo.objects, parent, changed.get(other["oid"], {}))
        if work.find_enough(change, candidates.relate(commit, other, is_named=True)):
            return other["oid"]
    return ""


def read_all_commits(objects: Objects, oids: Iterable[str]) -> list[Commit]:
    """Those of the commits that exist."""
    commits: list[Commit] = []
    for oid in oids:
        commit = read_commit(objects, oid)
        if commit:
            commits.append(commit)
    return commits


def list_outside(repo: Repo, oids: Collection[str], head: str) -> set[str]:
    """Those of the commits that are not in the history of head."""
    if not oids:
        return set()
    return {*list_commits(repo, *oids, f"^{head}")}.intersection(oids)
