"""The long-lived `git cat-file` that names are resolved and objects read by."""

from __future__ import annotations

import os

from gitcp.errors import GitError
from gitcp.record import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

    Object = tuple[str, str, bytes]  # oid, kind, data


class Batch:
    """One `git cat-file --batch-command`, asked one name at a time."""

    def __init__(self, repo: Repo) -> None:
        self._run = repo.git.start("cat-file", "--batch-command", feed=True)
        self._in, self._out = self._run.pipes()
        self._buffer = b""

    def resolve(self, spec: str) -> str | None:
        """The oid of a name, without its content; None when it is missing or ambiguous."""
        head = self._head(b"info", spec)
        return head[0].decode() if head else None

    def ask(self, spec: str) -> Object | None:
        """The object of a name; None when it is missing or ambiguous."""
        head = self._head(b"contents", spec)
        if head is None:
            return None
        return head[0].decode(), head[1].decode(), self._take(int(head[2]) + 1)[:-1]

    def _head(self, command: bytes, spec: str) -> list[bytes] | None:
        os.write(self._in, b"%s %s\n" % (command, raw(spec)))
        return self._answer()

    def _answer(self) -> list[bytes] | None:
        head = self._line().split(b" ")
        return head if len(head) == 3 and head[2].isdigit() else None  # "<spec> missing"

    def close(self) -> None:
        self._run.finish(ok=range(256))

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._more()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _take(self, size: int) -> bytes:
        parts, have = [self._buffer], len(self._buffer)
        while have < size:
            data = os.read(self._out, 1 << 20)
            if not data:
                raise GitError(("git", "cat-file", "--batch-command"), 128, b"ended early")
            parts.append(data)
            have += len(data)
        whole = b"".join(parts)
        self._buffer = whole[size:]
        return whole[:size]

    def _more(self) -> None:
        data = os.read(self._out, 1 << 16)
        if not data:
            raise GitError(("git", "cat-file", "--batch-command"), 128, b"ended early")
        self._buffer += data
