"""The worktree as it is now, with who made and last edited its files."""

from __future__ import annotations

import os
import time
from functools import cached_property

from gitcp.errors import Error
from gitcp.git import refs
from gitcp.git.objects import Lookup, find_file, find_tree
from gitcp.record import looks
from gitcp.record.journal import copy_journal, credit, cuts, held_lines, read_journal
from gitcp.record.journal.line_kinds import Edit, Opening, Settlement
from gitcp.record.looks import taken
from gitcp.record.snapshot import scan
from gitcp.steps.back import signatures
from gitcp.steps.whose import lineage
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.record.snapshot.scan import Scan
    from gitcp.text.record_types import Entry, Version

    Moment = Edit | Opening


def read_present(repo: Repo, dry: bool = False) -> Present:
    """Scan the worktree, and store it.  dry: write nothing into the journal."""
    look = None
    if not dry:
        look = looks.look_at_worktree(repo)
    found = look.scan if look else scan.scan_worktree(repo)
    entries = scan.resolve_changes(repo.objects, found, write=True)
    head_tree = find_tree(repo.objects, found.head)
    tree = scan.write_tree(repo.objects, head_tree, entries)
    return Present(repo, found, head_tree, entries, tree, look)


class Present:
    """One stored scan.

    head_tree: of HEAD, None for no commit.  entries: of the paths that differ from it.  tree: what
    a snapshot takes of the worktree, with `.entire/` as in HEAD; look(path) returns its entry;
    left_out: path -> why the tree lacks it.  seen: the look that goes into the journal, None to
    write nothing there.
    """

    def __init__(
        self,
        repo: Repo,
        found: Scan,
        head_tree: str | None,
        entries: dict[str, Version],
        tree: str,
        seen: looks.Look | None,
    ) -> None:
        self.repo = repo
        self._seen = seen
        self.worktree = found.worktree
        self.head = found.head
        self.head_tree = head_tree
        self.entries = entries
        self.tree = tree
        self.left_out = {item["path"]: item["reason"] for item in found.omitted}
        self.look = Lookup(repo.objects, tree)

    @cached_property
    def lines(self) -> list[JournalLine]:
        """The lines of the journal, with the edits of this scan that no hook saw."""
        head = self.head or refs.get_zeros(self.repo)
        if self._seen:
            return self._seen.take(head, self.entries)
        aside = copy_journal(self.repo)
        looks.record_differences(aside, head, self.entries, time.time_ns())
        return aside.lines

    @cached_property
    def edits(self) -> dict[str, list[Edit]]:
        """path -> its edits in the journal, oldest first."""
        return _group_by_path(credit.list_edits(self.lines))

    @cached_property
    def all_edits(self) -> dict[str, list[Edit]]:
        """path -> its edits, also those that were cut from the journal, oldest first."""
        return _group_by_path(self.kept_edits.list_all())

    @cached_property
    def kept_edits(self) -> KeptEdits:
        """The edits of the journal and those that were cut from it."""
        return KeptEdits(self.repo, self.lines)

    def is_unchanged(self, paths: Iterable[str]) -> bool:
        """Whether these paths still have the scanned content; reads them again."""
        checked = set(paths)
        checked -= signatures.find_other_names(self.repo, checked)
        current = scan.read_paths(self.repo, checked, write=False)
        return all(current[path] == self.get_file(path) for path in checked if path in current)

    def get_file(self, path: str) -> Entry | None:
        """The tree's entry of a file; None also for a directory."""
        return find_file(self.look, path)


def _group_by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    by_path: dict[str, list[Edit]] = {}
    for line in edits:
        by_path.setdefault(line.path, []).append(line)
    return by_path


def read_kept_edits(repo: Repo) -> KeptEdits:
    """The edits of the journal as it is now."""
    return KeptEdits(repo, read_journal(repo))


@value_class
class Moments:
    """Edits, and calls that may have overwritten unseen content or took ignored files, by their
    times.  cut: the turns and tool uses that were cut in the middle."""

    lines: list[Moment]
    cut: set[str]


@value_class
class Since:
    """The edits since a moment, and the first commit that the journal has since then, '' for
    none."""

    edits: list[Edit]
    commit: str


class KeptEdits:
    """The edits of a worktree: recent ones from the journal, older ones from refs when needed."""

    def __init__(self, repo: Repo, lines: list[JournalLine]) -> None:
        """lines: of the journal."""
        self.repo = repo
        self._lines = lines
        # The lines after the last cut, and the turns and tool uses that it goes through.
        since_cut = cuts.find_since_cut(lines)
        self._recent = since_cut.lines
        self._cut = since_cut.cut_ids
        self._all: list[Edit] | None = None

    def list_all(self) -> list[Edit]:
        """Every edit, in the order of their times."""
        if self._all is None:
            edits = credit.list_edits(self._lines)
            was_cut = len(self._recent) < len(self._lines)
            if was_cut:
                self._all = held_lines.unite_edits(self.repo, edits)
            else:
                self._all = edits
        return self._all

    def list_moments(self, everywhere: bool) -> Moments:
        """The edits and calls that begin moments.  Without everywhere only those since the last
        cut."""
        taking = taken.list_taking(self.repo)
        calls: list[Moment] = []
        for line in self._lines:
            if isinstance(line, Opening) and (line.unseen or line.call in taking):
                calls.append(line)
        if everywhere:
            edits = self.list_all()
            cut = set[str]()
        else:
            edits = credit.list_edits(self._recent)
            cut = self._cut
        lines = sorted([*edits, *calls], key=lambda line: line.at)
        return Moments(lines, cut)

    def map_commands(self) -> dict[str, str]:
        """The id of each shell call that the journal has -> the words of its command, less
        options."""
        commands: dict[str, str] = {}
        for line in self._lines:
            if isinstance(line, Opening) and line.kind == credit.SHELL and line.names:
                commands[line.call] = " ".join(line.names)
        return commands

    def find_since(self, name: str, after: bool) -> Since | None:
        """What came since the beginning of a turn or tool use, or since its end; None for an
        unknown name."""
        later = self._lines
        moment = None
        if name not in self._cut:
            moment = lineage.find_moment(self._recent, name, after)
        if moment:
            later = self._recent[moment.number :]
        else:
            moment = lineage.find_moment(self.list_all(), name, after)
        if moment is None:
            return None
        for line in later:
            if isinstance(line, Settlement) and line.commit:
                return Since(moment.since, line.commit)
        return Since(moment.since, "")


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

    def find_writer(self, path: str) -> str:
        """The id of the session whose edit led to a path's present content; '' for none, or if a
        person's did."""
        newest = self._find_newest(path)
        if newest is None:
            return ""
        return newest.author[0]

    def find_edit(self, path: str, version: Version) -> Edit | None:
        """The person's newest edit that is lost if a path becomes a version again, or None."""
        edits = self._present.edits.get(path, ())
        return lineage.find_last(edits, version, self._is_in_git)

    def find_other(self, path: str, version: Version, session_id: str) -> str:
        """The session, another than session_id, whose newest edit is lost so; '' for none, and for
        all if session_id is ''."""
        if not session_id:
            return ""
        edits = self._present.edits.get(path, ())
        line = lineage.find_last(edits, version, self._is_in_git, session_id)
        if line is None:
            return ""
        return line.author[0]

    def is_committed(self, path: str) -> bool:
        """Whether a commit since the path's newest edit gave HEAD the content of that edit."""
        newest = self._find_newest(path)
        if newest is None:
            return False
        return self._is_in_head(newest, newest.base)

    def _find_newest(self, path: str) -> Edit | None:
        """The edit that led to a path's present content; None without one."""
        return next(lineage.walk_back(self._present.edits.get(path, ())), None)

    def _is_in_git(self, line: Edit) -> bool:
        """Whether HEAD has the result of an edit, or a stash has the file that it deleted."""
        bases = line.base, self._earlier_bases.get(id(line), "")
        stashed = line.after is None and line.is_stashed
        return stashed or any(self._is_in_head(line, base) for base in bases)

    def _is_in_head(self, line: Edit, base: str) -> bool:
        """Whether HEAD has the result of an edit and the commit base does not."""
        head = self._present.head
        path = line.path
        after = line.after
        if not base or not head or base == head:
            return False
        return self._read_entry(head, path) == after != self._read_entry(base, path)

    @cached_property
    def _earlier_bases(self) -> dict[int, str]:
        """id() of a line -> the commit that was HEAD before the line's own base."""
        earlier = ""
        base = ""
        bases = dict[int, str]()
        for line in self._present.lines:
            line_base = line.base
            if isinstance(line, Settlement):
                line_base = line.commit
            elif isinstance(line, Edit):
                line_base = line_base or self._present.head or ""  # found by this scan
            line_base = line_base or base
            if line_base != base:
                earlier = base
                base = line_base
            bases[id(line)] = earlier
        return bases

    def _read_entry(self, commit: str, path: str) -> Version:
        if commit not in self._trees:
            objects = self._present.repo.objects
            self._trees[commit] = Lookup(objects, find_tree(objects, commit))
        return find_file(self._trees[commit], path)


def name_in_worktree(repo: Repo, path: str) -> str:
    """A path relative to the root of the worktree; raises Error for one outside of it."""
    top = os.path.realpath(repo.worktree)
    folder, name = os.path.split(os.path.abspath(path))
    inside = os.path.relpath(os.path.join(os.path.realpath(folder), name), top)
    if inside == ".." or inside.startswith("../"):
        raise Error(f"'{path}' is outside the worktree")
    if inside == ".":
        return ""
    return inside
