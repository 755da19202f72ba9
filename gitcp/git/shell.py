"""Run foreign programs: stages of configured pipelines, and the pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from io import BytesIO

from gitcp.errors import Error, InputError
from gitcp.git import build_fetch_env, build_person_env, extend_deadline, records
from gitcp.packages import find_package
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Record

_NEVER = ("false", "no", "off")
_BOOLEANS = ("", "true", "yes", "on", *_NEVER)


def run_filter(
    words: Sequence[str], data: Iterable[Record], top: str | None = None
) -> Iterator[Record]:
    """The records that the stage `!words` writes to stdout for the records on its stdin.

    It runs in the directory top, by default the current one, and writes to the stderr of this
    process.  data is read to its end first, so that no stage before it holds a lock while it runs.
    Its time is not counted as that of the hook.
    Raise Error if there is no such program or its status is not 0, InputError for its output.
    """
    stdin = b"".join(records.dump_record(r) + b"\n" for r in data)
    process = _start_program([find_program(words[0], top), *words[1:]], -1, cwd=top)
    began = time.monotonic()
    out, _ = process.communicate(stdin)
    extend_deadline(time.monotonic() - began)
    if process.returncode:
        raise Error(f"'!{' '.join(words)}': exit status {process.returncode}")
    try:
        yield from records.read_records(BytesIO(out))
    except InputError as e:
        raise InputError(f"'!{' '.join(words)}': {e}") from None


def find_program(name: str, top: str | None) -> str:
    """The path of a stage's program: on PATH, or relative to top if it has a slash.  Raise Error
    for none."""
    path = shutil.which(os.path.join(top, name) if top and "/" in name else name)
    if path is None:
        raise Error(f"no such program: '{name}'")
    return path


def page_text(
    text: Iterable[str], core: str = "", own: str = "", *, has_patch: bool = False
) -> None:
    """Show text on stdout as it comes, at a terminal through the person's pager.

    has_patch: whether the pager gets the authors of lines with it (add_authors()).

    The pager is own, the value of `pager.<command>` (or a boolean: whether to use one), else
    GIT_PAGER, core, PAGER or less, started as git starts it; empty or `cat` is none.  When the
    person leaves the pager, no more text is made.
    """
    env = os.environ
    pager = env.get("GIT_PAGER", core or env.get("PAGER", "less"))
    if own.lower() not in _BOOLEANS:
        pager = own
    elif own.lower() in _NEVER:
        pager = ""
    if not sys.stdout.isatty() or pager in ("", "cat"):
        write(text)
        return
    sys.stdout.flush()
    more = {"LESS": env.get("LESS", "FRX")}
    if has_patch:
        pager = add_authors(pager)
    else:
        more[_ANNOTATED] = "1"  # for a person's pager that annotates
    try:
        process = _start_program(["sh", "-c", pager], None, more)
    except Error:
        write(text)
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        for number, part in enumerate(text):
            process.stdin.write(part.encode("utf-8", "backslashreplace"))
            if not number:
                process.stdin.flush()  # the first part appears at once
    except BrokenPipeError:
        pass  # the person has left the pager
    finally:
        # Ctrl-C is for the pager, which has the terminal.
        keyboard = signal.signal(signal.SIGINT, signal.SIG_IGN)
        process.communicate()
        signal.signal(signal.SIGINT, keyboard)
        signal.signal(signal.SIGPIPE, before)


# Set for a pager that gets no patch, or one that has its authors.
_ANNOTATED = "GITCP_ANNOTATED"


def add_authors(pager: str) -> str:
    """The command of a pager that puts authors before the lines of patches."""
    if "gitcp annotate" in pager or "gitcp-annotate" in pager:
        return pager
    return f"{shlex.join(build_own_command())} annotate | {pager}"


def is_annotated() -> bool:
    """Whether standard input has no patch without authors, as the one who wrote it says."""
    return bool(os.environ.get(_ANNOTATED))


def feed(words: Sequence[str], data: bytes) -> int:
    """Run a program with data on its standard input and this process's other streams; return its
    status."""
    return subprocess.run(words, input=data, check=False).returncode


# Waits for a line, so that nothing runs whose process was not noted, then becomes the program.
_WAIT = 'read -r line && exec "$@" </dev/null'


def run_apart(
    words: Sequence[str],
    folder: str,
    env: Mapping[str, str],
    output: str,
    note: Callable[[int], object],
) -> int:
    """Run a program in a folder, without a terminal, and with it end what it left running; return
    its status, as a shell does: 128 plus the signal that ended it, 126 or 127 if it cannot run.

    output: the file that gets what it prints, for its owner alone.  note: called before it runs
    with the id of its process, which is that of its session as well.
    """
    with open(output, "wb", opener=_open_for_owner) as file:
        process = subprocess.Popen(
            ["sh", "-c", _WAIT, "sh", *words],
            cwd=folder,
            env={**env, "PWD": folder},
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            note(process.pid)
            process.communicate(b"go\n")
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
    return status if status >= 0 else 128 - status


def _open_for_owner(path: str, flags: int) -> int:
    fd = os.open(path, flags, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def build_own_command() -> list[str]:
    """The words that run this gitcp, whatever of it is on PATH; a command's words follow them."""
    start = f"import sys; sys.path[:] = {sys.path!r}; sys.argv[0] = 'gitcp'"
    run = "from gitcp.__main__ import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", f"{start}; {run}"]


def write(text: Iterable[str]) -> None:
    """Write text to stdout as it comes, the first part at once."""
    for number, part in enumerate(text):
        sys.stdout.buffer.write(part.encode("utf-8", "backslashreplace"))
        if not number:
            sys.stdout.buffer.flush()


def run_git(repo: Repo, words: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Run git as the person does, with their colours, pager and terminal, without gitcp's settings
    for plumbing; return its status."""
    repo.objects.flush()
    sys.stdout.flush()
    child_env = {**build_person_env(repo.git.env), **build_fetch_env(), **(env or {})}
    return term.run_foreground(["git", *words], child_env)


def _start_program(
    words: Sequence[str],
    stdout: int | None,
    more: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Any:
    find_package("plumbum")
    from plumbum import CommandNotFound, local  # 84 ms

    env = {**os.environ, **(more or {})}  # plumbum's own copy is as old as its import
    try:
        command = local[words[0]][list(words[1:])]
        return command.popen(stdin=-1, stdout=stdout, stderr=None, env=env, cwd=cwd)
    except (CommandNotFound, OSError):
        raise Error(f"no such program: '{words[0]}'") from None
