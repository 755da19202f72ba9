"""The long-lived `git cat-file` that resolves names and reads objects, also in bulk and ahead of
their use; and the objects that a partial clone lacks."""

from __future__ import annotations

import io
import os

from gitcp import git
from gitcp.errors import GitError, Late
from gitcp.git import ANY, encode_name, fill_pipe, is_fetch_allowed
from gitcp.git.gitdir import Unsure
from gitcp.git.records import encode_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from gitcp.git import Location, Running

    Object = tuple[str, str, bytes]  # oid, kind, data
    Head = tuple[str, str, int]  # oid, kind, bytes
    Answer = TypeVar("Answer")
    # What is read without git: the object, or the oid, that a name stands for.  Raises Unsure.
    ReadDirect = Callable[[str], "Object | None"]
    FindDirect = Callable[[str], "str | None"]

# With --buffer git writes its answers together, at a flush.
_COMMAND = ("cat-file", "--batch-command", "--buffer", "-z")
_PIPE = 1 << 16  # bytes that a pipe holds
_NAMES = 1 << 15  # bytes of names that fit into it, which git repeats if they are missing
_WINDOW = 400  # full names that fit
_FEW = 100  # objects that are read without git in less time than git takes to start
_SMALL = 1 << 16  # bytes of an object
# Without a walk below them, and without a fetch.
_EXISTING = """rev-list --objects --no-object-names --ignore-missing --missing=print --no-walk
--filter=tree:0 --stdin""".split()
_HEX = frozenset("0123456789abcdef")


def list_missing(repo: Location, oids: Iterable[str]) -> set[str]:
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

    def __init__(self, repo: Location) -> None:
        self._repo = repo
        self._has_ended = False
        self._start()

    def _start(self) -> None:
        env = None if is_fetch_allowed() else git.NOWHERE
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
        if self._has_ended:
            missing = self._list_missing(specs)
        else:
            missing = set()
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
                result = None
                if self._restart() < 0:
                    result = self._ask_again(command, spec, answer)
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
        try:
            self._run.finish(ok=ANY)
        except ChildProcessError:
            pass  # it was ended at the deadline


class _Output(io.RawIOBase):
    """git's output, until the deadline."""

    def __init__(self, run: Running) -> None:
        self._run = run
        self._out = run.get_pipes()[1]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what can be read; raises Late at the deadline."""
        if not self._run.wait_readable():
            self._run.terminate()
            raise Late(("git", "cat-file"), git.describe_overrun())
        return os.readv(self._out, [buffer])


class Ahead:
    """The Batch of a database, started when it is first needed, and what it reads in bulk: what
    fetch() has read stays in memory until forget().  Few objects are read without git, unless it
    runs already."""

    def __init__(self, repo: Location, read: ReadDirect, find: FindDirect) -> None:
        """read, find: those of the database that ask no git."""
        self._repo = repo
        self._read_direct = read
        self._find_direct = find
        self.batch: Batch | None = None
        self.got: dict[str, Object | None] = {}
        self._begun: list[str] = []  # what git reads meanwhile
        self._answers: Iterator[Object | None] = iter(())
        self._remote: str | None = None

    def fetch(self, oids: Iterable[str]) -> None:
        """Read these objects into memory."""
        self.take_begun()
        self._fetch([oid for oid in dict.fromkeys(oids) if oid not in self.got])

    def hold(self, oid: str, kind: str, data: bytes) -> None:
        """Keep an object in memory that is not stored."""
        self.got[oid] = oid, kind, data

    def begin(self, oids: Iterable[str]) -> None:
        """forget(), and have git read these objects meanwhile, for the next read()."""
        self.take_begun()
        self.forget()
        self._begun = self._read_few(list(dict.fromkeys(oids)))
        self._answers = self._ask(self._begun[:_WINDOW])

    def take_begun(self) -> None:
        """Read the rest of what begin() asked for, so that git can be asked for something else."""
        begun = self._begun
        self._begun = []
        self.got.update(zip(begun, self._answers, strict=False))
        self._fetch(begun[_WINDOW:])

    def _fetch(self, oids: Sequence[str]) -> None:
        oids = self._read_few(oids)
        for start in range(0, len(oids), _WINDOW):
            part = oids[start : start + _WINDOW]
            self.got.update(zip(part, self._ask(part), strict=True))

    def _read_few(self, oids: Sequence[str]) -> list[str]:
        """Read objects without git if they are few; return those that git has to read."""
        if self.batch or len(oids) > _FEW:
            return [*oids]
        left: list[str] = []
        for oid in oids:
            try:
                self.got[oid] = self._read_direct(oid)
            except Unsure:
                left.append(oid)
        return left

    def _ask(self, part: Sequence[str]) -> Iterator[Object | None]:
        if not part:
            return iter(())
        if self._remote is None:
            self._remote = find_remote(self._repo)
        if self._remote and is_fetch_allowed():
            fetch_missing(self._repo, self._remote, part)
            if not is_fetch_allowed():
                self.end_batch()  # it would ask the remote for each object
        return self._open_batch().read_objects(part)

    def fetch_small(self, oids: Iterable[str]) -> None:
        """fetch() for the small ones of these objects."""
        unread = [oid for oid in dict.fromkeys(oids) if oid not in self.got]
        for start in range(0, len(unread), _WINDOW):
            heads = self.get_batch().find_heads(unread[start : start + _WINDOW])
            self.fetch([head[0] for head in heads if head and head[1] <= _SMALL])

    def resolve(self, specs: Iterable[str]) -> dict[str, str | None]:
        """name -> oid, None if it is missing."""
        names = list(dict.fromkeys(specs))
        oids = self._resolve_few(names)
        window: list[str] = []
        size = 0
        for spec in [*(name for name in names if name not in oids), ""]:
            if not spec and not window:
                break
            if not spec or size + len(encode_name(spec)) > _NAMES:
                heads = self.get_batch().find_heads(window)
                oids.update((n, head and head[0]) for n, head in zip(window, heads, strict=True))
                window = []
                size = 0
            window.append(spec)
            size += len(encode_name(spec)) + len(b"info \n missing")
        return oids

    def _resolve_few(self, names: Sequence[str]) -> dict[str, str | None]:
        """resolve() of those names for which git is not needed, if they are few."""
        oids: dict[str, str | None] = {}
        if self.batch or len(names) > _FEW or find_promisor(self._repo):
            return oids  # that a file has a name does not mean that its content is here
        for name in names:
            try:
                oids[name] = self._find_direct(name)
            except Unsure:
                continue
        return oids

    def forget(self) -> None:
        """Forget what was fetched, so that memory stays bounded."""
        self.got.clear()

    def has(self, spec: str) -> bool:
        """Whether the object is in memory, or known to be missing."""
        if self._begun:
            self.take_begun()
        return spec in self.got

    def get_batch(self) -> Batch:
        """git's process, ready for another question."""
        self.take_begun()
        return self._open_batch()

    def _open_batch(self) -> Batch:
        if self.batch is None:
            self.batch = Batch(self._repo)
        return self.batch

    def end_batch(self) -> None:
        """End git; the next one gets the environment of its own start."""
        if self.batch:
            self.batch.close()
            self.batch = None


# Objects that a partial clone has left with its remote.
#
# A command may fetch them, many at once (git.allow_fetch()); git would fetch them one by one.  A
# hook never fetches.
_WHICH = "rev-list --objects --no-object-names --ignore-missing --missing=print --no-walk --stdin"
_LOST = "fsck --connectivity-only --no-dangling --no-reflogs --no-progress"
_FETCH = (
    *git.WITHOUT_HOOKS,
    *"-c fetch.negotiationAlgorithm=noop fetch -q --no-tags --no-write-fetch-head".split(),
    *"--no-auto-maintenance --recurse-submodules=no --filter=blob:none".split(),
)


def find_remote(repo: Location) -> str:
    """The remote of a partial clone; '' in a complete clone, or if fetching is not allowed."""
    return find_promisor(repo) if is_fetch_allowed() else ""


def find_promisor(repo: Location) -> str:
    """The remote of a partial clone; '' in a complete clone."""
    name = repo.config.get("extensions.partialclone")
    if name:
        return name
    for key in repo.config.list_keys("remote.", ".promisor"):
        if repo.config.get_flag(key):
            return key.removeprefix("remote.").removesuffix(".promisor")
    return ""


def list_unpromised(repo: Location, oids: Sequence[str], missing: set[str]) -> set[str]:
    """The oids of missing that oids need and that no remote has promised."""
    if not missing or not find_promisor(repo):
        return missing
    _, out = repo.git.run(*_LOST.split(), *oids, ok=range(256))
    lost = (line.split() for line in out.decode(errors="replace").splitlines())
    return missing.intersection(words[-1] for words in lost if words[:1] == ["missing"])


def forbid_fetch(repo: Location) -> None:
    """Fetch no objects any more in this process."""
    git.forbid_fetch()
    repo.git.env.update({"GIT_NO_LAZY_FETCH": "1", **git.NOWHERE})


def lacks_objects(repo: Location, oids: Sequence[str]) -> bool:
    """Whether an object of these trees is missing here."""
    return bool(_list_below(repo, oids))


def _list_below(repo: Location, oids: Sequence[str]) -> list[str]:
    """The missing objects that these trees refer to."""
    _, out = repo.git.run(*_WHICH.split(), stdin=encode_lines(oids))
    return [oid[1:] for oid in out.decode().split() if oid[0] == "?"]


def fetch_missing(
    repo: Location, name: str, oids: Sequence[str], within: float | None = None, walk: bool = False
) -> bool:
    """Fetch the missing objects; if the remote cannot be reached, it is not asked again.

    within: seconds; False if that was too short.  walk: fetch what the objects refer to as well.
    """
    oids = [oid for oid in oids if len(oid) == len(repo.empty_tree) and _HEX.issuperset(oid)]
    try:
        away = encode_lines([*list_missing(repo, oids), *(_list_below(repo, oids) if walk else ())])
        if away:
            env = {"GITCP_ACTIVE": "1", **git.build_remote_env()}
            running = repo.git.start(*_FETCH, name, "--stdin", env=env, feed=True, apart=True)
            running.finish(away, limit=within)
    except Late:
        return False
    except GitError as e:
        git.append_trace("objects", f"not fetched: {e}")
        forbid_fetch(repo)
    return True
