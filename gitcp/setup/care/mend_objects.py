"""Mending files and objects: what was left behind, missing objects, packs, empty object files."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from gitcp.agents import transcripts
from gitcp.checkpoints.redactor import redact_transcript
from gitcp.checkpoints.transcripts import Copy, locate_copy, read_live
from gitcp.errors import Error, GitError
from gitcp.git import decode_name, encode_name, files, refs
from gitcp.git.files import choose_place_aside, exclusive, locate_scratch
from gitcp.git.gitdir import packs
from gitcp.git.objects import cat_file
from gitcp.record import session
from gitcp.record.turn import sessions
from gitcp.setup.care import bad_packs
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.git.repo import Repo

LOCK_AGE = 60  # seconds; no transaction of git takes so long
SCRATCH_AGE = 3600
WALK = ("rev-list", "--objects", "--missing=print", "--quiet")
_GROWN = 1 << 20  # bytes of the largest chunk whose beginnings are tried too
_LARGEST = 64 << 20  # bytes of the largest file of the worktree that is hashed
_NAMED = 10  # lost paths that a report names


def remove_leftover(repo: Repo, path: str, seconds: int) -> str:
    """Remove a file or directory that is still old; return what was done, '' for nothing.

    A file that another process put there meanwhile is put back.
    """
    if not files.is_older(path, seconds):
        return ""
    if os.path.isdir(path):
        shutil.rmtree(path)
        return "removed the directory"
    before = os.lstat(path)
    aside = locate_scratch(repo, f"aside-{os.getpid()}-{before.st_ino}")
    repo.make_folder(os.path.dirname(aside))
    os.rename(path, aside)
    after = os.lstat(aside)
    if (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns):
        os.link(aside, path)
        os.unlink(aside)
        return ""
    os.unlink(aside)
    return f"removed it, {before.st_size} bytes"


def remove_lock(repo: Repo, path: str) -> str:
    """Remove the lock file of a ref if it is still old; return what was done, '' for nothing."""
    return remove_leftover(repo, path, LOCK_AGE)


def list_lacking(repo: Repo, name: str, *options: str) -> set[str]:
    """The oids of missing objects that a ref or commit needs; its own oid if git cannot walk it.
    Objects that a partial clone has left with its remote are not missing."""
    try:
        _, out = repo.git.run(*WALK, *options, "--end-of-options", name)
    except GitError:
        return {refs.read_ref(repo, name) or name}
    missing = {decode_name(line[1:]) for line in out.splitlines() if line.startswith(b"?")}
    return cat_file.list_unpromised(repo, [name], missing)


def format_lost(paths: list[str]) -> str:
    """The end of a report with the first lost paths, / for the top; '' for none."""
    if not paths:
        return ""
    names = " ".join(path or "/" for path in paths[:_NAMED])
    if len(paths) > _NAMED:
        names += " ..."
    return f"; lost: {names}"


@dataclass(slots=True)
class Rewritten:
    """A ref after its missing objects were written again, as far as they are here.

    lacking: the value of the ref if it still lacks objects, else ''.  done: what was done."""

    lacking: str = ""
    done: str = ""


def write_objects_again(repo: Repo, ref: str) -> Rewritten:
    """Write the missing blobs of a ref that the copy of a transcript or the worktree still has."""
    old = refs.read_ref(repo, ref)
    if not old:
        return Rewritten()
    gone = list_lacking(repo, ref)
    if not gone:
        return Rewritten()
    written: set[str] = set()
    for data in (*_read_transcripts(repo), *_read_files(repo, gone)):
        if repo.objects.hash_object("blob", data) in gone:
            written.add(repo.objects.write("blob", data))
    repo.objects.flush()
    if not written or list_lacking(repo, ref):
        return Rewritten(lacking=old)
    return Rewritten(done=f"wrote {len(written)} missing objects again")


def _read_transcripts(repo: Repo) -> Iterator[bytes]:
    """The chunks of the copies of transcripts, and what they were before they grew."""
    for name in files.list_names(locate_copy(repo)):
        stem = name.removesuffix(".json")
        if stem == name:
            continue
        with exclusive(repo, f"transcript-{stem.partition('~')[0]}"):
            copy = Copy(repo, stem)
            try:
                yield from _read_copy(copy)
            except Error:  # a chunk is missing
                yield from _read_live(repo, stem)
            copy.close()


def _read_copy(copy: Copy) -> Iterator[bytes]:
    start = 0
    stored = copy.known.get("chunks", [])
    for _, size, _ in stored:
        yield from _list_stages(copy.read(start, start + size))
        start += size
    for chunk in transcripts.split_chunks(copy.read(start), len(stored)):
        yield from _list_stages(chunk)


def _read_live(repo: Repo, session_id: str) -> Iterator[bytes]:
    """The chunks of a session's own transcript, if it is still there."""
    state = session.load_state(repo, session_id)
    path = ""
    if state:
        path = state.get("transcript_path") or ""
    if not path:
        return
    try:
        redacted = redact_transcript(repo, read_live(path), session_id)
    except (Error, OSError):
        return
    for chunk in transcripts.split_chunks(redacted):
        yield from _list_stages(chunk)


def _list_stages(chunk: bytes) -> Iterator[bytes]:
    """A chunk as it was stored at last, and while it was the last one and grew."""
    yield chunk
    yield chunk.removesuffix(b"\n")
    end = chunk.find(b"\n") + 1
    while 0 < end < len(chunk) <= _GROWN:
        yield chunk[:end]
        end = chunk.find(b"\n", end) + 1


def _read_files(repo: Repo, gone: set[str]) -> Iterator[bytes]:
    """The files of worktrees for which states name one of the missing contents."""
    for state in sessions.list_states(repo):
        top = os.fsencode(str(state.get("worktree_path") or ""))
        if not top:
            continue
        for stream in state["streams"]:
            for path, file in stream["files"].items():
                if isinstance(file, dict) and file.get("oid") in gone:
                    yield from _read_file(os.path.join(top, encode_name(path)))


def _read_file(path: bytes) -> Iterator[bytes]:
    try:
        if os.path.islink(path):
            yield os.readlink(path)
        elif os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
            with open(path, "rb") as f:
                yield f.read()
    except OSError:
        return


def mend_pack(repo: Repo, path: str) -> str:
    """Write the index of a pack again.  If git cannot read the pack, move it aside, and write the
    objects that it still has one by one.  Returns what was done."""
    with exclusive(repo, "packs"):
        if not bad_packs.find_fault(repo, path):
            return ""
        packs.forget_file(repo)
        new = locate_scratch(repo, f"{os.path.basename(path)}.idx")
        repo.make_folder(os.path.dirname(new))
        try:
            repo.git.run("index-pack", "-o", new, f"{path}.pack")
        except GitError:
            return _take_out(repo, path)
        repo.share_file(new)
        os.replace(new, f"{path}.idx")
    return "wrote its index again"


def _take_out(repo: Repo, path: str) -> str:
    """Move a pack aside that git cannot read, and write what can be read of it."""
    named = _list_indexed(repo, path)
    files.remove_file(f"{path}.idx")  # git writes no object that an index lists
    with open(f"{path}.pack", "rb") as f:
        try:
            repo.git.run("unpack-objects", "-q", "-r", stdin=f.read())
        except GitError:
            pass  # it ends where the pack does
    aside = choose_place_aside(repo.common, os.path.basename(path))
    os.rename(f"{path}.pack", aside)
    packs.remove_pack(path)
    packs.release_pack(repo, os.path.basename(path))
    saved = "what could be read of it is"
    if named:
        gone = _list_absent(repo, named)
        saved = f"{len(named) - len(gone)} of its {len(named)} objects are"
    head = ""
    if repo.top:
        head = _write_head_again(repo)
    return f"took it away, {saved} saved{head}; it is kept as '{aside}'"


def _list_indexed(repo: Repo, path: str) -> list[str]:
    """The oids that the index of a pack lists; [] if it cannot be read."""
    try:
        _, out = repo.git.run("show-index", stdin=files.peek(f"{path}.idx"))
    except GitError:
        return []
    return [decode_name(line).split()[1] for line in out.splitlines()]


def _list_absent(repo: Repo, oids: Iterable[str]) -> set[str]:
    """Those of some objects that are not here."""
    asked = "".join(f"{oid}\n" for oid in oids)
    _, out = repo.git.run("cat-file", "--batch-check", "--buffer", stdin=asked.encode())
    rows = (decode_name(line).partition(" ") for line in out.splitlines())
    return {oid for oid, _, kind in rows if kind == "missing"}


def list_empty_objects(repo: Repo) -> list[str]:
    """The empty files among git's loose objects; a file that git was writing has another name."""
    top = os.path.dirname(packs.locate_folder(repo))
    empty: list[str] = []
    for shard in files.list_names(top):
        if len(shard) != 2:
            continue
        for entry in os.scandir(os.path.join(top, shard)):
            is_object = is_object_name(shard + entry.name)
            if is_object and entry.is_file() and entry.stat().st_size == 0:
                empty.append(entry.path)
    return sorted(empty)


def mend_empty_object(repo: Repo, path: str) -> str:
    """Take an empty object file away, and write its object again if the index names it and the
    worktree has it; return what was done."""
    if path not in list_empty_objects(repo):
        return ""
    os.unlink(path)
    oid = "".join(path.split(os.sep)[-2:])
    if not _list_absent(repo, [oid]):
        return "took it away: a pack has the object"
    if repo.top:
        _write_index_again(repo)
    if _list_absent(repo, [oid]):
        return f"took it away; {oid} is lost: 'git fsck' names what needs it"
    return "took it away, and wrote the object again from the worktree"


def _write_head_again(repo: Repo) -> str:
    """Write what is missing of HEAD; return what was done, and what HEAD still lacks."""
    if not list_lacking(repo, "HEAD", "--no-walk"):
        return ""
    lost = _write_index_again(repo)
    if list_lacking(repo, "HEAD", "--no-walk"):
        ask = "a fetch or a copy of this repository may have them"
        return f", and the commit HEAD lacks objects that {ask}{format_lost(lost)}"
    return ", and the commit HEAD was completed from the worktree"


def _write_index_again(repo: Repo) -> list[str]:
    """Write the missing files and directories of the index from the worktree, which git does not
    while it takes them for written; return the paths that it still lacks."""
    oids = _map_index(repo)
    gone = _list_absent(repo, set(oids.values()))
    missing = [path for path, oid in oids.items() if oid in gone]
    there = [path for path in missing if os.path.isfile(os.path.join(repo.worktree, path))]
    asked = b"".join(encode_name(path) + b"\n" for path in there)
    repo.git.run("hash-object", "-w", "--stdin-paths", stdin=asked)
    try:
        repo.git.run("write-tree")
    except GitError:
        pass  # a file of the index is lost
    still_gone = _list_absent(repo, [oids[path] for path in missing])
    return [path for path in missing if oids[path] in still_gone]


def _map_index(repo: Repo) -> dict[str, str]:
    """path -> oid of the index's files, but those of which a line cannot hold the path."""
    _, out = repo.git.run("ls-files", "-s", "-z")
    oids: dict[str, str] = {}
    for row in out.split(b"\0")[:-1]:
        words, _, path = decode_name(row).partition("\t")
        mode, oid, _ = words.split()
        if mode.startswith("100") and "\n" not in path:
            oids[path] = oid
    return oids
