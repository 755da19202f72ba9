"""One process of git (or jj): started, fed, read, reaped, and ended when its time is over.

Bytes in, bytes out.  posix_spawn instead of subprocess: the latter costs a hook 13 ms
before it has done anything.
"""

from __future__ import annotations

import os
import select
import time

from gitcp import trace
from gitcp.errors import GitError, Late
from gitcp.process import deadline
from gitcp.start.cpython import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping


_GRACE = 0.3  # seconds to end in, and for others to be reaped in
_MOST = 1 << 20  # bytes of what it complains of that are kept while somebody converses with it


class Running:
    """A process of git (or jj) that was started; finish() feeds it, reads it and reaps it, and lets
    errors be what it said on standard error."""

    def __init__(
        self,
        argv: tuple[str | bytes, ...],
        env: Mapping[str, str],
        feed: bool,
        apart: bool = False,
    ) -> None:
        self._argv, self._began, self._apart = argv, time.perf_counter(), apart
        self._complaints: list[bytes] = []
        self.errors = b""
        self._poll: select.poll | None = None
        child_in, self._in = os.pipe() if feed else (os.open(os.devnull, os.O_RDONLY), -1)
        self._out, child_out = os.pipe()
        self._err, child_err = os.pipe()
        ends: tuple[int, ...] = (child_in, child_out, child_err)
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(ends)]
        try:
            self.pid = os.posix_spawnp(
                argv[0],
                argv,
                env,
                file_actions=actions,
                setsigdef=[signals.SIGPIPE, signals.SIGXFSZ],
                setsid=apart,
            )
        except OSError as e:
            ends += (self._out, self._err, *([self._in] if feed else []))
            raise GitError(_decode_argv(argv), 127, str(e).encode()) from None
        finally:
            for fd in ends:
                os.close(fd)

    def finish(
        self, stdin: bytes = b"", ok: Iterable[int] = (0,), limit: float | None = None
    ) -> tuple[int, bytes]:
        """Return (status, stdout); raise GitError unless the status is in ok.

        limit: seconds, by default what the deadline leaves; after that it is ended: Late.
        """
        out, self.errors = self._communicate(
            stdin, deadline.count_seconds_left() if limit is None else limit
        )
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if trace.is_on():
            took = (time.perf_counter() - self._began) * 1e3
            trace.append_note(
                "git", f"{' '.join(_decode_argv(self._argv))} ({status}, {took:.1f} ms)"
            )
        if status not in ok:
            raise GitError(_decode_argv(self._argv), status, self.errors)
        return status, out

    def get_pipes(self) -> tuple[int, int]:
        """(its stdin, its stdout), for a caller that converses; finish() still ends it."""
        return self._in, self._out

    def stream_records(
        self, sep: bytes = b"\0", stdin: bytes = b""
    ) -> Generator[bytes, None, None]:
        """The records git prints, each ended by the one byte sep, as it prints them.

        Memory stays flat however many there are.  stdin: for a git that reads all of it before
        it prints.  Raises GitError behind the last one unless the status is 0, Late when it does
        not go on in time.  A caller that stops early closes the generator: git then ends at its
        next write.
        """
        begun: list[bytes] = []
        try:
            self._write_stdin(stdin)
            while data := self._read_next():
                if sep in data:
                    *whole, rest = (b"".join(begun) + data).split(sep)
                    yield from whole
                    begun = [rest]
                else:
                    begun.append(data)
            if rest := b"".join(begun):
                yield rest
        except GeneratorExit:
            os.close(self._out)
            os.close(self._err)
            os.waitpid(self.pid, 0)
            raise
        self.finish()

    def _write_stdin(self, stdin: bytes) -> None:
        left = memoryview(stdin)
        while left:
            left = feed_pipe(self._in, left)
        if self._in >= 0:
            os.close(self._in)
            self._in = -1

    def wait_readable(self) -> bool:
        """Wait until it says something, or ends; False when the time is over.  What it complains
        of meanwhile is taken in: it goes on only where somebody reads that."""
        if self._poll is None:
            self._poll = select.poll()
            for fd in (self._out, self._err):
                self._poll.register(fd, select.POLLIN)
        while True:
            limit = deadline.count_seconds_left()
            ready = [fd for fd, _ in self._poll.poll(None if limit is None else limit * 1000)]
            if self._out in ready or not ready:
                return bool(ready)
            if not (data := os.read(self._err, 1 << 16)):
                self._poll.unregister(self._err)
            elif sum(map(len, self._complaints)) < _MOST:
                self._complaints.append(data)

    def _read_next(self) -> bytes:
        """What it says next, b"" at its end; raise Late where the deadline passes before."""
        if self.wait_readable():
            return os.read(self._out, 1 << 16)
        self.terminate()
        for fd in (self._out, self._err):
            os.close(fd)
        raise Late(_decode_argv(self._argv), deadline.describe_overrun())

    def terminate(self) -> None:
        """End it without waiting for what it may still say: with all below it, if apart."""
        send = os.killpg if self._apart else os.kill
        reaped = 0
        for sign, patience in ((signals.SIGTERM, _GRACE), (signals.SIGKILL, 60.0)):
            # Others of the group that were killed wait for init to reap them.
            until = time.monotonic() + (_GRACE if reaped else patience)
            try:
                send(self.pid, sign)
                while time.monotonic() < until:
                    if not reaped:
                        reaped = os.waitpid(self.pid, os.WNOHANG)[0]
                        until = min(until, time.monotonic() + _GRACE) if reaped else until
                    if reaped and not self._apart:
                        return
                    if reaped:
                        send(self.pid, 0)  # raises when nobody of the group is left
                    time.sleep(0.005)
            except ProcessLookupError:
                return

    def _communicate(self, stdin: bytes, limit: float | None) -> tuple[bytes, bytes]:
        # Reading and writing are interleaved: writing everything first deadlocks as
        # soon as git fills the pipe we do not read.
        parts: dict[int, list[bytes]] = {self._out: [], self._err: self._complaints}
        poll, left = select.poll(), memoryview(stdin)
        for fd in parts:
            poll.register(fd, select.POLLIN)
        if self._in >= 0:
            if left:
                os.set_blocking(self._in, False)
                poll.register(self._in, select.POLLOUT)
            else:
                os.close(self._in)
        reading, until = {self._out, self._err}, time.monotonic() + (limit or 0)
        while reading:
            wait = None if limit is None else max(0.0, until - time.monotonic()) * 1000
            ready = poll.poll(wait)
            if not ready and wait is not None:
                for fd in reading | ({self._in} if left else set()):
                    os.close(fd)
                self.terminate()
                raise Late(_decode_argv(self._argv), deadline.describe_overrun(limit))
            for fd, _ in ready:
                if fd == self._in:
                    left = feed_pipe(self._in, left)
                    if not left:
                        poll.unregister(fd)
                        os.close(fd)
                elif data := os.read(fd, 1 << 16):
                    parts[fd].append(data)
                else:
                    poll.unregister(fd)
                    os.close(fd)
                    reading.remove(fd)
        if left:
            os.close(self._in)  # git ended without reading all of it
        return b"".join(parts[self._out]), b"".join(parts[self._err])


def feed_pipe(fd: int, left: memoryview) -> memoryview:
    """Write what a pipe takes now; what is left, nothing where its reader has gone.

    A command dies of SIGPIPE where its own reader has gone: not where a process of its own has.
    """
    before = signals.pthread_sigmask(signals.SIG_BLOCK, (signals.SIGPIPE,))
    try:
        return left[os.write(fd, left[: 1 << 16]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        if signals.SIGPIPE in signals.sigpending():
            signals.sigwait((signals.SIGPIPE,))
        return memoryview(b"")
    finally:
        signals.pthread_sigmask(signals.SIG_SETMASK, before)


def _decode_argv(argv: Iterable[str | bytes]) -> tuple[str, ...]:
    return tuple(a if isinstance(a, str) else a.decode("utf-8", "replace") for a in argv)
