"""Reading many objects in bulk, ahead of their use, through one `cat-file --batch`.

Tasks may take turns.  A task is a generator: it yields the oids that it reads next, and returns
its result.  git reads for the next tasks while one works.
"""

from __future__ import annotations

from itertools import islice

from gitcp.record import encode_name
from gitcp.store.git import partial
from gitcp.store.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from typing import TypeVar

    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Batch, Object

    Item = TypeVar("Item")
    Result = TypeVar("Result")
    Steps = Generator[Iterable[str], None, Result]  # oids

_WINDOW = 400  # names that fit into a pipe, so that neither side waits for the other
_AT_ONCE = 5  # tasks under way: the steps of a task, and one that works
_SMALL = 1 << 16  # bytes of an object
_PIPE = 1 << 15  # bytes of names, which git repeats if they are missing


def split_windows(items: Iterable[Item], size: int, limit: int = 0) -> Iterator[list[Item]]:
    """Yield lists of size items; with a limit, each is twice as long as the last, up to limit."""
    iterator = iter(items)
    while window := list(islice(iterator, size)):
        yield window
        size = min(size * 2, limit or size)


class Prefetched(Objects):
    """Objects that keeps in memory what fetch() has read, until forget()."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self._got: dict[str, Object | None] = {}
        self._begun: list[str] = []  # what git reads meanwhile
        self._answers: Iterator[Object | None] = iter(())
        self._remote = partial.find_remote(repo)

    def fetch(self, oids: Iterable[str]) -> None:
        """Read these objects into memory."""
        self._take_begun()
        self._fetch([oid for oid in dict.fromkeys(oids) if oid not in self._got])

    def hold(self, oid: str, kind: str, data: bytes) -> None:
        """Keep an object in memory that is not stored."""
        self._got[oid] = oid, kind, data

    def begin(self, oids: Iterable[str]) -> None:
        """forget(), and have git read these objects meanwhile, for the next read()."""
        self._take_begun()
        self.forget()
        self._begun = list(dict.fromkeys(oids))
        self._answers = self._ask(self._begun[:_WINDOW])

    def _take_begun(self) -> None:
        begun, self._begun = self._begun, []
        self._got.update(zip(begun, self._answers, strict=False))
        self._fetch(begun[_WINDOW:])

    def _fetch(self, oids: Sequence[str]) -> None:
        for start in range(0, len(oids), _WINDOW):
            part = oids[start : start + _WINDOW]
            self._got.update(zip(part, self._ask(part), strict=True))

    def _ask(self, part: Sequence[str]) -> Iterator[Object | None]:
        if not part:
            return iter(())
        if self._remote:
            partial.fetch_missing(self._repo, self._remote, part)
        return super()._get_batch().read_objects(part)

    def _get_batch(self) -> Batch:
        self._take_begun()
        return super()._get_batch()

    def fetch_small(self, oids: Iterable[str]) -> None:
        """fetch() for the small ones of these objects."""
        unread = [oid for oid in dict.fromkeys(oids) if oid not in self._got]
        for start in range(0, len(unread), _WINDOW):
            heads = self._get_batch().find_heads(unread[start : start + _WINDOW])
            self.fetch([head[0] for head in heads if head and head[1] <= _SMALL])

    def resolve(self, specs: Iterable[str]) -> dict[str, str | None]:
        """name -> oid, None if it is missing."""
        window: list[str] = []
        oids: dict[str, str | None] = {}
        size = 0
        for spec in [*dict.fromkeys(specs), ""]:
            if not spec or size + len(encode_name(spec)) > _PIPE:
                heads = self._get_batch().find_heads(window)
                oids.update((n, head and head[0]) for n, head in zip(window, heads, strict=True))
                window, size = [], 0
            window.append(spec)
            size += len(encode_name(spec)) + len(b"info \n missing")
        return oids

    def forget(self) -> None:
        """Forget what was fetched, so that memory stays bounded."""
        self._got.clear()

    def read(self, spec: str) -> Object | None:
        if self._begun:
            self._take_begun()
        return self._got[spec] if spec in self._got else super().read(spec)


def run_task(objects: Prefetched, steps: Steps[Result]) -> Result:
    """The result of one task; what it read stays in memory."""
    while True:
        try:
            objects.fetch(next(steps))
        except StopIteration as end:
            result: Result = end.value
            return result


def run_tasks(objects: Prefetched, tasks: Iterable[Steps[Result]]) -> Iterator[Result]:
    """Yield what each task returns, in their order; what was read is not kept.  The first task
    runs alone, so that its result comes soon."""
    source, limit = iter(tasks), 1
    running: list[tuple[Steps[Result], list[Result]]] = []  # each with its result, once it has one
    while True:
        if len(running) < limit and (steps := next(source, None)):
            running.append((steps, []))
        if not running:
            return
        names: list[str] = []
        for steps, returned in running:
            if not returned:
                names += _advance_task(steps, returned)
        objects.begin(names)
        while running and running[0][1]:
            yield from running.pop(0)[1]
            limit = _AT_ONCE


def _advance_task(steps: Steps[Result], returned: list[Result]) -> Iterable[str]:
    try:
        return next(steps)
    except StopIteration as end:
        returned.append(end.value)
        return ()
