"""Parse command lines and write output, for all commands."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import re
import shutil
import signal
import sys
from importlib import import_module

from gitcp import commands, git
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
    format_error,
)
from gitcp.git import Git, end_lasting, shell
from gitcp.git import records as record
from gitcp.git.gitdir import packs
from gitcp.git.objects import abandon_unflushed
from gitcp.git.repo import Repo
from gitcp.text import console, spans, term
from gitcp.text.console import escape_unprintable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn, TypeVar

    from gitcp.commands import Rows
    from gitcp.text.spans import Line

    Shown = TypeVar("Shown")

# Run a command: print an error as one line, and return a status as git does.
# Errors that only a bug of gitcp causes; others are about the machine, a file or its permissions.
_BUGS = (errno.EBADF, errno.EINVAL, errno.EFAULT, errno.ECHILD, errno.ESRCH, errno.EDOM)
ENDS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
_FEW = 50_000  # objects that are made before a garbage collection: records leave no garbage
_FULL = 1 << 20  # bytes: gitcp writes nothing to a disk that has less left
PACKAGES = ("filelock", "orjson", "plumbum")
# Of the kinds of console.warn_lacking(): what several are called, and what helps.
_LACKING = {
    console.TRANSCRIPT: "conversations are not here",
    console.ABSENT: "parts of conversations are not here",
    console.DAMAGED: "conversations are damaged and read in part",
    console.CONTENT: "contents of files are not here",
    console.HISTORY: "parts of the history are not here",
}
_COUNTS = ("--limit", "--max-count", "--count")  # what others call -n
# What is said of one, in place of the object that git lacks.
_ONE = {
    console.TRANSCRIPT: "a conversation is not here",
    console.ABSENT: "a part of a conversation is not here",
}
_COLUMNS = 80
_FETCH = "'gitcp fetch --all' may bring more"
_REMEDIES = {
    console.TRANSCRIPT: _FETCH,
    console.ABSENT: _FETCH,
    console.DAMAGED: "'gitcp fsck' lists what is damaged",
    console.CONTENT: "'git fetch --refetch --no-filter' brings what a remote has",
    console.HISTORY: "'git fetch --unshallow' brings them",
}


def run_guarded(body: Callable[[], int]) -> int:
    """Run body; print an Error on stderr, without a traceback; return the status.

    Ctrl-C, SIGTERM and SIGHUP let body clean up, then end the process by the signal, as they end
    git, so that a loop in the shell ends too.
    """
    asked: list[int] = []

    def end(number: int, _: object) -> None:
        if not asked:  # a second one would interrupt the cleaning
            asked.append(number)
            raise SystemExit(128 + number)

    gc.set_threshold(_FEW)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly under `| head`
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, the status of git is lost
    before = {number: signal.getsignal(number) for number in ENDS}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:  # from here on there is something to clean up
            is_key = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_key else end)
    # Its frames, which hold children that still answer, are released where the exception is caught.
    try:
        status = _run_body(body)
        if not asked:  # a library may catch what the signal raises
            return status
    except KeyboardInterrupt:
        asked.append(signal.SIGINT)
    except (SystemExit, OSError):  # OSError: the terminal is gone, too
        if not asked:
            raise
    finally:
        clean_up()
        for number, handler in before.items():
            signal.signal(number, handler)
    return end_by(asked[0])


def clean_up() -> None:
    """Leave no line of progress, no begun pack, and no git behind, at the end of the process."""
    term.hide_progress()
    abandon_unflushed()
    end_lasting()


def end_by(number: int) -> int:
    """End the process by a signal; the status if that is blocked."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _run_body(body: Callable[[], int]) -> int:
    """The status of body, or of its error, which is printed."""
    _open_streams()
    spans.set_digits(_count_digits)
    console.wait_for_end()
    try:
        status = body()
        if not sys.stdout.closed:  # the library of gitcp-lsp closes it
            sys.stdout.flush()  # a failure at exit could not be reported
        if status == OK and console.is_incomplete():
            return NO
        return status
    except Error as e:
        term.hide_progress()
        kind = "error:" if e.status == USAGE else "fatal:"
        if isinstance(e, NoRepository):
            message = _explain_refusal(e)
        else:
            message = str(e)
        print(kind, _join_lines(escape_unprintable(message)), file=sys.stderr)
        return e.status
    except OSError as e:
        term.hide_progress()
        if e.errno in _BUGS:
            sys.excepthook(*sys.exc_info())
            return BUG
        print("fatal:", escape_unprintable(_explain_error(e)), file=sys.stderr)
        _drop_output()
        return FATAL
    except ImportError as e:
        if (e.name or "").partition(".")[0] not in PACKAGES:
            sys.excepthook(*sys.exc_info())
            return BUG
        extras = import_module("gitcp.terminal.extras")  # what reads metadata takes 20 ms
        print("fatal:", extras.make_missing(f"{e} in {sys.executable}"), file=sys.stderr)
        return FATAL
    except Exception:
        sys.excepthook(*sys.exc_info())
        return BUG
    finally:
        print_lacking()


def print_lacking() -> None:
    """Print what was missing: one line for each kind, with the first as the example of several; at
    a terminal without the names of objects, which 'gitcp doctor -v' lists."""
    term.hide_progress()
    is_short = sys.stderr is not None and sys.stderr.isatty()
    for kind, messages in console.take_lacking().items():
        message = _tell_lacking(kind, messages, is_short=is_short)
        print("warning:", escape_unprintable(message), file=sys.stderr)


def list_lacking() -> list[str]:
    """What print_lacking() would print now."""
    messages_by_kind: dict[str, list[str]] = {}
    for message, kind in console.list_lacking().items():
        messages_by_kind.setdefault(kind, []).append(message)
    return [_tell_lacking(kind, messages) for kind, messages in messages_by_kind.items()]


def _tell_lacking(kind: str, messages: Sequence[str], *, is_short: bool = False) -> str:
    """What was missing of a kind, in one line; is_short: without the names of objects."""
    has_names = not (is_short and kind in _ONE)
    what = messages[0] if has_names else _ONE[kind]
    if len(messages) > 1:
        what = f"{len(messages)} {_LACKING[kind]}"
        if has_names:
            what += f", such as {messages[0]}"
    return what.replace("\n", " ") + f"; {_REMEDIES[kind]}"


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
        reason = lines[0]
        remedy = lines[-1].strip()
        if not reason.startswith("not a git repository"):
            if "safe.directory" in remedy:
                refused = f"'{remedy.rpartition(' ')[2]}' belongs to another user"
                return f"{refused}, so git does not use it; '{remedy}' trusts it"
            return reason
    return str(e)


def _explain_error(e: OSError) -> str:
    """The message for an error of the system; of a full disk with what to do about it."""
    if e.errno in (errno.ENOSPC, errno.EDQUOT):
        for place in (".", os.environ.get("TMPDIR", "/tmp"), os.path.expanduser("~")):
            if os.path.exists(place) and shutil.disk_usage(place).free < _FULL:
                where = os.path.abspath(place)
                return f"the disk of '{where}' is full: make room, and run this again"
    return format_error(e)


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


class _Formatter(argparse.HelpFormatter):
    """Names the value of an option once behind all its names, as argparse does from 3.13 on."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, width=read_columns() - 2, **options)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def _list_usage_parts(words: Iterable[str]) -> Iterator[str]:
    """The parts of a usage between which it may be folded, as an option with its value."""
    part = list[str]()
    depth = 0
    for word in words:
        is_value = word == "..." or (len(part) == 1 and part[0].startswith("-"))
        if part and depth == 0 and not is_value:
            yield " ".join(part)
            part = []
        part.append(word)
        depth += word.count("[") - word.count("]")
    yield " ".join(part)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError and accepts no abbreviations.

    name: of a command in the table of commands, which has its summary.  add_help: False for a stage
    of a configured pipeline, which has no -h.
    """

    def __init__(self, name: str, rows: Rows = (), add_help: bool = True) -> None:
        # A stage that has another name for people is called by the one that they typed.
        typed = os.path.basename(sys.argv[0]).partition("-")[2]
        if commands.ALIASES.get(name) == typed:
            called = typed
        else:
            called = name
        summary = commands.get_summary(called)
        text = f"{summary[0].upper()}{summary[1:]}."
        page = f"Plumbing: 'gitcp help {called}' has its records, in and out."
        super().__init__(
            prog=f"gitcp-{called}",
            description=text,
            epilog=None if called in commands.TOOLS else page,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=add_help,
        )
        self.set_defaults(error=self.error)
        self.color = False  # Python 3.14 colours what is folded here, and asks no color.ui
        for row in rows:
            group = self.add_mutually_exclusive_group() if isinstance(row, list) else self
            for spellings, more in row if isinstance(row, list) else [row]:
                action = group.add_argument(*spellings, **more)
                action.required &= action.nargs != "*"  # argparse asks for it beside a missing one

    def format_usage(self) -> str:
        """The usage, folded between options, and between those that exclude each other where they
        fit in no line.  Versions of argparse fold it in different places, and some not enough."""
        self.usage = self._fold_usage()
        return super().format_usage()

    def format_help(self) -> str:
        self.usage = self._fold_usage()
        return super().format_help()

    def _fold_usage(self) -> str:
        whole = self._get_formatter()
        whole._width = 1 << 20
        whole.add_usage(None, self._actions, self._mutually_exclusive_groups)
        _, prog, *words = whole.format_help().split()
        start = f"usage: {prog}"
        size = read_columns() - 2
        indent = " " * (min(len(start), 7) if size < 60 else len(start))
        lines = [start]
        for part in _list_usage_parts(words):
            is_long = len(indent) + 1 + len(part) > size
            for piece in re.split(r" (?=\| )", part) if is_long else [part]:
                if len(lines[-1]) + 1 + len(piece) > size:
                    lines.append(indent)
                lines[-1] += f" {piece}"
        return "\n".join(lines).removeprefix("usage: ").replace("%", "%%")

    def parse_args(self, args: Sequence[str]) -> Namespace:  # type: ignore[override]
        """The parsed arguments; the error about an unknown one suggests an option."""
        parsed, more = self.parse_known_args(args)
        if more:
            known = [o for o in self._option_string_actions if o.startswith("--")]
            given = more[0].partition("=")[0]
            meant = console.suggest(given, known)
            limit = self._option_string_actions.get("-n")
            if given in _COUNTS and limit is not None and limit.nargs != 0:
                meant = "; did you mean '-n'?"
            self.error(f"unknown argument: '{more[0]}'{meant}")
        return parsed

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        values = super()._get_values(action, arg_strings)
        # Python 3.11 takes an argument '--' for the end of options, each time.
        if values == [] and action.nargs is None:
            return "--"
        return values

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices if choice]
            named = action if action.option_strings else None
            what = "value" if named else action.dest
            raise argparse.ArgumentError(named, console.describe_unknown(what, str(value), names))

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        message = message.replace("ignored explicit argument", "takes no value, but has")
        usage = self.format_usage().rstrip().splitlines()
        if len(usage) > 2:
            command = self.prog.replace("gitcp-", "gitcp ", 1)
            usage = [f"{usage[0]} …", f"  '{command} -h' lists the options"]
        raise UsageError("\n".join([message, *usage]))


# The options by which git log chooses commits.
CHOICE: Rows = (
    commands.make_value("-n", "<number>", "at most that many commits", type=console.parse_positive),
    commands.make_value("--since --after", "<date>", "only commits later than a date"),
    commands.make_value("--until --before", "<date>", "only commits earlier than a date"),
    commands.make_value(
        "--author", "<pattern>", "only commits of matching authors", action="append"
    ),
    commands.make_value(
        "--grep", "<pattern>", "only commits whose message matches", action="append"
    ),
)


def list_choice(args: Namespace) -> list[str]:
    """The arguments of git log for the options of CHOICE."""
    single = ("-n", args.n), ("--since=", args.since), ("--until=", args.until)
    options = [f"{name}{value}" for name, value in single if value is not None]
    options += [f"--author={pattern}" for pattern in args.author or ()]
    return options + [f"--grep={pattern}" for pattern in args.grep or ()]


def split_arguments(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the arguments before `--`, with -<number> as -n; `--` and those after it)."""
    end = argv.index("--") if "--" in argv else len(argv)
    before = [f"-n{a[1:]}" if a[:1] == "-" and a[1:].isdecimal() else a for a in argv[:end]]
    return before, list(argv[end:])


def parse(name: str, rows: Rows, argv: Sequence[str]) -> Namespace:
    """The arguments of a command by its rows, with the function `error`, which raises UsageError
    with a message and the usage line."""
    return Parser(name, rows).parse_args(argv)


def write_bytes(parts: Iterable[bytes]) -> None:
    """Write data to standard output, byte for byte; escaped at a terminal."""
    if sys.stdout.isatty():
        parts = (show_escaped(git.decode_name(part)).encode() for part in parts)
    sys.stdout.buffer.writelines(parts)


def show_escaped(text: str) -> str:
    """Text with unprintable characters escaped, but not the colours that git writes."""
    parts = re.split(r"(\x1b\[[0-9;]*m)", text)
    return "".join(part if n % 2 else escape_unprintable(part) for n, part in enumerate(parts))


def write_records(records: Iterable[Mapping[str, object]]) -> int:
    """Write records to standard output; return OK."""
    record.write_records(sys.stdout.buffer, _show_alone(records, term.hide_progress))
    return OK


def _show_alone(items: Iterable[Shown], hide: Callable[[], None]) -> Iterator[Shown]:
    """The items; at a terminal the line of progress is removed before each."""
    at_terminal = sys.stdout.isatty()
    for item in items:
        if at_terminal:
            hide()
        yield item


_FEWEST = 7  # digits of a commit that git shows


def _count_digits() -> int:
    """The digits of a commit that git shows here (core.abbrev)."""
    try:
        repo = Repo.find_here()
        if repo.config.get_all("core.abbrev"):
            count = None
        else:
            count = packs.count_objects(repo)
        if count is None:
            return len(repo.git.read_line("rev-parse", "--short", "HEAD"))
        # As git does: so many that few of the objects share them.
        return max(_FEWEST, (count.bit_length() + 1) // 2)
    except Error:
        return _FEWEST  # no repository, or no commit yet


def read_width() -> int:
    """The width of the terminal; 0 if standard output is not a terminal."""
    if sys.stdout.isatty():
        return read_columns()
    return 0


def read_columns() -> int:
    """The width that COLUMNS or the terminal has; 80 without one.  As shutil has it, which takes
    milliseconds to import."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(1).columns or _COLUMNS
    except OSError:
        return _COLUMNS


def show(*lines: str) -> None:
    """Print lines, their unprintable characters escaped."""
    term.hide_progress()
    for line in lines:
        print(escape_unprintable(line))


def show_whole(*lines: str) -> None:
    """Print lines as show() does, their line breaks escaped as well."""
    for line in lines:
        print(spans.escape_part(line))


def say(text: str) -> None:
    """Print lines of text, at a terminal folded between words."""
    width = read_width()
    if width:
        wrap = spans.wrap_line
        rows = (row for line in text.split("\n") for row in wrap([(line, "")], width))
        text = "\n".join(spans.list_texts(rows))
    print(text)


def ask_consent(question: str) -> bool:
    """Whether the person at the terminal says yes; True without a terminal."""
    return _ask(question, "[Y/n]", default="y").strip().lower() in ("", "y", "yes")


def _ask(question: str, answers: str, default: str) -> str:
    """The line that the person types as an answer, with its newline; default without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return default
    term.hide_progress()
    line = escape_unprintable(question).replace("\n", " ")
    print(line, answers, end=" ", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def ask_line(question: str, *, lower: bool = True) -> str:
    """The line that the person types at the terminal, in lower case; '' at the end of input."""
    try:
        line = input(question).strip()
        return line.lower() if lower else line
    except EOFError:
        print()
        return ""


def ask_choice(question: str, words: Sequence[str]) -> str:
    """The word that the person types a prefix of; the first for Enter alone and without a terminal,
    the last for any other input."""
    listed = "/".join(f"[{word[0]}]{word[1:]}" for word in words)
    answer = _ask(question, listed, default="\n")
    if answer == "\n":
        return words[0]
    prefix = answer.strip().lower()
    return next((word for word in words if prefix and word.startswith(prefix)), words[-1])


def needs_colour(stream: object, setting: str = "") -> bool:
    """Whether to colour output to stream: by setting (color.ui), else at a terminal that is not
    dumb, without NO_COLOR."""
    if setting.lower() == "always":
        return True
    if setting.lower() in ("never", "false", "no", "off") or os.environ.get("NO_COLOR"):
        return False
    is_terminal = getattr(stream, "isatty", lambda: False)
    return bool(is_terminal()) and os.environ.get("TERM") != "dumb"


def page_lines(lines: Iterable[Line], paged: bool = True, folded: bool = True) -> None:
    """Print lines, drawn by choose_drawing()."""
    page_texts(choose_drawing(folded)(lines), paged)


def choose_drawing(folded: bool = True) -> Callable[[Iterable[Line]], Iterator[str]]:
    """The function that makes text of lines: escaped, folded to the terminal's width, and coloured
    by git's color.ui."""

    def paint_part(part: str, colour: str) -> str:
        safe = spans.escape_part(part)
        return term.paint(safe, colour) if colour else safe

    def fold_rows(lines: Iterable[Line]) -> Iterable[Line]:
        if not width:
            return lines
        return (row for line in lines for row in spans.wrap_line(line, width))

    width = read_width() if folded else 0
    if has_colour():
        return lambda lines: spans.paint_lines(fold_rows(lines), paint_part)
    escape = spans.escape_part
    return lambda lines: (f"{escape(text)}\n" for text in spans.list_texts(fold_rows(lines)))


def has_colour() -> bool:
    """Whether standard output gets colours, by git's color.ui."""
    return needs_colour(sys.stdout, _read_settings()("color.ui"))


def page_texts(texts: Iterable[str], paged: bool = True, *, has_patch: bool = False) -> None:
    """Print text, at a terminal through the pager of git's configuration (core.pager,
    pager.<command>).  has_patch: whether authors are put before the lines of its patches there."""
    texts = _show_alone(texts, term.stop_progress)
    if paged and sys.stdout.isatty():
        command = os.path.basename(sys.argv[0]).partition("-")[2]
        settings = _read_settings()
        own = settings(f"pager.{command}")
        shell.page_text(texts, settings("core.pager"), own, has_patch=has_patch)
    else:
        shell.write(texts)


def _read_settings() -> Callable[[str], str]:
    """The function that reads a key of git's configuration; '' outside a repository."""
    try:
        return Repo.find_here().config.get
    except Error:
        return lambda _: ""
