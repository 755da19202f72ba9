"""The calls of file tools: what stands at their paths when they begin and when they end.

Nothing is scanned, and what is not needed is not imported: the agent waits for each call.
"""

from __future__ import annotations

import stat

from gitcp.core.credit import entries
from gitcp.core.git.porcelain import EXECUTABLE, FILE
from gitcp.start import late
from gitcp.store.journal.last_seen import LastSeen
from gitcp.store.snapshot.filters import Filters
from gitcp.store.snapshot.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from gitcp.core.record_types import JournalLine, State, Version, Writer
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal

_PLAIN = 1 << 20  # bytes up to which a file is read here
_REFUSED = (0, 1, 128)  # a tool may name paths that git refuses


def begin_call(
    objects: Objects, journal: Journal, state: State, call: JournalLine, paths: list[str], at: int
) -> None:
    """Record the start of a call; a change at its paths until now is another's."""
    reader, seen = PathReader(journal.repo, objects), LastSeen(journal.repo, objects, journal.lines)
    unchanged: dict[str, Any] = {}
    for path in paths:
        st = reader.stat(path)
        if st and seen.is_unwritten(path, st.st_ctime_ns):
            entry = reader.read_entry(path, write=False)
            if seen.is_unmoved(path) or seen.get_entry(path) == entry:
                unchanged[path] = entry
    ignored = reader.list_ignored(paths)
    present = _read_entries(reader, [path for path in paths if path not in unchanged], ignored)
    if any(seen.get_entry(path) != entry for path, entry in present.items()):
        late.look.record_entries(objects, journal, seen, present, at, ignored)
    line = entries.build_opening(state, call, "write", at)
    line |= {"looked": {**unchanged, **present}, "ignored": sorted(ignored)}
    if len(paths) == 1 and (oid := _find_promised_blob(reader, objects, call, paths[0])):
        line["writes"] = {paths[0]: oid}
    journal.append([line])


def _find_promised_blob(reader: PathReader, objects: Objects, call: JournalLine, path: str) -> str:
    """The blob that a path will have if the call does what its input says; '' if it does not say
    enough.  It tells of the call's work if no end of it is heard."""
    if not ("content" in call or call.get("edits")):
        return ""
    before = reader.contents.get(path, b"")
    ends = late.file_edits.derive_contents(call, before, before)
    return objects.hash_object("blob", ends[1]) if ends else ""


def _read_entries(reader: PathReader, paths: list[str], ignored: set[str]) -> dict[str, Any]:
    """The entries of the paths; blobs of ignored ones are not stored."""
    return {path: reader.read_entry(path, write=path not in ignored) for path in paths}


def end_call(
    objects: Objects, journal: Journal, state: State, call: JournalLine, paths: list[str], at: int
) -> None:
    """Record the end of a call; a change at its paths since its start is the session's."""
    reader, seen = PathReader(journal.repo, objects), LastSeen(journal.repo, objects, journal.lines)
    opening = _find_opening(journal, state, call)
    ignored = set(opening["ignored"]) if opening else reader.list_ignored(paths)
    writer: Writer = (state["session_id"], state.get("turn_id", ""), str(call.get("id", "")))
    lines = []
    for path, after in _read_entries(reader, paths, ignored).items():
        before = seen.get_entry(path)
        if before == after:
            continue
        edits = [entries.build_edit(path, before, after, writer, "tool", at)]
        if path in ignored:
            edits[0]["kept"] = False
        elif len(paths) == 1 and entries.is_contested(journal.lines, path, writer):
            about = call, writer, path, after, at
            edits = late.contested.build_edits(objects, journal, seen, *about)
        lines += edits
    closing = {"close": writer[2], "session": writer[0], "at": at}
    journal.append([*lines, closing] if opening else lines)


def _find_opening(journal: Journal, state: State, call: JournalLine) -> JournalLine | None:
    same = {"open": call.get("id", ""), "session": state["session_id"]}
    openings = (c for c in reversed(journal.lines) if all(c.get(k) == v for k, v in same.items()))
    return next((call for call in openings if "ignored" in call), None)


class PathReader:
    """Reads single paths of a worktree as git would store them.  A plain file is hashed here
    without asking git; anything else is left to the snapshot.

    contents: path -> bytes of the plain files that were read."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self.contents: dict[str, bytes] = {}
        self.work = Worktree(repo)
        self._filters = Filters(self.work, objects, lambda path: None)
        self._sparse = repo.config.get_flag("core.sparsecheckout")

    def stat(self, path: str) -> os.stat_result | None:
        """lstat() of a path; None without a file, or behind a symbolic link."""
        try:
            return self.work.look_at(path)
        except OSError:
            return None

    def read_entry(self, path: str, write: bool) -> Version:
        """The entry of a path; None without one.  write: whether to store its blob."""
        st = self.stat(path)
        if st is None:
            return None
        mode = self.work.choose_mode(st, None)
        plain = stat.S_ISREG(st.st_mode) and mode in (FILE, EXECUTABLE) and st.st_size <= _PLAIN
        converted = self._sparse or self._filters.name_conversion(path)
        if not plain or converted or self.work.list_repositories(path):
            return late.blobs.read_paths(self._repo, self._objects, [path], write=write).get(path)
        try:
            with open(self.work.join_full(path), "rb") as f:
                data = self.contents[path] = f.read()
        except OSError:
            return None
        store = self._objects.write if write else self._objects.hash_object
        return str(mode), store("blob", data)

    def list_ignored(self, paths: list[str]) -> set[str]:
        """The paths that git ignores; a tracked one is not ignored.

        git reads the index only for paths that a pattern matches: it can be long.
        """
        untracked = self.work.drop_tracked(paths)
        matched = self.work.list_ignored(untracked, "--no-index", ok=_REFUSED)
        return self.work.list_ignored(sorted(matched), ok=_REFUSED)
