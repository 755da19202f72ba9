"""A file tool names its path: what stands there at its start, and what it makes of it.

Nothing is scanned; what is not needed is not imported, for each end of a call is waited for.
"""

from __future__ import annotations

import stat

from gitcp.core.credit import entries
from gitcp.core.git.porcelain import EXECUTABLE, FILE
from gitcp.start import late
from gitcp.store.journal.known import Known
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
_REFUSED = (0, 1, 128)  # a tool may name what git does not look at


def begin_call(
    objects: Objects, journal: Journal, state: State, call: JournalLine, paths: list[str], at: int
) -> None:
    """What stands at the paths now is somebody else's work, or was known."""
    glance, known = Glance(journal.repo, objects), Known(journal.repo, objects, journal.lines)
    looked: dict[str, Any] = {}
    for path in paths:
        st = glance.stat(path)
        if st and known.is_unchanged(path, st.st_ctime_ns):
            looked[path] = glance.read_entry(path, write=False)
    rest = [path for path in paths if path not in looked]
    ignored = glance.list_ignored(paths)
    seen = _read_entries(glance, rest, ignored)
    if any(known.get_entry(path) != entry for path, entry in seen.items()):
        late.look.take_entries(objects, journal, known, seen, at, ignored)
    line = entries.build_opening(state, call, "write", at)
    journal.append([{**line, "looked": {**looked, **seen}, "ignored": sorted(ignored)}])


def _read_entries(glance: Glance, paths: list[str], ignored: set[str]) -> dict[str, Any]:
    """What stands at the paths; of an ignored one nothing is stored."""
    return {path: glance.read_entry(path, write=path not in ignored) for path in paths}


def end_call(
    objects: Objects, journal: Journal, state: State, call: JournalLine, paths: list[str], at: int
) -> None:
    """What the paths have become is the session's."""
    glance, known = Glance(journal.repo, objects), Known(journal.repo, objects, journal.lines)
    begun = _find_opening(journal, state, call)
    ignored = set(begun["ignored"]) if begun else glance.list_ignored(paths)
    who: Writer = (state["session_id"], state.get("turn_id", ""), str(call.get("id", "")))
    lines = []
    for path, now in _read_entries(glance, paths, ignored).items():
        was = known.get_entry(path)
        if was == now:
            continue
        edits = [entries.build_edit(path, was, now, who, "tool", at)]
        if path in ignored:
            edits[0]["kept"] = False
        elif len(paths) == 1 and entries.is_contested(journal.lines, path, who):
            edits = late.contested.build_edits(objects, journal, known, call, who, path, now, at)
        lines += edits
    closing = {"close": who[2], "session": who[0], "at": at}
    journal.append([*lines, closing] if begun else lines)


def _find_opening(journal: Journal, state: State, call: JournalLine) -> JournalLine | None:
    same = {"open": call.get("id", ""), "session": state["session_id"]}
    openings = (c for c in reversed(journal.lines) if all(c.get(k) == v for k, v in same.items()))
    return next((call for call in openings if "ignored" in call), None)


class Glance:
    """What stands at single paths of one worktree, as git would store it, at the least cost there
    is: a plain file is hashed here, without a question to git; all else is the snapshot's.
    """

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self.work = Worktree(repo)
        self._filters = Filters(self.work, objects, lambda path: None)
        self._sparse = repo.config.get_flag("core.sparsecheckout")

    def stat(self, path: str) -> os.stat_result | None:
        """lstat of a path; None where nothing stands, or behind a symbolic link."""
        try:
            return self.work.look_at(path)
        except OSError:
            return None

    def read_entry(self, path: str, write: bool) -> Version:
        """The entry of a path; None for nothing.  write: its blob is stored."""
        st = self.stat(path)
        if st is None:
            return None
        mode = self.work.choose_mode(st, None)
        plain = stat.S_ISREG(st.st_mode) and mode in (FILE, EXECUTABLE) and st.st_size <= _PLAIN
        if (
            not plain
            or self._sparse
            or self._filters.name_conversion(path)
            or self.work.list_repositories(path)
        ):
            return self._ask_entry(path, write)
        try:
            with open(self.work.join_full(path), "rb") as f:
                data = f.read()
        except OSError:
            return None
        store = self._objects.write if write else self._objects.hash_object
        return str(mode), store("blob", data)

    def _ask_entry(self, path: str, write: bool) -> Version:
        return late.blobs.read_paths(self._repo, self._objects, [path], write=write).get(path)

    def list_ignored(self, paths: list[str]) -> set[str]:
        """Those of the paths that git ignores: what is tracked is not.

        git reads the index, which is as long as the repository is large, for those alone that a
        pattern names.
        """
        named = self.work.list_ignored(paths, "--no-index", ok=_REFUSED)
        return self.work.list_ignored(sorted(named), ok=_REFUSED)
