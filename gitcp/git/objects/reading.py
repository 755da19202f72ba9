"""Much to read: tasks that take turns at one git, work divided among processes, and the spelling of
paths.

Tasks may take turns.  A task is a generator: it yields the oids that it reads next, and returns
its result.  git reads for the next tasks while one works.
"""

from __future__ import annotations

import marshal
import os
import signal
from collections import deque
from itertools import islice
from unicodedata import normalize

from gitcp.git import fill_pipe
from gitcp.git.objects import Objects
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import Any, BinaryIO, NoReturn, TypeVar

    from gitcp.git import Location

    Item = TypeVar("Item")
    Result = TypeVar("Result")
    Steps = Generator[Iterable[str], None, Result]  # oids
    Database = TypeVar("Database", bound=Objects)
    Portion = TypeVar("Portion")
    Done = TypeVar("Done")
    Work = Callable[[Portion], Done]

_AT_ONCE = 5  # tasks under way: the steps of a task, and one that works


def split_windows(items: Iterable[Item], size: int, limit: int = 0) -> Iterator[list[Item]]:
    """Yield lists of size items; with a limit, each is twice as long as the last, up to limit."""
    iterator = iter(items)
    while True:
        window = list(islice(iterator, size))
        if not window:
            break
        yield window
        size = min(size * 2, limit or size)


def run_task(objects: Objects, steps: Steps[Result]) -> Result:
    """The result of one task; what it read stays in memory."""
    while True:
        try:
            objects.ahead.fetch(next(steps))
        except StopIteration as end:
            result: Result = end.value
            return result


def run_tasks(objects: Objects, tasks: Iterable[Steps[Result]]) -> Iterator[Result]:
    """Yield what each task returns, in their order; what was read is not kept.  The first task
    runs alone, so that its result comes soon."""
    source = iter(tasks)
    limit = 1
    running: list[tuple[Steps[Result], list[Result]]] = []  # each with its result, once it has one
    while True:
        if len(running) < limit:
            steps = next(source, None)
            if steps:
                running.append((steps, []))
        if not running:
            return
        names: list[str] = []
        for steps, returned in running:
            if not returned:
                names += _advance_task(steps, returned)
        objects.ahead.begin(names)
        while running and running[0][1]:
            yield from running.pop(0)[1]
            limit = _AT_ONCE


def _advance_task(steps: Steps[Result], returned: list[Result]) -> Iterable[str]:
    try:
        return next(steps)
    except StopIteration as end:
        returned.append(end.value)
        return ()


# Dividing much work among several processes, one for each processor.
#
# A worker is a fork of this process, without its open files.  It gets batches and sends results by
# pipes, as marshal writes them: numbers, strings, bytes, lists, tuples, dictionaries.
_MOST_PROCESSES = 4  # workers; each has memory of its own
_SIZE = 8  # bytes of a message's length, before it
_OPEN = 1 << 16  # descriptors that are closed in a worker; some systems allow any number


def spread_batches(
    objects: Database,
    batches: Iterable[Portion],
    begin: Callable[[Database], Work[Portion, Done]],
    alone: int = 1,
) -> Iterator[Done]:
    """Yield the result of work, which begin(objects) returns, for each batch, in their order.

    The first `alone` batches are done in this process, since there may be no more.  For the others
    begin() is called in each worker, with its own objects.  A worker's warn_lacking() is
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
            if workers[0].busy:
                done = [workers[0].receive_answer(here)]
            else:
                done = []
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
    if get_affinity:
        count = len(get_affinity(0))
    else:
        count = os.cpu_count() or 1
    objects.flush()  # so that the workers find what was written, and do not write it again
    workers: list[_Worker] = []
    try:
        while 1 < count > len(workers) < _MOST_PROCESSES:
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
        self.busy = True
        self._batch = batch
        fill_pipe(self._in, _pack_message(batch))

    def receive_answer(self, work: Work[Any, Any]) -> Any:
        """The worker's result for its batch; if it has ended, that of work() here."""
        try:
            done, lacks = _read_message(self._out)
        except EOFError:
            done = work(self._batch)
            lacks = ()
        self.busy = False
        for lack, kind in lacks:
            console.warn_lacking(lack, kind)
        return done

    def close(self) -> None:
        """End the worker, also in the middle of a batch."""
        if self.busy:
            os.kill(self._pid, signal.SIGKILL)
        os.close(self._in)
        self._out.close()
        os.waitpid(self._pid, 0)


def _serve(
    batches: int, answers: int, objects: Objects, begin: Callable[[Any], Work[Any, Any]]
) -> NoReturn:
    """Work on one batch after the other, until their pipe is closed."""
    try:
        # It is ignored under nohup, and in a script's background job.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(batches, 0)
        os.dup2(answers, 1)
        os.closerange(3, _OPEN)
        with objects.reopen() as own, os.fdopen(0, "rb") as stream:
            work = begin(own)
            while True:
                batch = _read_message(stream)
                with console.Collected() as lacks:
                    done = work(batch)
                kinds = [(lack, console.get_kind(lack)) for lack in lacks]
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


# The spelling that git has for a path, on a disk that ignores case or normal form.
_MOST = 64  # files below a directory by which its spelling is found


def find_relative(repo: Location, path: str) -> str | None:
    """An absolute path, relative to the worktree's root, as git spells it; None outside of it.
    Tracked names are spelled as in the index, others as on the disk."""
    spelled = find_on_disk(repo, path)
    ignores_case = repo.config.get_flag("core.ignorecase")
    if spelled and ignores_case:
        return _find_tracked(repo, spelled)
    return spelled


def find_on_disk(repo: Location, path: str) -> str | None:
    """An absolute path, relative to the worktree's root, as its directories spell it, in NFC; None
    outside of it.  Missing names stay as they are."""
    inside = _find_inside(repo.worktree, path)
    if inside is None:
        return None
    ignores_case = repo.config.get_flag("core.ignorecase")
    spelled = ""
    for name in inside.split("/"):
        folder = os.path.join(repo.worktree, spelled)
        spelled = os.path.join(spelled, _find_name(folder, name, ignores_case))
    return normalize("NFC", spelled)


def _find_inside(top: str, path: str) -> str | None:
    root, (folder, inside) = os.stat(top), os.path.split(path)
    while True:
        try:
            if os.path.samestat(os.stat(folder), root):
                return inside
        except OSError:
            pass  # the directory does not exist yet
        folder, name = os.path.split(folder)
        if not name:
            return None
        inside = f"{name}/{inside}"


def _find_name(folder: str, name: str, ignores_case: bool) -> str:
    try:
        names = os.listdir(folder)
    except OSError:
        return name
    if name in names:
        return name
    folded = fold_name(name, ignores_case)
    return next((entry for entry in names if fold_name(entry, ignores_case) == folded), name)


def fold_name(name: str, ignores_case: bool = True) -> str:
    """A key that is equal for all names of one file."""
    if ignores_case:
        return normalize("NFD", name).casefold()
    return normalize("NFD", name)


def _find_tracked(repo: Location, path: str) -> str:
    """A path with its tracked part spelled as in the index."""
    git = repo.git.copy_with(None, {"GIT_LITERAL_PATHSPECS": "0"})
    begin = path
    end = ""
    while begin:
        escaped = "".join(f"\\{c}" if c in "*?[\\" else c for c in begin)
        tracked = git.stream_records("ls-files", "-z", "--", f":(top,icase){escaped}")
        names = {os.fsdecode(name)[: len(begin)] for name in islice(tracked, _MOST)}
        if names:
            return (begin if begin in names else min(names)) + end
        begin, _, name = begin.rpartition("/")
        end = f"/{name}{end}"
    return path
