"""gitcp-explain - explain a commit, a checkpoint or a session"""

from __future__ import annotations

from gitcp.cmd.ask import show
from gitcp.commands import JSON, OFFLINE, make_flag, make_value
from gitcp.errors import OK, Error, UsageError
from gitcp.git import refs
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.steps.back import points
from gitcp.terminal import cli, explained
from gitcp.text import console, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.steps.back.point import Point
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Line

OPTIONS = (
    make_value("--session", "<id>", "a session"),
    make_value("--commit", "<commit>", "a commit"),
    make_value("-c --checkpoint", "<id>", "a checkpoint"),
    [
        make_flag("-s --short", "without the transcript"),
        make_flag("--full", "with the transcript of the whole session"),
        make_flag("--raw-transcript", "only the transcript, as stored"),
    ],
    make_flag("--generate", "let a model summarize a committed checkpoint first (gitcp.summarize)"),
    make_flag("-f --force", "with --generate: replace existing summaries"),
    make_flag("--no-pager", "without a pager"),
    JSON,
    OFFLINE,
    make_value(
        "name",
        "<name>",
        "a commit, a checkpoint or a session (default: list those of this branch)",
        nargs="?",
    ),
)
_COMMITS = 500
_POINTS = 100


def run(argv: Sequence[str]) -> int:
    """Explain a commit, a checkpoint or a session, or list the checkpoints of this branch."""
    args = cli.parse("explain", OPTIONS, argv)
    repo = Repo.find_here()
    name = _find_name(args)
    if args.force and not args.generate:
        raise UsageError("--force needs --generate")
    if args.json and args.raw_transcript:
        raise UsageError("--raw-transcript writes no records")
    if args.generate:
        _generate(repo, name, args)
    if args.json:
        return cli.write_records(_list_plain(repo, name, args))
    if name is None:
        cli.page_lines(_draw_points(repo), not args.no_pager)
        return OK
    records = _read_records(repo, name, args.offline)
    if args.raw_transcript:
        show.write_transcripts(records)
    else:
        cli.page_lines(_draw_lines(records, args), not args.no_pager)
    return OK


def _list_plain(repo: Repo, name: str | None, args: Namespace) -> Iterator[Record]:
    """The records of a name as gitcp show writes them, or the checkpoints of this branch."""
    if name is None:
        with Objects(repo):
            for point in _list_branch(repo):
                yield point.make_record()
        return
    for entry in _read_records(repo, name, args.offline):
        yield show.build_plain(entry, args.full, talk=not args.short)


def _generate(repo: Repo, name: str | None, args: Namespace) -> None:
    """Summarize the sessions of the checkpoints of a name."""
    if name is None:
        raise UsageError("--generate needs the name of a commit, a checkpoint or a session")
    records = _read_records(repo, name, args.offline)
    ids = [record["checkpoint_id"] for record in records if record.get("contents")]
    if not ids:
        raise Error(f"'{name}' has no committed checkpoint here")
    for checkpoint_id in ids:
        with Objects(repo):
            for session_id in commits.summarize_sessions(repo, checkpoint_id, args.force):
                console.tell(f"summarized session {session_id} of {checkpoint_id}")


def _find_name(args: Namespace) -> str | None:
    named = [n for n in (args.name, args.session, args.commit, args.checkpoint) if n is not None]
    if len(named) > 1:
        raise UsageError("cannot specify several of <name>, --session, --commit, --checkpoint")
    return str(named[0]) if named else None


def _read_records(repo: Repo, name: str, offline: bool) -> Iterator[Record]:
    """The records of a name; for a session those of its checkpoints, the newest first."""
    for entry in _gather_records(repo, name, offline):
        if entry["type"] != "session":
            yield entry
            continue
        for checkpoint in reversed(entry["checkpoints"]):
            key = checkpoint["checkpoint_id"] or checkpoint["oid"]
            yield from _gather_records(repo, key, offline)


def _gather_records(repo: Repo, name: str, offline: bool) -> list[Record]:
    with Objects(repo):
        commits.fetch_missing(repo, name, offline=offline)
        return commits.read_records(repo, name)


def _draw_lines(records: Iterable[Record], args: Namespace) -> Iterator[Line]:
    mode = explained.SHORT if args.short else explained.SCOPE
    mode = explained.FULL if args.full else mode
    for number, entry in enumerate(records):
        if number:
            yield []
        committed = "checkpoint_id" in entry
        if committed:
            draw = explained.draw_committed
        else:
            draw = explained.draw_temporary
        yield from draw(entry, term.format_time, mode)


def _list_branch(repo: Repo) -> list[Point]:
    """The checkpoints of this branch."""
    listed = points.list_points(repo, depth=_COMMITS)
    return [point for point in listed if point.kind in ("temporary", "archived", "committed")]


def _draw_points(repo: Repo) -> Iterator[Line]:
    branch = refs.read_branch(repo)
    if branch == "HEAD":
        branch = "(detached)"
    else:
        branch = branch.removeprefix("refs/heads/")
    with Objects(repo):
        branch_points = _list_branch(repo)
    rows: dict[str, explained.CheckpointRow] = {}
    for point in branch_points:
        key = point.condensation_id or point.id
        kinds = ["Task"] if point.is_task_checkpoint else []
        kinds += [] if point.condensation_id else ["temporary"]
        prompt = point.session_prompt
        row = rows.setdefault(key, explained.CheckpointRow(key, kinds, prompt, []))
        commit = explained.CommitRow(point.time, point.id, point.message)
        if commit not in row.commits:
            row.commits.append(commit)
    shown_rows = list(rows.values())[:_POINTS]
    yield from explained.draw_branch(branch, shown_rows, term.format_time)
