"""What a commit changes: before it is made by its index, afterwards by its trees."""

from __future__ import annotations

from gitcp.core.decide import difference, line_evidence
from gitcp.errors import Error, GitError
from gitcp.record import decode_name, encode_lines
from gitcp.start import stdlib
from gitcp.store.git.tree import compare_trees, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.decide.difference import Staged
    from gitcp.core.record_types import Commit
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Changes = dict[str, Staged]

_OURS = ".entire/"


def read_staged(git: Git, parent: str) -> Changes:
    """The changes of git's index against the tree-ish parent."""
    args = "diff-index --cached --raw -z --no-renames --no-abbrev --ignore-submodules=none"
    out = git.read_records(*args.split(), parent)
    return {
        decode_name(path): _parse_change(head)
        for head, path in zip(out[::2], out[1::2], strict=True)
    }


def _parse_change(raw: bytes) -> Staged:
    """The change in git's raw format: `:<mode> <mode> <oid> <oid> <status>`."""
    old_mode, mode, *oids, _ = raw[1:].decode().split(" ")
    old, new = (oid if oid.strip("0") else None for oid in oids)
    return old_mode, old, mode, new


def read_tree_changes(objects: Objects, old: str | None, new: str) -> Changes:
    """The changes of a tree against another; old: None for no tree."""
    return {
        path: difference.build_change(before, after)
        for path, before, after in compare_trees(objects, old, new)
        if not path.startswith(_OURS)
    }


def read_changes(objects: Objects, commit: Commit) -> tuple[str, Changes]:
    """(the first parent of a commit, zeros without one; the changes of the commit against it).

    A merge changes the paths that it has from no parent.
    """
    parent = (commit["parents"] or ["0" * len(commit["oid"])])[0]
    return parent, compare_with_parents(objects, commit)[0]


def compare_with_parents(objects: Objects, commit: Commit) -> list[Changes]:
    """The changes of a commit against each parent, at the paths that it has from none."""
    trees = [find_tree(objects, parent) for parent in commit["parents"]] or [None]
    sides = [read_tree_changes(objects, tree, commit["tree"]) for tree in trees]
    own = set(sides[0]).intersection(*sides)
    return [{path: side[path] for path in side if path in own} for side in sides]


def read_many_changes(
    repo: Repo, objects: Objects, commits: Iterable[Commit]
) -> dict[str, Changes]:
    """oid -> the changes of a commit, for many at once; a commit that cannot be read is left
    out."""
    by_oid = {commit["oid"]: commit for commit in commits}
    single = [oid for oid, commit in by_oid.items() if len(commit["parents"]) < 2]
    changes = _ask_changes(repo, single)
    for oid in by_oid.keys() - changes.keys():
        with stdlib.contextlib.suppress(Error):
            changes[oid] = read_changes(objects, by_oid[oid])[1]
    return changes


def _ask_changes(repo: Repo, oids: list[str]) -> dict[str, Changes]:
    args = "diff-tree --stdin --always --root -r -z --no-renames --no-abbrev"
    changes: dict[str, Changes] = {}
    try:
        _, out = repo.git.run(*args.split(), stdin=encode_lines(oids))
    except GitError:
        return {}  # an object is missing: each commit is read alone
    fields = iter(out.split(b"\0")[:-1])
    for field in fields:
        if not field.startswith(b":"):
            own = changes[field.decode()] = {}
        elif not (path := decode_name(next(fields))).startswith(_OURS):
            own[path] = _parse_change(field)
    return changes


def subtract_changes(objects: Objects, changes: Changes, commits: Iterable[Commit]) -> Changes:
    """The changes that none of the other commits makes too, whatever its parent has."""
    other_changes = [read_changes(objects, other)[1] for other in commits]
    return {
        path: change
        for path, change in changes.items()
        if not any(
            path in other and _is_same(objects, other[path], change) for other in other_changes
        )
    }


def _is_same(objects: Objects, entry: Staged, other: Staged) -> bool:
    return entry[2:] == other[2:] or _list_added(objects, entry) == _list_added(objects, other)


def _list_added(objects: Objects, change: Staged) -> set[bytes]:
    _, old, _, new = change
    return line_evidence.find_added_lines(objects.read_blob(old), objects.read_blob(new))
