"""A squash or rebase merge that a forge has made gets the ids of the branch it came from: each of
its commits by evidence (doc/behaviour.md "Commits without hooks")."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.git.commit import need_commit, rev_list
from gitcp.store.link import commit_changes, find_commits
from gitcp.store.relink import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes

_MOST = 2000  # commits looked at


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
    olds = search.linked(objects, _between(repo, base, tip["oid"]))
    branch = search.Search(repo, objects, olds, seconds=3600)
    done: list[Pair] = []
    for new in _between(repo, base, merged["oid"]) if olds else ():
        parent, changes = commit_changes.of_commit(objects, need_commit(objects, new))
        for one in branch.ids(changes, parent):
            if one not in find_commits.linked(objects, new):
                how = "blobs" if _as_it_was(branch, one, changes) else "evidence"
                done.append({"commit": new, "checkpoint_id": one, "how": how})
    return done


def _as_it_was(branch: search.Search, checkpoint_id: str, changes: Changes) -> bool:
    """Whether every file of a checkpoint stands in a commit as a commit of before had it."""
    records = (branch.edits(commit).get(checkpoint_id) for commit in branch.commits)
    return any(
        record and all(e["path"] in changes and changes[e["path"]][3] == e["oid"] for e in record)
        for record in records
    )


def _between(repo: Repo, base: str, tip: str) -> list[str]:
    return rev_list(repo, "--reverse", "--no-merges", f"--max-count={_MOST}", tip, f"^{base}")
