"""Run a command: print its errors in a line, and return its status as git does."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys

from gitcp.console import notice
from gitcp.console.notice import escape_unprintable
from gitcp.errors import BUG, FATAL, NO, OK, USAGE, Error, GitError, NoRepository, format_error
from gitcp.git import Git, abandon_pending, allow_fetch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What only a mistake of ours makes the system say; all else is wrong with the machine, a file or
# its permissions, and is told in one sentence.
_MISTAKES = (errno.EBADF, errno.EINVAL, errno.EFAULT, errno.ECHILD, errno.ESRCH, errno.EDOM)

# Objects made before garbage is looked for: records come and go, and leave none.
_FEW = 50_000

PACKAGES = ("filelock", "orjson", "plumbum")
_INSTALL = "install gitcp, or run 'make setup' in its checkout ({} has no such package)"


def run_guarded(body: Callable[[], int]) -> int:
    """Run body; say an Error on stderr, without a traceback; return the status.

    Ctrl-C lets body clean up, then ends the process as it ends git: by the signal, at which a
    loop of the shell's stops too.
    """
    gc.set_threshold(_FEW)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # die quietly under `| head`
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored no status of git comes
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_DFL:  # until here there was nothing to clean up
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _run_body(body)
    except KeyboardInterrupt:
        pass  # with it goes what its frames hold: a child that is in the middle of its answer
    finally:
        abandon_pending()
        signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    return 128 + signal.SIGINT  # where the signal is blocked


def _run_body(body: Callable[[], int]) -> int:
    """The status of body; its mistakes are told."""
    _open_streams()
    allow_fetch()
    try:
        status = _flush_output(body())
        return NO if status == OK and notice.is_incomplete() else status
    except Error as e:
        words = _explain_refusal(e) if isinstance(e, NoRepository) else str(e)
        print(
            "error:" if e.status == USAGE else "fatal:", escape_unprintable(words), file=sys.stderr
        )
        return e.status
    except OSError as e:
        if e.errno in _MISTAKES:
            sys.excepthook(*sys.exc_info())
            return BUG
        print("fatal:", escape_unprintable(format_error(e)), file=sys.stderr)
        _drop_output()
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


def _explain_refusal(e: NoRepository) -> str:
    """The message if git finds no repository; git's own if it refuses to use one."""
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


def _flush_output(status: int) -> int:
    """The status after standard output is flushed, as a failure at exit could not be reported."""
    sys.stdout.flush()
    return status


def _drop_output() -> None:
    """Drop the unwritten output, which Python would write again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
