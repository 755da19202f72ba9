"""Every way a gitcp command can fail, and the status it exits with.

The statuses are git's own: 0 yes, 1 no, 128 fatal, 129 usage.  Two are borrowed
from sysexits(3): 70 is a bug in gitcp, which must not look like "no", and 75 is
"busy, try again", which a caller may retry.
"""

from __future__ import annotations

OK, NO, BUG, BUSY, FATAL, USAGE = 0, 1, 70, 75, 128, 129


class Error(Exception):
    """A failure the user should read as one line, never as a traceback."""

    status = FATAL


class UsageError(Error):
    """The command line, or a stage of a configured pipeline, is malformed."""

    status = USAGE


class InputError(Error):
    """A record on standard input cannot be read."""


class Busy(Error):
    """Another session holds the lock."""

    status = BUSY


class Changed(Busy):
    """What a plan was made for is not any more what it was."""


class NoJj(Error):
    """A jj workspace in which gitcp is enabled, and no jj to ask."""


class NoRepository(Error):
    """git sees no repository at a directory: none is around it, or git refuses that."""

    def __init__(self, at: str) -> None:
        super().__init__(f"not a git repository: '{at}'")
        self.at = at


class GitError(Error):
    """git exited with a status its caller did not declare acceptable; complaint: its own words."""

    def __init__(self, argv: tuple[str, ...], status: int, stderr: bytes) -> None:
        self.argv, self.git_status = argv, status
        self.complaint = stderr.decode(errors="replace").strip() or f"exit status {status}"
        lines = self.complaint.splitlines()
        why = "; ".join([line for line in lines if line.startswith("fatal: ")] or lines)
        super().__init__(f"'{' '.join(_strip_options(argv))}': {why.removeprefix('fatal: ')}")

    def shorten(self) -> Error:
        """The first line of git's own words, without the command: for a person who named what
        git does not know, to whom the command says nothing."""
        return Error(self.complaint.partition("\n")[0].removeprefix("fatal: "))


class Late(GitError):
    """git did not end in time, and was ended; over: which time, deadline.describe_overrun()."""

    def __init__(self, argv: tuple[str, ...], over: str) -> None:
        super().__init__(argv, -15, f"did not end {over}".encode())


def _strip_options(argv: tuple[str, ...]) -> tuple[str, ...]:
    """git's arguments without the options by which we seal it: those are for a trace."""
    at = 1
    while argv[at : at + 1] in (("-C",), ("-c",)):
        at += 2
    return (*argv[:1], *argv[at:])


class Foreign(Error):
    """A branch that is named like a stream and is the person's."""


class Moved(Error):
    """A ref is not at the value the caller decided on: somebody else moved it."""

    status = BUSY

    def __init__(self, ref: str, old: str | None, actual: str | None) -> None:
        expected, now = old or "no such ref", actual or "no such ref"
        super().__init__(f"'{ref}' has moved: expected {expected}, found {now}")
        self.ref, self.old, self.actual = ref, old, actual


def format_error(error: Exception) -> str:
    """An Error in its words, an error of the system in the system's, with the file's name; of
    a file that was to get another name the new one, which tells more."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    name = error.filename2 or error.filename
    if not name:
        return error.strerror
    words = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    return f"{error.strerror}: '{words}'"
