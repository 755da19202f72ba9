"""Objects held until the refs that need them are seen to have them.

`git gc --prune=now` deletes what no ref needs, however young, and an object is always there
before its ref.  So every loose object a process writes or counts on has a second link below
<common>/gitcp/keep/<process>/; once a ref has moved look() puts back what went meanwhile, and
for a minute every later process looks again: a prune deletes long after it has read the refs.
"""

from __future__ import annotations

import os
import time

from gitcp import trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.repo import Repo

    Paths = dict[str, bytes]  # oid -> its link

KEPT = 60.0  # seconds: longer than a prune takes from reading the refs to its last deletion
_TRIES, _PAUSE = 20, 0.05  # seconds: as long as a prune at work is waited for


class Keep:
    """What one process holds of one object database (directory objects, as bytes)."""

    def __init__(self, repo: Repo, objects: bytes) -> None:
        self._repo, self._objects = repo, objects
        self._root = os.fsencode(repo.shared("keep"))
        self._own = os.path.join(self._root, b"%d-%d" % (os.getpid(), time.time_ns()))
        self._held: Paths = {}
        self._looked = False

    def hold(self, oid: str, source: bytes = b"") -> bool:
        """Link a loose object, from source while it has no name yet; False when it is gone.

        A file system without hard links is trusted as it is.
        """
        if oid in self._held:
            return True
        source, link = source or self._path(oid), os.path.join(self._own, oid.encode())
        try:
            _linked(source, link)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        self._held[oid] = link
        return True

    def look(self) -> bool:
        """Put back what a prune took of what is held here, and by processes of late; whether
        that was anything of ours."""
        if not self._looked:
            self._looked = True
            self._look_elsewhere()
        for done in range(_TRIES):
            if not self._restore(self._held):
                return done > 0
            time.sleep(_PAUSE)  # whoever took them may be at it still
        return True

    def restored(self, oid: str) -> bool:
        """Put one object back if any process holds it and it is gone; whether that was so."""
        links = [self._held[oid]] if oid in self._held else self._held_elsewhere(oid)
        return any(self._restore({oid: link}) for link in links)

    def _held_elsewhere(self, oid: str) -> list[bytes]:
        if len(oid) != len(self._repo.empty_tree):
            return []  # a name that git resolves, such as a ref's
        links = [os.path.join(self._root, name, oid.encode()) for name in _names(self._root)]
        return [link for link in links if os.path.lexists(link)]

    def _look_elsewhere(self) -> None:
        for name in _names(self._root):
            folder = os.path.join(self._root, name)
            if folder == self._own:
                continue
            old = _age(folder) > KEPT
            self._restore({os.fsdecode(n): os.path.join(folder, n) for n in _names(folder)})
            if old:
                _remove(folder)

    def _restore(self, held: Paths) -> int:
        """Link back those of the held objects that are gone; how many they were."""
        away = [oid for oid in held if not os.path.lexists(self._path(oid))]
        if not away:
            return 0
        names = "".join(f"{oid}\n" for oid in away).encode()
        _, out = self._repo.git.run("cat-file", "--batch-check", stdin=names)
        gone = [line.split()[0].decode() for line in out.splitlines() if line.endswith(b" missing")]
        for oid in gone:
            try:
                _linked(held[oid], self._path(oid))
            except OSError:
                continue  # put back by another process, or let go of
            trace.note("objects", f"'{oid}' was pruned before its ref moved: put back")
        return len(gone)

    def _path(self, oid: str) -> bytes:
        return os.path.join(self._objects, oid[:2].encode(), oid[2:].encode())


def _linked(source: bytes, target: bytes) -> None:
    with_folder(target, lambda: os.link(source, target, follow_symlinks=False))


def with_folder(target: bytes, make: Callable[[], None]) -> None:
    """make() the file target; its directory too, as often as somebody takes that away empty."""
    for _ in range(_TRIES):
        try:
            make()
            return
        except FileNotFoundError:
            os.makedirs(os.path.dirname(target), exist_ok=True)
    make()


def _names(folder: bytes) -> Iterable[bytes]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _age(folder: bytes) -> float:
    try:
        return time.time() - os.stat(folder).st_mtime
    except OSError:
        return 0.0


def _remove(folder: bytes) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        pass  # another process is faster


_KEEPS: dict[str, Keep] = {}


def of(repo: Repo) -> Keep:
    """The one Keep of this process for a repository."""
    if repo.common not in _KEEPS:
        named = repo.git.env.get("GIT_OBJECT_DIRECTORY")
        where = named or os.path.join(repo.common, "objects")
        _KEEPS[repo.common] = Keep(repo, os.fsencode(where))
    return _KEEPS[repo.common]


def look(repo: Repo) -> bool:
    """Keep.look() after a ref has moved, where this process has an object database open."""
    return repo.common in _KEEPS and _KEEPS[repo.common].look()
