"""The ends of a step: the worktree as it is now, with who made and last edited its files; and
carrying out a plan in it, with the bytes and permissions that git does not keep."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from functools import cached_property

from gitcp.errors import Busy, Changed, Error, Moved
from gitcp.git import encode_name, files, refs
from gitcp.git.files import exclusive
from gitcp.git.objects import TREE, Lookup, edit_tree, find_file, find_tree, write_commit
from gitcp.record import journal, looks, session
from gitcp.record.journal import (
    Journal,
    credit,
    cuts,
    held_lines,
    read_clock,
    read_journal,
    read_last_seen,
)
from gitcp.record.journal.edits import record_checkpoint
from gitcp.record.journal.line_kinds import Edit, Opening, Settlement
from gitcp.record.journal.stretches import collect_work
from gitcp.record.looks import step_edits, taken
from gitcp.record.session import others
from gitcp.record.snapshot import Filters, Worktree
from gitcp.record.snapshot.scan import read_paths, resolve_changes, scan_worktree, write_tree
from gitcp.record.stream import ARCHIVE, FOLLOWED, METADATA, peek_tip, read_streams, save_work
from gitcp.record.stream.stream_list import recall_state
from gitcp.record.stream.writing import build_message
from gitcp.steps import undo
from gitcp.steps.back import plan
from gitcp.steps.back.plan import list_effective
from gitcp.text.ids import EXECUTABLE, GONE, LINK, REGULAR
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.record.snapshot.scan import Scan
    from gitcp.steps.back.plan import Action, Step
    from gitcp.steps.back.staging import Raw, Staging
    from gitcp.text.record_types import Entry, File, State, Stream, Tip, Version

    Signature = tuple[int, int, int, int, int] | None  # None: nothing stands there
    Known = Mapping[str, tuple[Version, Raw]]  # path -> an entry and its Raw
    Progress = Callable[[int, int], None]
    Now = Mapping[str, Entry | None]  # path -> its entry after the step
    Files = dict[str, File]

    Moment = Edit | Opening


def read_present(repo: Repo, dry: bool = False) -> Present:
    """Scan the worktree, and store it.  dry: write nothing into the journal."""
    look = None if dry else looks.look_at_worktree(repo)
    scan = look.scan if look else scan_worktree(repo)
    entries = resolve_changes(repo.objects, scan, write=True)
    head_tree = find_tree(repo.objects, scan.head)
    tree = write_tree(repo.objects, head_tree, entries)
    return Present(repo, scan, head_tree, entries, tree, look)


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
        scan: Scan,
        head_tree: str | None,
        entries: dict[str, Version],
        tree: str,
        seen: looks.Look | None,
    ) -> None:
        self.repo = repo
        self._seen = seen
        self.worktree = scan.worktree
        self.head = scan.head
        self.head_tree = head_tree
        self.entries = entries
        self.tree = tree
        self.left_out = {item["path"]: item["reason"] for item in scan.omitted}
        self.look = Lookup(repo.objects, tree)

    @cached_property
    def lines(self) -> list[JournalLine]:
        """The lines of the journal, with the edits of this scan that no hook saw."""
        head = self.head or refs.get_zeros(self.repo)
        if self._seen:
            return self._seen.take(head, self.entries)
        aside = journal.copy_journal(self.repo)
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
        checked -= find_other_names(self.repo, checked)
        current = read_paths(self.repo, checked, write=False)
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
    return KeptEdits(repo, journal.read_journal(repo))


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

    def list_moments(self, everywhere: bool) -> tuple[list[Moment], set[str]]:
        """(edits, and calls that may have overwritten unseen content or took ignored files, by
        their times; the turns and tool uses that were cut in the middle).  Without everywhere only
        those since the last cut."""
        if everywhere:
            edits = self.list_all()
        else:
            edits = credit.list_edits(self._recent)
        taking = taken.list_taking(self.repo)
        calls = []
        for line in self._lines:
            if isinstance(line, Opening) and (line.unseen or line.call in taking):
                calls.append(line)
        lines: list[Moment] = sorted([*edits, *calls], key=lambda line: line.at)
        return lines, set() if everywhere else self._cut

    def map_commands(self) -> dict[str, str]:
        """The id of each shell call that the journal has -> the words of its command, less
        options."""
        commands = {}
        for line in self._lines:
            if isinstance(line, Opening) and line.kind == credit.SHELL and line.names:
                commands[line.call] = " ".join(line.names)
        return commands

    def find_since(self, name: str, after: bool) -> tuple[list[Edit], str] | None:
        """(the edits since the beginning of a turn or tool use, or since its end; the first commit
        that the journal has since then, '' for none); None for an unknown name."""
        later = self._lines
        moment = None
        if name not in self._cut:
            moment = plan.find_moment(self._recent, name, after)
        if moment:
            later = self._recent[moment[1] :]
        else:
            moment = plan.find_moment([*self.list_all()], name, after)
        if moment is None:
            return None
        for line in later:
            if isinstance(line, Settlement) and line.commit:
                return moment[0], line.commit
        return moment[0], ""


class Owners:
    """Who created the file at a path, who edited it last, and whether a commit has the edit."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._trees: dict[str, Lookup] = {}

    def find_owner(self, path: str) -> str:
        """The id of the session that created the file at a path; '' if none is known."""
        maker = plan.find_maker(self._present.edits.get(path, ()))
        if maker is None:  # its first edits may have been cut from the journal
            maker = plan.find_maker(self._present.all_edits.get(path, ()))
        return maker or ""

    def find_writer(self, path: str) -> str:
        """The id of the session whose edit led to a path's present content; '' for none, or if a
        person's did."""
        newest = next(plan.walk_back(self._present.edits.get(path, ())), None)
        return newest.author[0] if newest else ""

    def find_edit(self, path: str, version: Version) -> Edit | None:
        """The person's newest edit that is lost if a path becomes a version again, or None."""
        edits = self._present.edits.get(path, ())
        return plan.find_last(edits, version, self._is_in_git)

    def find_other(self, path: str, version: Version, session_id: str) -> str:
        """The session, another than session_id, whose newest edit is lost so; '' for none, and for
        all if session_id is ''."""
        if not session_id:
            return ""

        edits = self._present.edits.get(path, ())
        line = plan.find_last(edits, version, self._is_in_git, session_id)
        return line.author[0] if line else ""

    def is_committed(self, path: str) -> bool:
        """Whether a commit since the path's newest edit gave HEAD the content of that edit."""
        newest = next(plan.walk_back(self._present.edits.get(path, ())), None)
        return newest is not None and self._is_in_head(newest, newest.base)

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
            self._trees[commit] = Lookup(
                self._present.repo.objects, find_tree(self._present.repo.objects, commit)
            )
        return find_file(self._trees[commit], path)


def read_signatures(repo: Repo, paths: Iterable[str]) -> dict[str, Signature]:
    """path -> signature, by which later changes are seen; None for a file that does not exist or
    is behind a symbolic link."""
    worktree = Worktree(repo)
    names = list(paths)
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
    if st:
        return (st.st_mode, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
    return None


def name_in_worktree(repo: Repo, path: str) -> str:
    """A path relative to the root of the worktree; raises Error for one outside of it."""
    top = os.path.realpath(repo.worktree)
    folder, name = os.path.split(os.path.abspath(path))
    inside = os.path.relpath(os.path.join(os.path.realpath(folder), name), top)
    if inside == ".." or inside.startswith("../"):
        raise Error(f"'{path}' is outside the worktree")
    return "" if inside == "." else inside


# The bytes and permissions that git does not keep.
#
# A blob has passed git's filters, and its mode has one permission bit.  A step keeps the original
# bytes and permissions of the files that it changes, and the permissions of directories that it
# may remove, so that undo restores them.
USUAL: Raw = (None, None)


def keep_raw(
    present: Present, actions: Sequence[Action], signs: Mapping[str, Signature]
) -> dict[str, Raw]:
    """path -> the Raw, stored, of each regular file that actions replace or delete, and of the
    directories above all that they change."""
    head = Lookup(present.repo.objects, present.head_tree)
    mask = _read_umask()
    filters = Filters(present.worktree, head)
    raw = _keep_folders(present, (action["path"] for action in actions), 0o777 & ~mask)
    for action in actions:
        path = action["path"]
        was = action["was"]
        sign = signs.get(action["path"])
        if not was or was[0] not in REGULAR or not sign or not stat.S_ISREG(sign[0]):
            continue
        mode = stat.S_IMODE(sign[0])
        usual = (0o777 if was[0] == EXECUTABLE else 0o666) & ~mask
        oid = None
        if filters.name_conversion(path):
            with open(present.worktree.join_full(path), "rb") as f:
                oid = present.repo.objects.write("blob", f.read())
        if oid or mode != usual:
            raw[path] = (None if mode == usual else mode, oid)
    return raw


def _keep_folders(present: Present, paths: Iterable[str], usual: int) -> dict[str, Raw]:
    """folder -> the Raw of the directories above paths that have other permissions than usual."""
    folders = set[str]()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    found = ((folder, present.worktree.look_at(folder)) for folder in folders)
    modes = {f: stat.S_IMODE(st.st_mode) for f, st in found if st and stat.S_ISDIR(st.st_mode)}
    return {folder: (mode, None) for folder, mode in modes.items() if mode != usual}


def choose_raw(
    present: Present, targets: Mapping[str, Entry], signs: Mapping[str, Signature], records: Known
) -> dict[str, Raw]:
    """The Raw of the targets files: that recorded for the same entry, else the permissions of the
    file that is replaced; and that recorded for directories.

    Without core.symlinks a link is a link where HEAD has none: a file would be a file there."""
    folders = ((path, version, raw) for path, (version, raw) in records.items())
    chosen = {path: raw for path, version, raw in folders if version and version[0] == TREE}
    head = Lookup(present.repo.objects, present.head_tree)
    links = present.repo.config.get_flag("core.symlinks", True)
    for path, entry in targets.items():
        sign = signs.get(path)
        if entry[0] == LINK and not links and (find_file(head, path) or GONE)[0] != LINK:
            chosen[path] = stat.S_IFLNK, None
        if entry[0] not in REGULAR:
            continue
        if path in records and records[path][0] == entry:
            chosen[path] = records[path][1]
        elif sign and stat.S_ISREG(sign[0]):
            chosen[path] = _compute_mode(stat.S_IMODE(sign[0]), entry[0] == EXECUTABLE), None
    return {path: raw for path, raw in chosen.items() if raw != USUAL}


def _compute_mode(mode: int, executable: bool) -> int:
    """The permissions of a file that replaces one with this mode."""
    plain = mode & ~0o111
    if executable:
        return plain | (plain & 0o444) >> 2
    return plain


def read_steps(objects: Objects, steps: Iterable[Step], paths: Iterable[str] = ()) -> Known:
    """path -> its version before the oldest of steps (newest first), with the Raw that a step kept
    of it; paths: more than those of which a step kept one."""
    known: dict[str, tuple[Version, Raw]] = {}
    for step in steps:
        version = undo.open_tree(objects, step["commit"], "before")
        kept = step.get("raw", {})
        for path in {*paths, *kept, *known}:
            before, (mode, oid) = version(path), kept.get(path, USUAL)
            if path in kept or known.get(path, (None, USUAL))[0] != before:
                known[path] = before, (mode, oid)
    return known


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# Carrying out a plan in the worktree, file by file.
#
# Symbolic links are not followed, and a file that has changed since it was read is not replaced:
# each directory on the way is held open.  Replaced files stay in the step's own directory until
# the plan is done; after a failure they are moved back, with their dates.
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Apply:
    """Carries out one plan below top, all of it or nothing.

    signs: the signature that each path had when its content was read.  raw: the permissions of
    directories that are made.
    """

    def __init__(
        self,
        top: bytes,
        staging: Staging,
        actions: Sequence[Action],
        signs: Mapping[str, Signature],
        raw: Mapping[str, Raw],
    ) -> None:
        self._top = top
        self._staging = staging
        self._signs = signs
        self._raw = raw
        # Deletions come first, the deepest path first: they make room for the writes.
        todo = sorted(list_effective(actions), key=lambda a: a["path"])
        gone = [a for a in reversed(todo) if a["now"] is None]
        self._todo = [*gone, *(a for a in todo if a["now"] is not None)]
        self._done: list[tuple[int, Action]] = []
        self._folders = Folders(top, raw)

    def carry_out(self, progress: Progress) -> None:
        """Do every action.  Raises Changed or OSError, with the worktree as it was before."""
        os.makedirs(self._staging.old, exist_ok=True)
        try:
            for number, action in enumerate(self._todo):
                self._do_action(number, action)
                progress(number + 1, len(self._todo))
        except BaseException:
            self.take_back()
            raise

    def _do_action(self, number: int, action: Action) -> None:
        path = action["path"]
        write = action["now"] is not None
        above = path.rpartition("/")[0]
        folder = self._folders.open_folder(above, make=write)
        if folder is None:
            if self._signs.get(path):
                raise Changed(f"'{path}' was moved meanwhile")
            return
        try:
            self._replace_file(number, action, folder)
        finally:
            os.close(folder)
        if not write:
            self._folders.prune_empty(above)

    def _replace_file(self, number: int, action: Action, folder: int) -> None:
        path = action["path"]
        sign = self._signs.get(action["path"])
        name = encode_name(path.rpartition("/")[2])
        if sign and stat.S_ISDIR(sign[0]):  # its files are gone by now
            self._folders.make_room(path)
            sign = None
        if read_signature(name, folder) != sign:
            raise Changed(f"'{path}' has changed since it was looked at")
        if sign:
            _keep_file(folder, name, self._staging.get_replaced_path(number))
        self._done.append((number, action))
        if action["now"] is not None:
            _place_file(self._staging.get_path(path), folder, name)
        elif sign:
            os.unlink(name, dir_fd=folder)

    def take_back(self) -> None:
        """Put the worktree back as it was before carry_out(); a second call does nothing."""
        for number, action in reversed(self._done):
            path = action["path"]
            replaced = self._staging.get_replaced_path(number)
            full = os.path.join(self._top, encode_name(path))
            if os.path.lexists(replaced):
                self._folders.make_again(path.rpartition("/")[0])
                self._folders.remove_made(path)
                os.rename(replaced, full)
            elif action["now"] is not None and not os.path.isdir(full):
                files.remove_file(full)
        self._folders.take_back()
        self._done, self._folders = [], Folders(self._top, self._raw)


def _keep_file(folder: int, name: bytes, replaced: bytes) -> None:
    """Link the file that is about to be replaced into the step's directory, or copy it there."""
    try:
        os.link(name, replaced, src_dir_fd=folder, follow_symlinks=False)
    except OSError as e:
        if e.errno not in _NO_LINKS:
            raise
        _copy_file(name, replaced, source_in=folder)


def _place_file(staged: bytes, folder: int, name: bytes) -> None:
    try:
        os.rename(staged, name, dst_dir_fd=folder)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        beside = b".gitcp-%d-%s" % (os.getpid(), os.urandom(4).hex().encode())
        try:
            _copy_file(staged, beside, target_in=folder)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise


def _copy_file(
    source: bytes, target: bytes, source_in: int | None = None, target_in: int | None = None
) -> None:
    st = os.stat(source, dir_fd=source_in, follow_symlinks=False)
    if stat.S_ISLNK(st.st_mode):
        os.symlink(os.readlink(source, dir_fd=source_in), target, dir_fd=target_in)
        return
    reads = os.O_RDONLY | os.O_NOFOLLOW
    writes = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    old = os.open(source, reads | os.O_CLOEXEC, dir_fd=source_in)
    with open(old, "rb") as f, open(os.open(target, writes, dir_fd=target_in), "wb") as copy:
        while True:
            data = f.read(1 << 20)
            if not data:
                break
            copy.write(data)
        os.fchmod(copy.fileno(), stat.S_IMODE(st.st_mode))
    os.utime(target, ns=(st.st_atime_ns, st.st_mtime_ns), dir_fd=target_in)


class Folders:
    """Opens and makes directories below top, and removes those that become empty.

    created and removed list them, so that take_back() can undo it.  raw: the permissions of those
    that are made.
    """

    def __init__(self, top: bytes, raw: Mapping[str, Raw]) -> None:
        self._top = top
        self._raw = raw
        self.created: list[str] = []
        self.removed: dict[str, int] = {}  # folder -> its mode

    def open_folder(self, folder: str, make: bool) -> int | None:
        """Return a descriptor of a directory; make: create it and its parents where absent.

        None if it does not exist and make is false.  Raises Changed if a file is in its place.
        """
        descriptor = os.open(self._top, _DIRECTORY)
        parts = folder.split("/") if folder else []
        for n in range(len(parts)):
            try:
                below = self._open_child(descriptor, "/".join(parts[: n + 1]), make)
            finally:
                os.close(descriptor)
            if below is None:
                return None
            descriptor = below
        return descriptor

    def _open_child(self, parent: int, path: str, make: bool) -> int | None:
        name = encode_name(path.rpartition("/")[2])
        try:
            return os.open(name, _DIRECTORY, dir_fd=parent)
        except OSError as e:
            if e.errno not in _NOTHING:
                raise
            if not make:
                return None
            if e.errno != errno.ENOENT:
                raise Changed(f"'{path}' is not a directory any more") from None
        os.mkdir(name, dir_fd=parent)
        mode = self._raw.get(path, USUAL)[0]
        if mode is not None:
            os.chmod(name, mode, dir_fd=parent)
        self.created.append(path)
        return os.open(name, _DIRECTORY, dir_fd=parent)

    def make_room(self, path: str) -> None:
        """Remove the empty directories at path and below, where a file will be written."""
        full = os.path.join(self._top, encode_name(path))
        for folder, _, _ in os.walk(full, topdown=False):
            self._remove_folder(folder)

    def prune_empty(self, folder: str) -> None:
        """Remove an empty directory and its empty parents, but not the current directory."""
        here = _find_cwd() + os.sep
        while folder:
            full = os.path.join(self._top, encode_name(folder))
            if here.startswith(os.path.realpath(os.fsdecode(full)) + os.sep):
                return
            if not self._remove_folder(full):
                return
            folder = folder.rpartition("/")[0]

    def _remove_folder(self, full: bytes) -> bool:
        try:
            mode = stat.S_IMODE(os.lstat(full).st_mode)
            os.rmdir(full)
        except OSError:
            return False
        self.removed[os.fsdecode(os.path.relpath(full, self._top))] = mode
        return True

    def make_again(self, folder: str) -> None:
        """Make a directory and its parents again, with their modes; files in their place go."""
        parts = folder.split("/") if folder else []
        for n in range(1, len(parts) + 1):
            path = "/".join(parts[:n])
            full = os.path.join(self._top, encode_name(path))
            if os.path.lexists(full) and not os.path.isdir(full):
                os.unlink(full)
            if not os.path.lexists(full):
                os.mkdir(full)
                os.chmod(full, self.removed.get(path, 0o777))

    def remove_made(self, folder: str) -> None:
        """Remove the created directories at folder and below that are empty."""
        for path in reversed(self.created):
            if not folder or f"{path}/".startswith(f"{folder}/"):
                with suppress(OSError):  # another program's file is in it, or it is gone already
                    os.rmdir(os.path.join(self._top, encode_name(path)))

    def take_back(self) -> None:
        """Remove the created directories that are empty, and make the removed ones again."""
        self.remove_made("")
        for path in reversed(self.removed):
            self.make_again(path)


def _find_cwd() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""


# Bringing sessions, streams and the journal up to date after a step changed the worktree.
#
# A step is nobody's work: files that it put back do not become edits of the turn under way, and
# content that it took back is not compared with later commits (doc/behaviour.md "Going back").
_LISTED = 100


def tell_agents(repo: Repo, what: str, paths: Collection[str]) -> list[str]:
    """Leave a message with the changed files for the next prompt of every session that is open
    here or that wrote one of them; return a sentence for each session."""
    names = sorted(paths)
    writers = credit.list_writers(read_journal(repo), paths)
    listed = "\n".join(f"- {path}" for path in names[:_LISTED])
    more = ""
    if len(names) > _LISTED:
        more = f"\n- and {len(names) - _LISTED} more"
    begin = f"The user ran 'gitcp {what}'. These files changed since you last saw them; read them"
    text = f"{begin} again before you rely on them:\n{listed}{more}"
    notes = []
    for session_id in others.list_state_ids(repo):
        state = others.peek_state(repo, session_id)
        if state is None or (state.get("phase") == "ended" and session_id not in writers):
            continue
        if session.is_home(repo, state):
            others.leave_message(repo, session_id, text)
            notes.append(f"session {shorten_id(session_id)} is told with its next prompt")
    return notes


def follow_step(
    repo: Repo, step_id: str, actions: Sequence[Action], merged: Mapping[str, Sequence[str]]
) -> list[str]:
    """Bring the journal, the turns under way and the streams up to date after a step; return
    sentences about the sessions at work.  merged: as Wish has it."""
    note_step(repo, step_id, actions, merged)
    return _follow_files(repo, [action["path"] for action in actions])


def note_step(
    repo: Repo, step_id: str, actions: Iterable[Action], merged: Mapping[str, Sequence[str]]
) -> None:
    """Record the edits of a step that the journal lacks, as nobody's work.  merged: as Wish has
    it."""
    with Journal(repo) as journal:
        time = read_clock(repo)
        known = read_last_seen(repo, journal.lines)
        changed = {
            a["path"]: (a["was"], a["now"])
            for a in actions
            if known.get_entry(a["path"]) != a["now"]
        }
        journal.append_edits(step_edits.build_edits(step_id, changed, merged, time))


def _follow_files(repo: Repo, paths: Collection[str]) -> list[str]:
    """Set these paths in the baseline of every turn under way here to their current entries;
    return sentences about the sessions at work."""
    if not paths:
        return []
    current = read_paths(repo, paths, write=True)
    head = Lookup(repo.objects, find_tree(repo.objects, refs.read_head(repo)))
    notes = []
    for session_id in others.list_state_ids(repo):
        baseline = session.read_baseline(repo, session_id)
        if baseline is None:
            continue
        state = others.peek_state(repo, session_id)
        dirty = {**baseline["dirty"], **current}
        dirty = {path: entry for path, entry in dirty.items() if entry != head(path)}
        others.set_dirty(repo, session_id, baseline, dirty)
        if state and state.get("phase") == "active":
            name = shorten_id(session_id)
            notes.append(f"session {name} is at work here: its files changed under it")
    try:
        _follow_streams(repo, current, head)
        _note_brought_back(repo, {path for path, entry in current.items() if entry != head(path)})
    except (Busy, Moved) as e:
        notes.append(f"the streams are brought up to date by the next turn: {e}")
    return notes


def _note_brought_back(repo: Repo, changed: Collection[str]) -> None:
    """Note in the states of sessions that the worktree has work of theirs again which no stream
    has: a commit asks for it.  changed: the paths that a step touched and that differ from HEAD."""
    lines = read_journal(repo)
    for session_id in sorted(credit.list_writers(lines, changed)):
        work = collect_work(lines, session_id)
        present = {path for path in changed if work.is_present(path)}
        if not present:
            continue
        with others.held_state(repo, [session_id]):
            state = recall_state(repo, session_id)
            if state is None or not session.is_home(repo, state):
                continue
            for stream in state["streams"]:
                present -= stream["files"].keys()
            if present:
                state["unstored"] = sorted(present.union(state.get("unstored", ())))
                save_work(repo, state)


def _follow_streams(repo: Repo, current: Now, head: Lookup) -> None:
    """Bring every live stream of this worktree, and the states on it, up to date.

    current: the paths that the step touched.  head: HEAD's tree.  Raises Moved when a stream moves
    meanwhile and Busy when a session stays locked; the stream is then as before, and the next
    turn brings it up to date.
    """
    for ref, sessions in _list_live(repo).items():
        tip = peek_tip(repo.objects, ref)
        if tip:
            stream = exclusive(repo, f"stream-{repo.worktree_hash}")
            with others.held_state(repo, sessions), Journal(repo) as held, stream:
                _follow_stream(held, tip, sessions, current, head)


def _list_live(repo: Repo) -> dict[str, list[str]]:
    """stream's ref -> the sessions of this worktree that have files on it."""
    streams: dict[str, list[str]] = {}
    for name in others.list_state_ids(repo):
        state = others.peek_state(repo, name)
        if not state or not session.is_home(repo, state):
            continue
        for stream in state["streams"]:
            if not stream["ref"].startswith(ARCHIVE):
                streams.setdefault(stream["ref"], []).append(state["session_id"])
    return streams


def _follow_stream(
    held: Journal, tip: Tip, sessions: list[str], current: Now, head: Lookup
) -> None:
    repo = held.repo
    lines = held.lines
    changed = []
    for session_id in sorted(set(sessions)):
        state = recall_state(repo, session_id)
        streams = state["streams"] if state else ()
        stream = next((s for s in streams if s["id"] == tip["stream"]), None)
        if state and stream:
            files = _list_work(lines, state, stream["files"], current, head)
            if files != stream["files"]:
                _record_files(held, state, stream, files)
                changed.append(state)
    look = Lookup(held.repo.objects, tip["tree"])
    edits = {path: entry for path, entry in current.items() if look(path) != entry}
    if not edits and not changed:
        return
    for state in changed:
        state["revision"] = state.get("revision", 0) + 1
    oid = _write_tip(repo, tip, edits, changed)
    refs.update_refs(repo, [(tip["ref"], oid, tip["oid"])], "gitcp: rewind")
    for state in changed:
        save_work(repo, state)


def _record_files(held: Journal, state: State, stream: Stream, files: Files) -> None:
    """Record in the journal that a stream has exactly these files of a session."""
    out = stream["files"].keys() - files.keys()
    changed = {path: file for path, file in files.items() if file != stream["files"].get(path)}
    for turn in {file.get("turn_id", "") for file in changed.values()} or {""}:
        entries = {
            path: (file["mode"], file["oid"]) if file["oid"] else None
            for path, file in changed.items()
            if file.get("turn_id", "") == turn
        }
        record_checkpoint(held, state, stream["id"], entries, turn, {stream["id"]: out})
    read_streams(held.repo, state)


def _write_tip(
    repo: Repo,
    tip: Tip,
    edits: Mapping[str, Entry | None],
    changed: list[State],
) -> str:
    tree = edit_tree(repo.objects, tip["tree"], edits)
    for state in changed:
        blob = repo.objects.write("blob", session.dump_state(state))
        path = f"{METADATA}{state['session_id']}/state.json"
        tree = edit_tree(repo.objects, tree, {path: ("100644", blob)})
    message = build_message(FOLLOWED, tip["session_id"], tip["base"], tip["stream"])
    return write_commit(repo, tree, [tip["oid"]], message)


def _list_work(
    lines: list[JournalLine], state: State, files: Files, current: Now, head: Lookup
) -> Files:
    """The files of a session after the paths of current took their new entries.

    A path that equals HEAD's is not the session's work any more.  A path to whose content the
    session contributed, by the journal, is its work again.  Others stay as recorded.
    """
    recorded = dict(files)
    work = collect_work(lines, state["session_id"])
    for path, entry in current.items():
        if entry == head(path):
            recorded.pop(path, None)
        elif work.is_present(path):
            mode, oid = entry or (GONE, "")
            edits = [line for line in credit.list_edits(lines) if line.path == path]
            authors = [edit.author for edit in plan.walk_back(edits)]
            turn = next((turn for owner, turn, _ in authors if owner == state["session_id"]), "")
            recorded[path] = {"mode": mode, "oid": oid, "turn_id": turn}
    return recorded
