"""The changes of commits: path -> (old mode, old oid, mode, oid).

The changes of a commit being made are those of its index; of an existing one, those of its tree.
"""

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
    """Parse git's raw format: `:<mode> <mode> <oid> <oid> <status>`."""
    old_mode, mode, old, new, _ = raw[1:].decode().split(" ")
    return old_mode, _drop_zeros(old), mode, _drop_zeros(new)


def read_tree_changes(objects: Objects, old: str | None, new: str) -> Changes:
    """The changes from tree old (None: the empty tree) to tree new."""
    none = (difference.ABSENT, None)
    return {
        path: (*(before or none), *(after or none))
        for path, before, after in compare_trees(objects, old, new)
        if not path.startswith(_OURS)
    }


def read_changes(objects: Objects, commit: Commit) -> tuple[str, Changes]:
    """(a commit's first parent, zeros if it has none; its changes against that).

    A merge changes only the paths that differ from every parent.
    """
    parent = (commit["parents"] or ["0" * len(commit["oid"])])[0]
    return parent, compare_with_parents(objects, commit)[0]


def compare_with_parents(objects: Objects, commit: Commit) -> list[Changes]:
    """The changes against each parent, of the paths that differ from every parent."""
    trees = [find_tree(objects, parent) for parent in commit["parents"]] or [None]
    each = [read_tree_changes(objects, tree, commit["tree"]) for tree in trees]
    own = set(each[0]).intersection(*each)
    return [{path: side[path] for path in side if path in own} for side in each]


def read_many_changes(
    repo: Repo, objects: Objects, commits: Iterable[Commit]
) -> dict[str, Changes]:
    """oid -> its changes, read in bulk; a commit with missing objects is left out."""
    by_oid = {commit["oid"]: commit for commit in commits}
    single = [oid for oid, commit in by_oid.items() if len(commit["parents"]) < 2]
    changes = _read_in_bulk(repo, single)
    for oid in by_oid.keys() - changes.keys():
        with stdlib.contextlib.suppress(Error):
            changes[oid] = read_changes(objects, by_oid[oid])[1]
    return changes


def _read_in_bulk(repo: Repo, oids: list[str]) -> dict[str, Changes]:
    args = "diff-tree --stdin --always --root -r -z --no-renames --no-abbrev"
    changes: dict[str, Changes] = {}
    try:
        _, out = repo.git.run(*args.split(), stdin=encode_lines(oids))
    except GitError:
        return {}  # an object is missing; the caller reads each commit alone
    fields, oid = iter(out.split(b"\0")[:-1]), ""
    for field in fields:
        if not field.startswith(b":"):
            oid = field.decode()
            changes[oid] = {}
        elif not (path := decode_name(next(fields))).startswith(_OURS):
            changes[oid][path] = _parse_change(field)
    return changes


def subtract_changes(objects: Objects, changes: Changes, commits: Iterable[Commit]) -> Changes:
    """The changes without those that one of commits makes, even if on another base."""
    all_changes = [read_changes(objects, commit)[1] for commit in commits]
    return {
        path: change
        for path, change in changes.items()
        if not any(
            path in other and _is_same(objects, other[path], change) for other in all_changes
        )
    }


def _is_same(objects: Objects, entry: Staged, other: Staged) -> bool:
    return entry[2:] == other[2:] or _list_added(objects, entry) == _list_added(objects, other)


def _list_added(objects: Objects, change: Staged) -> set[bytes]:
    _, old, _, new = change
    return line_evidence.find_added_lines(read_content(objects, old), read_content(objects, new))


def _drop_zeros(name: str) -> str | None:
    return name if name.strip("0") else None


def read_content(objects: Objects, oid: str | None) -> bytes | None:
    """The bytes of a blob; None if there is none, as for a submodule."""
    obj = objects.read(oid) if oid else None
    return obj[2] if obj and obj[1] == "blob" else None


def make_reader(objects: Objects) -> difference.Blob:
    """read_content() with these objects."""
    return lambda oid: read_content(objects, oid)
