"""Objects that nothing needs any more, left to git in packs that are too young to be released.

A pack of ours pins all that is in it, and some of that may be on its way to its ref.  What is
not to go is copied into another pack of ours; then git does with the first what it does.
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
    """Let git prune what only these commits needed, which no ref names any more; packs that
    cannot be read stay as they are."""
    commits = list(tips)
    if not commits:
        return
    walk = repo.git.stream_records(*_WALK, *_NEEDED, sep=b"\n", stdin=encode_lines(commits))
    _drop_objects(repo, {line.decode() for line in walk}, False)


def destroy_unneeded(repo: Repo, but: Iterable[str]) -> None:
    """Take out of packs of ours whatever no ref, reflog or index needs, and none of these objects.
    Nobody may be writing objects meanwhile."""
    gone = {oid for oid, _ in list_objects(repo)}
    also = encode_lines(but)
    for line in repo.git.stream_records(*_WALK, *_ALL_NEEDED, sep=b"\n", stdin=also):
        gone.discard(line.decode())
    _drop_objects(repo, gone, True)


def _drop_objects(repo: Repo, gone: set[str], destroyed: bool) -> None:
    folder = kept.locate_folder(repo)
    with exclusive(repo, "packs"):
        for name in kept.list_packs(repo):
            try:
                _drop_from_pack(repo, name, gone, destroyed)
            except (ValueError, OSError) as e:
                raise Error(f"cannot take objects out of '{folder}/{name}.pack': {e}") from None


def forget_logs(repo: Repo, refs: Iterable[str]) -> None:
    """Empty the reflogs of refs: they would still name what is to go."""
    for ref in refs:
        if os.path.exists(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref))):
            repo.git.run("reflog", "expire", "--expire=all", "--expire-unreachable=all", ref)


def list_objects(repo: Repo) -> Iterator[tuple[str, float]]:
    """(oid, seconds since 1970 when its pack was last needed) of each object in packs of ours."""
    folder, width = kept.locate_folder(repo), len(repo.empty_tree) // 2
    for name in kept.list_packs(repo):
        path = os.path.join(folder, f"{name}.idx")
        try:
            entries, at = packfile.parse_index(files.peek(path), width), os.stat(path).st_mtime
        except (ValueError, OSError):
            continue  # joined with others meanwhile, or damaged: fsck says so
        yield from ((oid, at) for oid in entries)


def _drop_from_pack(repo: Repo, name: str, gone: set[str], destroyed: bool) -> None:
    """Keep another pack instead of the one of that name, without the objects that are gone."""
    path, width = os.path.join(kept.locate_folder(repo), name), len(repo.empty_tree) // 2
    entries = packfile.parse_index(files.peek(f"{path}.idx"), width)
    if gone.isdisjoint(entries):
        return
    ends = sorted([*(offset for offset, _ in entries.values()), _read_size(path) - width])
    following = dict(pairwise(ends))
    left = {oid: entry for oid, entry in entries.items() if oid not in gone}
    if left:
        _copy_objects(
            repo, path, {oid: (at, following[at], crc) for oid, (at, crc) in left.items()}
        )
    kept.release_pack(repo, name)
    if destroyed:
        kept.remove_pack(path)


def _read_size(path: str) -> int:
    return os.stat(f"{path}.pack").st_size


def _copy_objects(repo: Repo, path: str, spans: dict[str, tuple[int, int, int]]) -> None:
    """Put a pack in place that has these objects of another: oid -> (begin, end, crc)."""
    new = os.path.join(kept.make_workshop(repo), f"pack-{os.getpid()}-left")
    entries: dict[str, packfile.Entry] = {}
    head = packfile.build_head(len(spans))
    digest, size = kept.find_hasher(repo.algo)(head), len(head)
    with open(f"{path}.pack", "rb") as source, open(f"{new}.pack", "wb") as target:
        target.write(head)
        for oid, (begin, end, crc) in sorted(spans.items(), key=lambda item: item[1]):
            entries[oid] = size, crc
            for at in range(begin, end, _PIECE):
                source.seek(at)
                data = source.read(min(_PIECE, end - at))
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
