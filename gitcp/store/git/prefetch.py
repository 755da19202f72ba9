"""Reading many objects at once: asked for ahead of use, through one `cat-file --batch`.

Tasks may take turns: a task is a generator that yields the oids of what it reads before it
yields again, and returns its result.  git reads for those to come while one is worked on.
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

# Names asked for at once: they fit into a pipe, so git is never waited for while it waits.
_WINDOW = 400
_AT_ONCE = 5  # tasks under way: as many as one has steps, and one that is worked on
_SMALL = 1 << 16  # bytes of an object
_PIPE = 1 << 15  # bytes: names are echoed where they are missing


def split_windows(items: Iterable[Item], size: int, most: int = 0) -> Iterator[list[Item]]:
    """The items, so many together; where most is given, twice as many each time, up to that."""
    every = iter(items)
    while window := list(islice(every, size)):
        yield window
        size = min(size * 2, most or size)


class Prefetched(Objects):
    """Objects that remembers what fetch() brought, until forget()."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self._got: dict[str, Object | None] = {}
        self._begun: list[str] = []  # what git is reading meanwhile
        self._answers: Iterator[Object | None] = iter(())
        self._remote = partial.find_remote(repo)

    def fetch(self, oids: Iterable[str]) -> None:
        """Have these objects at hand for read()."""
        self._take_begun()
        self._fetch([oid for oid in dict.fromkeys(oids) if oid not in self._got])

    def hold(self, oid: str, kind: str, data: bytes) -> None:
        """Have an object at hand for read() that nobody has stored."""
        self._got[oid] = oid, kind, data

    def begin(self, oids: Iterable[str]) -> None:
        """forget(), and have git read these meanwhile: the next read() has them at hand."""
        self._take_begun()
        self.forget()
        self._begun = list(dict.fromkeys(oids))
        self._answers = self._ask(self._begun[:_WINDOW])

    def _take_begun(self) -> None:
        begun, self._begun = self._begun, []
        self._got.update(zip(begun, self._answers, strict=False))
        self._fetch(begun[_WINDOW:])

    def _fetch(self, wanted: Sequence[str]) -> None:
        for at in range(0, len(wanted), _WINDOW):
            part = wanted[at : at + _WINDOW]
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
        """The same for those that are small; read() asks for each of the others."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._got]
        for at in range(0, len(wanted), _WINDOW):
            heads = self._get_batch().find_heads(wanted[at : at + _WINDOW])
            self.fetch([head[0] for head in heads if head and head[1] <= _SMALL])

    def resolve(self, specs: Iterable[str]) -> dict[str, str | None]:
        """name -> oid, None for one that is missing."""
        wanted = dict.fromkeys(specs)
        window: list[str] = []
        oids: dict[str, str | None] = {}
        size = 0
        for spec in [*wanted, ""]:
            if not spec or size + len(encode_name(spec)) > _PIPE:
                heads = self._get_batch().find_heads(window)
                oids.update((n, head and head[0]) for n, head in zip(window, heads, strict=True))
                window, size = [], 0
            window.append(spec)
            size += len(encode_name(spec)) + len(b"info \n missing")
        return oids

    def forget(self) -> None:
        """Let go of what was fetched: memory stays flat however much is read."""
        self._got.clear()

    def read(self, spec: str) -> Object | None:
        if self._begun:
            self._take_begun()
        return self._got[spec] if spec in self._got else super().read(spec)


def run_task(objects: Prefetched, steps: Steps[Result]) -> Result:
    """What one task returns; what it read stays at hand."""
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
