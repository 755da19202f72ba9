"""gitcp-show - show the conversation behind a commit"""

from __future__ import annotations

import sys
from itertools import chain

from gitcp.commands import JSON, OFFLINE, make_flag, make_value
from gitcp.errors import OK
from gitcp.extras.reports import reports
from gitcp.git import decode_name
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.steps.back import steps
from gitcp.terminal import answers, cli, history
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.text.record_types import Record
    from gitcp.text.spans import Line

OPTIONS = (
    [
        make_flag("--full", "the whole session, nothing shortened or left out"),
        make_flag("--all", "the whole conversation, also of other commits' turns"),
        make_flag("--no-transcript", "without the conversation"),
        make_flag("--transcript", "only the transcript, as stored"),
    ],
    make_flag("-p --patch", "show what it changed as well"),
    make_flag("-v --verbose", "show the count of lines that was stored with each session, too"),
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
    args = cli.parse("show", OPTIONS, argv)
    if args.patch and (args.json or args.transcript):
        args.error("-p cannot be used with --json or --transcript")
    with pack_care.open_scratch(Repo.find_here(), args.patch) as repo, Objects(repo):
        commits.fetch_missing(repo, args.name, offline=args.offline)
        records = steps.show_trees(repo, args.name, lazy=not args.json)
        if args.transcript:
            write_transcripts(records)
        elif args.json:
            cli.write_records(build_plain(r, args.full) for r in records)
        else:
            talk, whole = not args.no_transcript, args.all or args.full
            patches = [steps.choose_patch(repo, r) for r in records] if args.patch else []
            lines = draw_records(records, args.full, talk, whole, args.verbose)
            texts = chain(cli.choose_drawing()(lines), _read_patches(repo, patches))
            cli.page_texts(texts, has_patch=args.patch)
    return OK


def _read_patches(repo: Repo, asked: Iterable[Sequence[str]]) -> Iterator[str]:
    """git's lines about what some records changed, in the forms of choose_patch()."""
    escape = cli.show_escaped if sys.stdout.isatty() else str
    colour = f"--color={'always' if cli.has_colour() else 'never'}"
    for name, *rest in filter(None, asked):
        yield "\n"
        for line in repo.git.stream_records(name, colour, "-p", *rest, "--", sep=b"\n"):
            yield f"{escape(decode_name(line))}\n"


def write_transcripts(records: Iterable[Record]) -> None:
    """Write every transcript of the records, in order; a session's record has none."""
    cli.write_bytes(
        part["transcript"].removesuffix(b"\n") + b"\n"
        for entry in records
        for part in entry.get("contents", [entry])
        if part.get("transcript")
    )


def build_plain(entry: Record, full: bool, *, talk: bool = True) -> Record:
    """A record for JSON; talk: with its own turns of the transcript; full: with all its text."""
    plain = {k: v for k, v in entry.items() if k != "transcript"}
    if talk and entry.get("transcript"):
        start = entry.get("checkpoint_transcript_start", entry.get("start"))
        start = start if isinstance(start, int) else 0
        plain["turns"] = reports.list_turns(entry["transcript"], entry.get("agent"), start)
    if full and "transcript" in entry:
        plain["transcript"] = decode_name(entry["transcript"])
    if "contents" in entry:
        plain["contents"] = [build_plain(part, full, talk=talk) for part in entry["contents"]]
    return plain


def draw_records(
    records: Iterable[Record],
    full: bool = False,
    talk: bool = True,
    whole: bool = False,
    stored: bool = False,
) -> Iterator[Line]:
    """The lines of records, with a blank line between them; flags as for draw_committed()."""
    for n, entry in enumerate(records):
        if n:
            yield []
        if entry["type"] == "session":
            yield from answers.draw_session(entry, term.format_time, full)
        elif entry["type"] == "point":
            yield from answers.draw_other_point(entry, term.format_time)
        else:
            when = term.format_time
            if "checkpoint_id" in entry:
                yield from history.draw_committed(entry, when, full, talk, whole, stored=stored)
            else:
                yield from answers.draw_shown_temporary(entry, when, full, talk, whole)
