"""Run a command: print an error as one line, and return a status as git does."""

from __future__ import annotations

import errno
import gc
import os
import sys

from gitcp.console import notice
from gitcp.console.notice import escape_unprintable
from gitcp.errors import BUG, FATAL, NO, OK, USAGE, Error, GitError, NoRepository, format_error
from gitcp.git import Git, abandon_pending, allow_fetch, end_lasting
from gitcp.start.cpython import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Errors that only a bug of gitcp causes; others are about the machine, a file or its permissions.
_BUGS = (errno.EBADF, errno.EINVAL, errno.EFAULT, errno.ECHILD, errno.ESRCH, errno.EDOM)

_FEW = 50_000  # objects that are made before a garbage collection: records leave no garbage

PACKAGES = ("filelock", "orjson", "plumbum")
# Of the kinds of notice.warn_lacking(): what several are called, and what helps.
_LACKING = {
    notice.TRANSCRIPT: "transcripts are not here",
    notice.ABSENT: "parts of checkpoints are not here",
    notice.DAMAGED: "checkpoints are damaged and read in part",
}
_FETCH = "'gitcp fetch --all' brings what a remote has"
_REMEDIES = {
    notice.TRANSCRIPT: _FETCH,
    notice.ABSENT: _FETCH,
    notice.DAMAGED: "'gitcp fsck' lists what is damaged",
}
_INSTALL = "run 'make setup' in the checkout of gitcp ({} has no such package)"


def run_guarded(body: Callable[[], int]) -> int:
    """Run body; print an Error on stderr, without a traceback; return the status.

    Ctrl-C lets body clean up, then ends the process by the signal, as it ends git, so that a loop
    in the shell ends too.
    """
    gc.set_threshold(_FEW)
    signals.signal(signals.SIGPIPE, signals.SIG_DFL)  # end quietly under `| head`
    signals.signal(signals.SIGCHLD, signals.SIG_DFL)  # if it is ignored, the status of git is lost
    before = signals.getsignal(signals.SIGINT)
    if before == signals.SIG_DFL:  # from here on there is something to clean up
        signals.signal(signals.SIGINT, signals.default_int_handler)
    try:
        return _run_body(body)
    except KeyboardInterrupt:
        pass  # its frames, which hold children that still answer, are released here
    finally:
        abandon_pending()
        end_lasting()
        signals.signal(signals.SIGINT, before)
    signals.signal(signals.SIGINT, signals.SIG_DFL)
    os.kill(os.getpid(), signals.SIGINT)
    return 128 + int(signals.SIGINT)  # the signal is blocked


def _run_body(body: Callable[[], int]) -> int:
    """The status of body, or of its error, which is printed."""
    _open_streams()
    allow_fetch()
    notice.wait_for_end()
    try:
        status = body()
        sys.stdout.flush()  # a failure at exit could not be reported
        return NO if status == OK and notice.is_incomplete() else status
    except Error as e:
        kind = "error:" if e.status == USAGE else "fatal:"
        message = _explain_refusal(e) if isinstance(e, NoRepository) else str(e)
        print(kind, _join_lines(escape_unprintable(message)), file=sys.stderr)
        return e.status
    except OSError as e:
        if e.errno in _BUGS:
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
    finally:
        _print_lacking()


def _print_lacking() -> None:
    """Print what was missing: one line for each kind, with the first as the example of several."""
    for kind, (first, *later) in notice.list_lacking().items():
        count, remedy = len(later) + 1, _REMEDIES[kind]
        several = f"{count} {_LACKING[kind]}, such as {first}; " if later else f"{first}; "
        message = several.replace("\n", " ") + remedy
        print("warning:", escape_unprintable(message), file=sys.stderr)


def _join_lines(message: str) -> str:
    """A message in one line, but for usage and lists: a name in it may have a line break."""
    first, *rest = message.split("\n")
    return first + "".join(f"\n{x}" if x.startswith(("usage: ", "  ")) else f" {x}" for x in rest)


def _explain_refusal(e: NoRepository) -> str:
    """The message if git finds no repository; git's own if it refuses to use one."""
    try:
        Git(e.at).run("rev-parse", "--git-dir")
    except GitError as error:
        lines = error.complaint.removeprefix("fatal: ").splitlines()
        reason, remedy = lines[0], lines[-1].strip()
        if not reason.startswith("not a git repository"):
            return f"{reason}; '{remedy}' trusts it" if "safe.directory" in remedy else reason
    return str(e)


def _open_streams() -> None:
    """Open the null device for a closed standard stream, as git does, so that no file takes its
    descriptor."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
            setattr(sys, name, os.fdopen(fd, "w" if fd else "r"))


def _drop_output() -> None:
    """Drop the unwritten output, which Python would try to write again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
