"""Checkpoints whose commit is lost, paired with commits that lost their id.

Nothing here touches a commit: a link that is found again is a note on it
(doc/behaviour.md "Rewritten commits").
"""

from __future__ import annotations

import os

from gitcp.core.decide import relink_rules
from gitcp.core.message import trailers
from gitcp.errors import GitError
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.match import candidates, commit_memory
from gitcp.store.v1 import committed_list, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitcp.core.decide.difference import Recorded
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects

_MOST = 2000  # commits looked at
_RECENT = 50  # commits that are looked at in a glance


def find_lost(
    repo: Repo, objects: Objects, among: str = "", lately: bool = False
) -> list[tuple[str, dict[str, str]]]:
    """The commits on branches to which checkpoints without a commit belong, each with their ids
    and what shows them: commits that change what a checkpoint's commit changed, as far as a reflog
    or the checkpoint tells that; none in doubt.

    among: a revision range to look in, default all branches.  lately: a glance at the commits that
    only HEAD's recent past has, where else all that is stored is read."""
    if not lately:
        stored = [one["checkpoint_id"] for one in committed_list.list_checkpoints(repo, brief=True)]
        return _pair_links(repo, objects, stored, among, _MOST)
    if not os.path.exists(repo.join_shared("linked")):
        return []
    gone = _list_reflog(repo, _RECENT, "--not", "--branches", "--remotes")
    stored = [one for one in gone if committed_refs.find_checkpoint(repo, objects, one)]
    return _pair_links(repo, objects, stored, among, _RECENT)


def _pair_links(
    repo: Repo, objects: Objects, stored: Collection[str], among: str, most: int
) -> list[tuple[str, dict[str, str]]]:
    """The commits, of the newest so many, that those of these checkpoints belong to that have no
    commit on a branch."""
    if not stored:
        return []
    carried, refused = (
        find_commits.find_carriers(repo, objects, stored),
        commit_memory.read_refused(repo),
    )
    lost = [one for one in carried if one not in refused and not _is_on_branch(repo, carried[one])]
    free = _list_commits(repo, among, most) if lost else []
    linked = {oid for oids in carried.values() for oid in oids}
    commits = [
        commit for oid in free if oid not in linked and (commit := read_commit(objects, oid))
    ]
    changed = commit_changes.read_many_changes(repo, objects, commits)
    originals = _list_reflog(repo) if changed else {}
    pairs: list[tuple[str, dict[str, str]]] = []
    for one in sorted(lost) if changed else ():
        original = read_commit(objects, originals[one][0]) if one in originals else None
        record = candidates.read_edits(repo, objects, one, original)
        for oid in _choose(objects, record, changed):
            pairs.append((oid, {one: candidates.tell_how(record, changed[oid])}))
    return pairs


def _choose(objects: Objects, record: list[Recorded], changed: dict[str, Changes]) -> list[str]:
    """The commits that have the edits of a checkpoint, each at least a part of its own.  One that
    does not say what was there before its edits has to be there as it was."""
    names = {entry["path"] for entry in record} | {entry["oid"] for entry in record}
    tells = all("before" in entry for entry in record)
    evidence: list[dict[str, relink_rules.Evidence]] = []
    for oid, changes in changed.items():
        there = names.intersection(changes) or names.intersection(c[3] for c in changes.values())
        if there and (tells or candidates.tell_how(record, changes) == candidates.BLOBS):
            shared = candidates.match_edits(objects, record, changes)
            evidence += [{oid: {(p, line) for p in shared for line in shared[p]}}] if shared else []
    return relink_rules.choose(evidence)


def _is_on_branch(repo: Repo, commits: Sequence[str]) -> bool:
    # find_carriers() sees tags and notes too; a noted commit may be one that was rewritten.
    for oid in commits:
        args = ("for-each-ref", "--count=1", f"--contains={oid}", "refs/heads", "refs/remotes")
        if repo.git.read_records(*args, sep=b"\n"):
            return True
    return False


def _list_commits(repo: Repo, among: str, most: int) -> list[str]:
    where = ("--end-of-options", among, "--") if among else ("--exclude=entire/*", "--branches")
    try:
        return list_commits(repo, "--no-merges", f"--max-count={most}", *where)
    except GitError as e:
        raise e.shorten() from None


def _list_reflog(repo: Repo, most: int = _MOST, *but: str) -> dict[str, list[str]]:
    """checkpoint id -> commits of reflogs that carry it, of the newest so many; but: and that
    are not there."""
    form = ("--no-notes", "-z", "--format=%H%n%B", f"--max-count={most}")
    carriers: dict[str, list[str]] = {}
    for entry in repo.git.read_records(
        "log", "--reflog", "-E", "--grep=^Entire-Checkpoint:", *form, *but
    ):
        oid, _, message = entry.partition(b"\n")
        for one in trailers.read(message):
            carriers.setdefault(one, []).append(oid.decode())
    return carriers
