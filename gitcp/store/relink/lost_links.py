"""Checkpoints whose commit is lost, paired with commits that lost their id.

Nothing here touches a commit: a link that is found again is a note on it
(doc/behaviour.md "Rewritten commits").
"""

from __future__ import annotations

import os

from gitcp.core.decide import relink_rules as core
from gitcp.errors import Error, GitError
from gitcp.record import text
from gitcp.store.git.commit import need_commit, read_commit, rev_list
from gitcp.store.link import candidates, commit_changes, find_commits, memory
from gitcp.store.v1 import committed_list, committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.decide.relink_rules import Blobs, Pair
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes

MOST = 2000  # commits looked at
_RECENT = 50  # commits that are looked at in a glance


def find_lost(repo: Repo, objects: Objects, among: str = "") -> list[Pair]:
    """The commits on branches to which checkpoints without a commit belong, by patch-id where
    the original commit is still known, else by the blobs they contain, all in one commit or
    each in one; none in doubt.  among: a revision range to look in, default all branches."""
    files = {
        checkpoint["checkpoint_id"]: core.blobs(checkpoint["sessions"])
        for checkpoint in committed_list.listing(repo, brief=True)
    }
    return _paired(repo, objects, files, among, MOST)


def count_lately(repo: Repo, objects: Objects) -> int:
    """How many links could be found again of commits that only HEAD's recent past has: what a
    glance tells, where find_lost() reads all that is stored."""
    if not os.path.exists(repo.shared("linked")):
        return 0
    gone, files = _reflog(repo, _RECENT, "--not", "--branches", "--remotes"), {}
    for one in gone:
        if committed_refs.find(repo, objects, one):
            files[one] = core.blobs(committed_read.read(repo, objects, one)["sessions"])
    return len(_paired(repo, objects, files, "", _RECENT)) if files else 0


def _paired(
    repo: Repo, objects: Objects, files: dict[str, Blobs], among: str, most: int
) -> list[Pair]:
    """The commits, of the newest so many, that checkpoints without one belong to.  files: the
    checkpoints asked about -> the blobs they say their commit had."""
    carried = find_commits.commits(repo, objects, files)
    refused = memory.read_refused(repo)
    files = {one: blobs for one, blobs in files.items() if one not in refused}
    wanted = {one: pairs for one, pairs in files.items() if not _on_a_branch(repo, carried[one])}
    if not wanted:
        return []
    carrying = {oid for oids in carried.values() for oid in oids}
    free = _candidates(repo, carrying, among, most)
    gone = {one: oids for one, oids in _reflog(repo).items() if one in wanted}
    originals = patch_ids(repo, [oid for oids in gone.values() for oid in oids])
    known = {one: {originals[o] for o in oids if o in originals} for one, oids in gone.items()}
    patches = patch_ids(repo, list(free)) if known else {}
    pairs = core.pair(wanted, known, free, patches)
    left = sorted(wanted.keys() - {pair["checkpoint_id"] for pair in pairs})
    return pairs + _by_difference(repo, objects, {one: gone.get(one, []) for one in left}, free)


def _by_difference(
    repo: Repo, objects: Objects, lost: Mapping[str, list[str]], free: Iterable[str]
) -> list[Pair]:
    """Pair checkpoints, each with the commits that a reflog has of it, with those free commits
    that change what it changed; without such a commit it has to say what was there before."""
    if not lost:
        return []
    commits = [commit for oid in free if (commit := read_commit(objects, oid))]
    changed = commit_changes.of_commits(repo, objects, commits)
    pairs: list[Pair] = []
    for one, oids in lost.items():
        original = read_commit(objects, oids[0]) if oids else None
        record = candidates.read_edits(repo, objects, one, original)
        if not all("before" in entry for entry in record):
            continue
        shared = {oid: candidates.match_edits(objects, record, c) for oid, c in changed.items()}
        evidence = {oid: {(p, x) for p in s for x in s[p]} for oid, s in shared.items() if s}
        chosen = core.choose([{oid: lines} for oid, lines in evidence.items()])
        pairs += [{"commit": oid, "checkpoint_id": one, "how": "evidence"} for oid in chosen]
    return pairs


def _on_a_branch(repo: Repo, commits: Sequence[str]) -> bool:
    # find_commits.commits() sees tags and notes too; a noted commit may be one that was rewritten.
    for oid in commits:
        args = ("for-each-ref", "--count=1", f"--contains={oid}", "refs/heads", "refs/remotes")
        if repo.git.lines(*args, sep=b"\n"):
            return True
    return False


def _candidates(repo: Repo, carrying: set[str], among: str, most: int) -> dict[str, Blobs]:
    """Commits on branches, of the newest so many, that carry no id -> the (path, blob) pairs
    they bring."""
    args = "log --no-merges --raw -z --no-abbrev --no-renames --no-notes --format=%H%n%B%x00"
    where = ("--end-of-options", among, "--") if among else ("--exclude=entire/*", "--branches")
    try:
        _, out = repo.git.run(*args.split(), f"--max-count={most}", *where)
    except GitError as e:
        raise e.plain() from None
    brought: dict[str, set[tuple[str, str]]] = {}
    oid, item = "", iter(out.split(b"\0"))
    for part in item:
        line = part.lstrip(b"\n")
        if line.startswith(b":"):
            new = line.split(b" ")[3].decode()
            brought[oid].add((text(next(item, b"")), new))
        elif len(head := line.partition(b"\n")[0]) in (40, 64):
            oid = head.decode()
            brought[oid] = set()
    return {oid: pairs for oid, pairs in brought.items() if oid not in carrying}


def _reflog(repo: Repo, most: int = MOST, *but: str) -> dict[str, list[str]]:
    """checkpoint id -> commits of reflogs that carry it, of the newest so many; but: and that
    are not there."""
    from gitcp.core.message import trailers

    form = ("--no-notes", "-z", "--format=%H%n%B", f"--max-count={most}")
    carriers: dict[str, list[str]] = {}
    for entry in repo.git.lines("log", "--reflog", "-E", "--grep=^Entire-Checkpoint:", *form, *but):
        oid, _, message = entry.partition(b"\n")
        for one in trailers.read(message):
            carriers.setdefault(one, []).append(oid.decode())
    return carriers


def patch_ids(repo: Repo, commits: Sequence[str]) -> dict[str, str]:
    """commit -> its stable patch-id; merges and empty commits have none."""
    if not commits:
        return {}
    names = "\n".join(commits).encode() + b"\n"
    _, patch = repo.git.run("diff-tree", "--stdin", "-p", "--root", "--no-ext-diff", stdin=names)
    if not patch:
        return {}
    _, out = repo.git.run("patch-id", "--stable", stdin=patch)
    pairs = [line.split() for line in out.decode().splitlines()]
    return {commit: patch_id for patch_id, commit in pairs}


def find_onto(repo: Repo, objects: Objects, target: str, head: str) -> list[Pair]:
    """The links that the commit target, and those before it that head has not, are to have of
    the commits of head; oldest first, none that is there already.

    Raises Error for what is no commit, and where the two have no history in common.
    """
    merged, tip = need_commit(objects, target), need_commit(objects, head)
    status, out = repo.git.run("merge-base", merged["oid"], tip["oid"], ok=(0, 1))
    if status:
        raise Error(f"'{target}' and '{head}' have no commit in common")
    base = out.decode().split()[0]
    olds = candidates.select_linked(objects, _without_merges(repo, base, tip["oid"]))
    branch = candidates.Search(repo, objects, olds, seconds=3600)
    done: list[Pair] = []
    news = _without_merges(repo, base, merged["oid"]) if olds else ()
    for commit, ids in branch.find_missing(need_commit(objects, new) for new in news):
        changes = commit_changes.of_commit(objects, commit)[1]
        for one in ids:
            how = "blobs" if _as_it_was(branch, one, changes) else "evidence"
            done.append({"commit": commit["oid"], "checkpoint_id": one, "how": how})
    return done


def _as_it_was(branch: candidates.Search, checkpoint_id: str, changes: Changes) -> bool:
    """Whether every file of a checkpoint stands in a commit as a commit of before had it."""
    records = (branch.edits(commit).get(checkpoint_id) for commit in branch.commits)
    return any(
        record and all(e["path"] in changes and changes[e["path"]][3] == e["oid"] for e in record)
        for record in records
    )


def _without_merges(repo: Repo, base: str, tip: str) -> list[str]:
    return rev_list(repo, "--reverse", "--no-merges", f"--max-count={MOST}", tip, f"^{base}")
