"""Objects that a ref of ours lacks: which they are, and those that can be written again."""

from __future__ import annotations

import os

from gitcp.core.transcript import chunks
from gitcp.errors import GitError
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.process.files import choose_place_aside
from gitcp.record import decode_name, encode_name
from gitcp.store.git import partial, refs
from gitcp.store.turn import session_read
from gitcp.store.v1 import transcript_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

WALK = ("rev-list", "--objects", "--missing=print", "--quiet")
_GROWN = 1 << 20  # bytes of a piece whose beginnings are tried too
_LARGEST = 64 << 20  # bytes of a file of the worktree that is read to see what it is


def list_lacking(repo: Repo, name: str, *options: str) -> set[str]:
    """The oids of objects that a ref or commit needs and that are missing; one that git cannot
    even walk is in it itself.  What a partial clone left with its remote is no lack."""
    try:
        _, out = repo.git.run(*WALK, *options, "--end-of-options", name)
    except GitError:
        return {refs.read_ref(repo, name) or name}
    missing = {decode_name(line[1:]) for line in out.splitlines() if line.startswith(b"?")}
    return partial.list_unpromised(repo, [name], missing)


def read_log(repo: Repo, ref: str) -> list[str]:
    """Where a ref was before, newest first, as its reflog has it."""
    log = files.peek(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref)))
    lines = log.decode("utf-8", "replace").splitlines()
    return [oid for line in reversed(lines) for oid in reversed(line.split(" ", 2)[:2])]


def follow_parents(tips: list[str], read: Callable[[str], Commit | None]) -> list[Commit]:
    """The commits down from the first of tips that read() knows, newest first."""
    commits: list[Commit] = []
    for oid in dict.fromkeys(tips):
        commit = read(oid)
        while commit:
            commits.append(commit)
            commit = read(commit["parents"][0]) if commit["parents"] else None
        if commits:
            break
    return commits


def write_note(repo: Repo, ref: str, old: str, log: list[str]) -> str:
    """Write down what a ref was; the path of the note."""
    path = choose_place_aside(repo.common, ref)
    with open(path, "x") as f:
        f.writelines(f"{line}\n" for line in [f"{ref} {old}", *log])
    return path


def write_objects_again(repo: Repo, objects: Objects, gone: set[str]) -> set[str]:
    """Write those of the blobs gone that a transcript's copy or the worktree still has; return
    their oids."""
    done: set[str] = set()
    for data in (*_read_transcripts(repo), *_read_files(repo, gone)):
        oid = objects.hash_object("blob", data)
        if oid in gone:
            done.add(objects.write("blob", data))
    return done


def _read_transcripts(repo: Repo) -> Iterator[bytes]:
    for name in files.list_names(repo.join_shared("transcript")):
        stem = name.removesuffix(".json")
        if stem == name:
            continue
        with exclusive(repo, f"transcript-{stem.partition('~')[0]}"):
            copy = transcript_copy.Copy(repo, stem)
            at, known = 0, copy.known.get("chunks", [])
            for _, size, _ in known:
                yield from _list_stages(copy.read(at, at + size))
                at += size
            for piece in chunks.split(copy.read(at), len(known)):
                yield from _list_stages(piece)
            copy.close()


def _list_stages(piece: bytes) -> Iterator[bytes]:
    """What a piece was stored as while it was the last one and grew, and at its end."""
    yield piece
    yield piece.removesuffix(b"\n")
    end = piece.find(b"\n") + 1
    while 0 < end < len(piece) <= _GROWN:
        yield piece[:end]
        end = piece.find(b"\n", end) + 1


def _read_files(repo: Repo, gone: set[str]) -> Iterator[bytes]:
    for state in session_read.list_states(repo):
        top = str(state.get("worktree_path") or "")
        for stream in state["streams"] if top else ():
            for path, file in stream["files"].items():
                if isinstance(file, dict) and file.get("oid") in gone:
                    yield from _read_file(os.path.join(os.fsencode(top), encode_name(path)))


def _read_file(path: bytes) -> Iterator[bytes]:
    try:
        if os.path.islink(path):
            yield os.readlink(path)
        elif os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
            with open(path, "rb") as f:
                yield f.read()
    except OSError:
        return
