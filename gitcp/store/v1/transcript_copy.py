"""A session's redacted transcript kept beside the repository, so that only news is redacted.

<common>/gitcp/transcript/<name>.redacted only grows, or is replaced by a new file: who has it
open reads on undisturbed.  <name>.json says how far it goes and which chunks are stored.
It is a cache: what cannot be trusted is begun anew from the live transcript.
"""

from __future__ import annotations

import os
import zlib

from gitcp.core import json
from gitcp.core.git import ids
from gitcp.core.transcript import stretches
from gitcp.core.upkeep import shapes
from gitcp.process import files
from gitcp.process.files import Damaged, move_aside, open_file, put_file
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.repo import Repo

TAIL = 4096  # bytes compared before reading on (doc/git.md "Notes")
_VERSION = 1


def name_copy(session_id: str, agent_id: str = "") -> str:
    """The name of the copy of a session's transcript, or of one of its subagents'.  InputError
    for ids that are not safe."""
    session = ids.check_session_id(session_id)
    return f"{session}~{ids.check_component(agent_id, 'agent_id')}" if agent_id else session


class Copy:
    """The copy of that name; the caller holds the lock of its session's transcripts.

    known: {"size", "crc": of the copy's last bytes, "chunks": [[oid, bytes, packed]…],
    "lines", "parts", "live": {"dev", "ino", "offset", "crc", "tail"}, "scan", "document"}.
    packed: the age of the pack directory in which the chunk was last found.
    """

    def __init__(self, repo: Repo, name: str) -> None:
        self._path = repo.join_shared("transcript", f"{name}.redacted")
        self._json = repo.join_shared("transcript", f"{name}.json")
        self._repo = repo
        self.known: dict[str, Any] = {}
        self.fd = -1
        self._load()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @property
    def size(self) -> int:
        return int(self.known.get("size", 0))

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The copy from byte start on, to end."""
        return read_span(self.fd, start, self.size if end is None else end) if self.fd >= 0 else b""

    def append(self, data: bytes) -> None:
        """Add data; what a killed process left behind the end is overwritten."""
        if self.fd < 0:
            self._open(os.O_RDWR | os.O_CREAT)
        try:
            files.write_at(self.fd, data, self.size)
        except OSError:
            os.ftruncate(self.fd, self.size)
            raise
        self._note_end(self.size + len(data))

    def replace(self, data: bytes) -> None:
        """Put data in place of all of it, in a new file."""
        path, self._path = self._path, f"{self._path}.{os.getpid()}"
        self.close()
        try:
            self._open(os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            files.write_at(self.fd, data, 0)
            put_file(self._repo.common, self._path, path)
        except OSError:
            files.remove_file(self._path)
            raise
        self._path = path
        self._note_end(len(data))

    def save(self) -> None:
        """Remember known; the copy was written before, so the pair is never ahead of itself."""
        data = json.dumps({**self.known, "version": _VERSION}).encode()
        private.write_private(self._repo, self._json, data)

    def _load(self) -> None:
        known = private.load_cache(self._json, shapes.TRANSCRIPT) or {"version": 0}
        try:
            self._open(os.O_RDWR)
        except FileNotFoundError:
            return
        size = known.get("size", 0)
        last = read_span(self.fd, max(0, size - TAIL), size)
        if known["version"] == _VERSION and known["crc"] == zlib.crc32(last):
            self.known = known
            return
        self.close()  # others may read the old file: a new one is begun
        move_aside(self._repo.common, self._path)

    def _open(self, flags: int) -> None:
        if flags & os.O_CREAT:
            self.fd = private.open_private(self._repo, self._path, flags)
            return
        try:
            self.fd = open_file(self._path, flags | os.O_NOFOLLOW)
        except Damaged:
            move_aside(self._repo.common, self._path)
            raise FileNotFoundError(self._path) from None

    def _note_end(self, size: int) -> None:
        self.known["size"] = size
        self.known["crc"] = zlib.crc32(read_span(self.fd, max(0, size - TAIL), size))


def remove_copy(repo: Repo, session_id: str, agent_id: str) -> None:
    """The copy of a subagent's transcript is needed no more."""
    for end in (".json", ".redacted"):
        private.remove_private(
            repo, repo.join_shared("transcript", name_copy(session_id, agent_id) + end)
        )


def read_span(fd: int, start: int, end: int) -> bytes:
    """Bytes start to end of a file, fewer where it is shorter."""
    parts = []
    while start < end and (data := os.pread(fd, end - start, start)):
        parts.append(data)
        start += len(data)
    return b"".join(parts)


def read_live(path: str, start: int = 0) -> bytes:
    """What a client's own file has from byte start on, from its beginning where it is shorter by
    now; bounded (stretches.read_bounded).  Raises OSError, also for what can be no path."""
    if "\0" in path:
        raise FileNotFoundError(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe is not waited for
    try:
        size = os.fstat(fd).st_size
        return stretches.read_bounded(
            lambda a, b: read_span(fd, a, b), start if start <= size else 0, size
        )
    finally:
        os.close(fd)
