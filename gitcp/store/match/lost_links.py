"""Checkpoints whose commit is lost, paired with commits that lost their id
(doc/behaviour.md "Rewritten commits")."""

from __future__ import annotations

import os

from gitcp.core.decide import relink_rules
from gitcp.core.match import held
from gitcp.core.message import trailers
from gitcp.errors import GitError
from gitcp.record import encode_lines
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import is_ancestor, list_commits, read_commit
from gitcp.store.match import candidates, commit_memory
from gitcp.store.v1 import committed_list, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects

_MOST = 2000  # commits searched
_RECENT = 50  # commits searched if lately


def find_lost(
    repo: Repo, objects: Objects, among: str = "", lately: bool = False
) -> list[tuple[str, dict[str, str]]]:
    """Pairs (commit, {id: what shows it}) of commits and checkpoints that are on no commit of a
    branch.  The commit changes what the checkpoint's own commit changed, as a reflog or the
    checkpoint tells; of several equal commits none is taken.

    among: the revision range to search, '' for all branches.  lately: search only checkpoints of
    the recent reflog and the newest commits, not the whole store."""
    if not lately:
        stored = [c["checkpoint_id"] for c in committed_list.list_checkpoints(repo, brief=True)]
        return _pair_links(repo, objects, stored, among, _MOST)
    if not os.path.exists(repo.join_shared("linked")):
        return []
    lost = _list_reflog(repo, _RECENT, "--not", "--branches", "--remotes")
    stored = [i for i in lost if committed_refs.find_checkpoint(repo, objects, i)]
    return _pair_links(repo, objects, stored, among, _RECENT)


def _pair_links(
    repo: Repo, objects: Objects, stored: Collection[str], among: str, limit: int
) -> list[tuple[str, dict[str, str]]]:
    """find_lost() for the stored ids, among the newest `limit` commits."""
    if not stored:
        return []
    carried = find_commits.find_carriers(repo, objects, stored)
    refused = commit_memory.read_refused(repo)
    linked = {oid for oids in carried.values() for oid in oids}
    unreached = _list_unreached(repo, linked)
    lost = [i for i in carried if i not in refused and unreached.issuperset(carried[i])]
    free = _list_commits(repo, among, limit) if lost else []
    objects.read_ahead(oid for oid in free if oid not in linked)
    commits = [
        commit for oid in free if oid not in linked and (commit := read_commit(objects, oid))
    ]
    changed = commit_changes.read_many_changes(repo, objects, commits)
    originals = _list_reflog(repo) if changed else {}
    pairs: list[tuple[str, dict[str, str]]] = []
    for checkpoint_id in sorted(lost) if changed else ():
        oids = originals.get(checkpoint_id) or carried[checkpoint_id]
        original = read_commit(objects, oids[0]) if oids else None
        edits = candidates.read_edits(repo, objects, checkpoint_id, original)
        for oid in _choose_commits(repo, objects, edits, changed, original):
            pairs.append((oid, {checkpoint_id: candidates.tell_how(edits, changed[oid])}))
    return pairs


def _choose_commits(
    repo: Repo,
    objects: Objects,
    edits: list[Recorded],
    changed: dict[str, Changes],
    original: Commit | None,
) -> list[str]:
    """The commits that have edits of a checkpoint, without those that its original commit is based
    on.  One is left out if another one has all of its edits; if both have the same, both are.

    Edits without their old content match only by their exact blobs."""
    paths, oids = {edit["path"] for edit in edits}, {edit["oid"] for edit in edits}
    knows_before = all("before" in edit for edit in edits)
    evidence: list[dict[str, relink_rules.Evidence]] = []
    for oid, changes in changed.items():
        if paths.isdisjoint(changes) and oids.isdisjoint(c[3] for c in changes.values()):
            continue
        if knows_before or candidates.tell_how(edits, changes) == candidates.BLOBS:
            shared = _find_evidence(objects, edits, oid, changes, original)
            if shared and not (original and is_ancestor(repo, oid, original["oid"])):
                evidence.append({oid: shared})
    return relink_rules.choose(evidence)


def _find_evidence(
    objects: Objects, edits: list[Recorded], oid: str, changes: Changes, original: Commit | None
) -> relink_rules.Evidence:
    """What a commit with these changes has of edits, if it is enough."""
    commit = read_commit(objects, oid)
    relation = candidates.relate(original, commit) if original else held.SAME
    change = held.Change(changes, objects.read_blob)
    return candidates.Work(objects, original, edits).find_enough(change, relation)


def _list_unreached(repo: Repo, commits: Iterable[str]) -> set[str]:
    """The commits, with their history, that no branch has in its own, here or of a remote."""
    # find_carriers() reads tags and notes too; a commit with a note may have been rewritten.
    args = ("--stdin", "--not", "--branches", "--remotes")
    return set(list_commits(repo, *args, stdin=encode_lines(commits)))


def _list_commits(repo: Repo, among: str, limit: int) -> list[str]:
    args = ("--end-of-options", among, "--") if among else ("--exclude=entire/*", "--branches")
    try:
        return list_commits(repo, "--no-merges", f"--max-count={limit}", *args)
    except GitError as e:
        raise e.shorten() from None


def _list_reflog(repo: Repo, limit: int = _MOST, *args: str) -> dict[str, list[str]]:
    """checkpoint id -> the commits of reflogs that carry it, newest first; args of git log."""
    form = ("--no-notes", "-z", "--format=%H%n%B", f"--max-count={limit}")
    carriers: dict[str, list[str]] = {}
    for entry in repo.git.read_records(
        "log", "--reflog", "-E", "--grep=^Entire-Checkpoint:", *form, *args
    ):
        oid, _, message = entry.partition(b"\n")
        for checkpoint_id in trailers.read(message):
            carriers.setdefault(checkpoint_id, []).append(oid.decode())
    return carriers
