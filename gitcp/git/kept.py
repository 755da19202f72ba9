"""What was worked out from what never changes, in the files of <common>/gitcp/cache.

A file is a table from keys to values, and has room for so many bytes: what was not used for
longest makes room.  A key says all that its value depends on, and the file the rule by which the
values were made.  Anybody may delete the directory: the same is worked out again.
"""

from __future__ import annotations

import marshal
from zlib import crc32

from gitcp import VERSION, git
from gitcp.errors import Error
from gitcp.git.files import find_hasher, load_sealed, seal_value, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.git import Location

# What is kept, and the bytes that it has room for.
ROOM = {
    "beginning": 1 << 12,
    "lost": 1 << 12,
    "settled": 1 << 19,
    "tallies": 8 << 20,
    "clean": 4 << 20,
    "drawn": 24 << 20,
}
_ENTRY = 40  # bytes of an entry beside its key and value
_SPARE = 4  # a full file loses this part of its room at once: a quarter


class Kept:
    """A file of the cache.  Its keys are bytes, its values of the types that marshal writes."""

    def __init__(self, repo: Location, kind: str, rule: str) -> None:
        """kind: of ROOM.  rule: names the way in which the values are made; values of another rule,
        or of another version of gitcp, are dropped."""
        self._repo = repo
        self._path = repo.join_shared_cache(kind)
        self._room = ROOM[kind]
        self._number = crc32(f"{VERSION} {rule}".encode())
        self._entries: dict[bytes, bytes] | None = None
        self._new: dict[bytes, bytes] = {}
        self._used: dict[bytes, None] = {}

    def find(self, key: bytes) -> Any:
        """The value of a key; None if it is not kept."""
        value = self._load().get(key)
        if value is None:
            return None
        self._used[key] = None
        return marshal.loads(value)

    def keep(self, key: bytes, value: Any) -> None:
        """Keep a value, which is not None."""
        data = marshal.dumps(value, 4)
        self._load()[key] = data
        self._new[key] = data
        self._used[key] = None

    def save(self) -> None:
        """Write what is new beside what other processes wrote meanwhile; in a repository that
        cannot be written, nothing."""
        if not self._new:
            return
        entries = self._read() | self._new
        for key in self._used:
            if key in entries:
                entries[key] = entries.pop(key)  # those used last stand last
        data = seal_value(self._number, list(self._limit(entries).items()))
        try:
            write_private(self._repo, self._path, data)
        except (Error, OSError) as e:
            git.append_trace("files", str(e))
        self._new = {}

    def _limit(self, entries: dict[bytes, bytes]) -> dict[bytes, bytes]:
        """The entries that have room; of too many those that were used last."""
        sizes = {key: len(key) + len(value) + _ENTRY for key, value in entries.items()}
        excess = sum(sizes.values()) - self._room
        if excess <= 0:
            return entries
        excess += self._room // _SPARE
        kept = dict(entries)
        for key in entries:
            if excess <= 0:
                break
            excess -= sizes[key]
            del kept[key]
        return kept

    def _load(self) -> dict[bytes, bytes]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> dict[bytes, bytes]:
        return dict(load_sealed(self._path, self._number) or ())


def make_key(*parts: Any) -> bytes:
    """A short key of values that marshal writes."""
    return bytes(find_hasher("sha1")(marshal.dumps(parts, 2)).digest())
