"""Many files, commits and changes at once, most of them listed by git."""

from __future__ import annotations

import os

from gitcp.errors import Error, GitError
from gitcp.git import decode_name, encode_name
from gitcp.git.objects import OURS, TREE, Objects, parse_change, read_changes, read_tree
from gitcp.git.records import encode_lines
from gitcp.text import line_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Entry, Staged

_DEEPEST = 200
_MOST = 10_000_000


def encode_index_info(entries: Mapping[str, Entry]) -> bytes:
    """Entries by path as `git update-index -z --index-info` reads them."""

    return encode_lines((f"{mode} {oid}\t{path}" for path, (mode, oid) in entries.items()), "\0")


def list_files(objects: Objects, tree: str, most: int = _MOST) -> Iterator[tuple[str, Entry]]:
    """Yield (path, entry) of every file below a tree.

    Raises Error for more than `most` entries, and for directories nested too deep: a few objects
    can refer to each other so often that they make up any number of paths.
    """
    yield from _list_files(objects, tree, "", [most])


def _list_files(
    objects: Objects, tree: str, prefix: str, budget: list[int]
) -> Iterator[tuple[str, Entry]]:
    if prefix.count("/") > _DEEPEST:
        raise Error(f"directories nested more than {_DEEPEST} deep: '{prefix[:60]}'")
    entries = read_tree(objects, tree)
    budget[0] -= len(entries) + 1
    if budget[0] < 0:
        raise Error(f"too many entries below '{tree}'")
    for name, (mode, oid) in entries.items():
        if mode == TREE:
            yield from _list_files(objects, oid, f"{prefix}{name}/", budget)
        else:
            yield prefix + name, (mode, oid)


def read_names(repo: Repo, commits: Iterable[str]) -> dict[str, str]:
    """full oid -> the name of a commit's author by the mailmap, as git log shows it."""
    oids = encode_lines(commits)
    if not oids:
        return {}
    options = "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--format=%H %aN"
    _, out = repo.git.run("log", *options, "--stdin", stdin=oids)
    rows = (line.split(b" ", 1) for line in out.splitlines())
    return {oid.decode(): decode_name(name) for oid, name in rows}


def build_log_args(
    options: Sequence[str], revisions: Sequence[str], paths: Sequence[str]
) -> list[str | bytes]:
    """The arguments of `git log` for options, revisions and paths that a person gives."""
    return [*options, "--end-of-options", *revisions, "--", *map(encode_name, paths)]


def list_commits(repo: Repo, *args: str, stdin: bytes = b"") -> list[str]:
    """The oids that git rev-list prints for these arguments, in its order."""
    repo.objects.flush()
    return repo.git.run("rev-list", *args, stdin=stdin)[1].decode().split()


def is_ancestor(repo: Repo, ancestor: str, commit: str) -> bool | None:
    """Whether a commit has ancestor in its history, or is it; None if one of them is not here."""
    repo.objects.flush()
    status, _ = repo.git.run("merge-base", "--is-ancestor", ancestor, commit, ok=(0, 1, 128))
    if status == 128:
        return None
    return status == 0


def read_many_changes(repo: Repo, commits: Iterable[Commit]) -> dict[str, Changes]:
    """oid -> the changes of a commit, for many at once; a commit that cannot be read is left
    out."""
    by_oid = {commit["oid"]: commit for commit in commits}
    single = [oid for oid, commit in by_oid.items() if len(commit["parents"]) < 2]
    changes = _ask_changes(repo, single) if single else {}
    for oid in by_oid.keys() - changes.keys():
        import contextlib

        with contextlib.suppress(Error):
            changes[oid] = read_changes(repo.objects, by_oid[oid])[1]
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
            changes_of_commit = changes[field.decode()] = {}
        elif not (path := decode_name(next(fields))).startswith(OURS):
            changes_of_commit[path] = parse_change(field)
    return changes


def subtract_changes(objects: Objects, changes: Changes, commits: Iterable[Commit]) -> Changes:
    """The changes of which none of the other commits makes an equal one, on whatever parent."""
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


# Paths that git tracks.
def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a directory, symbolic links resolved."""
    real = os.path.realpath(folder)
    return os.path.realpath(path).startswith(real + os.sep)


def list_inside(repo: Repo, paths: Iterable[str]) -> tuple[str, list[str]]:
    """(the top of the worktree, those of paths below it, relative to it)."""
    top = os.path.realpath(repo.worktree)
    return top, [os.path.relpath(os.path.realpath(p), top) for p in paths if is_inside(p, top)]


def list_tracked(repo: Repo, paths: Iterable[str]) -> list[str]:
    """Those of paths (absolute) that are in git's index."""
    top, inside = list_inside(repo, paths)
    if not inside:
        return []
    tracked = repo.git.read_records("ls-files", "-z", "--", *map(encode_name, inside))
    return [os.path.join(top, decode_name(path)) for path in tracked]
