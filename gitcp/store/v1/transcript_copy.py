"""A copy of a session's redacted transcript, so that only new lines have to be redacted.

<common>/gitcp/transcript/<name>.redacted only grows, or is replaced by a new file, so that a
process that has it open reads on.  <name>.json has its size and the chunks that are stored.
Both are a cache: a damaged copy is written anew from the live transcript.
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
    """The name of the copy for a session, or for one of its subagents.  Raises InputError for an
    unsafe id."""
    session = ids.check_session_id(session_id)
    return f"{session}~{ids.check_component(agent_id, 'agent_id')}" if agent_id else session


class Copy:
    """The copy of that name; the caller holds the lock of its session's transcripts.

    known: {"size", "crc": of the copy's last bytes, "chunks": [[oid, bytes, stamp]…],
    "lines", "parts", "live": {"dev", "ino", "offset", "crc", "tail"}, "scan", "document"}.
    stamp: of the packs in which the chunk was last found.
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
        """The bytes of the copy from start to end, by default to its end."""
        return read_span(self.fd, start, self.size if end is None else end) if self.fd >= 0 else b""

    def append(self, data: bytes) -> None:
        """Add data; bytes behind the end, from a killed process, are overwritten."""
        if self.fd < 0:
            self._open(os.O_RDWR | os.O_CREAT)
        try:
            files.write_at(self.fd, data, self.size)
        except OSError:
            os.ftruncate(self.fd, self.size)
            raise
        self._note_end(self.size + len(data))

    def replace(self, data: bytes) -> None:
        """Replace the whole copy by a new file with data."""
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
        """Write known; the copy itself is written before."""
        data = json.dumps({**self.known, "version": _VERSION}).encode()
        private.write_private(self._repo, self._json, data)

    def _load(self) -> None:
        known = private.load_cache(self._json, shapes.TRANSCRIPT) or {"version": 0}
        try:
            self._open(os.O_RDWR)
        except FileNotFoundError:
            return
        size = known.get("size", 0)
        tail = read_span(self.fd, max(0, size - TAIL), size)
        if known["version"] == _VERSION and known["crc"] == zlib.crc32(tail):
            self.known = known
            return
        self.close()  # another process may read the old file: a new one is begun
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
    """Remove the copy of a session's transcript, or of that of its subagent agent_id."""
    for end in (".json", ".redacted"):
        private.remove_private(
            repo, repo.join_shared("transcript", name_copy(session_id, agent_id) + end)
        )


def read_span(fd: int, start: int, end: int) -> bytes:
    """The bytes of a file from start to end, fewer if it is shorter."""
    parts = []
    while start < end and (data := os.pread(fd, end - start, start)):
        parts.append(data)
        start += len(data)
    return b"".join(parts)


def read_live(path: str, start: int = 0) -> bytes:
    """The bytes of a client's file from start on, or from its beginning if it is shorter than that;
    bounded as by stretches.read_bounded().  Raises OSError, also for an invalid path."""
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
