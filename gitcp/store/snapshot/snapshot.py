"""A scan of the worktree against HEAD, and its tree (doc/behaviour.md "Temporary checkpoints")."""

from __future__ import annotations

import os
import stat

from gitcp import memory
from gitcp.core import git_formats, stream_rules
from gitcp.core.git_formats import GONE, Row
from gitcp.errors import Error, GitError, Late
from gitcp.record import decode_name
from gitcp.store.snapshot import worktree
from gitcp.store.snapshot.worktree import Change, Scan, Worktree
from gitcp.store.trees import edit_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.git_formats import Status
    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.running import Running
    from gitcp.store.objects import Objects

# Scans begun by started(), until scan_worktree() takes them.
_STARTED: dict[str, tuple[Running, Running | None]] = memory.get_table("scans")
_ANY = "--no-index"  # for check-ignore: disregard the person's index
_OURS = ".entire/"  # its files are as in HEAD, untracked ones left out


def write_tree(objects: Objects, head_tree: str | None, entries: Mapping[str, Entry | None]) -> str:
    """HEAD's tree (None when unborn) with entries applied, `.entire/` as in HEAD; its oid."""
    edits = {path: e for path, e in entries.items() if not path.startswith(_OURS)}
    return edit_tree(objects, head_tree, edits)


def scan_worktree(repo: Repo) -> Scan:
    """Scan the worktree at the cost of a `git status`; nothing is hashed.

    Writes only the snapshot's index, if that must be seeded.  Raises Error for a worktree that is
    the home directory or the root, and for a tracked path that cannot be read.
    """
    top = repo.worktree
    running, running_staged = _STARTED.pop(top) if top in _STARTED else _start_scan(repo)
    work = Worktree(repo)  # reads the configuration while git scans
    if not worktree.fits_sparse(repo):
        running.finish(ok=range(256))
        worktree.seed_index(repo, force=True)
        running = worktree.start_status(repo)
    status, warnings = _read_status(repo, running, work)
    result = Scan(work, status)
    rows = [*status.rows, *_take_unseen(repo, result, warnings)]
    staged_paths = _read_staged(repo, running_staged, unborn=status.head is None)
    index_only = result.take_rows(rows)
    if repo.config.get_flag("core.ignorecase"):
        index_only = _follow_case(repo, result, staged_paths, index_only)
    worktree.note_stale(repo, sum(row.x != "." for row in status.rows))
    _drop_sparse(repo, result)
    ignored = work.list_ignored([path for path in index_only if path not in staged_paths], _ANY)
    for path in (*status.untracked, *staged_paths, *index_only):
        if path not in ignored:
            result.take_untracked(path)
    _omit_specials(result)
    _drop_excess(repo, result, staged_paths)
    return result


class started:
    """A context manager that starts git's scan, for scan_worktree() to finish: imports and reading
    run meanwhile."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def __enter__(self) -> None:
        _STARTED[self._repo.worktree] = _start_scan(self._repo)

    def __exit__(self, *_: object) -> None:
        for running in filter(None, _STARTED.pop(self._repo.worktree, ())):
            running.finish(ok=range(256))


def _start_scan(repo: Repo) -> tuple[Running, Running | None]:
    refuse_root(repo.worktree)
    running = worktree.start_status(repo)
    return running, None if worktree.has_head(repo) else _start_staged(repo, "HEAD")


def refuse_root(top: str) -> None:
    """Raise Error if top is the root or the home directory."""
    home = os.environ.get("HOME")
    if top == "/" or os.path.dirname(top) == top:
        raise Error(f"refusing to snapshot the root directory '{top}'")
    if home and os.path.realpath(home) == os.path.realpath(top):
        raise Error(f"refusing to snapshot the home directory '{top}'")


def _read_status(repo: Repo, running: Running, work: Worktree) -> tuple[Status, bytes]:
    """(status, warnings), after seeding an index that is damaged or has outdated submodules."""
    seeded, converting = False, True
    while True:
        try:
            status = git_formats.parse_status(
                running.finish(limit=worktree.compute_patience(repo))[1]
            )
            if seeded or not any(_is_misled(row, work) for row in status.rows):
                return status, worktree.ask_complaints(repo) if running.errors else b""
        except GitError as e:
            if isinstance(e, Late) and worktree.note_hang(repo):
                running = worktree.start_status(repo)
                continue
            if converting and not isinstance(e, Late):  # a required filter may have failed
                converting, running = False, worktree.start_status(repo, converting=False)
                continue
            if seeded:
                raise
        # The index may be damaged; seeding does not read it.
        worktree.seed_index(repo, force=True)
        seeded, converting, running = True, True, worktree.start_status(repo)


def _is_misled(row: Row, work: Worktree) -> bool:
    """Whether a stale index makes git look into a nested repository, or not into a directory."""
    return row.moved or (row.x in "AD" and bool(work.list_repositories(row.path)))


def _take_unseen(repo: Repo, result: Scan, warnings: bytes) -> list[Row]:
    """Omit the folders that git could not read; return rows for HEAD's files among the paths that
    it could not see."""
    unseen = set()
    for kind, path in git_formats.list_unreadable(warnings):
        if kind == "closed":
            raise Error(f"cannot read '{path}': Permission denied")
        if kind == "folder":
            result.omit_path(path, "unreadable")
        else:
            unseen.add(path)
    head = result.head if unseen else None
    listed = repo.git.read_records("ls-tree", "-r", "-z", head) if head else []
    parts = (decode_name(line).split("\t", 1) for line in listed)
    entries = {path: fields.split() for fields, path in parts if path in unseen}
    return [Row(path, ".D", (mode, oid)) for path, (mode, _, oid) in entries.items()]


def _start_staged(repo: Repo, base: str) -> Running:
    """Start listing the staged paths that base lacks, which may be ignored
    (doc/git.md "The index of a snapshot")."""
    command = "-c core.fsmonitor=false diff-index --cached --ita-visible-in-index"
    return repo.git.start(*command.split(), "--diff-filter=A", "--name-only", "-z", base)


def _read_staged(repo: Repo, staged: Running | None, unborn: bool) -> dict[str, None]:
    if not staged:
        return {}
    status, out = staged.finish(ok=(0, 128) if unborn else (0,))
    if status:
        out = _start_staged(repo, repo.empty_tree).finish()[1]
    return dict.fromkeys(decode_name(path) for path in out.split(b"\0")[:-1])


def _follow_case(
    repo: Repo, result: Scan, staged_paths: dict[str, None], index_only: list[str]
) -> list[str]:
    """Drop the old name of a file whose case alone was renamed: both names lead to it.  Return the
    paths of index_only that are not such names."""
    if not (staged_paths or index_only):
        return index_only
    args = "diff-index --cached --raw -z --no-abbrev --no-renames --diff-filter=D".split()
    words = repo.git.read_records(*args, result.head) if result.head else []
    new = {path.casefold(): path for path in staged_paths}
    for fields, old in zip(words[::2], map(decode_name, words[1::2]), strict=True):
        name = new.get(old.casefold())
        if name and result.worktree.is_listed(old):
            del staged_paths[name]
        elif name:
            mode, _, oid = fields.decode().removeprefix(":").split()[:3]
            result.changes[old] = Change(GONE, (mode, oid))
    tracked = {*new, *(path.casefold() for path, change in result.changes.items() if change.was)}
    return [path for path in index_only if path in staged_paths or path.casefold() not in tracked]


def _drop_sparse(repo: Repo, result: Scan) -> None:
    """Drop deletions of files that a sparse checkout leaves out."""
    gone = [path for path, change in result.changes.items() if change.mode == GONE]
    for path in list_sparse(repo).intersection(gone) if gone else ():
        del result.changes[path]


def list_sparse(repo: Repo) -> set[str]:
    """The paths that a sparse checkout leaves out of the worktree."""
    if not repo.config.get_flag("core.sparsecheckout"):
        return set()
    listed = repo.git.read_records("-c", "index.sparse=false", "ls-files", "-t", "-z")
    return {decode_name(line[2:]) for line in listed if line.startswith(b"S ")}


def _omit_specials(result: Scan) -> None:
    """Omit fifos, sockets and devices in changed folders, which git does not list."""
    folders = {"", *(path.rpartition("/")[0] for path in result.changes)}
    specials = dict(result.list_specials(folders))
    omitted = {item["path"] for item in result.omitted}
    ignored = result.worktree.list_ignored(specials, _ANY)
    for path, reason in specials.items():
        if path not in ignored and path not in omitted:
            result.omit_path(path, reason)


def _drop_excess(repo: Repo, result: Scan, staged_paths: Mapping[str, None]) -> None:
    """Drop `.entire/`, and omit untracked files that exceed the limits."""
    for path in [path for path in result.changes if path.startswith(_OURS)]:
        del result.changes[path]
    sizes = [
        (path, change.st.st_size)
        for path, change in result.changes.items()
        if change.st
        and not change.was
        and path not in staged_paths
        and stat.S_ISREG(change.st.st_mode)
    ]
    limit = repo.config.get_option("gitcp.max-file-size")
    total = repo.config.get_option("gitcp.max-untracked-size")
    for path, reason in stream_rules.list_excess(sizes, limit, total):
        del result.changes[path]
        result.omit_path(path, reason)
