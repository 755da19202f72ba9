"""The one door to git: its processes, until when they may run, and the trace of them; and the place
and configuration of the repository that it is bound to.

Input and output are bytes, names are texts in which surrogates stand for bytes that are not UTF-8.
The caller says which exit statuses it accepts.
"""

from __future__ import annotations

import os
import stat
import time

from gitcp import memory
from gitcp.errors import Error, GitError, Late, NoGit, hide_passwords
from gitcp.git import config_table

try:
    import _signal as signals  # `signal` around it imports `enum`, which costs a hook 2 ms
except ImportError:
    import signal as signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    import select
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from typing import Any, NoReturn, Self

    Values = dict[str, list[str]]  # key of the configuration -> its values, the strongest last


CACHE = "cache"  # the directory of what can be worked out again: anybody may delete it at any time
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
# git's hooks that a git of gitcp's would run.
_UNASKED = (
    "reference-transaction",
    "post-index-change",
    "post-checkout",
    "pre-push",
    "pre-auto-gc",
)


def silence_hooks(*events: str) -> dict[str, str]:
    """The settings by which git runs no hook of the person's at these events, be it a file or
    configured (doc/git.md "Hooks in configuration"), and no file at any other."""
    settings = {"core.hooksPath": os.devnull}
    for event in (*_UNASKED, *events):
        settings[f"hook.{event}.enabled"] = "false"
    return settings


def list_options(settings: Mapping[str, str]) -> list[str]:
    """Settings as options of git, before its command."""
    words: list[str] = []
    for key, value in settings.items():
        words += ("-c", f"{key}={value}")
    return words


# Options for a git that changes what is gitcp's: hooks are for what the person does.
WITHOUT_HOOKS = list_options(silence_hooks())
# Options without which git log and git blame print in the encoding of the person's commits.
AS_UTF8 = "-c", "i18n.logOutputEncoding=UTF-8"
# Without allow_fetch() git fetches no missing object from a promisor remote: by git since 2.44, and
# by an older one that reaches no remote at all.
_NO_LAZY_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
NOWHERE = {"GIT_ALLOW_PROTOCOL": "none"}
_ALLOWED: dict[str, bool] = memory.get_table("allowed")


def allow_fetch() -> None:
    """Allow git to fetch missing objects of a partial clone: the manual of this command says so."""
    _ALLOWED["fetch"] = True


def forbid_fetch() -> None:
    """Forbid fetching in this process from here on."""
    _ALLOWED.clear()


def is_alone(env: Mapping[str, str]) -> bool:
    """Whether git alone reads and writes its own formats: GITCP_PLAIN=1 (gitcp.git.gitdir)."""
    return env.get("GITCP_PLAIN", "0") not in ("", "0")


def build_person_env(env: Mapping[str, str]) -> dict[str, str]:
    """env for the person's programs (filters, hooks, pagers): the variables that gitcp sets for its
    git have the person's own values."""
    set_here = {**QUIET, **build_fetch_env()}
    inherited = {name: value for name, value in env.items() if name not in set_here}
    return inherited | {name: os.environ[name] for name in set_here if name in os.environ}


def build_reading_env() -> dict[str, str]:
    """The variables that keep a reading git from writing and fetching, where the person's other
    variables stay as they are because it runs the person's programs."""
    quiet = {"GIT_OPTIONAL_LOCKS": QUIET["GIT_OPTIONAL_LOCKS"]}
    if is_fetch_allowed():
        return quiet
    return {**quiet, **_NO_LAZY_FETCH}


def build_remote_env() -> dict[str, str | None]:
    """The variables for a git that is to reach a remote, whatever fetching is allowed."""
    return {name: os.environ.get(name) for name in NOWHERE}


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


def build_fetch_env() -> dict[str, str]:
    """The variables that keep git from fetching, unless that is allowed."""
    if is_fetch_allowed():
        return {}
    return {**_NO_LAZY_FETCH, **NOWHERE}


class Git:
    """git, bound to one directory and one environment; cheap and immutable.

    It finds the objects that this process has added only after Objects.flush()."""

    __slots__ = ("_cwd", "env")

    def __init__(self, cwd: str | None = None, env: Mapping[str, str] | None = None) -> None:
        self._cwd = cwd
        self.env = {**(os.environ if env is None else env), **QUIET, **build_fetch_env()}

    @property
    def cwd(self) -> str:
        """The directory in which it runs."""
        return self._cwd or os.getcwd()

    def copy_with(self, cwd: str | None, env: Mapping[str, str | None]) -> Self:
        """The same git in another directory.  env: variables to set, also those of QUIET; None
        unsets one."""
        copy = type(self)(cwd, self.env)
        copy.env = {k: v for k, v in {**copy.env, **env}.items() if v is not None}
        return copy

    def start(
        self,
        *args: str | bytes,
        feed: bool = False,
        env: Mapping[str, str | None] | None = None,
        apart: bool = False,
        filters: bool = False,
    ) -> Running:
        """Start git and return at once; feed: it reads stdin.

        env: variables to set; None unsets one.  apart: in a process session of its own, without a
        terminal.  filters: it runs the person's filters, in the person's environment.
        """
        if filters:
            inherited = build_person_env(self.env)
        else:
            inherited = self.env
        where = ("-C", self._cwd) if self._cwd else ()
        child_env = dict(inherited)
        for name, value in (env or {}).items():
            if value is None:
                child_env.pop(name, None)
            else:
                child_env[name] = value
        encoding = AS_UTF8 if args[0] == "log" else ()
        return Running(("git", *where, *encoding, *args), child_env, feed, apart)

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


# Where a repository is, and how it is configured.
class Config:
    """git's configuration, read when it is first needed.

    read: reads all of it, key -> its values, the strongest last."""

    __slots__ = ("_read", "_values")

    def __init__(self, read: Callable[[], Values]) -> None:
        self._read = read
        self._values: Values | None = None

    def get_all(self, key: str) -> list[str]:
        """Every value of key (section and name in lower case), the strongest last."""
        if self._values is None:
            self._values = self._read()
        return self._values.get(key, [])

    def read_values(self) -> Values:
        """All that is set: key -> its values, the strongest last."""
        self.get_all("")
        return self._values or {}

    def list_keys(self, prefix: str, suffix: str) -> list[str]:
        """The names of all keys that are set, start with prefix and end in suffix."""
        return [k for k in self.read_values() if k.startswith(prefix) and k.endswith(suffix)]

    def get(self, key: str, default: str = "") -> str:
        values = self.get_all(key)
        return values[-1] if values else default

    def get_flag(self, key: str, default: bool = False) -> bool:
        """A boolean as git reads it; raise Error, which names the key, for another value."""
        value = self.get(key, str(default)).lower()
        if value in ("true", "yes", "on", "1"):
            return True
        if value in ("false", "no", "off", "0", ""):
            return False
        raise Error(f"bad boolean config value '{value}' for '{key}'")

    def get_option(self, key: str) -> Any:
        """The value of a key in the table of gitcp's keys; its default if it is not set or not
        valid."""
        return config_table.read_value(key, self.get_all(key))


class Location:
    """Where a repository is: its directories, git bound to them, and its configuration.

    top (None for a bare one), git_dir and common are absolute paths.  algo: the object format.
    """

    def __init__(
        self, top: str | None, git_dir: str, common: str, algo: str, git: Git, config: Config
    ) -> None:
        self.top = top
        self.git_dir = git_dir
        self.common = common
        self.algo = algo
        self.git = git
        self.config = config
        self.uses_git_alone = is_alone(git.env)

    @property
    def worktree(self) -> str:
        """The root of the working tree; raise Error in a bare repository."""
        if self.top is None:
            raise Error(f"not a work tree: '{self.git_dir}'")
        return self.top

    @property
    def has_git(self) -> bool:
        """Whether git itself sees this worktree, so that its hooks run for commits made here."""
        return not self.git_dir.endswith("/.jj/gitcp.git")

    def join_own(self, *parts: str) -> str:
        """A path in gitcp's directory of this worktree."""
        return "/".join((self.git_dir, "gitcp", *parts))

    def join_shared(self, *parts: str) -> str:
        """A path in gitcp's directory that all worktrees share."""
        return "/".join((self.common, "gitcp", *parts))

    def join_own_cache(self, name: str) -> str:
        """A path in that of this worktree, of what can be worked out again."""
        return f"{self.git_dir}/gitcp/{CACHE}/{name}"

    def join_shared_cache(self, name: str) -> str:
        """A path in that of all worktrees, of what can be worked out again."""
        return f"{self.common}/gitcp/{CACHE}/{name}"

    def share_file(self, path: str) -> None:
        """Set the permissions of gitcp's file or directory as git sets those of its own
        (core.sharedRepository).  Raise OSError."""
        setting = self.config.get("core.sharedrepository")
        if setting:
            from gitcp.git import private_files

            mode = os.stat(path).st_mode
            shared = private_files.compute_shared_mode(setting, mode)
            if shared != stat.S_IMODE(mode):
                os.chmod(path, shared)

    def make_folder(self, path: str) -> None:
        """Create a directory in the git directory, shared as git's are.  Raise OSError."""
        if not os.path.isdir(path):
            self.make_folder(os.path.dirname(path))
            try:
                os.mkdir(path)
            except FileExistsError:
                return
            self.share_file(path)

    @property
    def empty_tree(self) -> str:
        return {
            "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }[self.algo]


# The deadline of this process, which a hook sets and every wait obeys.
#
# A command that a person starts has none.
# seconds: one call of git, a whole hook (gitcp-config(5))
EACH = 60
TOTAL = 120
_limits: dict[str, float] = memory.get_table("limits")


def begin_deadline(total: float = TOTAL, each: float = EACH, is_bound: bool = True) -> None:
    """Give this process total seconds from now, and each call of git at most `each` seconds.

    is_bound: whether set_bound() limits them."""
    now = time.monotonic()
    _limits.setdefault("begun", now)
    _limits.update(end=now + total, each=each, is_bound=is_bound)


def set_bound(most: float) -> None:
    """Limit the deadline to `most` seconds after the first begin_deadline(), when the caller of the
    hook stops waiting."""
    _limits["bound"] = _limits["begun"] + most


def extend_deadline(seconds: float) -> None:
    """Give the process and each call of git so many seconds more: there is much to read, or it
    waited for others."""
    for name in _limits.keys() & {"end", "each"}:
        _limits[name] += seconds


def count_seconds_left() -> float | None:
    """The seconds for the next call; 0 after the deadline, None without one."""
    if not _limits:
        return None
    return max(0.0, min(_compute_end() - time.monotonic(), _limits["each"]))


def describe_overrun(limit: float | None = None) -> str:
    """In what time git did not answer, as the end of a message.  limit: the seconds of this call,
    by default those of every call."""
    if _limits and time.monotonic() > _compute_end() - 0.01:
        return "before the time of the whole hook was over"
    return f"in {limit or _limits.get('each', EACH):.3g} seconds"


def _compute_end() -> float:
    end = _limits["end"]
    if _limits["is_bound"]:
        return min(end, _limits.get("bound", end))
    return end


# A process of git or jj: start it, write its input, read its output, and end it when its time is
# over.
#
# Input and output are bytes.  posix_spawn is used because importing subprocess costs a hook 13 ms.
ANY = range(-64, 256)  # any status, also of a signal
_GRACE = 0.3  # seconds from SIGTERM to SIGKILL, and for the other processes of the group
_MOST_ERRORS = 1 << 20  # bytes of errors that are kept during a conversation


class Running:
    """A started process of git or jj.  finish() writes its input, reads its output, waits for its
    end, and sets errors to its standard error.

    feed: whether it gets input.  apart: start it in a session of its own, which terminate() ends as
    a whole.
    """

    def __init__(
        self,
        argv: tuple[str | bytes, ...],
        env: Mapping[str, str],
        feed: bool,
        apart: bool = False,
    ) -> None:
        self._argv = argv
        self._began = time.perf_counter()
        self._apart = apart
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
            raise NoGit(_decode_argv(argv), e) from None
        finally:
            for fd in ends:
                os.close(fd)

    def finish(
        self, stdin: bytes = b"", ok: Iterable[int] = (0,), limit: float | None = None
    ) -> tuple[int, bytes]:
        """Return (status, stdout); raise GitError unless the status is in ok.

        limit: seconds, by default those up to the deadline.  After them the process is ended, and
        Late raised.
        """
        if limit is None:
            limit = count_seconds_left()
        out, self.errors = self._communicate(stdin, limit)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if is_tracing():
            took = (time.perf_counter() - self._began) * 1e3
            append_trace("git", f"{' '.join(_decode_argv(self._argv))} ({status}, {took:.1f} ms)")
        if status not in ok:
            raise GitError(_decode_argv(self._argv), status, self.errors)
        return status, out

    def get_pipes(self) -> tuple[int, int]:
        """(stdin, stdout) of the process, for a conversation, which finish() ends."""
        return self._in, self._out

    def stream_records(
        self, sep: bytes = b"\0", stdin: bytes = b""
    ) -> Generator[bytes, None, None]:
        """Yield the records that git prints, each ended by the byte sep, as soon as it prints them.

        stdin: for a git that reads all of it before it prints.  Raises GitError after the last
        record unless the status is 0, and Late at the deadline.  If the caller closes the
        generator, git ends at its next write.
        """
        parts: list[bytes] = []
        try:
            self._write_stdin(stdin)
            while True:
                data = self.read_next()
                if not data:
                    break
                if sep in data:
                    *records, end = (b"".join(parts) + data).split(sep)
                    yield from records
                    parts = [end]
                else:
                    parts.append(data)
            end = b"".join(parts)
            if end:
                yield end
        except GeneratorExit:
            os.close(self._out)
            os.close(self._err)
            os.waitpid(self.pid, 0)
            raise
        self.finish()

    def _write_stdin(self, stdin: bytes) -> None:
        fill_pipe(self._in, stdin)
        if self._in >= 0:
            os.close(self._in)
            self._in = -1

    def wait_readable(self) -> bool:
        """Wait for output, or for the end of the process; False at the deadline.  Its errors are
        read meanwhile, so that the process does not wait for a full pipe."""
        if self._poll is None:
            import select

            self._poll = select.poll()
            for fd in (self._out, self._err):
                self._poll.register(fd, select.POLLIN)
        while True:
            limit = count_seconds_left()
            ready = [fd for fd, _ in self._poll.poll(None if limit is None else limit * 1000)]
            if self._out in ready or not ready:
                return bool(ready)
            data = os.read(self._err, 1 << 16)
            if not data:
                self._poll.unregister(self._err)
            elif sum(map(len, self._complaints)) < _MOST_ERRORS:
                self._complaints.append(data)

    def read_next(self) -> bytes:
        """The next output, b"" at its end; raises Late at the deadline."""
        if not self.wait_readable():
            self._end_overdue((self._out, self._err))
        return os.read(self._out, 1 << 16)

    def terminate(self) -> None:
        """End the process without reading its output; if apart, with its whole session."""
        send = os.killpg if self._apart else os.kill
        reaped = 0
        for sign, patience in ((signals.SIGTERM, _GRACE), (signals.SIGKILL, 60.0)):
            # The other processes of the group are reaped by init.
            until = time.monotonic() + (_GRACE if reaped else patience)
            try:
                send(self.pid, sign)
                while time.monotonic() < until:
                    if not reaped:
                        reaped = os.waitpid(self.pid, os.WNOHANG)[0]
                        if reaped:
                            until = min(until, time.monotonic() + _GRACE)
                    if reaped and not self._apart:
                        return
                    if reaped:
                        send(self.pid, 0)  # raises ProcessLookupError when the group is gone
                    time.sleep(0.005)
            except ProcessLookupError:
                return

    def _communicate(self, stdin: bytes, limit: float | None) -> tuple[bytes, bytes]:
        """(output, errors), read while stdin is written: git does not read on while its output
        pipe is full."""
        parts: dict[int, list[bytes]] = {self._out: [], self._err: self._complaints}
        import select

        waiting = dict.fromkeys(parts, select.POLLIN)
        unwritten = memoryview(stdin)
        if unwritten:
            os.set_blocking(self._in, False)
            waiting[self._in] = select.POLLOUT
        elif self._in >= 0:
            os.close(self._in)
        poll = select.poll()
        until = time.monotonic() + (limit or 0)
        for fd, event in waiting.items():
            poll.register(fd, event)
        while parts.keys() & waiting.keys():
            if limit is None:
                wait = None
            else:
                wait = max(0.0, until - time.monotonic()) * 1000
            ready = poll.poll(wait)
            if not ready:
                self._end_overdue(waiting, limit)
            for fd, _ in ready:
                if fd == self._in:
                    unwritten = feed_pipe(fd, unwritten)
                    ended = not unwritten
                else:
                    data = os.read(fd, 1 << 16)
                    parts[fd].append(data)
                    ended = not data
                if ended:
                    poll.unregister(fd)
                    os.close(fd)
                    del waiting[fd]
        for fd in waiting:
            os.close(fd)  # git ended without reading all of its input
        return b"".join(parts[self._out]), b"".join(parts[self._err])

    def _end_overdue(self, pipes: Iterable[int], limit: float | None = None) -> NoReturn:
        """Close the pipes, end the process, and raise Late.  limit: as for describe_overrun()."""
        for fd in pipes:
            os.close(fd)
        self.terminate()
        raise Late(_decode_argv(self._argv), describe_overrun(limit))


def reset_signals() -> None:
    """Let Ctrl-C end this process at any point without a message, and keep the status of children:
    some services start programs that ignore SIGCHLD."""
    if signals.getsignal(signals.SIGINT) is signals.default_int_handler:
        signals.signal(signals.SIGINT, signals.SIG_DFL)
    signals.signal(signals.SIGCHLD, signals.SIG_DFL)


def fill_pipe(fd: int, data: bytes) -> None:
    """feed_pipe() until nothing remains."""
    remaining = memoryview(data)
    while remaining:
        remaining = feed_pipe(fd, remaining)


def feed_pipe(fd: int, left: memoryview) -> memoryview:
    """Write as much as a pipe takes now; return the remaining bytes, none if its reader is gone.

    SIGPIPE is held back meanwhile: it ends a command only if the reader of its own output is gone.
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


# GITCP_TRACE=<file>: one line for each decision and for each process, appended.
_FILE = os.environ.get("GITCP_TRACE", "")
_START = time.perf_counter()


def append_trace(subject: str, detail: str) -> None:
    """Append `<ms since start> <pid> <subject>: <detail>` to the trace file, if there is one.

    A trace file that cannot be written is ignored.
    """
    if not is_tracing():
        return
    head = f"{(time.perf_counter() - _START) * 1e3:8.1f} {os.getpid()} {subject}"
    line = f"{head}: {hide_passwords(detail)}\n"
    try:
        fd = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(fd, line.encode("utf-8", "backslashreplace"))
        os.close(fd)
    except OSError:
        pass


def is_tracing() -> bool:
    """Whether there is a trace file."""
    return bool(_FILE)


def decode_name(name: bytes) -> str:
    """Decode a name for use inside the program; encode_name() gives the same bytes back."""
    return name.decode("utf-8", "surrogateescape")


def encode_name(name: str) -> bytes:
    """The bytes of a name, for the operating system and for git."""
    return name.encode("utf-8", "surrogateescape")


def format_now() -> str:
    """Now as RFC 3339 with microseconds, in UTC."""
    seconds, micro = divmod(time.time_ns() // 1000, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{micro:06d}Z"
