"""A temporary directory for the objects of a command that only reads a repository which it cannot
write."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager

from gitcp.errors import Error, GitError
from gitcp.git import encode_name, files
from gitcp.git.files import exclusive
from gitcp.git.gitdir import packs, plain
from gitcp.git.records import encode_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.git.repo import Repo


@contextmanager
def open_scratch(repo: Repo, only: bool = True, always: bool = False) -> Iterator[Repo]:
    """The repository to work with: repo, or, if it cannot be written, a copy whose new objects go
    into a temporary directory, which is removed at the end.  only: False always gives repo.
    always: True always gives a copy."""
    if not always and (not only or _can_write_packs(repo)):
        yield repo
        return
    with tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        yield repo.copy_with(plain.build_quarantine(repo, folder))


def _can_write_packs(repo: Repo) -> bool:
    """Whether a pack can be made and moved into place."""
    try:
        path = os.path.join(packs.make_workshop(repo), f"try.{os.getpid()}")
        with open(path, "wb"):
            os.unlink(path)
        return os.access(packs.locate_folder(repo), os.W_OK)
    except OSError:
        return False


# Take single objects out of gitcp's packs, so that git can prune them.
#
# A pack of gitcp keeps all its objects from every prune, and some may not have their ref yet.  The
# objects that stay are copied into a new pack of gitcp, and the old pack is left to git.
_WALK = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any")
_NEEDED = ("--not", "--all", "--stdin")
_ALL_NEEDED = ("--all", "--reflog", "--indexed-objects", "--stdin")


def release_packs(repo: Repo, age: float = 0.0) -> None:
    """Leave the packs of at least this age in seconds to git; objects of younger ones may not have
    their ref yet."""
    for name in packs.list_packs(repo):
        path = os.path.join(packs.locate_folder(repo), f"{name}.idx")
        if not age or files.is_older(path, age):
            packs.release_pack(repo, name)


def unpin_tips(repo: Repo, tips: Iterable[str]) -> None:
    """Let git prune the objects that only these commits needed.  Call it only when no ref names the
    commits any more."""
    commits = list(tips)
    if not commits:
        return
    walk = repo.git.stream_records(*_WALK, *_NEEDED, sep=b"\n", stdin=encode_lines(commits))
    _drop_objects(repo, {line.decode() for line in walk}, False)


def destroy_unneeded(repo: Repo, needed: Iterable[str]) -> None:
    """Delete the objects of gitcp's packs that no ref, reflog or index needs, nor one of the
    commits in needed.  No other process writes objects meanwhile."""
    doomed = {oid for oid, _ in list_objects(repo)}
    commits = encode_lines(needed)
    for line in repo.git.stream_records(*_WALK, *_ALL_NEEDED, sep=b"\n", stdin=commits):
        doomed.discard(line.decode())
    _drop_objects(repo, doomed, True)


def _drop_objects(repo: Repo, doomed: set[str], destroy: bool) -> None:
    folder = packs.locate_folder(repo)
    with exclusive(repo, "packs"):
        for name in packs.list_packs(repo):
            try:
                _drop_from_pack(repo, name, doomed, destroy)
            except (GitError, OSError) as e:
                why = e.shorten() if isinstance(e, GitError) else e
                raise Error(f"cannot take objects out of '{folder}/{name}.pack': {why}") from None


def forget_logs(repo: Repo, refs: Iterable[str]) -> None:
    """Empty the reflogs of refs, whose entries would keep objects that are to be deleted."""
    for ref in refs:
        if os.path.exists(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref))):
            repo.git.run("reflog", "expire", "--expire=all", "--expire-unreachable=all", ref)


def list_objects(repo: Repo) -> Iterator[tuple[str, float]]:
    """(oid, time at which its pack was last needed, in seconds since 1970) of each object in
    gitcp's packs."""
    for name in packs.list_packs(repo):
        path = os.path.join(packs.locate_folder(repo), name)
        try:
            index = packs.open_index(repo, path)
            time = os.stat(f"{path}.idx").st_mtime
        except OSError:
            continue  # joined with others meanwhile, or damaged, which fsck reports
        yield from ((oid, time) for oid in index.list_oids())


def _drop_from_pack(repo: Repo, name: str, doomed: set[str], destroy: bool) -> None:
    """Replace a pack by one without the doomed objects.  destroy: delete it, else leave it to
    git."""
    path = os.path.join(packs.locate_folder(repo), name)
    oids = packs.open_index(repo, path).list_oids()
    if doomed.isdisjoint(oids):
        return
    left = [oid for oid in oids if oid not in doomed]
    if left:
        packs.copy_objects(repo, left)
    packs.release_pack(repo, name)
    if destroy:
        packs.remove_pack(path)
