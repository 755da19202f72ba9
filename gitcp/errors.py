"""The errors of gitcp's commands, with their exit statuses.

The statuses are git's: 0 yes, 1 no, 128 fatal, 129 usage.  Two are of sysexits(3): 70 is a bug in
gitcp, and 75 is "busy, try again".
"""

from __future__ import annotations

OK = 0
NO = 1
BUG = 70
BUSY = 75
FATAL = 128
USAGE = 129


class Error(Exception):
    """A failure that is printed as one line, without a traceback and without a URL's password."""

    status = FATAL

    def __str__(self) -> str:
        return hide_passwords(super().__str__())


class UsageError(Error):
    """The command line, or a stage of a configured pipeline, is malformed."""

    status = USAGE


class InputError(Error):
    """A record on standard input cannot be read."""


class UnknownAgent(InputError):
    """Nothing here is or was an agent of that name."""


class Busy(Error):
    """Another session holds the lock."""

    status = BUSY


class Changed(Busy):
    """The files or refs of a plan have changed since it was made."""


class NoJj(Error):
    """gitcp was enabled in a jj workspace, and jj cannot be found, or may not be asked."""


class NoRepository(Error):
    """git finds no repository around a directory, or refuses to use it."""

    def __init__(self, at: str) -> None:
        super().__init__(f"not a git repository: '{at}'")
        self.at = at


class GitError(Error):
    """git exited with a status that its caller does not accept; complaint: its standard error."""

    def __init__(self, argv: tuple[str, ...], status: int, stderr: bytes) -> None:
        self.argv = argv
        self.git_status = status
        self.complaint = stderr.decode(errors="replace").strip() or f"exit status {status}"
        lines = self.complaint.splitlines()
        why = "; ".join([line for line in lines if line.startswith("fatal: ")] or lines)
        super().__init__(f"'{' '.join(_strip_options(argv))}': {why.removeprefix('fatal: ')}")

    def shorten(self) -> Error:
        """The line of git's message that is fatal, else the first, without the command: for a
        person who named something that git does not know."""
        lines = self.complaint.splitlines()
        fatal = (line for line in lines if line.startswith("fatal: "))
        return Error(next(fatal, lines[0]).removeprefix("fatal: ").removeprefix("error: "))


class NoGit(GitError):
    """git, or another program that was to answer, cannot be started."""

    def __init__(self, argv: tuple[str, ...], error: OSError) -> None:
        reason = f"cannot start '{argv[0]}': {error.strerror}"
        if isinstance(error, FileNotFoundError) and argv[0] == "git":
            reason = "git is not installed, or not on PATH; gitcp needs git 2.39 or later"
        super().__init__(argv, 127, reason.encode())
        self.args = (reason,)


class Late(GitError):
    """git did not end in time and was killed; over: the limit, git.describe_overrun()."""

    def __init__(self, argv: tuple[str, ...], over: str) -> None:
        super().__init__(argv, -15, f"did not end {over}".encode())


def _strip_options(argv: tuple[str, ...]) -> tuple[str, ...]:
    """git's arguments without the options that gitcp adds to every call."""
    at = 1
    while argv[at : at + 1] in (("-C",), ("-c",)):
        at += 2
    return (*argv[:1], *argv[at:])


class Foreign(Error):
    """A branch of the person with the name of a stream."""


class Moved(Error):
    """A ref does not have the value that the caller read: another process moved it."""

    status = BUSY

    def __init__(self, ref: str, old: str | None, actual: str | None) -> None:
        expected = old or "no such ref"
        now = actual or "no such ref"
        super().__init__(f"'{ref}' has moved: expected {expected}, found {now}")
        self.ref = ref
        self.old = old
        self.actual = actual


def hide_passwords(text: str) -> str:
    """A text whose URLs have no user name and no password, of which either may be a token."""
    before, *rest = text.split("://")
    for part in rest:
        host = 0
        while host < len(part) and part[host] not in "/ \t\r\n":
            host += 1
        start = part.rfind("@", 0, host) + 1
        end = start
        while end < len(part) and part[end] not in _AFTER_URL:
            end += 1
        before += "://"
        before += drop_tokens(part[start:end])
        before += part[end:]
    return before


_AFTER_URL = " \t\r\n'\"`<>"
# Parameters of a URL's query that are a token or a password, with `_` for `-`.
_SECRET = "token", "password", "passwd", "secret", "api_key", "apikey", "signature", "sig"


def drop_tokens(url: str) -> str:
    """A URL without the parameters of its query whose names tell of a token or a password."""
    place, found, query = url.partition("?")
    if not found:
        return url
    query, sign, fragment = query.partition("#")
    parameters = query.split("&")
    kept = [parameter for parameter in parameters if not _is_secret(parameter)]
    if kept == parameters:
        return url
    if kept:
        place += "?"
        place += "&".join(kept)
    place += sign
    return place + fragment


def _is_secret(parameter: str) -> bool:
    name = parameter.partition("=")[0]
    name = name.lower()
    name = name.replace("-", "_")
    return name in _SECRET or name.endswith(("_token", "_secret", "_signature"))


def format_error(error: Exception) -> str:
    """An Error in its words, an error of the system in the system's, with the file's name; of
    a file that was to get another name the new one, which tells more."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    name = error.filename2 or error.filename
    if not name:
        return error.strerror
    if isinstance(name, bytes):
        words = name.decode("utf-8", "surrogateescape")
    else:
        words = name
    return f"{error.strerror}: '{words}'"
