"""The long-lived `git cat-file` that resolves names and reads objects."""

from __future__ import annotations

import io
import os

from gitcp import git
from gitcp.errors import GitError, Late
from gitcp.git import ANY, encode_name, fill_pipe, is_fetch_allowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from gitcp.git import Running
    from gitcp.repo import Repo

    Object = tuple[str, str, bytes]  # oid, kind, data
    Head = tuple[str, str, int]  # oid, kind, bytes
    Answer = TypeVar("Answer")

NOWHERE = {"GIT_ALLOW_PROTOCOL": "none"}  # like GIT_NO_LAZY_FETCH, which git has since 2.44
# With --buffer git writes its answers together, at a flush.
_COMMAND = ("cat-file", "--batch-command", "--buffer", "-z")
_PIPE = 1 << 16  # bytes that a pipe holds
# Without a walk below them, and without a fetch.
_EXISTING = """rev-list --objects --no-object-names --ignore-missing --missing=print --no-walk
--filter=tree:0 --stdin""".split()
_HEX = frozenset("0123456789abcdef")


def list_missing(repo: Repo, oids: Iterable[str]) -> set[str]:
    """The objects among oids that are not here."""
    wanted = {*oids}
    listed = wanted
    while wanted and listed:  # git lists no tree of a listed commit
        lines = "".join(f"{oid}\n" for oid in wanted).encode()
        listed = wanted.intersection(repo.git.run(*_EXISTING, stdin=lines)[1].decode().split())
        wanted -= listed
    return wanted


class Ended(GitError):
    """git ended in the middle of a conversation."""

    def __init__(self) -> None:
        super().__init__(("git", "cat-file", "--batch-command"), 128, b"ended early")


class Batch:
    """`git cat-file --batch-command`, asked for one name or as many as a pipe holds.

    git dies at a damaged object, and at one that a partial clone lacks and cannot fetch.  Such an
    object counts as missing, and a new git answers the next names.  From then on another git is
    asked first which objects are here.
    """

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._has_ended = False
        self._start()

    def _start(self) -> None:
        env = None if is_fetch_allowed() else NOWHERE
        self._run = self._repo.git.start(*_COMMAND, feed=True, env=env)
        self._in = self._run.get_pipes()[0]
        self._output = io.BufferedReader(_Output(self._run), _PIPE)

    def find_head(self, spec: str) -> tuple[str, int] | None:
        """(oid, bytes) of a name, without its content; None if it is missing or ambiguous."""
        return next(self.find_heads([spec]))

    def find_heads(self, specs: Sequence[str]) -> Iterator[tuple[str, int] | None]:
        """find_head() of as many names as a pipe holds, in their order."""
        heads = self._ask_and_read("info", specs, self._read_head)
        return ((head[0], head[2]) if head else None for head in heads)

    def read_object(self, spec: str) -> Object | None:
        """The object of a name; None if it is missing or ambiguous."""
        return next(self.read_objects([spec]))

    def read_objects(self, specs: Sequence[str]) -> Iterator[Object | None]:
        """The objects of as many names as a pipe holds, in their order."""
        return self._ask_and_read("contents", specs, self._read_content)

    def _ask_and_read(
        self, command: str, specs: Sequence[str], answer: Callable[[], Answer | None]
    ) -> Iterator[Answer | None]:
        """Ask for all names at once; yield what answer() reads for each, in their order."""
        missing = self._list_missing(specs) if self._has_ended else set()
        self._ask(command, [spec for spec in specs if spec not in missing])
        return self._read_answers(command, specs, missing, answer)

    def _list_missing(self, specs: Sequence[str]) -> set[str]:
        width = len(self._repo.empty_tree)
        return list_missing(self._repo, [s for s in specs if len(s) == width and {*s} <= _HEX])

    def _read_answers(
        self,
        command: str,
        specs: Sequence[str],
        missing: set[str],
        answer: Callable[[], Answer | None],
    ) -> Iterator[Answer | None]:
        """missing: the names that were not asked."""
        for count, spec in enumerate(specs, 1):
            if spec in missing:
                yield None
                continue
            try:
                result = self._take_answer(spec, answer)
            except Ended:
                # If a signal ended git, and not the object, the name is asked once more.
                result = self._ask_again(command, spec, answer) if self._restart() < 0 else None
                missing = self._list_missing(specs[count:])
                self._ask(command, [spec for spec in specs[count:] if spec not in missing])
            yield result

    def _take_answer(self, spec: str, answer: Callable[[], Answer | None]) -> Answer | None:
        result = answer()
        if result is None:  # git repeats the name, which may have newlines
            for _ in range(spec.count("\n")):
                self._read_line()
        return result

    def _ask_again(
        self, command: str, spec: str, answer: Callable[[], Answer | None]
    ) -> Answer | None:
        try:
            self._ask(command, [spec])
            return self._take_answer(spec, answer)
        except Ended:
            self._restart()
            return None

    def _ask(self, command: str, specs: Sequence[str]) -> None:
        commands = "".join([f"{command} {spec}\0" for spec in specs])
        # If git has ended, reading notices it.
        fill_pipe(self._in, encode_name(f"{commands}flush\0"))

    def _read_content(self) -> Object | None:
        head = self._read_head()
        if head is None:
            return None
        oid, kind, size = head
        data = self._output.read(size)
        if self._output.read(1) != b"\n":
            raise Ended
        return oid, kind, data

    def _restart(self) -> int:
        """Start another git after one that ended; return the status of that one, negative for a
        signal.  Raises GitError if git cannot start."""
        status, _ = self._run.finish(ok=ANY)
        self._has_ended |= status >= 0
        self._start()
        self._ask("info", [self._repo.empty_tree])  # which no repository has to store
        self._read_head()
        return status

    def _read_head(self) -> Head | None:
        words = self._read_line().split(b" ")
        if len(words) != 3 or b":" in words[0] or not words[2].isdigit():  # "<spec> missing"
            return None
        return words[0].decode(), words[1].decode(), int(words[2])

    def _read_line(self) -> bytes:
        line: bytes = self._output.readline()
        if line[-1:] != b"\n":
            raise Ended
        return line[:-1]

    def close(self) -> None:
        self._run.finish(ok=ANY)


class _Output(io.RawIOBase):
    """git's output, until the deadline."""

    def __init__(self, run: Running) -> None:
        self._run, self._out = run, run.get_pipes()[1]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what can be read; raises Late at the deadline."""
        if not self._run.wait_readable():
            self._run.terminate()
            raise Late(("git", "cat-file"), git.describe_overrun())
        return os.readv(self._out, [buffer])
