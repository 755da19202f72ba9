"""The one door to git: run a command, declare which statuses are fine.

Bytes in, bytes out.  posix_spawn instead of subprocess: the latter costs a hook 13 ms
before it has done anything.
"""

from __future__ import annotations

import os
import select
import time
from _signal import SIGPIPE, SIGXFSZ

from gitcp import trace
from gitcp.errors import GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from typing import Self

# Never page, never prompt, never translate, never take a lock merely to read.
QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}
# Nor fetch a missing object from a promisor remote behind the person's back: may_fetch().
_AT_HOME = {"GIT_NO_LAZY_FETCH": "1"}


def may_fetch() -> None:
    """A person waits for this process: objects that a partial clone left out may be fetched."""
    _AT_HOME.clear()


def fetches() -> bool:
    """Whether may_fetch() was called."""
    return not _AT_HOME


class Running:
    """A process of git (or jj) that was started; finish() feeds it, reads it and reaps it."""

    __slots__ = ("_argv", "_began", "_err", "_in", "_out", "pid")

    def __init__(self, argv: tuple[str | bytes, ...], env: Mapping[str, str], feed: bool) -> None:
        self._argv, self._began = argv, time.perf_counter()
        child_in, self._in = os.pipe() if feed else (os.open(os.devnull, os.O_RDONLY), -1)
        self._out, child_out = os.pipe()
        self._err, child_err = os.pipe()
        ends = (child_in, child_out, child_err)
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(ends)]
        try:
            self.pid = os.posix_spawnp(
                argv[0], argv, env, file_actions=actions, setsigdef=[SIGPIPE, SIGXFSZ]
            )
        except OSError as e:
            raise GitError(_words(argv), 127, str(e).encode()) from None
        finally:
            for fd in ends:
                os.close(fd)

    def finish(self, stdin: bytes = b"", ok: Iterable[int] = (0,)) -> tuple[int, bytes]:
        """Return (status, stdout); raise GitError unless the status is in ok."""
        out, err = self._communicate(stdin)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if trace.on():
            took = (time.perf_counter() - self._began) * 1e3
            trace.note("git", f"{' '.join(_words(self._argv))} ({status}, {took:.1f} ms)")
        if status not in ok:
            raise GitError(_words(self._argv), status, err)
        return status, out

    def pipes(self) -> tuple[int, int]:
        """(its stdin, its stdout), for a caller that converses; finish() still ends it."""
        return self._in, self._out

    def records(self, sep: bytes = b"\0") -> Generator[bytes, None, None]:
        """The records git prints, each ended by the one byte sep, as it prints them.

        Memory stays flat however many there are.  Raises GitError behind the last one unless
        the status is 0.  A caller that stops early closes the generator: git then ends at its
        next write.
        """
        begun: list[bytes] = []
        try:
            while data := os.read(self._out, 1 << 16):
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

    def _communicate(self, stdin: bytes) -> tuple[bytes, bytes]:
        # Reading and writing are interleaved: writing everything first deadlocks as
        # soon as git fills the pipe we do not read.
        parts: dict[int, list[bytes]] = {self._out: [], self._err: []}
        poll, left = select.poll(), memoryview(stdin)
        for fd in parts:
            poll.register(fd, select.POLLIN)
        if self._in >= 0:
            if left:
                os.set_blocking(self._in, False)
                poll.register(self._in, select.POLLOUT)
            else:
                os.close(self._in)
        reading = 2
        while reading:
            for fd, _ in poll.poll():
                if fd == self._in:
                    left = self._feed(left)
                    if not left:
                        poll.unregister(fd)
                        os.close(fd)
                elif data := os.read(fd, 1 << 16):
                    parts[fd].append(data)
                else:
                    poll.unregister(fd)
                    os.close(fd)
                    reading -= 1
        if left:
            os.close(self._in)  # git ended without reading all of it
        return b"".join(parts[self._out]), b"".join(parts[self._err])

    def _feed(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._in, left[: 1 << 16]) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            return memoryview(b"")


class Git:
    """git, bound to one directory and one environment; cheap and immutable."""

    __slots__ = ("_cwd", "env")

    def __init__(self, cwd: str | None = None, env: Mapping[str, str] | None = None) -> None:
        self._cwd = cwd
        self.env = {**(os.environ if env is None else env), **QUIET, **_AT_HOME}

    def bound(self, cwd: str | None, env: Mapping[str, str | None]) -> Self:
        """The same git in another directory, with env over the environment (None: without)."""
        merged = {k: v for k, v in {**self.env, **env}.items() if v is not None}
        return type(self)(cwd, merged)

    def start(
        self, *args: str | bytes, feed: bool = False, env: Mapping[str, str] | None = None
    ) -> Running:
        """Start git and return at once, to do other work meanwhile; feed: it reads stdin."""
        where = ("-C", self._cwd) if self._cwd else ()
        return Running(("git", *where, *args), {**self.env, **env} if env else self.env, feed)

    def run(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        ok: Iterable[int] = (0,),
        env: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Run git; return (status, stdout); raise GitError unless status is in ok."""
        return self.start(*args, feed=bool(stdin), env=env).finish(stdin, ok)

    def out(self, *args: str | bytes, stdin: bytes = b"") -> bytes:
        """The single line git printed, without its newline."""
        return self.run(*args, stdin=stdin)[1].removesuffix(b"\n")

    def lines(self, *args: str | bytes, sep: bytes = b"\0") -> list[bytes]:
        """The records git printed, separated by sep (NUL: pass -z to git)."""
        _, out = self.run(*args)
        return out.removesuffix(sep).split(sep) if out else []

    def stream(self, *args: str | bytes, sep: bytes = b"\0") -> Iterator[bytes]:
        """As lines(), one record at a time while git still runs (Running.records)."""
        return self.start(*args).records(sep)

    def test(self, *args: str | bytes) -> bool:
        """A yes/no question: status 0 is yes, 1 is no, all else is an error."""
        return self.run(*args, ok=(0, 1))[0] == 0


def _words(argv: Iterable[str | bytes]) -> tuple[str, ...]:
    return tuple(a if isinstance(a, str) else a.decode("utf-8", "replace") for a in argv)
