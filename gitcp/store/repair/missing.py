"""Objects that a ref of gitcp lacks: find them, and write them again if possible."""

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
_GROWN = 1 << 20  # bytes of the largest chunk whose beginnings are tried too
_LARGEST = 64 << 20  # bytes of the largest file of the worktree that is hashed


def list_lacking(repo: Repo, name: str, *options: str) -> set[str]:
    """The oids of missing objects that a ref or commit needs; its own oid if git cannot walk it.
    Objects that a partial clone has left with its remote are not missing."""
    try:
        _, out = repo.git.run(*WALK, *options, "--end-of-options", name)
    except GitError:
        return {refs.read_ref(repo, name) or name}
    missing = {decode_name(line[1:]) for line in out.splitlines() if line.startswith(b"?")}
    return partial.list_unpromised(repo, [name], missing)


def read_log(repo: Repo, ref: str) -> list[str]:
    """The former values of a ref by its reflog, newest first."""
    log = files.peek(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref)))
    lines = log.decode("utf-8", "replace").splitlines()
    return [oid for line in reversed(lines) for oid in reversed(line.split(" ", 2)[:2])]


def follow_parents(tips: list[str], read: Callable[[str], Commit | None]) -> list[Commit]:
    """The commits from the first of tips that read() finds, and their first parents; newest
    first."""
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
    """Write the value and the log of a ref to a new file; return its path."""
    path = choose_place_aside(repo.common, ref)
    with open(path, "x") as f:
        f.writelines(f"{line}\n" for line in [f"{ref} {old}", *log])
    return path


def format_lost(paths: list[str]) -> str:
    """The end of a report with the first lost paths; '' for none."""
    return f"; lost: {' '.join(paths[:10])}{' ...' if paths[10:] else ''}" if paths else ""


def write_objects_again(repo: Repo, objects: Objects, ref: str) -> tuple[str | None, str]:
    """Write the missing blobs of a ref that the copy of a transcript or the worktree still has.

    Returns (the value of the ref, '') if it still lacks objects, else (None, what was done).
    """
    old = refs.read_ref(repo, ref)
    gone = list_lacking(repo, ref) if old else set()
    written: set[str] = set()
    for data in (*_read_transcripts(repo), *_read_files(repo, gone)) if gone else ():
        if objects.hash_object("blob", data) in gone:
            written.add(objects.write("blob", data))
    if gone and not (written and not list_lacking(repo, ref)):
        return old, ""
    return None, f"wrote {len(written)} missing objects again" if written else ""


def _read_transcripts(repo: Repo) -> Iterator[bytes]:
    for name in files.list_names(repo.join_shared("transcript")):
        stem = name.removesuffix(".json")
        if stem == name:
            continue
        with exclusive(repo, f"transcript-{stem.partition('~')[0]}"):
            copy = transcript_copy.Copy(repo, stem)
            start, stored = 0, copy.known.get("chunks", [])
            for _, size, _ in stored:
                yield from _list_stages(copy.read(start, start + size))
                start += size
            for chunk in chunks.split(copy.read(start), len(stored)):
                yield from _list_stages(chunk)
            copy.close()


def _list_stages(chunk: bytes) -> Iterator[bytes]:
    """A chunk as it was stored at last, and while it was the last one and grew."""
    yield chunk
    yield chunk.removesuffix(b"\n")
    end = chunk.find(b"\n") + 1
    while 0 < end < len(chunk) <= _GROWN:
        yield chunk[:end]
        end = chunk.find(b"\n", end) + 1


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
