"""Reading what a live transcript has gained: it is redacted, scanned, and cut into chunks."""

from __future__ import annotations

import os
import zlib

from gitcp import trace
from gitcp.core.transcript import chunks, stretches
from gitcp.start import late
from gitcp.store.v1.transcript_copy import TAIL, read_span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Protocol

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.transcript_copy import Copy

    class Redactor(Protocol):
        """The part of a redactor that is used here; lines stay lines, a document a document."""

        def redact_jsonl(self, data: bytes) -> bytes: ...
        def redact_document(self, data: bytes) -> bytes: ...

    Scanner = Callable[..., Any]  # scan of an agent: (data, previous) -> Scan

_MUCH = 2 << 20  # new bytes, from which on a faster hash is worth its import
_MORE = 8 << 20  # new bytes, from which on other processes are worth their start


class Reader:
    """One reading, from the live file into the copy and the object database.

    The copy's "chunks" are [oid, size, stamp of the packs that have it] each.
    """

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        copy: Copy,
        redactor: Redactor,
        scanner: Scanner | None,
    ) -> None:
        self._repo, self._objects, self._copy = repo, objects, copy
        self._redactor, self._scanner = redactor, scanner
        self.scan: Any = copy.known.get("scan")
        self._is_changed = False  # what is known of the copy, since it was saved

    def take_lines(self, live: int, complete: bool, check: bool) -> bytes:
        """Take the complete new lines; return a redacted last line without newline if complete."""
        copy, size = self._copy, os.fstat(live).st_size
        if "document" in copy.known:
            copy.known.clear()
            copy.replace(b"")
        old = copy.known.get("live")
        grown = old is None or _is_continued(live, size, old, check)
        start, crc = (old["offset"], old["crc"]) if old and grown else (0, 0)
        end, stored_keys = start, None if grown else self._list_line_keys()
        if stored_keys is not None:
            trace.append_note("transcript", "the live file shrank or was replaced: a new part")
            copy.known["parts"] = copy.known.get("parts", 1) + 1
        for red, new_end in self._redact_stretches(live, start, size):
            crc = _compute_crc(live, end, new_end, crc)
            end = new_end
            self._take_lines(red, stored_keys)
        if end > start or not grown:
            copy.known["live"] = _describe_live(live, end, crc)
            self._is_changed = True
        if end == start and not grown:
            self._scan_new(b"")
        tail = stretches.read_line(_make_reader(live), end, size) if complete else b""
        return self._redact_last(tail) if tail.strip() else b""

    def _redact_stretches(self, live: int, start: int, size: int) -> Iterator[stretches.Stretch]:
        """Yield the new lines, redacted, in stretches, each with the offset after it.  Several
        processes redact much."""
        ends: list[int] = []

        def read() -> Iterator[bytes]:
            limit: int = self._repo.config.get_option("gitcp.max-transcript-size")
            room = max(limit - self._copy.size, stretches.ROOM)
            for new, end in stretches.read_stretches(_make_reader(live), start, size, room):
                ends.append(end)
                yield new

        redact = self._redactor.redact_jsonl
        redacted: Iterable[bytes] = map(redact, read())
        if size - start >= _MUCH:
            self._objects.prepare_large_writes()
        if size - start >= _MORE:
            redacted = late.spread.spread_batches(self._objects, read(), lambda _: redact, 0)
        for number, red in enumerate(redacted):
            yield red, ends[number]

    def _take_lines(self, red: bytes, stored_keys: set[bytes] | None) -> None:
        """Add redacted lines to the copy, store their chunks and scan them.  stored_keys: of the
        lines to leave out, None for none."""
        if stored_keys is not None:
            lines = (line for line in red.split(b"\n") if line)
            red = b"".join(
                line + b"\n" for line in lines if _make_line_key(line) not in stored_keys
            )
        self._copy.append(red)
        known = self._copy.known
        known["lines"] = known.get("lines", 0) + red.count(b"\n")
        self._store_chunks()
        self._scan_new(red)

    def _list_line_keys(self) -> set[bytes]:
        pieces = stretches.read_lines(self._copy.read, 0, self._copy.size)
        return {_make_line_key(line) for piece, _ in pieces for line in piece.split(b"\n")}

    def take_document(self, live: int) -> None:
        """Take one JSON document, as a whole, if it has changed."""
        copy, st = self._copy, os.fstat(live)
        signature = [st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns]
        if copy.known.get("document") == signature or (
            st.st_size > stretches.DOCUMENT and copy.size
        ):
            return
        if st.st_size > stretches.DOCUMENT:
            data = stretches.read_line(_make_reader(live), 0, st.st_size)
        else:
            data = read_span(live, 0, st.st_size)
        red = chunks.merge_documents(copy.read(), self._redactor.redact_document(data))
        self.scan = self._scanner(red, None) if self._scanner else None
        copy.known = {"document": signature, "scan": self.scan, "lines": 1}
        copy.known["chunks"] = []
        for piece in chunks.split_document(red)[:-1]:
            self._store_chunk(piece, len(piece) + 1)
        copy.replace(red)
        self._is_changed = True

    def finish(self, remaining: bytes) -> list[str]:
        """Save what is known of the copy; return the oids of all its chunks with remaining after
        it.  Each is in the object database."""
        done = self._copy.known.get("chunks", [])
        self._write_missing(done)
        if self._is_changed:
            self._copy.save()
        tail = self._copy.read(sum(c[1] for c in done)) + remaining
        document = "document" in self._copy.known
        pieces = [tail] if document else chunks.split(tail, len(done))
        return [c[0] for c in done] + [self._objects.write("blob", p) for p in pieces]

    def _store_chunks(self) -> None:
        done = self._copy.known.setdefault("chunks", [])
        tail = self._copy.read(sum(c[1] for c in done))
        start = 0
        for end in chunks.find_ends(tail, len(done)):
            self._store_chunk(tail[start : end - 1], end - start)
            start = end

    def _store_chunk(self, piece: bytes, size: int) -> None:
        self._copy.known["chunks"].append([self._objects.write("blob", piece), size, 0])

    def _scan_new(self, new: bytes) -> None:
        """Scan the new bytes, or the whole copy if the scanner cannot continue.

        The scanner reads redacted bytes, so its result has no secret.
        """
        if self._scanner is None:
            return
        if self.scan and self.scan["bytes"]:
            self.scan = self._scanner(new, self.scan)
        else:
            self.scan = self._scan_all(self._scanner)
        self._copy.known["scan"] = self.scan

    def _scan_all(self, scanner: Scanner) -> Any:
        """The scan of the whole copy, piece by piece if the scanner can continue."""
        scan = None
        for piece, _ in stretches.read_lines(self._copy.read, 0, self._copy.size):
            if scan and not scan["bytes"]:
                return scanner(self._copy.read(), None)
            scan = scanner(piece, scan)
        return scan or scanner(b"", None)

    def _redact_last(self, tail: bytes) -> bytes:
        red = self._redactor.redact_jsonl(tail)
        if self._scanner:
            continues = self.scan and self.scan["bytes"]
            data = red if continues else self._copy.read() + red
            self.scan = self._scanner(data, self.scan if continues else None)
        return red

    def _write_missing(self, done: list[Any]) -> None:
        """Write the chunks again that a prune has removed.  While the packs have the stamp of a
        chunk, it is there."""
        packs = self._objects.packs
        stamps = packs.list_stamps()
        unsure = {c[0]: packs.find_stamp(c[0]) for c in done if c[2] not in stamps}
        if not unsure:
            return
        absent = self._objects.list_absent(oid for oid, stamp in unsure.items() if stamp is None)
        offset = 0
        for chunk in done:
            oid, size, _ = chunk
            if oid in absent:
                self._objects.write("blob", self._copy.read(offset)[: size - 1])
            elif oid in unsure:
                stamp = unsure[oid]
                chunk[2] = packs.stamp_others() if stamp is None else stamp
            offset += size
        self._is_changed = True


def _make_reader(live: int) -> Callable[[int, int], bytes]:
    """read(start, end) of the live file; a hook does not import functools for a partial()."""
    return lambda start, end: read_span(live, start, end)


def _is_continued(live: int, size: int, old: dict[str, Any], check: bool) -> bool:
    """Whether the live file still begins with what was read of it before."""
    offset, st = old["offset"], os.fstat(live)
    if size < offset:
        return False
    is_same_file = [old["dev"], old["ino"]] == [st.st_dev, st.st_ino]
    if is_same_file and zlib.crc32(read_span(live, max(0, offset - TAIL), offset)) != old["tail"]:
        return False
    return (is_same_file and not check) or _compute_crc(live, 0, offset, 0) == old["crc"]


def _compute_crc(live: int, start: int, end: int, crc: int) -> int:
    while start < end and (data := read_span(live, start, min(end, start + stretches.STRETCH))):
        crc = zlib.crc32(data, crc)
        start += len(data)
    return crc


def _make_line_key(line: bytes) -> bytes:
    """A short key of a line; equal lines have the same."""
    return line if len(line) <= 32 else b"%d %d" % (len(line), hash(line))


def _describe_live(live: int, offset: int, crc: int) -> dict[str, int]:
    st, tail = os.fstat(live), zlib.crc32(read_span(live, max(0, offset - TAIL), offset))
    return {"dev": st.st_dev, "ino": st.st_ino, "offset": offset, "crc": crc, "tail": tail}
