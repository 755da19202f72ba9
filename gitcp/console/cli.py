"""What every command shares: usage in git's manner, one-line errors, a status."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import signal
import sys

from gitcp import commands, record
from gitcp.console import notice
from gitcp.errors import (
    BUG,
    FATAL,
    NO,
    OK,
    USAGE,
    Error,
    GitError,
    NoRepository,
    UsageError,
    sentence,
)
from gitcp.git import Git, may_fetch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from gitcp.core.record_types import Stage

# What only a mistake of ours makes the system say; all else is wrong with the machine, a file or
# its permissions, and is told in one sentence.
_MISTAKES = (errno.EBADF, errno.EINVAL, errno.EFAULT, errno.ECHILD, errno.ESRCH, errno.EDOM)

# Objects made before garbage is looked for: records come and go, and leave none.
_FEW = 50_000

printable = notice.printable

PACKAGES = ("filelock", "orjson", "plumbum")
_INSTALL = "install gitcp, or run 'make setup' in its checkout ({} has no such package)"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises on misuse and never guesses abbreviations.

    name: the command's in the table of commands, which says what it is for.
    """

    def __init__(self, name: str) -> None:
        called = _called(name)
        summary = commands.summary(called)
        text = f"{summary[0].upper()}{summary[1:]}."
        super().__init__(prog=f"gitcp-{called}", description=text, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


def of_revisions(name: str) -> Parser:
    """The parser of a command that takes the revisions of a history and nothing else."""
    p = Parser(name)
    p.add_argument(
        "revision", nargs="*", metavar="<revision>", help="as in git-log(1) (default: HEAD)"
    )
    return p


def _called(name: str) -> str:
    """The command as a person named it: some have a short name beside that of their stage."""
    short = os.path.basename(sys.argv[0]).removeprefix("gitcp-")
    return short if commands.ALIASES.get(short) == name else name


def guard(body: Callable[[], int]) -> int:
    """Run body; say an Error on stderr, without a traceback; return the status."""
    gc.set_threshold(_FEW)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # die quietly under `| head`
    _open_streams()
    may_fetch()
    try:
        status = _flushed(body())
        return NO if status == OK and notice.incomplete() else status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Error as e:
        words = _refused(e) if isinstance(e, NoRepository) else str(e)
        print("error:" if e.status == USAGE else "fatal:", printable(words), file=sys.stderr)
        return e.status
    except OSError as e:
        if e.errno in _MISTAKES:
            sys.excepthook(*sys.exc_info())
            return BUG
        print("fatal:", printable(sentence(e)), file=sys.stderr)
        _abandon()
        return FATAL
    except ImportError as e:
        if (e.name or "").partition(".")[0] not in PACKAGES:
            sys.excepthook(*sys.exc_info())
            return BUG
        print(f"fatal: {e}: {_INSTALL.format(sys.executable)}", file=sys.stderr)
        return FATAL
    except Exception:
        sys.excepthook(*sys.exc_info())
        return BUG


def _refused(e: NoRepository) -> str:
    """What is to be said where git sees no repository: git's own words where it refuses one."""
    try:
        Git(e.at).run("rev-parse", "--git-dir")
    except GitError as error:
        lines = error.complaint.removeprefix("fatal: ").splitlines()
        why, trust = lines[0], lines[-1].strip()
        if not why.startswith("not a git repository"):
            return f"{why}; '{trust}' trusts it" if "safe.directory" in trust else why
    return str(e)


def _open_streams() -> None:
    """Give a closed standard stream the null device, as git does: no file may take its place."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
            setattr(sys, name, os.fdopen(fd, "w" if fd else "r"))


def _flushed(status: int) -> int:
    """The status, once everything said has arrived: at exit it would be too late to tell."""
    sys.stdout.flush()
    return status


def _abandon() -> None:
    """Drop what stdout could not take, which Python would try again at its exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def filter_main(bind: Callable[[Sequence[str]], Stage], argv: Sequence[str]) -> int:
    """The main of a stage that reads records: stdin, through the stage, to stdout."""

    def body() -> int:
        stage = bind(argv)
        record.write(sys.stdout.buffer, stage(record.read(sys.stdin.buffer)))
        return OK

    return guard(body)


def source_main(bind: Callable[[Sequence[str]], Stage], argv: Sequence[str]) -> int:
    """The main of a stage that begins a pipe: it reads nothing."""

    def body() -> int:
        record.write(sys.stdout.buffer, bind(argv)(()))
        return OK

    return guard(body)


def agreed(question: str) -> bool:
    """Whether the person at the terminal says yes; where there is none, it was said already."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(printable(question).replace("\n", " "), "[Y/n] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def chosen(question: str, words: Sequence[str]) -> str:
    """Which of words the person at the terminal takes, by its beginning: the first for a mere
    Enter, and where there is no terminal; the last for whatever is none of them."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return words[0]
    listed = "/".join(f"[{word[0]}]{word[1:]}" for word in words)
    print(printable(question).replace("\n", " "), listed, end=" ", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if answer == "\n":
        return words[0]
    given = answer.strip().lower()
    return next((word for word in words if given and word.startswith(given)), words[-1])


def colour(stream: object, setting: str = "") -> bool:
    """Whether to colour what goes to stream: by setting (color.ui), else at a terminal.

    NO_COLOR and a terminal that is dumb speak against it.
    """
    tty = getattr(stream, "isatty", lambda: False)
    if setting.lower() == "always":
        return True
    if setting.lower() in ("never", "false", "no", "off") or os.environ.get("NO_COLOR"):
        return False
    return bool(tty()) and os.environ.get("TERM") != "dumb"
