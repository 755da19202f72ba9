"""gitcp-show - show a checkpoint, found by commit or id"""

from __future__ import annotations

from gitcp.console import JSON, OFFLINE, cli, make_flag, make_value, term
from gitcp.core.render import answers, history
from gitcp.errors import OK
from gitcp.git import decode_name
from gitcp.repo import Repo
from gitcp.store.back import steps
from gitcp.store.objects import Objects
from gitcp.store.show import commits, reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Line

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
    args, repo = cli.parse("show", OPTIONS, argv), Repo.find_here()
    with Objects(repo):
        commits.fetch_missing(repo, args.name, offline=args.offline)
        records = steps.show_trees(repo, args.name, lazy=not args.json)
        if args.transcript:
            cli.write_bytes(t.removesuffix(b"\n") + b"\n" for t in list_transcripts(records))
        elif args.json:
            cli.write_records(_build_plain(r, args.full) for r in records)
        else:
            cli.page_lines(draw_records(records, args.full, not args.no_transcript))
    return OK


def list_transcripts(records: Iterable[Record]) -> Iterator[bytes]:
    """Every transcript of the records, in order; a session's record has none."""
    for entry in records:
        for part in entry.get("contents", [entry]):
            if part.get("transcript"):
                yield part["transcript"]


def _build_plain(entry: Record, full: bool) -> Record:
    """A record for JSON, with its own turns of the transcript; full: with the transcript's text."""
    plain = {k: v for k, v in entry.items() if k != "transcript"}
    if entry.get("transcript"):
        start = entry.get("checkpoint_transcript_start", entry.get("start"))
        start = start if isinstance(start, int) else 0
        plain["turns"] = reports.list_turns(entry["transcript"], entry.get("agent"), start)
    if full and "transcript" in entry:
        plain["transcript"] = decode_name(entry["transcript"])
    if "contents" in entry:
        plain["contents"] = [_build_plain(part, full) for part in entry["contents"]]
    return plain


def draw_records(
    records: Iterable[Record], full: bool = False, talk: bool = True
) -> Iterator[Line]:
    """The lines of records, with a blank line between them; talk: with the conversation."""
    for n, entry in enumerate(records):
        if n:
            yield []
        if entry["type"] == "session":
            yield from answers.draw_session(entry, term.format_time, full)
        elif entry["type"] == "point":
            yield from answers.draw_other_point(entry, term.format_time)
        else:
            committed = "checkpoint_id" in entry
            draw = history.draw_committed if committed else answers.draw_shown_temporary
            yield from draw(entry, term.format_time, full, talk)
