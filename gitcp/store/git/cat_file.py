"""The long-lived `git cat-file` that names are resolved and objects read by."""

from __future__ import annotations

import io
import os

from gitcp.errors import GitError, Late
from gitcp.git import fetches
from gitcp.process import deadline
from gitcp.record import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    from gitcp.process.running import Running
    from gitcp.repo import Repo

    Object = tuple[str, str, bytes]  # oid, kind, data
    Head = tuple[str, str, int]  # oid, kind, bytes
    Answer = TypeVar("Answer")


_NOWHERE = {"GIT_ALLOW_PROTOCOL": "none"}  # what GIT_NO_LAZY_FETCH is before git 2.44


# Buffered: it answers when it is told to, many at once, and not by a write for each of them.
_COMMAND = ("cat-file", "--batch-command", "--buffer", "-z")
_PIPE = 1 << 16  # bytes that a pipe holds


class Ended(GitError):
    """git ended in the middle of a conversation."""

    def __init__(self) -> None:
        super().__init__(("git", "cat-file", "--batch-command"), 128, b"ended early")


class Batch:
    """`git cat-file --batch-command`, asked for one name or as many as a pipe holds.

    git dies of an object that is damaged, or that a partial clone left out and cannot fetch:
    such a one is missing, and another git answers what is asked next.
    """

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._start()

    def _start(self) -> None:
        env = None if fetches() else _NOWHERE
        self._run = self._repo.git.start(*_COMMAND, feed=True, env=env)
        self._in = self._run.pipes()[0]
        self._output = io.BufferedReader(_Output(self._run), _PIPE)

    def look(self, spec: str) -> tuple[str, int] | None:
        """(oid, bytes) of a name, without its content; None when it is missing or ambiguous."""
        return next(self.look_all([spec]))

    def look_all(self, specs: Sequence[str]) -> Iterator[tuple[str, int] | None]:
        """look() of as many names as a pipe holds, in their order."""
        heads = self._all("info", specs, self._answer)
        return ((head[0], head[2]) if head else None for head in heads)

    def ask(self, spec: str) -> Object | None:
        """The object of a name; None when it is missing or ambiguous."""
        return next(self.ask_all([spec]))

    def ask_all(self, specs: Sequence[str]) -> Iterator[Object | None]:
        """The objects of as many names as a pipe holds, in their order."""
        return self._all("contents", specs, self._object)

    def _all(
        self, command: str, specs: Sequence[str], answer: Callable[[], Answer | None]
    ) -> Iterator[Answer | None]:
        """What answer() reads of each name, in their order; they are asked for at once."""
        self._ask(command, specs)
        return self._answers(command, specs, answer)

    def _answers(
        self, command: str, specs: Sequence[str], answer: Callable[[], Answer | None]
    ) -> Iterator[Answer | None]:
        for count in range(1, len(specs) + 1):
            try:
                given = answer()
                if given is None:  # git says the name again
                    self._skip(specs[count - 1].count("\n"))
            except Ended:
                self._restart()
                self._ask(command, specs[count:])
                given = None
            yield given

    def _skip(self, count: int) -> None:
        for _ in range(count):
            self._line()

    def _ask(self, command: str, specs: Sequence[str]) -> None:
        asked = "".join([f"{command} {spec}\0" for spec in specs])
        try:
            os.write(self._in, raw(f"{asked}flush\0"))
        except BrokenPipeError:
            return  # reading tells that it ended

    def _object(self) -> Object | None:
        head = self._answer()
        if head is None:
            return None
        oid, kind, size = head
        data = self._output.read(size)
        if self._output.read(1) != b"\n":
            raise Ended
        return oid, kind, data

    def _restart(self) -> None:
        """Another git in place of one that ended; raise GitError when it cannot work at all."""
        self.close()
        self._start()
        self._ask("info", [self._repo.empty_tree])  # git knows that one by heart
        self._answer()

    def _answer(self) -> Head | None:
        words = self._line().split(b" ")
        if len(words) != 3 or b":" in words[0] or not words[2].isdigit():  # "<spec> missing"
            return None
        return words[0].decode(), words[1].decode(), int(words[2])

    def _line(self) -> bytes:
        line: bytes = self._output.readline()
        if line[-1:] != b"\n":
            raise Ended
        return line[:-1]

    def close(self) -> None:
        self._run.finish(ok=range(256))


class _Output(io.RawIOBase):
    """What git says, as far as the time reaches."""

    def __init__(self, run: Running) -> None:
        self._run, self._out = run, run.pipes()[1]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what is there; raise Late where the deadline passes before."""
        if not deadline.readable(self._out):
            self._run.end()
            raise Late(("git", "cat-file"), deadline.over())
        return os.readv(self._out, [buffer])
