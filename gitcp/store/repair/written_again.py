"""Missing blobs written again, where their bytes still stand beside the object database."""

from __future__ import annotations

import os

from gitcp.core.transcript import chunks
from gitcp.lock import exclusive
from gitcp.record import raw
from gitcp.store.git import files
from gitcp.store.session import session_read
from gitcp.store.v1 import transcript_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_GROWN = 1 << 20  # bytes of a piece whose beginnings are tried too
_LARGEST = 64 << 20  # bytes of a file of the worktree that is read to see what it is


def write_again(repo: Repo, objects: Objects, gone: set[str]) -> set[str]:
    """Write those of the blobs gone that a transcript's copy or the worktree still has; return
    their oids."""
    done: set[str] = set()
    for data in (*_transcripts(repo), *_files(repo, gone)):
        oid = objects.hash("blob", data)
        if oid in gone:
            done.add(objects.write("blob", data))
    return done


def _transcripts(repo: Repo) -> Iterator[bytes]:
    for name in files.listed(repo.shared("transcript")):
        stem = name.removesuffix(".json")
        if stem == name:
            continue
        with exclusive(repo, f"transcript-{stem.partition('~')[0]}"):
            copy = transcript_copy.Copy(repo, stem)
            at, known = 0, copy.known.get("chunks", [])
            for _, size, _ in known:
                yield from _stages(copy.read(at, at + size))
                at += size
            for piece in chunks.split(copy.read(at), len(known)):
                yield from _stages(piece)
            copy.close()


def _stages(piece: bytes) -> Iterator[bytes]:
    """What a piece was stored as while it was the last one and grew, and at its end."""
    yield piece
    yield piece.removesuffix(b"\n")
    end = piece.find(b"\n") + 1
    while 0 < end < len(piece) <= _GROWN:
        yield piece[:end]
        end = piece.find(b"\n", end) + 1


def _files(repo: Repo, gone: set[str]) -> Iterator[bytes]:
    for state in session_read.every(repo):
        top = str(state.get("worktree_path") or "")
        for stream in state["streams"] if top else ():
            for path, file in stream["files"].items():
                if isinstance(file, dict) and file.get("oid") in gone:
                    yield from _content(os.path.join(os.fsencode(top), raw(path)))


def _content(path: bytes) -> Iterator[bytes]:
    try:
        if os.path.islink(path):
            yield os.readlink(path)
        elif os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
            with open(path, "rb") as f:
                yield f.read()
    except OSError:
        return
