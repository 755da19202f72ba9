"""Commits that our hooks did not see and that HEAD left for another form of them, before an event
of ours: rebased, or squashed by a forge and pulled (doc/behaviour.md "Commits without hooks").

Their sessions are linked to the commits that were made here, as if those had been seen.  What
searches for lost links then finds the new ones by them.
"""

from __future__ import annotations

from gitcp.core.match import held
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.match import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects

_MOST = 50  # commits on either side


def find_replaced(
    repo: Repo, objects: Objects, made_here: Sequence[str], old: str, new: str
) -> Iterator[tuple[Commit, str]]:
    """Yield each of the commits made here that HEAD, now at new, has left and that others have
    replaced, with the last of these.

    made_here: oids, oldest first; the newest are looked at.  The others came since HEAD was at old,
    and were not made here."""
    commits = [one for oid in made_here[-_MOST:] if (one := read_commit(objects, oid))]
    lost = _list_outside(repo, [commit["oid"] for commit in commits], new)
    if not lost:
        return
    base = [f"^{old}"] if read_commit(objects, old) else []
    newer = list_commits(repo, "--no-merges", f"--max-count={_MOST}", new, *base)
    brought = [one for oid in newer if oid not in made_here and (one := read_commit(objects, oid))]
    changed = commit_changes.read_many_changes(repo, objects, brought) if brought else {}
    for commit in commits if changed else ():
        if commit["oid"] in lost:
            for other in brought:
                if _is_replaced(objects, commit, other, changed.get(other["oid"], {})):
                    yield commit, other["oid"]
                    break


def _list_outside(repo: Repo, oids: Collection[str], head: str) -> set[str]:
    """Those of the commits that are not in the history of head."""
    if not oids:
        return set()
    return {*list_commits(repo, *oids, f"^{head}")}.intersection(oids)


def _is_replaced(objects: Objects, commit: Commit, other: Commit, changes: Changes) -> bool:
    """Whether other has the change of a commit that HEAD left."""
    own = commit_changes.read_changes(objects, commit)[1]
    edits = [candidates.build_edit(path, own[path]) for path in own]
    change = held.Change(changes, objects.read_blob)
    relation = candidates.relate(commit, other, is_named=True)
    return bool(candidates.Work(objects, commit, edits).find_enough(change, relation))
