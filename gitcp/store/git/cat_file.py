"""The long-lived `git cat-file` that names are resolved and objects read by."""

from __future__ import annotations

import os

from gitcp.errors import GitError, Late
from gitcp.git import fetches
from gitcp.process import deadline
from gitcp.record import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.repo import Repo

    Object = tuple[str, str, bytes]  # oid, kind, data


_NOWHERE = {"GIT_ALLOW_PROTOCOL": "none"}  # what GIT_NO_LAZY_FETCH is before git 2.44


# Buffered: it answers when it is told to, many at once, and not by a write for each of them.
_COMMAND = ("cat-file", "--batch-command", "--buffer")
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
        self._in, self._out = self._run.pipes()
        self._buffer, self._at = b"", 0  # what git said, and how much of it was taken

    def look(self, spec: str) -> tuple[str, int] | None:
        """(oid, bytes) of a name, without its content; None when it is missing or ambiguous."""
        try:
            head = self._head(b"info", spec)
        except Ended:
            self._restart()
            return None
        return (head[0].decode(), int(head[2])) if head else None

    def resolve_all(self, specs: Sequence[str]) -> Iterator[str | None]:
        """resolve() of as many names as a pipe holds, in their order."""
        left = list(specs)
        while left:
            try:
                self._write(b"".join(b"info %s\n" % raw(spec) for spec in left))
                while left:
                    head = self._answer()
                    del left[0]
                    yield head[0].decode() if head else None
            except Ended:
                self._restart()
                del left[0]
                yield None

    def ask(self, spec: str) -> Object | None:
        """The object of a name; None when it is missing or ambiguous."""
        return next(self.ask_all([spec]))

    def ask_all(self, specs: Sequence[str]) -> Iterator[Object | None]:
        """The objects of as many names as a pipe holds, in their order."""
        left = list(specs)
        while left:
            try:
                self._write(b"".join([b"contents %s\n" % raw(spec) for spec in left]))
                while left:
                    answer = self._object()
                    del left[0]
                    yield answer
            except Ended:
                self._restart()
                del left[0]
                yield None

    def _object(self) -> Object | None:
        head = self._answer()
        if head is None:
            return None
        return head[0].decode(), head[1].decode(), self._take(int(head[2]) + 1)[:-1]

    def _restart(self) -> None:
        """Another git in place of one that ended; raise GitError when it cannot work at all."""
        self.close()
        self._start()
        self._head(b"info", self._repo.empty_tree)  # git knows that one by heart

    def _head(self, command: bytes, spec: str) -> list[bytes] | None:
        self._write(b"%s %s\n" % (command, raw(spec)))
        return self._answer()

    def _write(self, data: bytes) -> None:
        try:
            os.write(self._in, data + b"flush\n")
        except BrokenPipeError:
            raise Ended from None

    def _answer(self) -> list[bytes] | None:
        head = self._line().split(b" ")
        return head if len(head) == 3 and head[2].isdigit() else None  # "<spec> missing"

    def close(self) -> None:
        self._run.finish(ok=range(256))

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            self._more()
        line = self._buffer[self._at : end]
        self._at = end + 1
        return line

    def _take(self, size: int) -> bytes:
        begin, end = self._at, self._at + size
        if end <= len(self._buffer):
            self._at = end
            return self._buffer[begin:end]
        parts, have = [self._buffer[begin:]], len(self._buffer) - begin
        while have < size:
            data = self._read()
            if not data:
                raise Ended
            parts.append(data)
            have += len(data)
        whole = b"".join(parts)
        self._buffer, self._at = whole[size:], 0
        return whole[:size]

    def _more(self) -> None:
        data = self._read()
        if not data:
            raise Ended
        self._buffer, self._at = self._buffer[self._at :] + data, 0

    def _read(self) -> bytes:
        if not deadline.readable(self._out):
            self._run.end()
            raise Late(("git", "cat-file"), deadline.EACH)
        return os.read(self._out, _PIPE)
