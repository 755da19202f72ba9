"""A squash or rebase merge that a forge has made gets the ids of the branch it came from.

By patch-id where a commit was taken as it was, by the blobs where it was moved, and what is left
by evidence on the merge itself: that is what a squash is
(doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.git.commit import need_commit, rev_list
from gitcp.store.link import commit_changes, find_commits
from gitcp.store.relink import lost_links, taken_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.decide.relink_rules import Blobs, Pair
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def links(repo: Repo, objects: Objects, target: str, head: str) -> list[Pair]:
    """The links that the commit target, and those before it that head has not, are to have of
    the commits of head; oldest first, none that is there already.

    Raises Error for what is no commit, and where the two have no history in common.
    """
    merged, tip = need_commit(objects, target), need_commit(objects, head)
    status, out = repo.git.run("merge-base", merged["oid"], tip["oid"], ok=(0, 1))
    if status:
        raise Error(f"'{target}' and '{head}' have no commit in common")
    base = out.decode().split()[0]
    olds, news = _between(repo, base, tip["oid"]), _between(repo, base, merged["oid"])
    if not olds:  # head was merged as it is: nothing is lost
        return []
    brought = _Brought(repo, objects, merged, olds, news)
    done: list[Pair] = []
    for old in olds:
        commit = need_commit(objects, old)
        for one in find_commits.linked(objects, old):
            new, how = brought.place(commit, one)
            if new and one not in find_commits.linked(objects, new):
                done.append({"commit": new, "checkpoint_id": one, "how": how})
    return [link for at, link in enumerate(done) if link not in done[:at]]


class _Brought:
    """What a merge, and the commits before it (news), have of a branch's (olds)."""

    def __init__(
        self, repo: Repo, objects: Objects, merged: Commit, olds: list[str], news: list[str]
    ) -> None:
        self._repo, self._objects, self._merged = repo, objects, merged
        self._patches = lost_links.patch_ids(repo, [*olds, *news])
        self._blobs = {oid: _blobs(objects, need_commit(objects, oid)) for oid in news}

    def place(self, commit: Commit, checkpoint_id: str) -> tuple[str, str]:
        """(the new commit to which a checkpoint of an old one belongs, how that is known); ''."""
        patch = self._patches.get(commit["oid"])
        same = [new for new in self._blobs if patch and self._patches.get(new) == patch]
        if len(same) == 1:
            return same[0], "patch-id"
        record = taken_back.entries(self._repo, self._objects, checkpoint_id, commit)
        blobs = {(entry["path"], entry["oid"]) for entry in record if entry["oid"]}
        having = [new for new, brought in self._blobs.items() if blobs and blobs <= brought]
        if len(having) == 1:
            return having[0], "blobs"
        changes = commit_changes.of_commit(self._objects, self._merged)[1]
        if taken_back.holds(self._objects, record, changes):
            return self._merged["oid"], "evidence"
        return "", ""


def _between(repo: Repo, base: str, tip: str) -> list[str]:
    most = f"--max-count={lost_links.MOST}"
    return rev_list(repo, "--reverse", "--no-merges", most, tip, f"^{base}")


def _blobs(objects: Objects, commit: Commit) -> Blobs:
    changes = commit_changes.of_commit(objects, commit)[1]
    return {(path, oid) for path, (*_, oid) in changes.items() if oid}
