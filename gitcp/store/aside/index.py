"""Markers put aside: of sessions that left work behind and are not at work.

There may be thousands, and a hook is about few of them: <common>/gitcp/open/~aside has them, and
<common>/gitcp/aside says which of them name a path, a stream or a base.  That is only an index:
with every file it was made of stands how it looked, and what does not fit is read again.
The directory lies among the other markers, so that the sh hooks see that there are some; its name
is no session's.  A session that speaks again has its marker among the others again.
"""

from __future__ import annotations

import os
import time

from gitcp import trace
from gitcp.store.git import files, private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gitcp.core.record_types import Marker
    from gitcp.repo import Repo

    Sign = tuple[int, int, int]  # of a file
    Read = Callable[[Repo, str], Marker | None]
    Named = dict[str, list[str]]  # path, stream or base -> sessions

NAME = "~aside"
MOST = 32  # markers among which every hook looks
_VERSION = 2
_SETTLED = 2 * 10**9  # ns: a directory this young may change and keep its times


class Index:
    """Which markers put aside name what.  stamp: of the directory, 0 while that is too young;
    signs: of each file; paths, streams, bases: the sessions that name one."""

    __slots__ = ("bases", "paths", "signs", "stamp", "streams")

    def __init__(self, stamp: int, signs: dict[str, Sign], named: tuple[Named, Named, Named]):
        self.stamp, self.signs = stamp, signs
        self.paths, self.streams, self.bases = named

    def touching(
        self, paths: Collection[str], streams: Iterable[str], bases: Iterable[str]
    ) -> set[str]:
        """The sessions that name any of those."""
        many, few = (self.paths, paths) if len(paths) > len(self.paths) else (paths, self.paths)
        asked = [self.paths[path] for path in many if path in few]
        asked += [self.streams[one] for one in streams if one in self.streams]
        asked += [self.bases[one] for one in bases if one in self.bases]
        return {name for names in asked for name in names}


_READ: dict[str, Index] = {}


def folder(repo: Repo) -> str:
    """Where they are."""
    return repo.shared("open", NAME)


def stamp(repo: Repo) -> int:
    """What changes when one comes or goes; 0 where there are none."""
    try:
        return os.stat(folder(repo)).st_mtime_ns
    except OSError:
        return 0


def read(repo: Repo, now: int, marker: Read) -> Index:
    """The index as of stamp() now, brought up to date where it does not fit; marker() reads one
    by its session."""
    known = _READ.get(repo.common) or _load(repo)
    if known is None or known.stamp != now:
        known = _renewed(repo, known, now, marker)
    _READ[repo.common] = known
    return known


def _load(repo: Repo) -> Index | None:
    known = private.unsealed(repo.shared("aside"), _VERSION)
    return Index(*known) if known else None


def _renewed(repo: Repo, known: Index | None, now: int, read: Read) -> Index:
    """Read what came or changed since, and keep what it says."""
    signs = {entry.name: _sign(entry) for entry in _entries(repo)}
    before = known.signs if known else {}
    same = {name for name, sign in signs.items() if before.get(name) == sign}
    named: tuple[Named, Named, Named] = ({}, {}, {})
    if known:
        for old, new in zip((known.paths, known.streams, known.bases), named, strict=True):
            for key, names in old.items():
                if left := [name for name in names if name in same]:
                    new[key] = left
    for name in signs.keys() - same:
        _add(named, name, read(repo, name))
    fresh = Index(now if now < time.time_ns() - _SETTLED else 0, signs, named)
    if known is None or same != signs.keys() or same != before.keys() or fresh.stamp != known.stamp:
        data = private.seal(_VERSION, (fresh.stamp, signs, named))
        private.write(repo, repo.shared("aside"), data)
        trace.note("marker", f"{len(signs)} put aside, {len(signs) - len(same)} of them read")
    return fresh


def _entries(repo: Repo) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder(repo)) as entries:
            return list(entries)
    except OSError:
        return []


def _sign(entry: os.DirEntry[str]) -> Sign:
    try:
        st = entry.stat(follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return st.st_ino, st.st_size, st.st_mtime_ns


def _add(named: tuple[Named, Named, Named], session_id: str, marker: Marker | None) -> None:
    if marker is None:
        return  # damaged, and no state tells what it should say
    for stream in marker["streams"]:
        named[1].setdefault(stream["id"], []).append(session_id)
        for path in stream["files"]:
            named[0].setdefault(path, []).append(session_id)
    named[2].setdefault(marker["base_commit"], []).append(session_id)


def places(repo: Repo, session_id: str) -> tuple[str, ...]:
    """Where the marker of a session may be, in the order in which to look: it may come back."""
    place = repo.shared("open", session_id)
    return place, os.path.join(folder(repo), session_id), place


def path(repo: Repo, session_id: str) -> str:
    """Where the marker of a session is, or would be."""
    there = [place for place in places(repo, session_id) if os.path.lexists(place)]
    return there[0] if there else repo.shared("open", session_id)


def recent(repo: Repo) -> list[str]:
    """The sessions whose markers are not put aside, sorted."""
    return [name for name in files.listed(repo.shared("open")) if name != NAME]


def crowded(repo: Repo) -> bool:
    """Whether there are so many that are not put aside that some are to be."""
    return len(recent(repo)) > MOST


def seen(repo: Repo, marker: Read, which: Callable[[Index], Iterable[str]]) -> list[str]:
    """The sessions whose markers are not put aside, and of the rest those that are asked for.

    One may be put aside, or come back, between two looks: it is seen in the first or the last.
    """
    sessions: set[str] = set()
    before = stamp(repo)
    if before:
        sessions.update(which(read(repo, before, marker)))
    sessions.update(recent(repo))
    after = stamp(repo)
    if after != before:
        sessions.update(which(read(repo, after, marker)))
    return sorted(sessions)


def take_away(repo: Repo, session_id: str) -> None:
    """Remove one that was put aside, if there is one, and the directory with the last."""
    try:
        os.unlink(os.path.join(folder(repo), session_id))
        os.rmdir(folder(repo))
    except OSError:
        pass  # not there; not the last
