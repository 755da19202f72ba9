"""The worktree as it stands, against HEAD: one scan, and the tree of it
(doc/behaviour.md "Temporary checkpoints")."""

from __future__ import annotations

import os
import stat

from gitcp import memory
from gitcp.core.decide import omission
from gitcp.core.git import porcelain
from gitcp.core.git.porcelain import GONE, Row
from gitcp.errors import Error, GitError, Late
from gitcp.record import decode_name
from gitcp.store.git.tree import edit_tree
from gitcp.store.snapshot import filters, index
from gitcp.store.snapshot.changes import Change, Scan
from gitcp.store.snapshot.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.git.porcelain import Status
    from gitcp.core.record_types import Entry
    from gitcp.process.running import Running
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

__all__ = ["Change", "Scan", "refuse_root", "scan_worktree", "started", "write_tree"]
# Scans begun by started(), until scan_worktree() takes them.
_STARTED: dict[str, tuple[Running, Running | None]] = memory.get_table("scans")
_ANY = "--no-index"  # of check-ignore: whatever the person's index knows
_OURS = ".entire/"  # in the worktree: tracked files as in HEAD, the rest left out


def write_tree(objects: Objects, head_tree: str | None, entries: Mapping[str, Entry | None]) -> str:
    """HEAD's tree (None when unborn) with entries applied, `.entire/` as in HEAD; its oid."""
    theirs = {path: e for path, e in entries.items() if not path.startswith(_OURS)}
    return edit_tree(objects, head_tree, theirs)


def scan_worktree(repo: Repo) -> Scan:
    """What differs in the worktree now, at the cost of a `git status`; nothing is hashed.

    Writes nothing but our own index where it has to be seeded.  Raises Error for a worktree
    that is the home directory or the root, and for a tracked path that cannot be read.
    """
    top = repo.worktree
    running, staged = _STARTED.pop(top) if top in _STARTED else _start_scan(repo)
    work = Worktree(repo)  # reads the configuration while git scans
    if not index.fits_sparse(repo):
        running.finish(ok=range(256))
        index.seed_index(repo, force=True)
        running = index.start_status(repo)
    seen, warnings = _read_status(repo, running, work)
    result = Scan(work, seen)
    rows = [*seen.rows, *_take_unseen(repo, result, warnings)]
    theirs = _read_staged(repo, staged, unborn=seen.head is None)
    alone = result.take_rows(rows)
    if repo.config.get_flag("core.ignorecase"):
        alone = _follow_case(repo, result, theirs, alone)
    index.note_stale(repo, sum(row.x != "." for row in seen.rows))
    _drop_sparse(repo, result)
    hidden = work.list_ignored([path for path in alone if path not in theirs], _ANY)
    for path in (*seen.untracked, *theirs, *alone):
        if path not in hidden:
            result.take_untracked(path)
    _omit_specials(result)
    _drop_excess(repo, result, theirs)
    return result


class started:
    """A `with` that starts git's scan at once: scan_worktree() of this worktree takes it, and
    what is imported and read until then costs no time."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def __enter__(self) -> None:
        _STARTED[self._repo.worktree] = _start_scan(self._repo)

    def __exit__(self, *_: object) -> None:
        for running in filter(None, _STARTED.pop(self._repo.worktree, ())):
            running.finish(ok=range(256))


def _start_scan(repo: Repo) -> tuple[Running, Running | None]:
    refuse_root(repo.worktree)
    running = index.start_status(repo)
    return running, None if index.has_head(repo) else _start_staged(repo, "HEAD")


def refuse_root(top: str) -> None:
    """Raise Error when top is a directory whose snapshot nobody can want."""
    home = os.environ.get("HOME")
    if top == "/" or os.path.dirname(top) == top:
        raise Error(f"refusing to snapshot the root directory '{top}'")
    if home and os.path.realpath(home) == os.path.realpath(top):
        raise Error(f"refusing to snapshot the home directory '{top}'")


def _read_status(repo: Repo, running: Running, work: Worktree) -> tuple[Status, bytes]:
    """(status, warnings) of an index that can be read and knows submodules as HEAD does."""
    seeded, converting = False, True
    while True:
        try:
            seen = porcelain.parse_status(running.finish(limit=filters.compute_patience(repo))[1])
            if seeded or not any(_is_misled(row, work) for row in seen.rows):
                return seen, index.ask_complaints(repo) if running.errors else b""
        except GitError as e:
            if isinstance(e, Late) and filters.note_hang(repo):
                running = index.start_status(repo)
                continue
            if converting and not isinstance(e, Late):  # one that is required may have failed
                converting, running = False, index.start_status(repo, converting=False)
                continue
            if seeded:
                raise
        # Ours may be broken, and is not needed to make another.
        index.seed_index(repo, force=True)
        seeded, converting, running = True, True, index.start_status(repo)


def _is_misled(row: Row, work: Worktree) -> bool:
    """Whether a stale index makes git look into a nested repository, or not into a directory."""
    return row.moved or (row.x in "AD" and bool(work.list_repositories(row.path)))


def _take_unseen(repo: Repo, result: Scan, warnings: bytes) -> list[Row]:
    """Take in what git could not see; the rows that it owes of what HEAD has."""
    lost = set()
    for what, path in porcelain.list_unreadable(warnings):
        if what == "closed":
            raise Error(f"cannot read '{path}': Permission denied")
        if what == "folder":
            result.omit_path(path, "unreadable")
        else:
            lost.add(path)
    listed = (
        repo.git.read_records("ls-tree", "-r", "-z", result.head) if lost and result.head else []
    )
    known = (decode_name(line).split("\t", 1) for line in listed)
    entries = {path: about.split() for about, path in known if path in lost}
    return [Row(path, ".D", (mode, oid)) for path, (mode, _, oid) in entries.items()]


def _start_staged(repo: Repo, base: str) -> Running:
    """Start listing what the person staged that base lacks: it may be ignored
    (doc/git.md "The index of a snapshot")."""
    ways = "-c core.fsmonitor=false diff-index --cached --ita-visible-in-index"
    return repo.git.start(*ways.split(), "--diff-filter=A", "--name-only", "-z", base)


def _read_staged(repo: Repo, staged: Running | None, unborn: bool) -> dict[str, None]:
    if not staged:
        return {}
    state, out = staged.finish(ok=(0, 128) if unborn else (0,))
    if state:
        out = _start_staged(repo, repo.empty_tree).finish()[1]
    return dict.fromkeys(decode_name(path) for path in out.split(b"\0")[:-1])


def _follow_case(repo: Repo, result: Scan, theirs: dict[str, None], alone: list[str]) -> list[str]:
    """Have a file that was renamed in case only under the one of its names that its directory has:
    it leads to the file by the other as well.  Return the paths alone that are no such names."""
    if not (theirs or alone):
        return alone
    args = "diff-index --cached --raw -z --no-abbrev --no-renames --diff-filter=D".split()
    words = repo.git.read_records(*args, result.head) if result.head else []
    new = {path.casefold(): path for path in theirs}
    for about, old in zip(words[::2], map(decode_name, words[1::2]), strict=True):
        name = new.get(old.casefold())
        if name and result.worktree.is_listed(old):
            del theirs[name]
        elif name:
            mode, _, oid = about.decode().removeprefix(":").split()[:3]
            result.changes[old] = Change(GONE, (mode, oid))
    known = {*new, *(path.casefold() for path, change in result.changes.items() if change.was)}
    return [path for path in alone if path in theirs or path.casefold() not in known]


def _drop_sparse(repo: Repo, result: Scan) -> None:
    """What the person's index says is not checked out has not been deleted."""
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
    """List fifos and their like where something changed; git itself never mentions them."""
    folders = {"", *(path.rpartition("/")[0] for path in result.changes)}
    odd = dict(result.list_specials(folders))
    known = {item["path"] for item in result.omitted}
    hidden = result.worktree.list_ignored(odd, _ANY)
    for path, reason in odd.items():
        if path not in hidden and path not in known:
            result.omit_path(path, reason)


def _drop_excess(repo: Repo, result: Scan, theirs: Mapping[str, None]) -> None:
    """Leave out what is ours for being big, and `.entire/`, whatever the size."""
    for path in [path for path in result.changes if path.startswith(_OURS)]:
        del result.changes[path]
    sizes = [
        (path, change.st.st_size)
        for path, change in result.changes.items()
        if change.st and not change.was and path not in theirs and stat.S_ISREG(change.st.st_mode)
    ]
    most = repo.config.get_option("gitcp.max-file-size")
    total = repo.config.get_option("gitcp.max-untracked-size")
    for path, reason in omission.list_excess(sizes, most, total):
        del result.changes[path]
        result.omit_path(path, reason)
