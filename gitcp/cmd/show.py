"""gitcp-show - show a checkpoint, found by commit or id"""

from __future__ import annotations

import os
import sys
import time

from gitcp.console import cli
from gitcp.console.options import JSON, OFFLINE, make_flag, make_value
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Line
    from gitcp.repo import Repo

OPTIONS = (
    [
        make_flag("--full", "the whole session, nothing shortened or left out"),
        make_flag("--no-transcript", "without the conversation"),
        make_flag("--transcript", "only the transcript, as stored"),
    ],
    JSON,
    OFFLINE,
    make_value(
        "name",
        "<name>",
        "a commit, or the id of a checkpoint, session or point, or its beginning (default: HEAD)",
        nargs="?",
        default="HEAD",
    ),
)


def run(argv: Sequence[str]) -> int:
    """Show the records of a name."""
    from gitcp.repo import Repo
    from gitcp.store.back import trees
    from gitcp.store.git.objects import Objects
    from gitcp.store.show import on_demand

    args, repo = cli.parse("show", OPTIONS, argv), Repo.find_here()
    on_demand.fetch_missing(repo, args.name, offline=args.offline)
    with Objects(repo) as objects:
        records = trees.show(repo, objects, args.name, lazy=not args.json)
        if args.transcript:
            cli.write_bytes(t.removesuffix(b"\n") + b"\n" for t in list_transcripts(records))
        elif args.json:
            cli.write_records(_build_plain(r, args.full) for r in records)
        else:
            page_lines(draw_records(records, args.full, not args.no_transcript))
    return OK


def gather_records(repo: Repo, name: str, offline: bool = False) -> list[Record]:
    """The records of a name; transcripts in them are bytes."""
    from gitcp.store.git.objects import Objects
    from gitcp.store.show import on_demand, subject

    on_demand.fetch_missing(repo, name, offline=offline)
    with Objects(repo) as objects:
        return subject.read_records(repo, objects, name)


def list_transcripts(records: Iterable[Record]) -> Iterator[bytes]:
    """Every transcript of the records, in order; a session's record has none."""
    for entry in records:
        for part in entry.get("contents", [entry]):
            if part.get("transcript"):
                yield part["transcript"]


def _build_plain(entry: Record, full: bool) -> Record:
    """A record for JSON, with its own turns of the transcript; full: with the transcript's text."""
    from gitcp.record import decode_name
    from gitcp.store.show import turn_tokens

    plain = {k: v for k, v in entry.items() if k != "transcript"}
    if entry.get("transcript"):
        start = entry.get("checkpoint_transcript_start", entry.get("start"))
        start = start if isinstance(start, int) else 0
        plain["turns"] = turn_tokens.list_turns(entry["transcript"], entry.get("agent"), start)
    if full and "transcript" in entry:
        plain["transcript"] = decode_name(entry["transcript"])
    if "contents" in entry:
        plain["contents"] = [_build_plain(part, full) for part in entry["contents"]]
    return plain


def draw_records(
    records: Iterable[Record], full: bool = False, talk: bool = True
) -> Iterator[Line]:
    """The lines of records, with a blank line between them; talk: with the conversation."""
    from gitcp.core.render import session_lines, show_lines

    for n, entry in enumerate(records):
        if n:
            yield []
        if entry["type"] == "session":
            yield from session_lines.draw_session(entry, format_time, full)
        elif entry["type"] == "point":
            yield from session_lines.draw_point(entry, format_time)
        else:
            committed = "checkpoint_id" in entry
            draw = show_lines.draw_committed if committed else session_lines.draw_temporary
            yield from draw(entry, format_time, full, talk)


def format_time(seconds: float) -> str:
    """A local time, as in `2026-11-22 09:30`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def escape_part(part: str) -> str:
    """A part of a line with unprintable characters and newlines escaped."""
    return part if part.isprintable() else cli.printable(part).replace("\n", "\\n")


def page_lines(lines: Iterable[Line], paged: bool = True, folded: bool = True) -> None:
    """Print lines as they come, drawn by choose_drawing()."""
    put(choose_drawing(folded)(lines), paged)


def choose_drawing(folded: bool = True) -> Callable[[Iterable[Line]], Iterator[str]]:
    """The function that makes text of lines: escaped, folded to the terminal's width, and coloured
    by git's color.ui."""
    from gitcp.console.term import paint
    from gitcp.core.render import spans, wrapping

    def paint_part(part: str, colour: str) -> str:
        safe = escape_part(part)
        return paint(safe, colour) if colour else safe

    def fold_rows(lines: Iterable[Line]) -> Iterator[Line]:
        for line in lines:
            yield from wrapping.wrap_line(line, width) if width else (line,)

    width = cli.read_width() if folded else 0
    if cli.needs_colour(sys.stdout, _read_settings()("color.ui")):
        return lambda lines: spans.paint_lines(fold_rows(lines), paint_part)
    return lambda lines: (f"{escape_part(text)}\n" for text in spans.list_texts(fold_rows(lines)))


def put(texts: Iterable[str], paged: bool = True) -> None:
    """Print text as it comes, at a terminal through the pager of git's configuration (core.pager,
    pager.<command>)."""
    from gitcp.console import shell

    if paged and sys.stdout.isatty():
        command, settings = os.path.basename(sys.argv[0]).removeprefix("gitcp-"), _read_settings()
        shell.page_text(texts, settings("core.pager"), settings(f"pager.{command}"))
    else:
        shell.write(texts)


def _read_settings() -> Callable[[str], str]:
    """The function that reads a key of git's configuration; '' outside a repository."""
    from gitcp.errors import Error
    from gitcp.repo import Repo

    try:
        return Repo.find_here().config.get
    except Error:
        return lambda _: ""
