"""The current worktree, scanned once and stored as a tree: the start of every step; and who made
and last edited its files."""

from __future__ import annotations

import os
import time
from functools import cached_property

from gitcp.core.back import lineage
from gitcp.core.credit import cutting, entries
from gitcp.errors import Error
from gitcp.store.git import refs
from gitcp.store.git.tree import Lookup, find_file, find_tree
from gitcp.store.journal import edits_ref, journal, look, turn_look
from gitcp.store.snapshot import blobs, snapshot
from gitcp.store.snapshot.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Entry, JournalLine, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Signature = tuple[int, int, int, int, int] | None  # None: nothing stands there


class Present:
    """One stored scan.  tree: what a snapshot takes of the worktree, with `.entire/` as in HEAD.

    look(path) returns the tree's entry; left_out: path -> why the tree lacks it.  dry: write
    nothing into the journal.
    """

    def __init__(self, repo: Repo, objects: Objects, dry: bool = False) -> None:
        self.repo, self.objects = repo, objects
        self._seen = None if dry else turn_look.Look(repo)
        scan = self._seen.scan if self._seen else snapshot.scan_worktree(repo)
        self.worktree, self.head = scan.worktree, scan.head
        self.head_tree = find_tree(objects, scan.head)
        self.entries = blobs.resolve_changes(objects, scan, write=True)
        self.tree = snapshot.write_tree(objects, self.head_tree, self.entries)
        self.left_out = {item["path"]: item["reason"] for item in scan.omitted}
        self.look = Lookup(objects, self.tree)

    @cached_property
    def lines(self) -> list[JournalLine]:
        """The lines of the journal, with the edits of this scan that no hook saw."""
        head = self.head or refs.get_zeros(self.repo)
        if self._seen:
            return self._seen.take(self.objects, head, self.entries)
        aside = journal.JournalCopy(self.repo)
        look.record_differences(self.objects, aside, head, self.entries, time.time_ns())
        return aside.lines

    @cached_property
    def edits(self) -> dict[str, list[JournalLine]]:
        """path -> its edits in the journal, oldest first."""
        return _group_by_path(entries.list_edits(self.lines))

    @cached_property
    def all_edits(self) -> dict[str, list[JournalLine]]:
        """path -> its edits, also those that were cut from the journal, oldest first."""
        return _group_by_path(self.kept_edits.list_all())

    @cached_property
    def kept_edits(self) -> KeptEdits:
        """The edits of the journal and those that were cut from it."""
        return KeptEdits(self.repo, self.lines)

    def is_unchanged(self, paths: Iterable[str]) -> bool:
        """Whether these paths still have the scanned content; reads them again."""
        checked = set(paths)
        checked -= find_other_names(self.repo, checked)
        current = blobs.read_paths(self.repo, self.objects, checked, write=False)
        return all(current[path] == self.get_file(path) for path in checked if path in current)

    def get_file(self, path: str) -> Entry | None:
        """The tree's entry of a file; None also for a directory."""
        return find_file(self.look, path)


def _group_by_path(edits: Iterable[JournalLine]) -> dict[str, list[JournalLine]]:
    by_path: dict[str, list[JournalLine]] = {}
    for line in edits:
        by_path.setdefault(line["path"], []).append(line)
    return by_path


class KeptEdits:
    """The edits of a worktree: recent ones from the journal, older ones from refs when needed."""

    def __init__(self, repo: Repo, lines: list[JournalLine] | None = None) -> None:
        """lines: of the journal, None to read them."""
        self.repo = repo
        self._lines = journal.read(repo) if lines is None else lines
        # The lines after the last cut, and the turns and tool uses that it goes through.
        self._recent, self._cut = cutting.find_since_cut(self._lines)
        self._all: list[JournalLine] | None = None

    def list_all(self) -> list[JournalLine]:
        """Every edit, in the order of their times."""
        if self._all is None:
            edits = entries.list_edits(self._lines)
            was_cut = len(self._recent) < len(self._lines)
            self._all = edits_ref.unite_edits(self.repo, edits) if was_cut else edits
        return self._all

    def list_moments(self, everywhere: bool) -> tuple[list[JournalLine], set[str]]:
        """(edits, and calls that may have overwritten unseen content, by their times; the turns
        and tool uses that were cut in the middle).  Without everywhere only those since the last
        cut."""
        edits = self.list_all() if everywhere else entries.list_edits(self._recent)
        calls = (line for line in self._lines if "unseen" in line)
        lines = sorted([*edits, *calls], key=lambda line: int(line["at"]))
        return lines, set() if everywhere else self._cut

    def find_since(self, name: str, after: bool) -> tuple[list[JournalLine], str] | None:
        """(the edits since the beginning of a turn or tool use, or since its end; the first commit
        that the journal has since then, '' for none); None for an unknown name."""
        later = self._lines
        moment = lineage.find_moment(self._recent, name, after) if name not in self._cut else None
        if moment:
            later = self._recent[moment[1] :]
        else:
            moment = lineage.find_moment(self.list_all(), name, after)
        if moment is None:
            return None
        return moment[0], next((line["commit"] for line in later if "commit" in line), "")


class Owners:
    """Who created the file at a path, who edited it last, and whether a commit has the edit."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._trees: dict[str, Lookup] = {}

    def find_owner(self, path: str) -> str:
        """The id of the session that created the file at a path; '' if none is known."""
        maker = lineage.find_maker(self._present.edits.get(path, ()))
        if maker is None:  # its first edits may have been cut from the journal
            maker = lineage.find_maker(self._present.all_edits.get(path, ()))
        return maker or ""

    def find_edit(self, path: str, version: Version) -> JournalLine | None:
        """The person's newest edit that is lost if a path becomes a version again, or None."""
        edits = self._present.edits.get(path, ())
        return lineage.find_last_by_person(edits, version, self._is_in_git)

    def is_committed(self, path: str) -> bool:
        """Whether a commit since the path's newest edit gave HEAD the content of that edit."""
        newest = next(lineage.walk_back(self._present.edits.get(path, ())), None)
        return newest is not None and self._is_in_head(newest, str(newest.get("base", "")))

    def _is_in_git(self, line: JournalLine) -> bool:
        """Whether HEAD has the result of an edit, or a stash has the file that it deleted."""
        bases = str(line.get("base", "")), self._earlier_bases.get(id(line), "")
        stashed = line["after"] is None and "stashed" in line
        return stashed or any(self._is_in_head(line, base) for base in bases)

    def _is_in_head(self, line: JournalLine, base: str) -> bool:
        """Whether HEAD has the result of an edit and the commit base does not."""
        head, path, after = self._present.head, line["path"], entries.parse_entry(line["after"])
        if not base or not head or base == head:
            return False
        return self._read_entry(head, path) == after != self._read_entry(base, path)

    @cached_property
    def _earlier_bases(self) -> dict[int, str]:
        """id() of a line -> the commit that was HEAD before the line's own base."""
        earlier, base, bases = "", "", dict[int, str]()
        for line in self._present.lines:
            default = self._present.head if "path" in line else line.get("commit", base)
            line_base = str(line.get("base", default))  # an edit found by this scan may have none
            if line_base != base:
                earlier, base = base, line_base
            bases[id(line)] = earlier
        return bases

    def _read_entry(self, commit: str, path: str) -> Version:
        if commit not in self._trees:
            objects = self._present.objects
            self._trees[commit] = Lookup(objects, find_tree(objects, commit))
        return find_file(self._trees[commit], path)


def read_signatures(repo: Repo, paths: Iterable[str]) -> dict[str, Signature]:
    """path -> signature, by which later changes are seen; None for a file that does not exist or
    is behind a symbolic link."""
    worktree, names = Worktree(repo), list(paths)
    unlisted = find_other_names(repo, names)
    return {
        path: None if path in unlisted else _build_signature(worktree.look_at(path))
        for path in names
    }


def find_other_names(repo: Repo, paths: Iterable[str]) -> set[str]:
    """Among paths that differ in case only, those whose file has another spelling on disk."""
    if not repo.config.get_flag("core.ignorecase"):
        return set()
    by_fold: dict[str, list[str]] = {}
    for path in paths:
        by_fold.setdefault(path.casefold(), []).append(path)
    twins = (path for same in by_fold.values() if len(same) > 1 for path in same)
    worktree = Worktree(repo)
    return {path for path in twins if not worktree.is_listed(path)}


def read_signature(name: bytes, folder: int) -> Signature:
    """The signature of a file in an open directory; None if it does not exist."""
    try:
        return _build_signature(os.lstat(name, dir_fd=folder))
    except FileNotFoundError:
        return None


def _build_signature(st: os.stat_result | None) -> Signature:
    return (st.st_mode, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns) if st else None


def name_in_worktree(repo: Repo, path: str) -> str:
    """A path relative to the root of the worktree; raises Error for one outside of it."""
    top = os.path.realpath(repo.worktree)
    folder, name = os.path.split(os.path.abspath(path))
    inside = os.path.relpath(os.path.join(os.path.realpath(folder), name), top)
    if inside == ".." or inside.startswith("../"):
        raise Error(f"'{path}' is outside the worktree")
    return "" if inside == "." else inside
