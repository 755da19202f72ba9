"""What `gitcp why` tells of lines: the runs that one edit or commit brought, with their calls."""

from __future__ import annotations

from io import BytesIO
from itertools import groupby

from gitcp.agents import find_client
from gitcp.errors import Error, InputError
from gitcp.git import decode_name
from gitcp.lines import blame_options, conversations
from gitcp.lines.committed import history
from gitcp.record.session.client_transcript import has_local
from gitcp.text import value_class
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git import Git
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.lines.porcelain import BlameEntry
    from gitcp.text.record_types import Record


@value_class
class AskedLines:
    """What a person asks for: lines of a file, from 1 on; 0 and 0 for the whole file."""

    path: str
    first: int = 0
    last: int = 0


def parse_place(text: str) -> AskedLines:
    """Parse `<file>:<line>`, `<file>:<first>-<last>` and `<file>:<first>,<last>`, or a file alone.

    Raises InputError for another text.
    """
    path, colon, span = text.rpartition(":")
    if not colon:
        return AskedLines(text)
    numbers = span.replace("-", ",").split(",")
    if not path or len(numbers) > 2 or not all(map(_is_line_number, numbers)):
        raise InputError(f"no line or range of lines after the colon, as in 'a.c:5-8': '{text}'")
    first = int(numbers[0])
    last = int(numbers[-1])
    if last < first:
        raise InputError(f"the last line is before the first: '{text}'")
    return AskedLines(path, first, last)


def _is_line_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


@value_class
class _Run:
    """Neighbouring lines that one edit or commit brought.  entry: the first.  content: of all, a
    newline between two.  time: when, in seconds since 1970; None: not known."""

    entry: BlameEntry
    author: Author
    content: bytes
    time: int | None

    @property
    def is_open(self) -> bool:
        """Whether no commit has the lines."""
        return not self.entry.is_committed


def list_origins(
    repo: Repo, git: Git, evidence: Evidence, place: AskedLines, revision: str = ""
) -> list[Record]:
    """A record `origin` (gitcp-record(5)) for each run of lines that one edit or commit made.

    Of a file alone, the runs of its newest change.
    """
    words = []
    if place.first:
        words = ["-L", f"{place.first},{place.last}"]
    options = blame_options.ask_file(place.path, revision, *words)
    lines = evidence.blame_lines(git, options, contents=True)
    runs = [_join_lines(evidence, run) for _, run in groupby(lines, _get_key)]
    if not runs:
        raise Error(f"'{place.path}' has no lines")
    asked = history.find_asked_path(repo, git, options, [run.entry for run in runs])
    file = decode_name(asked)
    if not place.first:
        runs = _choose_newest(runs)
    return [_build_origin(repo, file, run) for run in runs]


def _get_key(line: tuple[BlameEntry, Author]) -> tuple[object, ...]:
    entry, author = line
    return (entry.oid, entry.path, *author.values())


def _join_lines(evidence: Evidence, lines: Iterable[tuple[BlameEntry, Author]]) -> _Run:
    joined = BytesIO()
    first: tuple[BlameEntry, Author] | None = None
    for line in lines:
        first = first or line
        joined.write((line[0].content or b"") + b"\n")
    assert first  # groupby() gives no empty group
    time = evidence.find_time(*first)
    return _Run(*first, joined.getvalue()[:-1], time)


def _choose_newest(runs: Sequence[_Run]) -> list[_Run]:
    """The runs of lines that the newest turn wrote, or, if no session did, the newest commit.

    A line that is not committed is newer than one that is.
    """
    newest = _get_change(max(runs, key=_get_newness))
    return [run for run in runs if _get_change(run) == newest]


def _get_newness(run: _Run) -> tuple[int, ...]:
    return int(run.is_open), run.time or 0, run.author["number"] or 0


def _get_change(run: _Run) -> tuple[str, ...]:
    author = run.author
    return run.entry.oid, author["who"], author["session_id"], author["turn_id"]


def _build_origin(repo: Repo, file: str, run: _Run) -> Record:
    entry = run.entry
    content = decode_name(run.content).split("\n")
    headers = dict(entry.headers)
    commit = None
    if not run.is_open:
        commit = {
            "oid": entry.oid,
            "subject": decode_name(headers.get(b"summary", b"")),
            "committer": decode_name(headers.get(b"committer", b"")),
        }
    return {
        "type": "origin",
        "file": file,
        "path": entry.path,
        "original_line": entry.orig,
        "first": entry.final,
        "last": entry.final + len(content) - 1,
        "content": content,
        **run.author,
        "author": decode_name(headers.get(b"author", b"")),
        "time": run.time,
        "commit": commit,
        "call": conversations.find_edit(repo, run.author),
        "resume": _build_resume_command(repo, run),
    }


def _build_resume_command(repo: Repo, run: _Run) -> str:
    """The command that goes on with a session here: the client's, or gitcp's where the client does
    not have the conversation; '' for none."""
    author = run.author
    if author["who"] != "session":
        return ""
    client = find_client(author["agent"])
    if has_local(repo, client, author["session_id"]):
        return client.format_resume_command(author["session_id"])
    if not client.can_cut():
        return ""
    if run.is_open:
        return f"gitcp resume {author['session_id']}"
    return f"gitcp resume {abbreviate(run.entry.oid)}"
