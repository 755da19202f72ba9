"""Reading on in a live transcript: what is new is redacted, scanned, and cut into chunks."""

from __future__ import annotations

import os
import zlib

from gitcp import trace
from gitcp.core.transcript import chunks, transcript_scan
from gitcp.store.v1.transcript_copy import TAIL, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.transcript_copy import Copy

    class Redactor(Protocol):
        """What this needs of core.redact: lines stay lines, a document a document."""

        def jsonl(self, data: bytes) -> bytes: ...
        def document(self, data: bytes) -> bytes: ...

    Scanner = Callable[..., Any]  # scan of an agent: (data, start, previous) -> Scan


class Reader:
    """One reading, from the live file into the copy and the object database."""

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        copy: Copy,
        redactor: Redactor,
        scanner: Scanner | None,
        start: int,
    ) -> None:
        self._repo, self._objects, self._copy = repo, objects, copy
        self._redactor, self._scanner, self._start = redactor, scanner, start
        self.scan: Any = copy.known.get("scan")

    def lines(self, live: int, whole: bool, check: bool) -> bytes:
        """Take the complete lines that are new; return, with whole, the redacted rest."""
        copy, known, size = self._copy, self._copy.known, os.fstat(live).st_size
        if "document" in known:
            known.clear()
            copy.replace(b"")
        old = known.get("live")
        grown = old is None or _continues(live, size, old, check)
        at, crc = (old["offset"], old["crc"]) if old and grown else (0, 0)
        data = read(live, at, size)
        end = data.rfind(b"\n") + 1
        new, rest = data[:end], data[end:] if whole else b""
        red = b""
        if new or not grown:
            red = self._redactor.jsonl(new)
            known["live"] = _mark(live, at + end, zlib.crc32(new, crc))
            if not grown:
                trace.note("transcript", "the live file shrank or was replaced: a new part")
                known["parts"] = known.get("parts", 1) + 1
                new, red = _unknown(new, red, copy.read())
            copy.append(red)
            known["lines"] = known.get("lines", 0) + red.count(b"\n")
            self._settle()
        if new or not grown or known.get("start", self._start) != self._start:
            self._scan(red if new else b"")
            copy.save()
        if rest.strip():
            return self._last(rest)
        return b""

    def document(self, live: int) -> None:
        """Take one JSON document, all of it whenever it has changed."""
        copy, st = self._copy, os.fstat(live)
        sign = [st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns, self._start]
        if copy.known.get("document") == sign:
            return
        data = read(live, 0, st.st_size)
        red = chunks.union(copy.read(), self._redactor.document(data))
        self.scan = self._scanner(red, self._start, None) if self._scanner else None
        copy.known = {"document": sign, "scan": self.scan, "start": self._start, "lines": 1}
        copy.known["chunks"] = []
        for piece in chunks.split_document(red)[:-1]:
            self._done(piece, len(piece) + 1)
        copy.replace(red)
        copy.save()

    def chunks(self, rest: bytes) -> list[str]:
        """The oids of all chunks of the copy with rest after it; every one is there."""
        done = self._copy.known.get("chunks", [])
        self._ensure(done)
        tail = self._copy.read(sum(c[1] for c in done)) + rest
        document = "document" in self._copy.known
        pieces = [tail] if document else chunks.split(tail, len(done))
        return [c[0] for c in done] + [self._objects.write("blob", p) for p in pieces]

    def _settle(self) -> None:
        done = self._copy.known.setdefault("chunks", [])
        tail = self._copy.read(sum(c[1] for c in done))
        at = 0
        for end in chunks.cuts(tail, len(done)):
            self._done(tail[at : end - 1], end - at)
            at = end

    def _done(self, piece: bytes, size: int) -> None:
        self._copy.known["chunks"].append([self._objects.write("blob", piece), size, 0])

    def _scan(self, new: bytes) -> None:
        """Let the scanner read what is new, or the whole copy where it cannot be continued.

        It reads redacted bytes: what it tells can go anywhere.
        """
        known, previous = self._copy.known, self.scan
        if self._scanner is None:
            return
        if previous and known.get("start") != self._start:
            # The usual case: a commit took what was scanned, the next start is its end.
            at_end = previous["bytes"] and previous["items"] == self._start
            previous = transcript_scan.cursor(previous) if at_end else None
        if not previous or not previous["bytes"]:
            previous, new = None, self._copy.read()
        self.scan = self._scanner(new, self._start, previous)
        known["scan"], known["start"] = self.scan, self._start

    def _last(self, rest: bytes) -> bytes:
        red = self._redactor.jsonl(rest)
        if self._scanner:
            goes_on = self.scan and self.scan["bytes"]
            given = red if goes_on else self._copy.read() + red
            self.scan = self._scanner(given, self._start, self.scan if goes_on else None)
        return red

    def _ensure(self, done: list[Any]) -> None:
        """Write chunks again that a prune has taken; nothing may name a missing blob."""
        packs = _stamp(os.path.join(self._repo.common, "objects", "pack"))
        loose = self._objects.has_loose
        unsure = {c[0] for c in done if not loose(c[0]) and c[2] != packs}
        if not unsure:
            return
        names = "\n".join(sorted(unsure)).encode()
        _, out = self._repo.git.run("cat-file", "--batch-check", stdin=names)
        gone = {line.split(b" ")[0].decode() for line in out.splitlines() if b"missing" in line}
        at = 0
        for chunk in done:
            oid, size, _ = chunk
            if oid in gone:
                self._objects.write("blob", self._copy.read(at)[: size - 1])
            elif oid in unsure:
                chunk[2] = packs
            at += size
        self._copy.save()


def _continues(live: int, size: int, old: dict[str, Any], check: bool) -> bool:
    """Whether the live file still begins with what was read of it."""
    offset, st = old["offset"], os.fstat(live)
    if size < offset:
        return False
    same = [old["dev"], old["ino"]] == [st.st_dev, st.st_ino]
    if same and zlib.crc32(read(live, max(0, offset - TAIL), offset)) != old["tail"]:
        return False
    return (same and not check) or bool(zlib.crc32(read(live, 0, offset)) == old["crc"])


def _mark(live: int, offset: int, crc: int) -> dict[str, int]:
    st, last = os.fstat(live), read(live, max(0, offset - TAIL), offset)
    tail = zlib.crc32(last)
    return {"dev": st.st_dev, "ino": st.st_ino, "offset": offset, "crc": crc, "tail": tail}


def _unknown(new: bytes, red: bytes, old: bytes) -> tuple[bytes, bytes]:
    """The lines of new (and redacted, of red) that old does not have."""
    have = set(old.split(b"\n"))
    pairs = zip(new.split(b"\n"), red.split(b"\n"), strict=False)
    kept = [(a + b"\n", b + b"\n") for a, b in pairs if b and b not in have]
    return b"".join(a for a, _ in kept), b"".join(b for _, b in kept)


def _stamp(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
