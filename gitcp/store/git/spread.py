"""Reading very much: shared by several processes, as many as the machine runs at once.

A worker is a fork of this process, without its files.  It is given batches, and what it makes of
them comes back, by pipes and as marshal writes it: numbers, strings, bytes, lists, tuples,
dictionaries.
"""

from __future__ import annotations

import marshal
import os
from collections import deque

from gitcp import git
from gitcp.console import notice
from gitcp.process.running import feed_pipe
from gitcp.start.cpython import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO, NoReturn, TypeVar

    from gitcp.store.git.objects import Objects

    Database = TypeVar("Database", bound=Objects)
    Batch = TypeVar("Batch")
    Done = TypeVar("Done")
    Work = Callable[[Batch], Done]

_MOST = 4  # workers, for each has memory of its own
_SIZE = 8  # bytes before a message, which say how long it is
_OPEN = 1 << 16  # files that may be open here; some systems allow any number


def spread_batches(
    objects: Database,
    batches: Iterable[Batch],
    begin: Callable[[Database], Work[Batch, Done]],
    alone: int = 1,
) -> Iterator[Done]:
    """What work makes of each batch, in their order; begin(objects) returns it.

    alone: so many batches are done here, for they may be all.  For others begin() is called in
    each worker, with objects of its own: what is open here is closed there.  What a worker tells
    by notice.warn_lacking() is told here, and the batch of one that ended is done here, where an
    error finds who is waiting for it.
    """
    here = begin(objects)
    workers: deque[_Worker] = deque()
    try:
        for number, batch in enumerate(batches):
            if number == alone:
                workers += _start_workers(objects, begin)
            if not workers:
                yield here(batch)
                continue
            done = [workers[0].receive_answer(here)] if workers[0].busy else []
            workers[0].send_batch(batch)
            workers.rotate(-1)
            yield from done
        for worker in workers:
            if worker.busy:
                yield worker.receive_answer(here)
    finally:
        for worker in workers:
            worker.close()


def _start_workers(objects: Objects, begin: Callable[[Any], Work[Any, Any]]) -> list[_Worker]:
    """A worker for each processor, as far as the system allows; none where there is but one."""
    here = getattr(os, "sched_getaffinity", None)
    count = len(here(0)) if here else os.cpu_count() or 1
    git.settle_pending()  # what is written is for them to read, not to write once more
    workers: list[_Worker] = []
    try:
        while 1 < count > len(workers) < _MOST:
            workers.append(_Worker(objects, begin))
    except OSError:
        pass
    return workers


class _Worker:
    """A process that works on a batch at a time."""

    def __init__(self, objects: Objects, begin: Callable[[Any], Work[Any, Any]]) -> None:
        self.busy = False
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            self._pid = os.fork()
        except OSError:  # the descriptors are wanted here
            for fd in ends:
                os.close(fd)
            raise
        given, self._in, out, answers = ends
        if not self._pid:
            _serve(given, answers, objects, begin)
        os.close(given)
        os.close(answers)
        self._out = os.fdopen(out, "rb")

    def send_batch(self, batch: Any) -> None:
        """Have it work on a batch."""
        self.busy, self._batch = True, batch
        left = memoryview(_pack_message(batch))
        while left:
            left = feed_pipe(self._in, left)

    def receive_answer(self, work: Work[Any, Any]) -> Any:
        """What it answers of the batch; where it has ended, what work() makes of it."""
        try:
            done, lacks = _read_message(self._out)
        except EOFError:
            done, lacks = work(self._batch), ()
        self.busy = False
        for what in lacks:
            notice.warn_lacking(what)
        return done

    def close(self) -> None:
        """Let it end; at once where it is at work that nobody waits for."""
        if self.busy:
            os.kill(self._pid, signals.SIGKILL)
        os.close(self._in)
        self._out.close()
        os.waitpid(self._pid, 0)


def _serve(
    descriptor: int, answers: int, objects: Objects, begin: Callable[[Any], Work[Any, Any]]
) -> NoReturn:
    """Work on one batch after the other, until there is nobody who gives any."""
    try:
        if (
            signals.getsignal(signals.SIGINT) is not signals.SIG_IGN
        ):  # nohup, or a job behind a script
            signals.signal(signals.SIGINT, signals.SIG_DFL)
        os.dup2(descriptor, 0)
        os.dup2(answers, 1)
        os.closerange(3, _OPEN)
        with objects.reopen() as own, os.fdopen(0, "rb") as batches:
            work = begin(own)
            while True:
                batch = _read_message(batches)
                with notice.Collected() as lacks:
                    done = work(batch)
                left = memoryview(_pack_message((done, lacks)))
                while left:
                    left = left[os.write(1, left) :]
    finally:
        os._exit(0)  # whatever went wrong goes wrong once more where the batch came from


def _pack_message(value: Any) -> bytes:
    data = marshal.dumps(value)
    return len(data).to_bytes(_SIZE, "big") + data


def _read_message(stream: BinaryIO) -> Any:
    """The next message; raise EOFError where none came, or a part of one."""
    size = int.from_bytes(stream.read(_SIZE), "big")
    data = stream.read(size)
    if not size or len(data) < size:
        raise EOFError
    return marshal.loads(data)
