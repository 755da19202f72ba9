"""Storing the transcript of a session in the object database: redacted, in chunks."""

from __future__ import annotations

import os
import stat
import zlib

from gitcp import git
from gitcp.agents import find_client, transcripts
from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.files import Damaged, exclusive, locate_exports, move_aside, open_file, put_file
from gitcp.text import ids, json, prompt_text, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from gitcp.git.files import Stamp
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Earlier, Scan, State

    class Redactor(Protocol):
        """The part of a redactor that is used here; lines stay lines, a document a document."""

        def redact_jsonl(self, data: bytes) -> bytes: ...
        def redact_document(self, data: bytes) -> bytes: ...

    Scanner = Callable[..., Any]  # scan of an agent: (data, previous) -> Scan

_PIECE = 1 << 20  # bytes hashed at once
LONG = 4 << 20  # bytes; of a longer transcript the ids of its chunks are hashed
CHUNKS = "chunks:"  # begins such a hash
_UNREAD = ".unread"


def locate_copy(repo: Repo, *name: str) -> str:
    """A file of the redacted copies, or the directory of all."""
    return repo.join_shared("transcript", *name)


def locate_unread(repo: Repo, session_id: str) -> str:
    """The flag that checkpoints of a session wait for its transcript to be read."""
    return locate_copy(repo, f"{session_id}{_UNREAD}")


def list_unread(repo: Repo) -> list[str]:
    """The sessions with such a file."""
    names = files.list_names(locate_copy(repo))
    return [name.removesuffix(_UNREAD) for name in names if name.endswith(_UNREAD)]


# How many new bytes of a live transcript one process reads.  Where there are more, the last lines
# are stored behind a line that stands for what is between, which later processes read.
AT_ONCE = 8 << 20  # at the end of a turn
FEW = 1 << 20  # in other hooks
_LAST = 1 << 20  # of these the last bytes of the file
_SLACK = 60_000_000_000  # ns by which a session's own first lines may be older than its start


class Bounds:
    """How far a reading of a live transcript goes.

    most: about how many new bytes it reads, 0 for all.  stop: the offset of the live file which it
    does not pass, because checkpoints wait for the transcript up to there; 0 for none.  ends_there:
    whether the stored transcript ends at stop, too; otherwise the file's last lines follow."""

    __slots__ = ("ends_there", "most", "stop")

    def __init__(self, most: int = 0, stop: int = 0, ends_there: bool = False) -> None:
        self.most = most
        self.stop = stop
        self.ends_there = ends_there


class StoredTranscript:
    """A transcript whose chunks are in the object database.

    is_whole: whether it has all lines up to its end; otherwise a line stands for those that are
    read later, before the last ones.  has_caught_up: whether it is for the first time.
    chunks: their oids in order; size: bytes of the joined transcript; items: the number of its
    lines or messages; scan: the result of the agent's scanner; live: files.read_stamp() of the live
    file before it was read, empty if it could not be; end: the bytes of the live file then."""

    __slots__ = (
        "_copy",
        "_hash",
        "_rest",
        "chunks",
        "end",
        "has_caught_up",
        "is_whole",
        "items",
        "live",
        "scan",
        "size",
    )

    def __init__(self, copy: Copy, reader: Reader, tail: bytes, live: Stamp, end: int) -> None:
        self._copy = copy
        self._rest = tail
        self._hash = ""
        self.live = live
        self.is_whole = reader.is_whole
        self.has_caught_up = reader.has_caught_up
        self.end = end
        oids = reader.finish(tail)
        scan = reader.scan
        self.chunks = oids
        self.size = copy.size + len(tail)
        self.scan = scan
        lines = int(copy.known.get("lines", 0)) + bool(tail)
        self.items = int(scan["items"]) if scan else lines

    def __del__(self) -> None:
        self._copy.close()

    def read(self) -> bytes:
        """The whole redacted transcript."""
        return self._copy.read() + self._rest

    def list_lines(self) -> Iterator[bytes]:
        """Yield the redacted lines in their order; for a document, the lines of its text."""
        for piece, _ in transcripts.read_lines(self._copy.read, 0, self._copy.size):
            yield from piece.splitlines(keepends=True)

    def find_earlier(self, began: str) -> Earlier | None:
        """What its lines from before the session's start have used, as in a fork, which begins with
        a copy of another conversation; None if all lines are older, since then its clock is
        another one."""
        known = self._copy.known
        earlier: Earlier | None = known.get("earlier")
        if earlier is not None or not self.scan or "document" in known:
            return earlier

        from gitcp.agents.transcripts.transcript_facts import parse_time

        complete_lines = known.get("scan") or self.scan
        start = parse_time(began)
        newest = parse_time(str(self.scan["last_timestamp"]))
        newest_complete = parse_time(str(complete_lines["last_timestamp"]))
        if start is None or newest is None or newest < start - _SLACK:
            return None
        if newest_complete is None or newest_complete >= start:
            return None
        return _note_costs(complete_lines)

    @property
    def content_hash(self) -> str:
        """hash_content() of the joined stored bytes; of a long transcript hash_chunks()."""
        if self.size > LONG:
            return hash_chunks(self.chunks)
        if not self._hash:
            digest = _start_sha256(self.size)
            offset = 0
            while True:
                data = self._copy.read(offset, min(self._copy.size, offset + _PIECE))
                if not data:
                    break
                digest.update(data)
                offset += len(data)
            digest.update(self._rest)
            self._hash = "sha256:" + digest.hexdigest()
        return self._hash


class StoredChunks:
    """A stored transcript without a live file: the oids of its chunks, and its hash."""

    __slots__ = ("chunks", "content_hash")

    def __init__(self, oids: list[str], content_hash: str) -> None:
        self.chunks = oids
        self.content_hash = content_hash


def store_chunks(objects: Objects, data: bytes) -> StoredChunks:
    """Store a whole redacted transcript."""
    oids = [objects.write("blob", piece) for piece in transcripts.split_chunks(data)]
    if len(data) > LONG:
        return StoredChunks(oids, hash_chunks(oids))
    return StoredChunks(oids, hash_content(data))


def hash_chunks(oids: Sequence[str]) -> str:
    """'chunks:' and 64 hex digits, by the ids of the chunks of a long transcript: to hash its bytes
    would take a time in each commit that grows with it, and the ids are hashes of them."""
    digest = ids.start_sha256()
    digest.update("\n".join(oids).encode())
    return CHUNKS + str(digest.hexdigest())


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
    import hashlib

    return hashlib.sha256()


class LiveTranscript:
    """A live transcript: of a session, or of its subagent agent_id.  The scanner, if any, reads the
    redacted bytes.  began: when the session started, as its state has it."""

    __slots__ = ("agent_id", "began", "path", "redactor", "scanner", "session_id")

    def __init__(
        self,
        session_id: str,
        path: str | None,
        redactor: Redactor,
        scanner: Scanner | None = None,
        agent_id: str = "",
        began: str = "",
    ) -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        self.path = path
        self.redactor = redactor
        self.scanner = scanner
        self.began = began


def store_transcript(
    repo: Repo,
    source: LiveTranscript,
    complete: bool = False,
    check: bool = False,
    bounds: Bounds | None = None,
) -> StoredTranscript | None:
    """Store what a live transcript has gained; None if nothing was ever read.

    bounds: None to read all of it.  complete: take a last line without a newline.  check: compare
    the bytes read before, of a long file some blocks of them, and not only the last 4 KiB.  A file
    that shrank or was replaced begins a new part; nothing stored is dropped
    (doc/formats.md "Transcript").  Nothing is read while a rule of redaction is invalid.  Takes
    only this session's transcript lock.
    """
    name = name_copy(source.session_id, source.agent_id)
    with exclusive(repo, f"transcript-{source.session_id}"):
        copy = Copy(repo, name)

        from gitcp.checkpoints.redactor import can_read_rules

        if can_read_rules(repo):
            live = _open_live(repo, source.path)
        else:
            live = -1
        reader = Reader(repo, copy, source, bounds or Bounds())
        if copy.size:
            reader.check_chunks()
        if live < 0 and not copy.size:
            return None
        tail = b""
        stamp = []
        end = 0
        try:
            if live >= 0:
                stamp = files.read_stamp(live)
                end = os.fstat(live).st_size
                first_line = os.pread(live, 64, 0).partition(b"\n")[0]
                if transcripts.is_document(first_line, source.path or ""):
                    reader.take_document(live)
                else:
                    tail = reader.take_lines(live, end, complete, check)
        finally:
            if live >= 0:
                os.close(live)
        return StoredTranscript(copy, reader, tail, stamp, end)


def _open_live(repo: Repo, path: str | None) -> int:
    """A descriptor of the live transcript; -1 if there is none, or, with a warning, if it is
    unreadable."""
    try:
        return _open_transcript(repo, path)
    except Error as e:
        from gitcp.text import console

        console.warn_lacking(str(e))
        return -1


def explain_unreadable(repo: Repo, path: str | None) -> str:
    """Why an existing transcript is not read; '' if it is, or does not exist."""
    try:
        fd = _open_transcript(repo, path)
    except Error as e:
        return str(e)
    if fd >= 0:
        os.close(fd)
    return ""


def _open_transcript(repo: Repo, path: str | None) -> int:
    """A descriptor of the live transcript; -1 if there is none.  Raises Error if it is not read."""
    if not path or "\0" in path:
        return -1
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return -1
    except OSError as e:
        raise Error(f"the transcript {path!a} cannot be read: {e.strerror}") from None
    why = _explain_strange(repo, path, fd)
    if why:
        os.close(fd)
        raise Error(f"the transcript {path!a} is ignored: {why}")
    return fd


def _explain_strange(repo: Repo, path: str, fd: int) -> str:
    """Why a file is not taken for a client's transcript; '' if it is."""
    st = os.fstat(fd)
    if not stat.S_ISREG(st.st_mode):
        return "it is not a regular file"
    if st.st_uid not in (os.geteuid(), os.stat(repo.top or repo.common).st_uid):
        return "it is another user's"
    if _is_below(path, {repo.common, repo.git_dir}) and not _is_below(path, {locate_exports(repo)}):
        return "it lies in the git directory"
    if not transcripts.looks_right(os.pread(fd, 4096, 0)):
        return "it does not begin as a transcript does"
    return ""


def _is_below(path: str, folders: set[str]) -> bool:
    real = os.path.realpath(path)
    return any(real.startswith(os.path.realpath(folder) + os.sep) for folder in folders)


def store_session(
    repo: Repo,
    state: State,
    complete: bool = False,
    check: bool = False,
    most: int = 0,
    until_waiting: bool = False,
) -> StoredTranscript | None:
    """Store the session's transcript as far as it is on disk; None without one.  Also sets the
    turn's model and number from the transcript.

    complete, check: as for store_transcript().  most: about how many new bytes are read, 0 for all.
    No reading passes where the first checkpoint that waits for the transcript was written.
    until_waiting: store it as it was there.
    """
    scan = find_client(state.get("agent_type", "")).scan

    from gitcp.checkpoints.redactor import Lazy

    path = state.get("transcript_path")
    redactor = Lazy(repo, state["session_id"])
    source = LiveTranscript(
        state["session_id"], path, redactor, scan, began=str(state.get("started_at", ""))
    )
    waiting = state.get("unread")
    stop = 0
    if waiting:
        stop = waiting[0]["end"]
    bounds = Bounds(most, stop, until_waiting)
    result = store_transcript(repo, source, complete, check, bounds)
    turn = state.get("turns", {}).get(state.get("turn_id", ""))
    if result and result.scan and turn:
        if result.scan.get("model"):
            turn["model"] = result.scan["model"]
        if result.has_caught_up and not waiting:
            number_turns(state, [*state["turns"].values()], result.scan["prompts"])
        elif result.is_whole and not waiting:
            number_turns(state, [turn], result.scan["prompts"])
    return result


def number_turns(state: State, turns: Sequence[dict[str, Any]], asked: Sequence[str]) -> None:
    """Set the number of turns of a session, the earliest first, by its prompts."""
    for turn in turns:
        _number_turn(state, turn, asked)


def _number_turn(state: State, turn: dict[str, Any], asked: Sequence[str]) -> None:
    """Set the turn's number to its prompt's position in the transcript; it is higher than our count
    if hooks were installed later."""
    earlier = [old.get("number", 0) for old in state["turns"].values() if old is not turn]
    sent = filter(prompt_text.extract_sent, asked)
    number = prompt_text.find_number(dict(enumerate(sent, 1)), turn)
    if number > max(earlier, default=0):
        turn["number"] = number


def list_prompts(state: State, stored: StoredTranscript | None) -> list[str]:
    """The redacted prompts of the transcript, then those of turns that it lacks."""
    if stored and stored.scan:
        asked = list(stored.scan["prompts"])
    else:
        asked = []
    known = {"", *asked}
    lacking = [turn["prompt"] for turn in state.get("turns", {}).values()]
    lacking = [prompt for prompt in lacking if prompt not in known]
    if not lacking:
        return asked
    in_order = sorted(asked)  # a prompt comes directly before those that begin with it
    for prompt in lacking:
        import bisect

        place = bisect.bisect_left(in_order, prompt)
        if not any(longer.startswith(prompt) for longer in in_order[place : place + 1]):
            asked.append(prompt)
            in_order.insert(place, prompt)
    return asked


# A copy of a session's redacted transcript, so that only new lines have to be redacted.
#
# <common>/gitcp/transcript/<name>.redacted has what follows the last complete chunk; the chunks are
# in the object database.  It only grows, or is replaced by a new file, so that a process that has
# it open reads on.  <name>.json has the size of all and the chunks.  Both are a cache: a damaged
# copy is written anew from the live transcript.
TAIL = 4096  # bytes compared before reading on (doc/git.md "Notes")
_VERSION = 1


def name_copy(session_id: str, agent_id: str = "") -> str:
    """The name of the copy for a session, or for one of its subagents.  Raises InputError for an
    unsafe id."""
    session = ids.check_session_id(session_id)
    if agent_id:
        return f"{session}~{ids.check_component(agent_id, 'agent_id')}"
    return session


class Copy:
    """The copy of that name; the caller holds the lock of its session's transcripts.

    known: {"size", "crc": of the last bytes of the file, "start": how many bytes of the transcript
    are before the file, "before": the same of the file that it replaced, "chunks": [[oid, bytes,
    stamp]…],
    "lines", "parts", "live": {"dev", "ino", "offset", "crc", "tail"}, "blocks": the checksums of
    what was read of the live file, by the MiB, "unread": true if it has more, "scan", "earlier": as
    Earlier, "document"}.
    stamp: of the packs in which the chunk was last found.
    """

    def __init__(self, repo: Repo, name: str) -> None:
        self._path = locate_copy(repo, f"{name}.redacted")
        self._json = locate_copy(repo, f"{name}.json")
        self._repo = repo
        self.known: dict[str, Any] = {}
        self.fd = -1
        self._start = 0  # of the file that is open
        self._load()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @property
    def size(self) -> int:
        return int(self.known.get("size", 0))

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of the transcript from start to end, by default to its end.  Raises Error if a
        chunk is missing."""
        if self.fd < 0:
            return b""
        if end is None:
            end = self.size
        pieces: list[bytes] = []
        if start < self._start:
            pieces += self._read_chunks(start, min(end, self._start))
            start = self._start
        pieces.append(read_span(self.fd, start - self._start, end - self._start))
        return b"".join(pieces)

    def _read_chunks(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the parts of the stored chunks that are between these offsets."""
        place = 0
        for oid, size, _ in self.known["chunks"]:
            if place >= end:
                break
            if place + size > start:
                piece = self._repo.objects.need(oid, "blob") + b"\n"
                yield piece[max(0, start - place) : end - place]
            place += size

    def append(self, data: bytes) -> None:
        """Add data; bytes behind the end, from a killed process, are overwritten."""
        if self.fd < 0:
            self._open(os.O_RDWR | os.O_CREAT)
        try:
            files.write_at(self.fd, data, self.size - self._start)
        except OSError:
            os.ftruncate(self.fd, self.size - self._start)
            raise
        self.known["size"] = self.size + len(data)
        self._note_end()

    def replace(self, data: bytes) -> None:
        """Replace the whole copy by data."""
        self._replace_file(data)
        self._start = 0
        self.known.update(size=len(data), start=0, before=0)
        self._note_end()

    def _replace_file(self, data: bytes) -> None:
        """Replace the file by a new one with data.  Raises OSError; then the old one stays."""
        path = f"{self._path}.{os.getpid()}"
        fd = files.open_private(self._repo, path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        try:
            files.write_at(fd, data, 0)
            put_file(self._repo.common, path, self._path)
        except OSError:
            os.close(fd)
            files.remove_file(path)
            raise
        self.close()
        self.fd = fd

    def save(self) -> None:
        """Write known; what the file has of it is written before.  Then the chunks leave the file:
        they are in the object database once known is written.  After a kill in between the file
        is the one before."""
        stored = self._count_stored()
        if stored > self._start:
            self.known.update(start=stored, before=self._start)
            self._note_end()
        data = json.dumps({**self.known, "version": _VERSION}).encode()
        files.write_private(self._repo, self._json, data)
        if stored > self._start:
            rest = read_span(self.fd, stored - self._start, self.size - self._start)
            try:
                self._replace_file(rest)
            except OSError:
                return  # without room it stays, as after a kill
            self._start = stored

    def _count_stored(self) -> int:
        """The bytes of complete chunks; 0 for a document, of which all is compared."""
        if "document" in self.known:
            return 0
        return sum(size for _, size, _ in self.known.get("chunks", []))

    def _load(self) -> None:
        known = files.load_cache(self._json, shapes.TRANSCRIPT) or {"version": 0}
        try:
            self._open(os.O_RDWR)
        except FileNotFoundError:
            return
        if known["version"] == _VERSION:
            for start in (known.get("start", 0), known.get("before", 0)):
                self._start = start
                self.known = known
                if self._compute_end() == known["crc"]:
                    return
        self.known = {}
        self._start = 0
        self.close()  # another process may read the old file: a new one is begun
        move_aside(self._repo.common, self._path)

    def _open(self, flags: int) -> None:
        if flags & os.O_CREAT:
            self.fd = files.open_private(self._repo, self._path, flags)
            return
        try:
            self.fd = open_file(self._path, flags | os.O_NOFOLLOW)
        except Damaged:
            move_aside(self._repo.common, self._path)
            raise FileNotFoundError(self._path) from None

    def _note_end(self) -> None:
        self.known["crc"] = self._compute_end()

    def _compute_end(self) -> int:
        """The checksum of the last bytes of the transcript that are in the file."""
        first = max(self.known.get("start", 0), self.size - TAIL)
        return zlib.crc32(read_span(self.fd, first - self._start, self.size - self._start))


def remove_copy(repo: Repo, session_id: str, agent_id: str) -> None:
    """Remove the copy of a session's transcript, or of that of its subagent agent_id."""
    for end in (".json", ".redacted"):
        files.remove_private(repo, locate_copy(repo, name_copy(session_id, agent_id) + end))


def read_span(fd: int, start: int, end: int) -> bytes:
    """The bytes of a file from start to end, fewer if it is shorter."""
    parts = []
    while start < end:
        data = os.pread(fd, end - start, start)
        if not data:
            break
        parts.append(data)
        start += len(data)
    return b"".join(parts)


def read_live(path: str, start: int = 0) -> bytes:
    """The bytes of a client's file from start on, or from its beginning if it is shorter than that;
    bounded as by read_bounded().  Raises OSError, also for an invalid path."""
    if "\0" in path:
        raise FileNotFoundError(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe is not waited for
    try:
        size = os.fstat(fd).st_size
        if start > size:
            start = 0
        return transcripts.read_bounded(lambda a, b: read_span(fd, a, b), start, size)
    finally:
        os.close(fd)


# Reading what a live transcript has gained: it is redacted, scanned, and cut into chunks.
_MUCH = 2 << 20  # new bytes, from which on a faster hash is worth its import
_MORE = 8 << 20  # new bytes, from which on other processes are worth their start
_COMPARED = 8  # blocks of a long live file that are compared at once with what was read of them


class Reader:
    """One reading, from the live file into the copy and the object database.

    The copy's "chunks" are [oid, size, stamp of the packs that have it] each.
    """

    def __init__(self, repo: Repo, copy: Copy, source: LiveTranscript, bounds: Bounds) -> None:
        self._repo = repo
        self._copy = copy
        self._bounds = bounds
        self._redactor = source.redactor
        self._scanner = source.scanner
        self._began = source.began
        self.is_whole = "unread" not in copy.known
        self.has_caught_up = False
        self.scan: Any = copy.known.get("scan")
        self._is_changed = False  # what is known of the copy, since it was saved

    def take_lines(self, live: int, size: int, complete: bool, check: bool) -> bytes:
        """Take the complete new lines of a live file of so many bytes, within the bounds; return
        the redacted lines that follow in this transcript alone: a last line without newline if
        complete, or the last lines if not all were taken."""
        copy = self._copy
        bounds = self._bounds
        if "document" in copy.known:
            copy.known.clear()
            copy.replace(b"")
        old = copy.known.get("live")
        blocks = copy.known.setdefault("blocks", [])
        compared = blocks if check else None
        grown = old is None or _is_continued(live, size, old, compared)
        if not grown:
            blocks.clear()
        start = 0
        crc = 0
        if old and grown:
            start = old["offset"]
            crc = old["crc"]
        end = start
        stored_keys = None
        if not grown:
            stored_keys = self._list_line_keys()
            git.append_trace("transcript", "the live file shrank or was replaced: a new part")
            copy.known["parts"] = copy.known.get("parts", 1) + 1
        goal = size
        if bounds.stop and grown:
            goal = _find_stop(live, start, bounds.stop, size)
        last = self._choose_end(live, start, goal)
        if bounds.ends_there:
            self.is_whole = last == goal
        else:
            self.is_whole = last == size and not bounds.stop
        self._note_unread(last < size)
        for red, new_end in self._redact_stretches(live, start, last):
            crc = _compute_crc(live, end, new_end, crc)
            end = new_end
            self._take_lines(red, stored_keys)
        if end > start or not grown:
            copy.known["live"] = _describe_live(live, end, crc)
            _add_blocks(live, end, blocks)
            self._is_changed = True
        if end == start and not grown:
            self._scan_new(b"")
        if bounds.ends_there and (last < goal or goal < size):
            return b""
        tail = b""
        if last < size:
            tail = _read_last_lines(live, end, size, complete)
        elif complete:
            tail = transcripts.read_line(_make_reader(live), end, size)
        if tail.strip():
            return self._redact_last(tail)
        return b""

    def _choose_end(self, live: int, start: int, goal: int) -> int:
        """The offset up to which the lines from start on are taken: goal, or that after a line if
        there are more than the bounds allow.  Of what is above the limit for all of a transcript,
        little is read anyway."""
        most = self._bounds.most
        if not most or goal - start <= most or self._count_room() <= most:
            return goal
        if not self._bounds.ends_there:
            most -= _LAST  # which are read each time
        if most <= 0:
            return start
        end = transcripts.find_next_line(_make_reader(live), start + most, goal)
        if end is None:
            return goal
        return end

    def _count_room(self) -> int:
        """How many new bytes are stored: up to the limit, or a few."""
        limit: int = self._repo.config.get_option("gitcp.max-transcript-size")
        return max(limit - self._copy.size, transcripts.ROOM)

    def _note_unread(self, is_unread: bool) -> None:
        """Note whether lines of the live file are left to be read."""
        known = self._copy.known
        if is_unread == ("unread" in known):
            return
        if is_unread:
            known["unread"] = True
        else:
            del known["unread"]
            self.has_caught_up = True
        self._is_changed = True

    def _redact_stretches(self, live: int, start: int, size: int) -> Iterator[transcripts.Stretch]:
        """Yield the new lines, redacted, in stretches, each with the offset after it.  Several
        processes redact much."""
        ends: list[int] = []

        def read() -> Iterator[bytes]:
            room = self._count_room()
            for new, end in transcripts.read_stretches(_make_reader(live), start, size, room):
                ends.append(end)
                yield new

        redact = self._redactor.redact_jsonl
        redacted: Iterable[bytes] = map(redact, read())
        if size - start >= _MUCH:
            self._repo.objects.prepare_large_writes()
        if size - start >= _MORE:
            from gitcp.git.objects import reading

            redacted = reading.spread_batches(self._repo.objects, read(), lambda _: redact, 0)
        for number, red in enumerate(redacted):
            yield red, ends[number]

    def _take_lines(self, red: bytes, stored_keys: set[bytes] | None) -> None:
        """Add redacted lines to the copy, store their chunks and scan them.  stored_keys: of the
        lines to leave out, None for none."""
        if stored_keys is not None:
            new = [line for line in red.split(b"\n") if _make_line_key(line) not in stored_keys]
            red = b"".join([line + b"\n" for line in new if line])
        self._copy.append(red)
        known = self._copy.known
        known["lines"] = known.get("lines", 0) + red.count(b"\n")
        self._store_chunks()
        self._scan_new(red)

    def _list_line_keys(self) -> set[bytes]:
        pieces = transcripts.read_lines(self._copy.read, 0, self._copy.size)
        found: set[bytes] = set()
        for piece, _ in pieces:
            for line in piece.split(b"\n"):
                found.add(_make_line_key(line))
        return found

    def take_document(self, live: int) -> None:
        """Take one JSON document, as a whole, if it has changed."""
        copy = self._copy
        st = os.fstat(live)
        signature = [st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns]
        if copy.known.get("document") == signature:
            return
        is_too_large = st.st_size > transcripts.LARGEST_DOCUMENT
        if is_too_large and copy.size:
            return
        if is_too_large:
            data = transcripts.read_line(_make_reader(live), 0, st.st_size)
        else:
            data = read_span(live, 0, st.st_size)

        from gitcp.agents.transcripts import transcript_facts

        red = transcript_facts.merge_documents(copy.read(), self._redactor.redact_document(data))
        if self._scanner:
            self.scan = self._scanner(red, None)
        else:
            self.scan = None
        copy.known = {"document": signature, "scan": self.scan, "lines": 1}
        copy.known["chunks"] = []
        for piece in transcripts.split_document(red)[:-1]:
            self._store_chunk(piece, len(piece) + 1)
        copy.replace(red)
        self._is_changed = True

    def finish(self, remaining: bytes) -> list[str]:
        """Save what is known of the copy; return the oids of all its chunks with remaining after
        it.  Each is in the object database."""
        done = self._copy.known.get("chunks", [])
        tail = self._copy.read(sum(c[1] for c in done)) + remaining
        if self._is_changed:
            self._copy.save()
        if "document" in self._copy.known:
            pieces = [tail]
        else:
            pieces = transcripts.split_chunks(tail, len(done))
        return [c[0] for c in done] + [self._repo.objects.write("blob", p) for p in pieces]

    def _store_chunks(self) -> None:
        done = self._copy.known.setdefault("chunks", [])
        tail = self._copy.read(sum(c[1] for c in done))
        start = 0
        for end in transcripts.find_ends(tail, len(done)):
            self._store_chunk(tail[start : end - 1], end - start)
            start = end

    def _store_chunk(self, piece: bytes, size: int) -> None:
        self._copy.known["chunks"].append([self._repo.objects.write("blob", piece), size, 0])

    def _scan_new(self, new: bytes) -> None:
        """Scan the new bytes, or the whole copy if the scanner cannot continue.

        The scanner reads redacted bytes, so its result has no secret.
        """
        if self._scanner is None:
            return
        scan = self._scan_on(self._scanner, new)
        if self._began and "earlier" not in self._copy.known and scan["last_timestamp"]:
            remaining = self._scan_earlier(self._scanner, new)
            if remaining is not new:
                scan = self._scan_on(self._scanner, remaining)
        self.scan = scan
        self._copy.known["scan"] = scan

    def _scan_on(self, scanner: Scanner, new: bytes) -> Any:
        """The scan of the lines before, continued by new ones; that of the whole copy if the
        scanner cannot continue."""
        earlier = self._find_continued()
        if earlier is None:
            return self._scan_all(scanner)
        return scanner(new, earlier)

    def _scan_earlier(self, scanner: Scanner, new: bytes) -> bytes:
        """Note what the lines from before the session's start have used, once younger ones follow;
        return the lines that remain to be scanned."""
        from gitcp.agents.transcripts.transcript_facts import parse_time

        began = parse_time(self._began)
        seen = None
        if self.scan:
            seen = parse_time(str(self.scan["last_timestamp"]))
        if began is None or (seen is not None and seen >= began):
            return new  # what was read was not divided
        earlier = self._find_continued()
        lines = new
        if earlier is None and self._copy.size != len(new):
            lines = self._copy.read()
        count = _count_older(lines, began, scanner)
        if count is None:
            return new
        scan = scanner(lines[:count], earlier)
        self._copy.known["earlier"] = _note_costs(scan)
        if not scan["bytes"]:
            return new
        self.scan = scan
        return lines[count:]

    def _scan_all(self, scanner: Scanner) -> Any:
        """The scan of the whole copy, piece by piece if the scanner can continue."""
        scan = None
        for piece, _ in transcripts.read_lines(self._copy.read, 0, self._copy.size):
            if scan and not scan["bytes"]:
                return scanner(self._copy.read(), None)
            scan = scanner(piece, scan)
        return scan or scanner(b"", None)

    def _redact_last(self, tail: bytes) -> bytes:
        red = self._redactor.redact_jsonl(tail)
        if self._scanner:
            earlier = self._find_continued()
            data = red
            if earlier is None:
                data = self._copy.read() + red
            self.scan = self._scanner(data, earlier)
        return red

    def _find_continued(self) -> Any:
        """The scan of the lines before, which the scanner continues; None if it cannot."""
        if self.scan and self.scan["bytes"]:
            return self.scan
        return None

    def check_chunks(self) -> None:
        """Begin the copy anew if a prune has removed a chunk: the live file then brings it again.
        While the packs have the stamp of a chunk, it is there."""
        done = self._copy.known.get("chunks", [])
        packs = self._repo.objects.packs
        stamps = packs.list_stamps()
        unsure = {c[0]: packs.find_stamp(c[0]) for c in done if c[2] not in stamps}
        if not unsure:
            return
        absent = self._repo.objects.list_absent(
            oid for oid, stamp in unsure.items() if stamp is None
        )
        if absent:
            git.append_trace("transcript", "chunks of the copy are missing: it is begun anew")
            self._copy.known = {}
            self._copy.replace(b"")
            self.scan = None
            self.is_whole = True
            return
        for chunk in done:
            if chunk[0] in unsure:
                stamp = unsure[chunk[0]]
                if stamp is None:
                    stamp = packs.stamp_others()
                chunk[2] = stamp
        self._is_changed = True


def _note_costs(scan: Scan) -> Earlier:
    return {"usage": scan["usage"], "subagents": scan["subagents"]}


def _count_older(data: bytes, began: int, scanner: Scanner) -> int | None:
    """The bytes of the lines in data from before a time, in ns since 1970; None if there is no line
    of later.  The times of lines do not fall; some have none."""
    from gitcp.agents.transcripts.transcript_facts import parse_time

    lines = data.splitlines(keepends=True)
    low = 0
    high = len(lines)
    first: int | None = None
    while low < high:
        middle = probed = (low + high) // 2
        time = None
        while time is None and probed < high:
            time = parse_time(str(scanner(lines[probed], None)["last_timestamp"]))
            probed += 1
        if time is None or time >= began:
            high = middle
        else:
            low = probed
        if time is not None and time >= began:
            first = probed - 1
    if first is None:
        return None
    return sum(map(len, lines[:first]))


def _find_stop(live: int, start: int, stop: int, size: int) -> int:
    """The offset after the line that a live file of so many bytes had begun at stop; start if that
    was read."""
    if stop <= start:
        return start
    end = transcripts.find_next_line(_make_reader(live), stop - 1, size)
    if end is None:
        return size
    return end


def _read_last_lines(live: int, end: int, size: int, complete: bool) -> bytes:
    """The last lines of a live file, behind a line for what is between them and end.  complete:
    with a last line without a newline."""
    read = _make_reader(live)
    pieces: list[bytes] = []
    begin: int | None = end
    if size - end > _LAST:
        begin = transcripts.find_next_line(read, size - _LAST, size)
        pieces.append(transcripts.format_left_out((begin or size) - end))
    if begin is None:
        return b"".join(pieces)
    for piece, piece_end in transcripts.read_lines(read, begin, size):
        pieces.append(piece)
        begin = piece_end
    if complete:
        pieces.append(transcripts.read_line(read, begin, size))
    return b"".join(pieces)


def _make_reader(live: int) -> Callable[[int, int], bytes]:
    """read(start, end) of the live file; a hook does not import functools for a partial()."""
    return lambda start, end: read_span(live, start, end)


def _is_continued(live: int, size: int, old: dict[str, Any], blocks: Sequence[int] | None) -> bool:
    """Whether the live file still begins with what was read of it before.

    blocks: as _add_blocks() returns them, to compare some of them, or all that was read if they are
    few; None to compare only the last bytes."""
    offset = old["offset"]
    st = os.fstat(live)
    if size < offset:
        return False
    is_same_file = [old["dev"], old["ino"]] == [st.st_dev, st.st_ino]
    if is_same_file and zlib.crc32(read_span(live, max(0, offset - TAIL), offset)) != old["tail"]:
        return False
    if is_same_file and blocks is None:
        return True
    if is_same_file and blocks and len(blocks) > _COMPARED:
        count = len(blocks)
        chosen = {0, count - 1}
        for number in range(_COMPARED):  # others whenever the file has grown
            chosen.add(zlib.crc32(b"%d %d" % (offset, number)) % count)
        return all(_compute_block(live, number) == blocks[number] for number in chosen)
    return bool(_compute_crc(live, 0, offset, 0) == old["crc"])


def _add_blocks(live: int, end: int, blocks: list[int]) -> None:
    """Add the checksums of whole blocks of a live file before end to those that are known."""
    for number in range(len(blocks), end // _PIECE):
        blocks.append(_compute_block(live, number))


def _compute_block(live: int, number: int) -> int:
    return zlib.crc32(read_span(live, number * _PIECE, (number + 1) * _PIECE))


def _compute_crc(live: int, start: int, end: int, crc: int) -> int:
    while start < end:
        data = read_span(live, start, min(end, start + transcripts.STRETCH))
        if not data:
            break
        crc = zlib.crc32(data, crc)
        start += len(data)
    return crc


def _make_line_key(line: bytes) -> bytes:
    """A short key of a line; equal lines have the same."""
    if len(line) <= 32:
        return line
    return b"%d %d" % (len(line), hash(line))


def _describe_live(live: int, offset: int, crc: int) -> dict[str, int]:
    st = os.fstat(live)
    tail = zlib.crc32(read_span(live, max(0, offset - TAIL), offset))
    return {"dev": st.st_dev, "ino": st.st_ino, "offset": offset, "crc": crc, "tail": tail}
