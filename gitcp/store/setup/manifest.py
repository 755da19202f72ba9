"""The record of installed files and of what was in their place, so that disable restores it.

<common>/gitcp/installed/manifest.json lists each file with the hash of what gitcp wrote; the bytes
before are kept beside it.  An entry is written before its file.
"""

from __future__ import annotations

import json
import os
from functools import partial

from gitcp.core.upkeep import shapes
from gitcp.errors import Error
from gitcp.process import files
from gitcp.process.files import Damaged
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo

    Entry = dict[str, Any]  # path, kind, before, after, mode, dirs and facts of the kind
    Strip = Callable[[Entry, bytes], bytes | None]


_NOTHING: dict[str, Any] = {"before": None, "mode": None, "dirs": (), "aside": None, "lines": ()}


def load(repo: Repo) -> Manifest:
    """The record of what enable wrote for a repository."""
    return Manifest(repo.join_shared("installed"), repo.common, repo.share_file)


def load_person() -> Manifest:
    """The record of what enable --user wrote for the person."""
    return Manifest(files.locate_state("installed"), os.path.expanduser("~"))


def load_all(repo: Repo) -> tuple[list[Manifest], list[Damaged]]:
    """(the readable records for a repository and for the person, the errors of damaged ones)."""
    readable: list[Manifest] = []
    damaged: list[Damaged] = []
    for load_one in (partial(load, repo), load_person):
        try:
            readable.append(load_one())
        except Damaged as e:
            damaged.append(e)
    return readable, damaged


class Manifest:
    """The record of one installation.  folder: its directory; home: paths are stored relative to
    it, so that a repository can be moved; share sets a file's permissions in a shared repository.
    """

    def __init__(
        self, folder: str, home: str, share: Callable[[str], None] = lambda path: None
    ) -> None:
        self._folder, self._home, self._share = folder, home, share
        known = private.load_json(os.path.join(folder, "manifest.json"), shapes.MANIFEST)
        self.entries: list[Entry] = [{**_NOTHING, **e} for e in known["files"]] if known else []

    def find(self, path: str) -> Entry | None:
        """The entry of a file, None if gitcp did not write it."""
        return next((e for e in self.entries if self.get_path(e) == path), None)

    def get_path(self, entry: Entry) -> str:
        """The absolute path of an entry's file."""
        return os.path.normpath(os.path.join(self._home, entry["path"]))

    def get_worktree(self, entry: Entry) -> str | None:
        """The top of the worktree whose clients alone read the file, None for other files."""
        top = entry.get("worktree")
        return os.path.normpath(os.path.join(self._home, top)) if top else None

    def is_intact(self, entry: Entry) -> bool:
        """Whether the file is as gitcp wrote it."""
        data = files.read_bytes(self.get_path(entry)) or b""
        return bool(files.hash_bytes(data) == entry["after"])

    def has_written(self, data: bytes) -> bool:
        """Whether gitcp wrote a file with these bytes, wherever it was moved."""
        return files.hash_bytes(data) in {entry["after"] for entry in self.entries}

    def put(self, write: Write, strip: Strip) -> None:
        """Write one file, and before it its entry, by which restore() gives back the file from
        before gitcp first wrote it.

        strip(entry, data) returns an edited file without gitcp's part.
        """
        path, entry = write["path"], self.find(write["path"])
        new = self._build_entry(write, entry, strip)
        self.entries = [*(e for e in self.entries if e is not entry), new]
        self.save()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if write.get("aside") and (entry or not write.get("adopted")):
            files.link_aside(path, path + write["aside"])
        _replace(new, path, write["data"])
        if write["kind"] == "hook":
            self._share(path)

    def _build_entry(self, write: Write, entry: Entry | None, strip: Strip) -> Entry:
        """The new entry of a file; entry: the one so far."""
        path, former = write["path"], entry or _NOTHING
        missing = files.list_missing_folders(os.path.dirname(path))
        aside = write.get("aside", former["aside"])
        before = self._find_before(write, entry, strip)
        new: Entry = {
            "path": self._shorten_path(path),
            "kind": write["kind"],
            "before": None if before is None or aside else self._keep(before),
            "mode": os.stat(path).st_mode & 0o7777 if os.path.exists(path) else None,
            "after": files.hash_bytes(write["data"]),
            "dirs": [*former["dirs"], *map(self._shorten_path, missing)],
            "aside": aside,
            "agent": write.get("agent"),
            "lines": [*former["lines"], *write.get("lines", ())],
        }
        if "worktree" in write:
            new["worktree"] = self._shorten_path(write["worktree"])
        return new

    def _find_before(self, write: Write, entry: Entry | None, strip: Strip) -> bytes | None:
        """The bytes of a file before gitcp first wrote it; None for no file."""
        path = write["path"]
        data = files.read_bytes(path)
        if data is None:
            return None
        if entry:
            return self._read_before(entry) if self.is_intact(entry) else strip(entry, data)
        if not write.get("adopted"):
            return data
        facts = {"path": self._shorten_path(path), "kind": write["kind"]}
        return strip({**_NOTHING, **facts, "agent": write.get("agent")}, data)

    def restore(self, entry: Entry, strip: Strip) -> str:
        """Remove or restore one file; return what was done: restored, removed, edited, kept or
        gone.

        strip(entry, data) returns an edited file without gitcp's part, None if nothing is left.
        """
        path, done = self.get_path(entry), "gone"
        old = files.read_bytes(path)
        if old is not None:
            touched = files.hash_bytes(old) != entry["after"]
            left = strip(entry, old) if touched else None
            done = self._put_back(entry, path) if left is None else _leave(entry, path, old, left)
        elif entry["aside"] and os.path.lexists(path + entry["aside"]):
            done = self._put_back(entry, path)  # gitcp's hook was removed, the former is aside
        for folder in reversed(entry["dirs"]):
            files.remove_if_empty(os.path.join(self._home, folder))
        self.entries.remove(entry)
        self.save()
        return done

    def save(self) -> None:
        """Write the record; without entries remove it and the bytes that were kept."""
        if self.entries:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            data = json.dumps({"version": 1, "files": self.entries}, indent=1).encode()
            path = os.path.join(self._folder, "manifest.json")
            files.replace_file(path, data + b"\n", 0o600)
            self._share(self._folder)
            self._share(path)
        elif os.path.isdir(self._folder):
            for name in os.listdir(self._folder):
                os.unlink(os.path.join(self._folder, name))
            files.remove_if_empty(self._folder)

    def _put_back(self, entry: Entry, path: str) -> str:
        aside = path + (entry["aside"] or "")
        if aside != path and os.path.lexists(aside):
            os.replace(aside, path)
            return "restored"
        before = self._read_before(entry)
        if before is None:
            os.unlink(path)
            return "removed"
        _replace(entry, path, before, entry["mode"])
        return "restored"

    def _read_before(self, entry: Entry) -> bytes | None:
        name = entry["before"]
        data = files.read_bytes(os.path.join(self._folder, name)) if name else None
        if name and data is None:
            raise Error(f"'{self._folder}/{name}', the bytes of '{entry['path']}', is missing")
        return data

    def _keep(self, data: bytes) -> str:
        name = files.hash_bytes(data)
        os.makedirs(self._folder, 0o700, exist_ok=True)
        files.replace_file(os.path.join(self._folder, name), data, 0o600)
        return name

    def _shorten_path(self, path: str) -> str:
        around = os.path.dirname(self._home) + os.sep
        return os.path.relpath(path, self._home) if path.startswith(around) else path


def _replace(entry: Entry, path: str, data: bytes, mode: int | None = None) -> None:
    if mode is None and entry["kind"] in ("hook", "script"):
        mode = files.compute_program_mode()
    # The configuration is replaced under git's own lock.
    files.replace_file(path, data, mode, tmp=path + ".lock" if entry["kind"] == "config" else None)


def _leave(entry: Entry, path: str, old: bytes, left: bytes) -> str:
    if left == old:
        return "kept"
    _replace(entry, path, left, os.stat(path).st_mode & 0o7777)
    return "edited"
