"""Hashes and stores files as `git add` does: by git, into a quarantine.

Git writes below <common>/gitcp/tmp.  The objects are moved into the object database only when it
has succeeded, so that a kill leaves no tmp_obj_* there.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from gitcp.errors import GitError, Late
from gitcp.git import WITHOUT_HOOKS, decode_name, encode_name
from gitcp.git.files import locate_scratch
from gitcp.git.gitdir.index_file import read_names
from gitcp.git.gitdir.plain import build_quarantine, remove_folder
from gitcp.git.objects.object_lists import encode_index_info
from gitcp.git.records import encode_lines
from gitcp.record import snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.snapshot import Worktree
    from gitcp.text.record_types import Entry

# Large files become loose objects, too: all of them go into one pack.
_WAYS = "-c core.bigFileThreshold=1024g -c core.safecrlf=false".split()
# Filters see these settings, so the command gets no others.
_OWN_INDEX = (
    *_WAYS,
    *WITHOUT_HOOKS,
    *"-c core.splitIndex=false -c core.fsmonitor=false".split(),
)


@contextmanager
def open_quarantine(repo: Repo, keep: bool) -> Iterator[dict[str, str]]:
    """Yield the environment in which git writes objects to a quarantine.  keep: whether to store
    them at the end."""
    folder = locate_scratch(repo, f"git-{os.getpid()}-{os.urandom(4).hex()}")
    repo.make_folder(os.path.dirname(folder))
    os.mkdir(folder)
    try:
        yield build_quarantine(repo, folder)
        if keep:
            repo.objects.packs.adopt_loose(folder)
    finally:
        remove_folder(folder)


def list_filtered(work: Worktree, paths: Sequence[str]) -> set[str]:
    """The paths that a filter applies to."""
    names = encode_lines(paths, "\0")
    _, out = work.repo.git.run("check-attr", "-z", "--stdin", "filter", stdin=names)
    words = out.split(b"\0")
    answers = zip(words[::3], words[2::3], strict=False)
    return {
        decode_name(path)
        for path, name in answers
        if name not in (b"unspecified", b"unset", b"set")
    }


def _is_storable(work: Worktree, path: str) -> bool:
    """Whether git can store a file without conversion: then the conversion has failed.  Git's
    message does not tell, because filters run in the person's language."""
    try:
        with open_quarantine(work.repo, False) as env:
            args = (*_WAYS, "hash-object", "-w", "--no-filters", "--stdin-paths")
            work.repo.git.run(*args, stdin=quote_name(encode_name(path)) + b"\n", env=env)
    except GitError:
        return False
    return True


def hash_files(
    work: Worktree,
    paths: Sequence[str],
    write: bool,
    index: Mapping[str, Entry],
) -> dict[str, str | None]:
    """path -> oid of regular files, converted by their attributes, None if git cannot convert it.

    write: whether to store the blobs.  index: path -> entry for git's index: the files with CRLF,
    which git keeps by their entry, and .gitattributes that are not in the worktree.  Paths that are
    no regular files any more are left out.
    """
    present = [path for path in paths if _is_regular(work, path)]
    try:
        if present:
            return _convert(work, present, write, index)
        return {}
    except Late:
        raise  # halving would wait for more files
    except GitError:
        if len(present) == 1 and _is_regular(work, present[0]):
            if not _is_storable(work, present[0]):
                raise
            return {present[0]: None}
    half = len(present) // 2  # 0 for one that has gone meanwhile
    parts = present[:half], present[half:]
    oids: dict[str, str | None] = {}
    for part in parts:
        oids |= hash_files(work, part, write, index)
    return oids


def _convert(
    work: Worktree, paths: list[str], write: bool, index: Mapping[str, Entry]
) -> dict[str, str | None]:
    repo = work.repo
    with open_quarantine(repo, write) as env:
        file = env["GIT_INDEX_FILE"] = os.path.join(env["GIT_OBJECT_DIRECTORY"], "index")
        command = (*_OWN_INDEX, "update-index", "--index-version=2", "-z")
        if index:
            repo.git.run(*command, "--index-info", stdin=encode_index_info(index), env=env)
        running = repo.git.start(
            *command, "--add", "--remove", "--stdin", feed=True, env=env, filters=True
        )
        running.finish(encode_lines(paths, "\0"), limit=snapshot.compute_patience(repo))
        oids = read_names(repo, file)
    return {path: oids[path] for path in paths if path in oids}


def has_crlf(work: Worktree, path: str) -> bool:
    """Whether a file has CRLF line ends; False for one that is gone."""
    try:
        with open(work.join_full(path), "rb") as f:
            return any(line.endswith(b"\r\n") for line in f)
    except OSError:
        return False


def quote_name(path: bytes) -> bytes:
    """A name as git reads it from a line, quoted if needed."""
    if path[:1] != b'"' and path.isascii() and path.decode().isprintable():
        return path
    safe = bytes(c for c in range(32, 127) if c not in b'"\\')
    return b'"' + b"".join(b"%c" % c if c in safe else b"\\%03o" % c for c in path) + b'"'


def _is_regular(work: Worktree, path: str) -> bool:
    st = work.look_at(path)
    return st is not None and stat.S_ISREG(st.st_mode)
