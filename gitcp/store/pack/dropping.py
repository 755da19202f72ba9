"""Drop unneeded objects from gitcp's packs that are too young to be released.

A kept pack keeps all its objects.  The needed ones are copied into another kept pack, and the
first pack is released to git, or removed.
"""

from __future__ import annotations

import os
from itertools import pairwise

from gitcp.core.git import packfile
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.record import encode_lines, encode_name
from gitcp.store.pack import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.repo import Repo

_WALK = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any")
_NEEDED = ("--not", "--all", "--stdin")
_ALL_NEEDED = ("--all", "--reflog", "--indexed-objects", "--stdin")
_PIECE = 1 << 20


def unpin_tips(repo: Repo, tips: Iterable[str]) -> None:
    """Let git prune the objects that only these commits need; no ref names the commits."""
    commits = list(tips)
    if not commits:
        return
    walk = repo.git.stream_records(*_WALK, *_NEEDED, sep=b"\n", stdin=encode_lines(commits))
    _drop_objects(repo, {line.decode() for line in walk}, False)


def destroy_unneeded(repo: Repo, but: Iterable[str]) -> None:
    """Remove the objects of gitcp's packs that no ref, reflog or index needs, nor the objects in
    but.  No other process may write objects meanwhile."""
    unneeded = {oid for oid, _ in list_objects(repo)}
    tips = encode_lines(but)
    for line in repo.git.stream_records(*_WALK, *_ALL_NEEDED, sep=b"\n", stdin=tips):
        unneeded.discard(line.decode())
    _drop_objects(repo, unneeded, True)


def _drop_objects(repo: Repo, unneeded: set[str], destroy: bool) -> None:
    """destroy: whether the packs are removed, not released to git."""
    folder = kept.locate_folder(repo)
    with exclusive(repo, "packs"):
        for name in kept.list_packs(repo):
            try:
                _drop_from_pack(repo, name, unneeded, destroy)
            except (ValueError, OSError) as e:
                raise Error(f"cannot take objects out of '{folder}/{name}.pack': {e}") from None


def forget_logs(repo: Repo, refs: Iterable[str]) -> None:
    """Empty the reflogs of refs, which name objects that must go."""
    for ref in refs:
        if os.path.exists(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref))):
            repo.git.run("reflog", "expire", "--expire=all", "--expire-unreachable=all", ref)


def list_objects(repo: Repo) -> Iterator[tuple[str, float]]:
    """Yield (oid, time stamp of its pack in seconds since 1970) of each object in gitcp's packs."""
    folder, width = kept.locate_folder(repo), len(repo.empty_tree) // 2
    for name in kept.list_packs(repo):
        path = os.path.join(folder, f"{name}.idx")
        try:
            entries, time = packfile.parse_index(files.peek(path), width), os.stat(path).st_mtime
        except (ValueError, OSError):
            continue  # joined with others meanwhile, or damaged, which fsck reports
        yield from ((oid, time) for oid in entries)


def _drop_from_pack(repo: Repo, name: str, unneeded: set[str], destroy: bool) -> None:
    """Replace a pack by one without the unneeded objects."""
    path, width = os.path.join(kept.locate_folder(repo), name), len(repo.empty_tree) // 2
    entries = packfile.parse_index(files.peek(f"{path}.idx"), width)
    if unneeded.isdisjoint(entries):
        return
    end = os.stat(f"{path}.pack").st_size - width
    ends = dict(pairwise(sorted([*(offset for offset, _ in entries.values()), end])))
    spans = {
        oid: (offset, ends[offset], crc)
        for oid, (offset, crc) in entries.items()
        if oid not in unneeded
    }
    if spans:
        _copy_objects(repo, path, spans)
    kept.release_pack(repo, name)
    if destroy:
        kept.remove_pack(path)


def _copy_objects(repo: Repo, path: str, spans: dict[str, tuple[int, int, int]]) -> None:
    """Put a pack with these objects of another in place.  spans: oid -> (begin, end, crc)."""
    new = os.path.join(kept.make_folder(repo), f"pack-{os.getpid()}-left")
    entries: dict[str, packfile.Entry] = {}
    head = packfile.build_head(len(spans))
    digest, size = kept.find_hasher(repo.algo)(head), len(head)
    with open(f"{path}.pack", "rb") as source, open(f"{new}.pack", "wb") as target:
        target.write(head)
        for oid, (begin, end, crc) in sorted(spans.items(), key=lambda item: item[1]):
            entries[oid] = size, crc
            for position in range(begin, end, _PIECE):
                source.seek(position)
                data = source.read(min(_PIECE, end - position))
                digest.update(data)
                target.write(data)
            size += end - begin
        target.write(digest.digest())
        target.flush()
        files.sync_file(target.fileno())
    trailer = bytes(digest.digest())
    kept.write_file(
        f"{new}.idx",
        packfile.build_index(entries, trailer, kept.find_hasher(repo.algo)),
        durable=True,
    )
    kept.place_pack(repo, trailer.hex(), new)
