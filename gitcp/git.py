"""Run git, with the exit statuses that the caller accepts.  Input and output are bytes."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.errors import GitError
from gitcp.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

_PENDING: dict[Callable[[], object], Callable[[], object]] = memory.get_table("pending")
LASTING: dict[Git, Any] = memory.get_table("lasting")  # gits that wait for orders
# git never prompts, never translates and takes no lock merely to read; and it writes its output in
# large pieces, not by a system call for each commit.
QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_FLUSH": "0",
}
# Options without which git log and git blame print in the encoding of the person's commits.
AS_UTF8 = "-c", "i18n.logOutputEncoding=UTF-8"
# Without allow_fetch() git fetches no missing object from a promisor remote.
_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
_ALLOWED: dict[str, bool] = memory.get_table("allowed")


def allow_fetch() -> None:
    """Allow git to fetch missing objects of a partial clone: a person waits for this process."""
    _ALLOWED["fetch"] = True


def forbid_fetch() -> None:
    """Forbid fetching in this process, although a person waits for it."""
    _ALLOWED.clear()


def build_person_env(env: Mapping[str, str]) -> dict[str, str]:
    """env for the person's programs (filters, hooks, pagers): the variables that gitcp sets for its
    git have the person's own values."""
    set_here = {**QUIET, **_build_fetch_env()}
    inherited = {name: value for name, value in env.items() if name not in set_here}
    return inherited | {name: os.environ[name] for name in set_here if name in os.environ}


def build_reading_env() -> dict[str, str]:
    """The variables that keep a reading git from writing and fetching, where the person's other
    variables stay as they are because it runs the person's programs."""
    return {"GIT_OPTIONAL_LOCKS": QUIET["GIT_OPTIONAL_LOCKS"], **_build_fetch_env()}


def add_pending(call: Callable[[], object], abandon: Callable[[], object]) -> None:
    """Call call() before git starts next, so that git finds what this process wrote.  A call that
    fails stays pending; at the end of the process abandon_pending() calls its abandon() instead."""
    _PENDING[call] = abandon


def run_pending() -> bool:
    """Make the pending calls; return whether there were any."""
    calls = list(_PENDING)
    for call in calls:
        call()
        _PENDING.pop(call, None)
    return bool(calls)


def has_pending() -> bool:
    """Whether calls are pending."""
    return bool(_PENDING)


def abandon_pending() -> None:
    """Call abandon() for each call that is still pending, at the end of the process."""
    while _PENDING:
        _PENDING.popitem()[1]()


def end_lasting() -> None:
    """End the gits that wait for orders, at the end of the process: in a container whose first
    process waits for no other, each would stay as a zombie."""
    while LASTING:
        try:
            LASTING.popitem()[1].end_git()
        except GitError:
            pass  # it did not end in time, and was killed


def is_fetch_allowed() -> bool:
    """Whether allow_fetch() was called."""
    return "fetch" in _ALLOWED


def _build_fetch_env() -> dict[str, str]:
    return {} if is_fetch_allowed() else _NO_FETCH


class Git:
    """git, bound to one directory and one environment; cheap and immutable."""

    __slots__ = ("_cwd", "env")

    def __init__(self, cwd: str | None = None, env: Mapping[str, str] | None = None) -> None:
        self._cwd = cwd
        self.env = {**(os.environ if env is None else env), **QUIET, **_build_fetch_env()}

    @property
    def cwd(self) -> str:
        """The directory in which it runs."""
        return self._cwd or os.getcwd()

    def copy_with(self, cwd: str | None, env: Mapping[str, str | None]) -> Self:
        """The same git in another directory, with env over the environment, QUIET too (None:
        without)."""
        copy = type(self)(cwd, self.env)
        copy.env = {k: v for k, v in {**copy.env, **env}.items() if v is not None}
        return copy

    def start(
        self,
        *args: str | bytes,
        feed: bool = False,
        env: Mapping[str, str] | None = None,
        apart: bool = False,
        filters: bool = False,
    ) -> Running:
        """Start git and return at once; feed: it reads stdin.

        apart: in a process session of its own, without a terminal.  filters: it runs the person's
        filters, in the person's environment.
        """
        if args[0] != "config":  # it reads no object
            run_pending()
        inherited = build_person_env(self.env) if filters else self.env
        where, own = ("-C", self._cwd) if self._cwd else (), {**inherited, **(env or {})}
        encoding = AS_UTF8 if args[0] == "log" else ()
        return Running(("git", *where, *encoding, *args), own, feed, apart)

    def run(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        ok: Iterable[int] = (0,),
        env: Mapping[str, str] | None = None,
        filters: bool = False,
    ) -> tuple[int, bytes]:
        """Run git; return (status, stdout); raise GitError unless status is in ok."""
        running = self.start(*args, feed=bool(stdin), env=env, filters=filters)
        return running.finish(stdin, ok)

    def read_line(self, *args: str | bytes) -> bytes:
        """The single line git printed, without its newline."""
        return self.run(*args)[1].removesuffix(b"\n")

    def read_records(self, *args: str | bytes, sep: bytes = b"\0") -> list[bytes]:
        """The records git printed, separated by sep (NUL: pass -z to git)."""
        _, out = self.run(*args)
        return out.removesuffix(sep).split(sep) if out else []

    def stream_records(
        self, *args: str | bytes, sep: bytes = b"\0", stdin: bytes = b""
    ) -> Iterator[bytes]:
        """Like read_records(), one record at a time while git still runs."""
        return self.start(*args, feed=bool(stdin)).stream_records(sep, stdin)
