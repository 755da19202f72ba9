"""gitcp-stage - add to the index what one session or person wrote"""

from __future__ import annotations

from contextlib import nullcontext

from gitcp.cmd.back import undo
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, Changed, UsageError
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.steps.back.present import name_in_worktree
from gitcp.steps.commits import stage
from gitcp.steps.commits.division import Extra
from gitcp.steps.commits.selection import NamedWork, find_own_session, select
from gitcp.steps.undo import hold_log
from gitcp.terminal import cli
from gitcp.text import console
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from gitcp.steps.commits.division import Division, Left, Part
    from gitcp.steps.commits.selection import Selection
    from gitcp.text.record_types import Record

OPTIONS = (
    make_value(
        "--session",
        "<id>",
        "what this session wrote; the beginning of its id; may be repeated",
        action="append",
        default=[],
    ),
    make_flag("--own", "what the session wrote whose agent runs this"),
    make_flag("--by-hand", "what no agent wrote"),
    [
        make_value("--turn", "<n>|<id>", "only what this prompt of the session wrote", default=""),
        make_value("--call", "<id>", "only what this edit or command wrote", default=""),
    ],
    make_flag("--with-overlaps", "also lines that others replaced too, as they stand"),
    make_flag("--with-needed", "also lines of others without which these have no place"),
    make_flag("-n --dry-run", "show what would be staged and stop"),
    JSON,
    make_value("path", "<path>", "only what is at or below these", nargs="*"),
)
_TRIES = 3
_LISTED = 20  # paths that a person reads


def run(argv: Sequence[str]) -> int:
    """Stage the work of some authors; NO if some of it is left out."""
    args = cli.parse("stage", OPTIONS, argv)
    if not (args.session or args.own or args.by_hand):
        raise UsageError("whose work? name it by --session, --own or --by-hand")
    with pack_care.open_scratch(Repo.find_here(), args.dry_run) as repo, Objects(repo):
        stage.need_index(repo)
        undo.finish(repo)
        names = [*args.session]
        if args.own:
            names.append(find_own_session(repo))
        scopes = [name_in_worktree(repo, path) for path in args.path]
        for left in reversed(range(_TRIES)):
            try:
                return _stage(repo, args, names, scopes)
            except Changed:
                if not left:
                    raise
    return OK


def _stage(repo: Repo, args: Namespace, names: Sequence[str], scopes: Sequence[str]) -> int:
    step = ""
    named = NamedWork(names, args.by_hand, args.turn, args.call)
    extra = Extra(args.with_overlaps, args.with_needed)
    with nullcontext() if args.dry_run else hold_log(repo):
        stager = stage.read_change(repo, args.dry_run)
        selection = select(repo, stager.present.lines, named)
        division = stager.list_parts(selection, scopes, extra)
        if division.parts and not args.dry_run:
            step = stage.stage_parts(repo, division.parts, selection.describe())
    if args.json:
        cli.write_records(_make_records(division, step))
    else:
        _show(division.parts, selection, args.dry_run)
    warn_left(division)
    for note in division.notes:
        console.warn(note)
    if division.has_left:
        return NO
    return OK


def _make_records(division: Division, step: str) -> Iterable[Record]:
    for part in division.parts:
        yield part.make_record()
    for left in division.overlaps:
        yield left.make_record("overlap")
    for left in division.needs:
        yield left.make_record("need")
    if step:
        yield {"type": "step", "step": step}


def _show(found: Sequence[Part], selection: Selection, dry: bool) -> None:
    if not found:
        cli.show(f"nothing to stage of {selection.describe()}")
        return
    for part in found[:_LISTED]:
        kind = "changed"
        if part.new is None:
            kind = "deleted"
        elif part.old is None:
            kind = "new"
        cli.show(f"  {kind:<8} {part.path}  +{part.added} -{part.removed}")
    if len(found) > _LISTED:
        cli.show(f"  and {len(found) - _LISTED} more")
    added = sum(part.added for part in found)
    removed = sum(part.removed for part in found)
    what = f"{count_noun(len(found), 'file')} (+{added} -{removed}) of {selection.describe()}"
    if dry:
        cli.show(f"would stage {what}")
    else:
        cli.show(f"staged {what}; 'gitcp undo' takes it back")


def warn_left(division: Division, by_split: bool = False) -> None:
    """Say on stderr what stage, or split, leaves out, and why."""
    if by_split:
        takes = "commits them with the last one"
        lacks = "not committed"
    else:
        takes = "stages them as they stand"
        lacks = "not staged (--with-needed stages them too)"
    for left in division.overlaps:
        whose = " and ".join(map(_name, left.authors))
        reason = f"{whose} replaced the same lines (--with-overlaps {takes})"
        console.warn(f"{_locate(left)} is left out: {reason}")
    for left in division.needs:
        whose = " and ".join(map(_name, left.needs))
        console.warn(f"{_locate(left)} is left out: it needs lines of {whose} that are {lacks}")


def _locate(left: Left) -> str:
    if not left.first:
        return f"'{left.path}'"
    many = f"lines {left.first}-{left.last}"
    if left.first < left.last:
        what = many
    else:
        what = f"line {left.first}"
    return f"'{left.path}' {what}"


def _name(session_id: str) -> str:
    if session_id:
        return f"session {shorten_id(session_id)}"
    return "no agent"
