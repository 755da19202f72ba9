"""What was found for lines of commits, which never changes, in <common>/gitcp/cache/lines.

The file is a cache: without it, or if it is damaged, the same is found again.
"""

from __future__ import annotations

import marshal
from zlib import crc32

from gitcp import VERSION, git
from gitcp.errors import Error
from gitcp.git import encode_name, refs
from gitcp.git.files import find_hasher, load_sealed, read_cache, seal_value, write_private
from gitcp.record import locate_recording
from gitcp.text.ids import CHECKPOINTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Periods
    from gitcp.git.repo import Repo

# A value either depends on nothing but what its key names, and its key begins with _OWN; or it also
# depends on the ground, whose name then begins its key.
_OWN = "="
_GROUND = "="  # the key of the ground itself, which save() keeps like the keys with _OWN
FORMAT = 7  # higher with each change of what is found
_ROOM = 4 << 20  # bytes of the file
_SHALLOW = "shallow", "info/grafts"
_NOTES = "refs/notes/"
_WHERE = ("refs/notes/", "refs/heads/entire/", "refs/remotes/", f"{CHECKPOINTS}/")


class Memo:
    """A table that is read when it is first asked, and kept by save().

    The ground of its values is the notes, the periods of recording, and which of the checkpoints
    that commits name are here.  Other checkpoints make no value void.
    """

    def __init__(
        self, repo: Repo, has_place: Callable[[str], bool], read_periods: Callable[[], Periods]
    ) -> None:
        """has_place: whether a checkpoint is here.  read_periods: those of recording."""
        self._repo = repo
        self._path = repo.join_shared_cache("lines")
        self._has_place = has_place
        self._read_periods = read_periods
        self._entries: dict[str, Any] | None = None
        self._changed = False
        self._ground = ""
        self._stores: list[bytes] | None = None

    def find(self, key: str, depends: bool, compute: Callable[[], tuple[Any, bool]]) -> Any:
        """The value of a key, computed if it is not kept.

        compute: returns (value, whether all that it needs was here); the value is of the types that
        marshal writes.  depends: the value also follows from checkpoints, notes and recording, and
        is computed again when one of these has changed.
        """
        entries = self._load()
        key = self._complete(key, depends)
        if key in entries:
            return entries[key]
        value, is_whole = compute()
        if is_whole:
            entries[key] = value
            self._changed = True
        return value

    def has(self, key: str, depends: bool) -> bool:
        """Whether find() would compute nothing."""
        return self._complete(key, depends) in self._load()

    def _complete(self, key: str, depends: bool) -> str:
        return f"{self.read_ground() if depends else _OWN} {key}"

    def note_ids(self, ids: Iterable[str]) -> None:
        """Note that values depend on whether these checkpoints are here."""
        self.read_ground()
        known = self._load()[_GROUND]["ids"]
        known |= {i: self._has_place(i) for i in ids if i not in known}

    def save(self) -> None:
        """Keep what was computed, the newest if it is too much; in a repository that cannot be
        written, nothing."""
        if not self._changed or self._entries is None:
            return
        room = _ROOM
        kept = []
        useful = (_OWN, self.read_ground())
        self._entries[_GROUND] = self._entries.pop(_GROUND)  # the last is kept in any case
        for key, value in reversed(self._entries.items()):
            if not key.startswith(useful):
                continue
            room -= len(marshal.dumps((key, value), 4))
            if room < 0:
                break
            kept.append((key, value))
        data = seal_value(crc32(f"{VERSION} {FORMAT}".encode()), kept[::-1])
        try:
            write_private(self._repo, self._path, data)
        except (Error, OSError) as e:
            git.append_trace("files", str(e))
        self._changed = False

    def _load(self) -> dict[str, Any]:
        if self._entries is None:
            number = crc32(f"{VERSION} {FORMAT}".encode())
            self._entries = dict(load_sealed(self._path, number) or ())
        return self._entries

    def read_ground(self) -> str:
        """The name of the ground as it is now: what decides of a commit's author besides the
        commit."""
        if not self._ground:
            repo = self._repo
            stores = self.list_stores()
            notes = [r for r in stores if f" {_NOTES}".encode() in r]
            files = (locate_recording(repo), *(f"{repo.common}/{n}" for n in _SHALLOW))
            tips = _hash_parts(row for row in stores if row not in notes)
            self._ground = self._check_ground(_hash_parts([*notes, *map(read_cache, files)]), tips)
        return self._ground

    def list_stores(self) -> list[bytes]:
        """`<oid> <ref>` of the refs that have checkpoints or notes."""
        if self._stores is None:
            found = refs.list_refs(self._repo, *_WHERE)
            rows = [encode_name(f"{oid} {ref}") for ref, oid in found.items()]
            self._stores = [r for r in rows if b" refs/remotes/" not in r or b"/entire/" in r]
        return self._stores

    def _check_ground(self, state: str, tips: str) -> str:
        """The name of the kept values' ground if it is unchanged, else a new one, which makes them
        void.

        state: a hash of notes and of files.  tips: a hash of the refs that may have checkpoints; if
        only these have changed, it is asked whether the same checkpoints are here.
        """
        entries = self._load()
        ground = entries.get(_GROUND, {"state": "", "tips": "", "ids": {}})
        if ground["state"] == state and ground["tips"] == tips:
            return str(ground["name"])
        periods = _hash_parts([repr(sorted(self._read_periods().items())).encode()])
        same = ground["state"] == state and ground["periods"] == periods
        if not same or any(self._has_place(i) != is_here for i, is_here in ground["ids"].items()):
            ground = {"name": _hash_parts([state.encode(), tips.encode()]), "ids": {}}
        entries[_GROUND] = {**ground, "state": state, "tips": tips, "periods": periods}
        self._changed |= same
        return str(ground["name"])


def _hash_parts(parts: Iterable[bytes]) -> str:
    return str(find_hasher("sha1")(b"\n".join(parts)).hexdigest())
