"""Storing the transcript of a session in the object database: redacted, in chunks."""

from __future__ import annotations

import os
import stat

from gitcp.agents import find_client
from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.core.message import prompts
from gitcp.core.transcript import chunks, stretches
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.start import stdlib
from gitcp.store.v1 import redaction, transcript_copy
from gitcp.store.v1.transcript_read import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gitcp.core.record_types import State
    from gitcp.process.files import Stamp
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.transcript_copy import Copy
    from gitcp.store.v1.transcript_read import Redactor, Scanner

_PIECE = 1 << 20  # bytes hashed at once


class StoredTranscript:
    """A transcript whose chunks are in the object database.

    chunks: their oids in order; size: bytes of the joined transcript; items: its lines, or the
    messages of a document; scan: the result of the agent's scanner; live: files.read_stamp() of
    the live file before it was read.
    """

    __slots__ = ("_copy", "_hash", "_rest", "chunks", "items", "live", "scan", "size")

    def __init__(self, copy: Copy, tail: bytes, oids: list[str], scan: Any, live: Stamp) -> None:
        self._copy, self._rest, self._hash, self.live = copy, tail, "", live
        self.chunks, self.size, self.scan = oids, copy.size + len(tail), scan
        lines = int(copy.known.get("lines", 0)) + bool(tail)
        self.items = int(scan["items"]) if scan else lines

    def __del__(self) -> None:
        self._copy.close()

    def read(self) -> bytes:
        """The whole redacted transcript."""
        return self._copy.read() + self._rest

    def list_lines(self) -> Iterator[bytes]:
        """Yield the redacted lines in their order; those of a document, if it is one."""
        for piece, _ in stretches.read_lines(self._copy.read, 0, self._copy.size):
            yield from piece.splitlines(keepends=True)

    @property
    def content_hash(self) -> str:
        """hash_content() of the joined stored bytes."""
        if not self._hash:
            digest, offset = _start_sha256(self.size), 0
            while data := self._copy.read(offset, min(self._copy.size, offset + _PIECE)):
                digest.update(data)
                offset += len(data)
            digest.update(self._rest)
            self._hash = "sha256:" + digest.hexdigest()
        return self._hash


class StoredChunks:
    """A stored transcript without a live file: the oids of its chunks, and its hash."""

    __slots__ = ("chunks", "content_hash")

    def __init__(self, oids: list[str], content_hash: str) -> None:
        self.chunks, self.content_hash = oids, content_hash


def store_chunks(objects: Objects, data: bytes) -> StoredChunks:
    """Store a whole redacted transcript."""
    oids = [objects.write("blob", piece) for piece in chunks.split(data)]
    return StoredChunks(oids, hash_content(data))


def hash_content(data: bytes) -> str:
    """'sha256:' and 64 hex digits, as content_hash.txt holds them
    (doc/formats.md "Committed checkpoint")."""
    digest = _start_sha256(len(data))
    digest.update(data)
    return "sha256:" + str(digest.hexdigest())


def _start_sha256(size: int) -> Any:
    """A digest for size bytes."""
    if size < _PIECE:
        return ids.start_sha256()
    return stdlib.hashlib.sha256()


class Source:
    """A live transcript: of a session, or of its subagent agent_id.  The scanner, if any, reads the
    redacted bytes."""

    __slots__ = ("agent_id", "path", "redactor", "scanner", "session_id")

    def __init__(
        self,
        session_id: str,
        path: str | None,
        redactor: Redactor,
        scanner: Scanner | None = None,
        agent_id: str = "",
    ) -> None:
        self.session_id, self.agent_id, self.path = session_id, agent_id, path
        self.redactor, self.scanner = redactor, scanner


def store_transcript(
    repo: Repo, objects: Objects, source: Source, complete: bool = False, check: bool = False
) -> StoredTranscript | None:
    """Store what a live transcript has gained; None if nothing was ever read.

    complete: take a last line without a newline.  check: compare all bytes read before, not only
    the last 4 KiB.  A file that shrank or was replaced begins a new part; nothing stored is dropped
    (doc/formats.md "Transcript").  Nothing is read while a rule of redaction is invalid.  Takes
    only this session's transcript lock.
    """
    name = transcript_copy.name_copy(source.session_id, source.agent_id)
    with exclusive(repo, f"transcript-{source.session_id}"):
        copy = transcript_copy.Copy(repo, name)
        live = _open_live(repo, source.path) if redaction.can_read_rules(repo) else -1
        if live < 0 and not copy.size:
            return None
        reader = Reader(repo, objects, copy, source.redactor, source.scanner)
        tail, stamp = b"", files.read_stamp(live) if live >= 0 else []
        try:
            if live >= 0:
                first_line = os.pread(live, 64, 0).partition(b"\n")[0]
                if chunks.is_document(first_line, source.path or ""):
                    reader.take_document(live)
                else:
                    tail = reader.take_lines(live, complete, check)
        finally:
            if live >= 0:
                os.close(live)
        return StoredTranscript(copy, tail, reader.finish(tail), reader.scan, stamp)


def _open_live(repo: Repo, path: str | None) -> int:
    """A descriptor of the live transcript; -1 if there is none, or, with a warning, if it is
    unreadable."""
    fd, why = _try_open(repo, path)
    if why:
        notice.warn_lacking(why)
    return fd


def explain_unreadable(repo: Repo, path: str | None) -> str:
    """Why an existing transcript is not read; '' if it is, or does not exist."""
    fd, why = _try_open(repo, path)
    if fd >= 0:
        os.close(fd)
    return why


def _try_open(repo: Repo, path: str | None) -> tuple[int, str]:
    """(a descriptor of the live transcript, else -1; why an existing one is not read)."""
    if not path or "\0" in path:
        return -1, ""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return -1, ""
    except OSError as e:
        return -1, f"the transcript {path!a} cannot be read: {e.strerror}"
    if why := _explain_strange(repo, path, fd):
        os.close(fd)
        return -1, f"the transcript {path!a} is ignored: {why}"
    return fd, ""


def _explain_strange(repo: Repo, path: str, fd: int) -> str:
    """Why a file is not taken for a client's transcript; '' if it is."""
    st = os.fstat(fd)
    if not stat.S_ISREG(st.st_mode):
        return "it is no regular file"
    if st.st_uid not in (os.geteuid(), os.stat(repo.top or repo.common).st_uid):
        return "it is another user's"
    if _is_below(path, {repo.common, repo.git_dir}) and not _is_below(
        path, {repo.join_shared("exports")}
    ):
        return "it lies in the git directory"
    if not stretches.looks_right(os.pread(fd, 4096, 0)):
        return "it does not begin as a transcript does"
    return ""


def _is_below(path: str, folders: set[str]) -> bool:
    real = os.path.realpath(path)
    return any(real.startswith(os.path.realpath(folder) + os.sep) for folder in folders)


def store_session(
    repo: Repo, objects: Objects, state: State, complete: bool = False, check: bool = False
) -> StoredTranscript | None:
    """Store the session's transcript as far as it is on disk; None without one.  The model that it
    names, and the number that the turn's prompt has in it, are noted in the state's turn.

    complete, check: as for store_transcript().
    """
    scan = find_client(state.get("agent_type", "")).scan
    path, redactor = state.get("transcript_path"), redaction.Lazy(repo, state["session_id"])
    source = Source(state["session_id"], path, redactor, scan)
    result = store_transcript(repo, objects, source, complete, check)
    turn = state.get("turns", {}).get(state.get("turn_id", ""))
    if result and result.scan and turn:
        if result.scan.get("model"):
            turn["model"] = result.scan["model"]
        _number_turn(state, turn, result.scan["prompts"])
    return result


def _number_turn(state: State, turn: dict[str, Any], asked: Sequence[str]) -> None:
    """Number the last turn as its prompt is in the transcript: earlier prompts were not recorded if
    the session is older than its hooks."""
    earlier = [old.get("number", 0) for old in state["turns"].values() if old is not turn]
    number = prompts.find_number(dict(enumerate(asked, 1)), turn)
    if number > max(earlier, default=0):
        turn["number"] = number


def list_prompts(state: State, stored: StoredTranscript | None) -> list[str]:
    """The redacted prompts of the transcript, then those of turns that it lacks."""
    asked = list(stored.scan["prompts"]) if stored and stored.scan else []
    known = {"", *asked}
    lacking = [turn["prompt"] for turn in state.get("turns", {}).values()]
    if not (lacking := [prompt for prompt in lacking if prompt not in known]):
        return asked
    in_order = sorted(asked)  # a prompt comes directly before those that begin with it
    for prompt in lacking:
        place = stdlib.bisect.bisect_left(in_order, prompt)
        if not any(longer.startswith(prompt) for longer in in_order[place : place + 1]):
            asked.append(prompt)
            in_order.insert(place, prompt)
    return asked
