"""Dividing much work among several processes, one for each processor.

A worker is a fork of this process, without its open files.  It gets batches and sends results by
pipes, as marshal writes them: numbers, strings, bytes, lists, tuples, dictionaries.
"""

from __future__ import annotations

import marshal
import os
from collections import deque

from gitcp import git
from gitcp.console import notice
from gitcp.process.running import fill_pipe
from gitcp.start import bundle
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

_MOST = 4  # workers; each has memory of its own
_SIZE = 8  # bytes of a message's length, before it
_OPEN = 1 << 16  # descriptors that are closed in a worker; some systems allow any number


def spread_batches(
    objects: Database,
    batches: Iterable[Batch],
    begin: Callable[[Database], Work[Batch, Done]],
    alone: int = 1,
) -> Iterator[Done]:
    """Yield the result of work, which begin(objects) returns, for each batch, in their order.

    The first `alone` batches are done in this process, since there may be no more.  For the others
    begin() is called in each worker, with its own objects.  A worker's notice.warn_lacking() is
    repeated here.  The batch of a worker that ended is done again here, to raise its error.
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
    """A worker for each processor, as far as the system allows; none if there is only one."""
    get_affinity = getattr(os, "sched_getaffinity", None)
    count = len(get_affinity(0)) if get_affinity else os.cpu_count() or 1
    git.run_pending()  # so that the workers find what was written, and do not write it again
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
        except OSError:
            for fd in ends:
                os.close(fd)
            raise
        batches, self._in, out, answers = ends
        if not self._pid:
            _serve(batches, answers, objects, begin)
        os.close(batches)
        os.close(answers)
        self._out = os.fdopen(out, "rb")

    def send_batch(self, batch: Any) -> None:
        """Send a batch to the worker."""
        self.busy, self._batch = True, batch
        fill_pipe(self._in, _pack_message(batch))

    def receive_answer(self, work: Work[Any, Any]) -> Any:
        """The worker's result for its batch; if it has ended, that of work() here."""
        try:
            done, lacks = _read_message(self._out)
        except EOFError:
            done, lacks = work(self._batch), ()
        self.busy = False
        for lack, kind in lacks:
            notice.warn_lacking(lack, kind)
        return done

    def close(self) -> None:
        """End the worker, also in the middle of a batch."""
        if self.busy:
            os.kill(self._pid, signals.SIGKILL)
        os.close(self._in)
        self._out.close()
        os.waitpid(self._pid, 0)


def _serve(
    batches: int, answers: int, objects: Objects, begin: Callable[[Any], Work[Any, Any]]
) -> NoReturn:
    """Work on one batch after the other, until their pipe is closed."""
    try:
        # It is ignored under nohup, and in a script's background job.
        if signals.getsignal(signals.SIGINT) is not signals.SIG_IGN:
            signals.signal(signals.SIGINT, signals.SIG_DFL)
        os.dup2(batches, 0)
        os.dup2(answers, 1)
        code = max(2, bundle.get_descriptor())  # functions that were not called yet are read there
        os.closerange(3, code)
        os.closerange(code + 1, _OPEN)
        with objects.reopen() as own, os.fdopen(0, "rb") as stream:
            work = begin(own)
            while True:
                batch = _read_message(stream)
                with notice.Collected() as lacks:
                    done = work(batch)
                kinds = [(lack, notice.get_kind(lack)) for lack in lacks]
                left = memoryview(_pack_message((done, kinds)))
                while left:
                    left = left[os.write(1, left) :]
    finally:
        os._exit(0)  # an error is raised again by the parent, which repeats the batch


def _pack_message(value: Any) -> bytes:
    data = marshal.dumps(value)
    return len(data).to_bytes(_SIZE, "big") + data


def _read_message(stream: BinaryIO) -> Any:
    """The next message; raises EOFError if there is none, or only a part of one."""
    size = int.from_bytes(stream.read(_SIZE), "big")
    data = stream.read(size)
    if not size or len(data) < size:
        raise EOFError
    return marshal.loads(data)
