"""The notes that a push sends: none on commits that were rewritten and that no ref here reaches
any more (doc/behaviour.md "Sharing")."""

from __future__ import annotations

from gitcp.record import one_a_line
from gitcp.store.git.commit import need_commit, read_commit, rev_list, write_commit
from gitcp.store.git.tree import diff_trees, edit_tree
from gitcp.store.v1.find_commits import ALL
from gitcp.store.v1.merge import notes as note_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.merge.notes import Join

_SUBJECT = "Notes shared by gitcp"


def select(repo: Repo, objects: Objects, ours: str, theirs: str, joined: Join) -> str:
    """The tip to push for our tip of notes: ours where a ref here reaches every commit with a
    new note; else a commit on theirs, with the other notes and all that theirs has.

    theirs: the tip that the remote has, "" for none.  joined makes one note of two.
    """
    mine, there = need_commit(objects, ours)["tree"], read_commit(objects, theirs)
    tree = there["tree"] if there else None
    fresh = {
        path.replace("/", ""): path for path, was, _ in diff_trees(objects, tree, mine) if not was
    }
    lost = _lost(repo, objects, fresh)
    if not lost:
        return ours
    selected = edit_tree(objects, mine, {fresh[commit]: None for commit in lost})
    if tree:
        selected = note_trees.unite(objects, selected, tree, joined=joined)
    if selected == tree:
        return theirs
    return write_commit(objects, repo, selected, [theirs] if there else [], _SUBJECT)


def _lost(repo: Repo, objects: Objects, names: Iterable[str]) -> list[str]:
    """Those of these objects that are not here, and the commits that no ref of a person reaches."""
    kinds = {oid: (objects.read(oid) or ("", ""))[1] for oid in names}
    commits = sorted(oid for oid, kind in kinds.items() if kind == "commit")
    lost = [oid for oid, kind in kinds.items() if not kind]
    if commits:
        unreached = rev_list(repo, "--stdin", "--not", *ALL, stdin=one_a_line(commits))
        lost += kinds.keys() & set(unreached)
    return lost
