"""gitcp-show - show the conversation behind a commit"""

from __future__ import annotations

import sys
from itertools import chain, groupby

from gitcp.checkpoints import stored
from gitcp.commands import JSON, OFFLINE, make_flag, make_value
from gitcp.errors import OK, Error
from gitcp.extras.reports import stored_sessions, workspace
from gitcp.git import decode_name
from gitcp.git.objects import Objects, pack_care
from gitcp.git.objects.object_lists import read_names
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.steps.back import named
from gitcp.terminal import cli, rows, shown, shown_others
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.text.record_types import Record
    from gitcp.text.spans import Line

OPTIONS = (
    [
        make_flag("--full", "the whole session, nothing shortened or left out"),
        make_flag("--all", "the whole conversation, also of other commits' turns"),
        make_flag("--no-transcript", "without the conversation"),
        make_flag("--transcript", "only the transcript, as stored"),
    ],
    make_value(
        "--repos",
        "<directory>",
        "look in all repositories below these (default: gitcp.workspace)",
        nargs="*",
    ),
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
    if args.repos is None:
        _show_in(Repo.find_here(), args)
        return OK
    found = 0
    failure: Error | None = None
    for repo in workspace.list_repositories(args.repos):
        try:
            _show_in(repo, args)
            found += 1
        except Error as e:
            failure = e
    if not found:
        raise failure or Error(f"no repository below {', '.join(args.repos)}")
    return OK


def _show_in(repo: Repo, args: Namespace) -> None:
    """Show what a name is in a repository.  Raises Error if it is nothing there."""
    with pack_care.open_scratch(repo, args.patch) as opened, Objects(opened):
        commits.fetch_missing(opened, args.name, offline=args.offline)
        try:
            records = named.show_trees(opened, args.name, lazy=not args.json)
        except commits.NoSession as e:
            _show_nothing(opened, e, args)
            return
        if args.transcript:
            write_transcripts(records)
        elif args.json:
            cli.write_records(build_plain(r, args.full) for r in records)
        else:
            if args.patch:
                patches = [named.choose_patch(opened, r) for r in records]
            else:
                patches = []
            if args.full:
                for record in records:
                    _add_subagents(opened, record.get("checkpoint_id", ""), record.get("contents"))
            lines = draw_records(records, _read_view(opened, args))
            texts = chain(cli.choose_drawing()(lines), _read_patches(opened, patches))
            cli.page_texts(texts, has_patch=args.patch)


def _add_subagents(repo: Repo, checkpoint_id: str, contents: Sequence[Any] | None) -> None:
    """Add `subagents` to what sessions stored in a checkpoint: id of a call -> the transcript of
    the subagent that it started."""
    place = None
    if contents:
        place = stored.find_checkpoint(repo, checkpoint_id)
    if place is None:
        return
    _, tree = place
    tasks = stored.read_task_transcripts(repo.objects, checkpoint_id, tree)
    for part in contents or ():
        part["subagents"] = tasks


def _read_view(repo: Repo, args: Namespace) -> shown.View:
    return shown.View(
        term.format_since,
        cli.read_width() or rows.NO_LIMIT,
        args.full,
        not args.no_transcript,
        args.all or args.full,
        args.verbose,
        with_hint=not (args.patch or args.full),
        root=repo.top or "",
    )


def _show_nothing(repo: Repo, nothing: commits.NoSession, args: Namespace) -> None:
    """Say of a commit that no session is behind it."""
    if args.json or args.transcript:
        return
    oid = nothing.oid
    person = read_names(repo, {oid})[oid]
    newest = commits.find_newest_with_session(repo, oid)
    cli.page_lines(shown.describe_nothing(oid, person, nothing.author, newest), paged=False)
    if args.patch:
        patch = [("show", "--format=", oid)]
    else:
        patch = []
    for text in _read_patches(repo, patch):
        print(text, end="")


def _read_patches(repo: Repo, asked: Iterable[Sequence[str]]) -> Iterator[str]:
    """git's lines about what some records changed, in the forms of choose_patch(); those of a
    commit once."""
    escape = cli.show_escaped if sys.stdout.isatty() else str
    colour = f"--color={'always' if cli.has_colour() else 'never'}"
    told: list[Sequence[str]] = []
    for words in asked:
        if not words or words in told:
            continue
        told.append(words)
        name, *rest = words
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
        plain["turns"] = stored_sessions.list_turns(entry["transcript"], entry.get("agent"), start)
    if full and "transcript" in entry:
        plain["transcript"] = decode_name(entry["transcript"])
    if "contents" in entry:
        plain["contents"] = [build_plain(part, full, talk=talk) for part in entry["contents"]]
    return plain


def draw_records(records: Iterable[Record], view: shown.View) -> Iterator[Line]:
    """The lines of records, with a blank line between them."""
    is_first = True
    for is_committed, group in groupby(records, lambda entry: "checkpoint_id" in entry):
        if not is_first:
            yield []
        is_first = False
        if is_committed:
            yield from shown.draw_commits([*group], view)
            continue
        for number, entry in enumerate(group):
            if number:
                yield []
            if entry["type"] == "session":
                yield from shown_others.draw_session(entry, view)
            elif entry["type"] == "point":
                yield from shown_others.draw_point(entry, view)
            else:
                yield from shown_others.draw_saved(entry, view)
