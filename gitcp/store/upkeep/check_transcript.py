"""A stored transcript: the names of its pieces, and its hash over the joined bytes."""

from __future__ import annotations

import hashlib

from gitcp.core.transcript import chunks
from gitcp.core.upkeep.findings import finding
from gitcp.core.v1 import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Finding, Tree
    from gitcp.core.v1.summary import Metadata
    from gitcp.store.git.prefetch import Prefetched

_LAST = 999  # the highest number that sorts right by its text


class Hashes:
    """SHA-256 of transcripts; one that begins as the session's last did goes on from there,
    so that a hundred checkpoints of a growing session are read once."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[list[str], Any]] = {}

    def of(self, objects: Prefetched, session_id: str, oids: list[str]) -> str:
        """'sha256:' and the hex digits, of the pieces joined with newlines."""
        known, digest = self._last.get(session_id, ([], None))
        if digest is None or oids[: len(known)] != known or len(oids) == len(known):
            known, digest = [], hashlib.sha256()
        digest = digest.copy()
        for number in range(len(known), len(oids)):
            data = objects.need(oids[number], "blob")
            if number == len(oids) - 1:
                self._last[session_id] = (oids[:number], digest.copy())
            digest.update(b"\n" * (number > 0) + data)
        return "sha256:" + str(digest.hexdigest())


def check(
    objects: Prefetched, hashes: Hashes, where: str, metadata: Metadata, files: Tree, old: bool
) -> Iterator[Finding]:
    """The pieces and the hash of one session directory; old: before hashes were kept."""
    pieces = {n: oid for name, (_, oid) in files.items() if (n := chunks.number(name)) is not None}
    yield from _names(where, files, sorted(pieces))
    stored = _content(objects, files)
    if not pieces:
        if stored:
            yield finding("bad-hash", where, "there is a hash, and no transcript", old)
        return
    if not stored:
        # The original's auto-commit never writes one.
        without = old or metadata.get("strategy") == "auto-commit"
        yield finding("bad-hash", where, "there is no content_hash.txt", without)
        return
    session_id = str(metadata.get("session_id", where))
    actual = hashes.of(objects, session_id, [oid for _, oid in sorted(pieces.items())])
    if stored != actual:
        yield finding("bad-hash", where, f"it says '{stored[:80]}', and is '{actual}'", old)


def _names(where: str, files: Tree, numbers: list[int]) -> Iterator[Finding]:
    if numbers and numbers != list(range(len(numbers))):
        gone = next(n for n in range(numbers[-1]) if n not in numbers)
        yield finding("bad-chunk", where, f"'{chunks.name(gone)}' is missing")
    if numbers and numbers[-1] > _LAST:
        yield finding("bad-chunk", where, f"'{chunks.name(numbers[-1])}' sorts before others")
    for name in files:
        digits = name.removeprefix(chunks.NAME + ".")
        if digits != name and digits[:1].isdecimal() and len(digits) < 3:
            yield finding("bad-chunk", where, f"'{name}' does not sort as a piece")
    if chunks.NAME in files and chunks.LEGACY in files:
        yield finding("bad-chunk", where, "there are two first pieces")


def _content(objects: Prefetched, files: Tree) -> str:
    entry = files.get(summary.HASH)
    return objects.need(entry[1], "blob").decode(errors="replace").strip() if entry else ""
