"""gitcp-rewind - go back to before a prompt, edit or command"""

from __future__ import annotations

import os
import sys

from gitcp.cmd.back import undo
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error, UsageError
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.record.journal import stashes
from gitcp.record.session import others
from gitcp.steps import effects
from gitcp.steps import undo as undo_log
from gitcp.steps.back import (
    conversation,
    ignored,
    moments,
    named,
    plan,
    points,
    preparing,
    steps,
    wishes,
)
from gitcp.steps.back.point import describe_lacking, shorten_names
from gitcp.steps.back.present import name_in_worktree, read_kept_edits
from gitcp.terminal import cli, going_back, picker, rows
from gitcp.terminal.rows import draw_row
from gitcp.text import console, replace, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from gitcp.commands import Rows
    from gitcp.record.journal.line_kinds import Edit, Opening
    from gitcp.steps.back.conversation import ReadyConversation
    from gitcp.steps.back.point import Point
    from gitcp.steps.step import Effect
    from gitcp.text.spans import Line

# What edits can be taken back: the option, and the words for people.
_EDITED = (
    ("session", "the edits of this session"),
    ("turn", "the edits of this prompt"),
    ("tool", "this edit, or what this command changed"),
)
OPTIONS: Rows = (
    [
        make_flag("--list", "list the points, and change nothing"),
        make_value(
            "--to",
            "<point>",
            "go to this point: its id, a checkpoint's or a commit's, or the beginning of one",
        ),
    ],
    make_flag("--all", "points of other base commits too"),
    make_value(
        "--into",
        "<dir>",
        "write the point to a new directory (a worktree for a commit), and change nothing here",
    ),
    JSON,
    undo.PLAN,
    undo.PATCH,
    make_flag(
        "-f --force",
        "even if edits or deletions of yours, or work of other sessions, are undone, or the point"
        " is incomplete",
    ),
    *(
        make_value(
            f"--{kind}",
            "<id>",
            f"take back only {what}; the beginning of its id",
            default="",
        )
        for kind, what in _EDITED
    ),
    undo.CONFLICT,
    [
        make_flag("--files-only", "leave the conversation alone"),
        make_flag("--transcript-only", "leave the files alone"),
    ],
    make_flag("--same-id", "replace the newer conversation, under its own id"),
    undo.TELL,
    make_value("path", "<path>", "only what is at or below these (after --)", nargs="*"),
)
LISTED = 20  # points from which a person chooses
_HINTS = {
    "point": "--to goes there",
    "session": "--session takes back its edits",
    "checkpoint": "'gitcp resume' restores its conversation",
    "commit": "'gitcp rewind --list' shows the points, which --to goes to",
}
_NO_POINT = "no point to go back to: each prompt and edit of an agent will be one"


def run(argv: Sequence[str]) -> int:
    """List points, go to one, or write one to a new directory."""
    args = cli.parse("rewind", OPTIONS, argv)
    listed = args.list or (args.to is None and not sys.stdin.isatty())
    read_only = listed or args.dry_run or args.into is not None
    with pack_care.open_scratch(Repo.find_here(), read_only) as repo, Objects(repo):
        _ = repo.worktree  # raises without one
        undo.finish(repo)
        if args.into is not None:
            return _make_directory(repo, args)
        if args.session or args.turn or args.tool:
            return _take_back_edits(repo, args)
        if args.to is None and "--" not in argv:
            _check_words(repo, args.path, listed)
        if listed:
            if args.path:
                raise UsageError("give the point of these paths, too: --to <point>")
            return _print_points(repo, args)
        point = _choose_point(repo, args)
        return _go_to_point(repo, args, point) if point else OK


def _make_directory(repo: Repo, args: Namespace) -> int:
    """Write a point to a new directory."""
    excluded = ("list", "dry_run", "patch", "session", "turn", "tool", "transcript_only", "same_id")
    if any(getattr(args, name) for name in (*excluded, "tell", "json")):
        raise UsageError("--into only writes files: it takes only --to, --all, --force and paths")
    if args.to is None and not sys.stdin.isatty():
        raise UsageError("--into needs a point: --to <point>")
    point = _choose_point(repo, args)
    if point is None:
        return OK
    _check_complete(point, args)
    below = [name_in_worktree(repo, path) for path in args.path]
    what = named.write_directory(repo, point, os.path.abspath(args.into), below)
    cli.show(f"made {what} in '{args.into}'")
    lacking = describe_lacking(point.kind, point.lacking)
    if lacking:
        cli.show(f"note: {lacking}")
    return OK


def _check_words(repo: Repo, words: Iterable[str], listed: bool) -> None:
    """Raise UsageError for a word that no file has and that names what --to or --session takes;
    with listed also for one that names nothing."""
    for word in words:
        if not os.path.lexists(word):
            kind = _find_kind(repo, word)
            hint = _HINTS.get(kind)
            if hint:
                raise UsageError(f"'{word}' is a {kind}: {hint}")
            if listed:
                what = f"no such point, session or file: '{word}'"
                raise UsageError(f"{what} ('gitcp rewind --list' shows the points)")


def _find_kind(repo: Repo, word: str) -> str:
    """What a word names: a point, or a kind of commits.resolve_name(); '' for nothing."""
    try:
        points.find_point(repo, word)
        return "point"
    except points.NoPoint:
        pass
    try:
        return commits.resolve_name(repo, word).kind
    except commits.Unknown:
        return ""


def _print_points(repo: Repo, args: Namespace) -> int:
    listed = points.list_points(repo, args.all)
    if args.json:
        return cli.write_records(point.make_record() for point in listed)
    listed = [point for point in listed if point.can_be_gone_to]
    if not listed:
        print(_NO_POINT)
        return OK
    agents = name_agents(repo, listed)
    cli.page_lines(going_back.draw_points(listed, agents, term.format_since, cli.read_width()))
    return OK


def name_agents(repo: Repo, listed: Iterable[Point]) -> dict[str, str]:
    """session id -> its client, of the sessions of points."""
    agents = {}
    for session_id in {point.session_id for point in listed}:
        state = None
        if session_id:
            state = others.peek_state(repo, session_id)
        agents[session_id] = str((state or {}).get("agent_type") or "")
    return agents


def _choose_point(repo: Repo, args: Namespace) -> Point | None:
    if args.to is None:
        listed = [point for point in points.list_points(repo, args.all) if point.can_be_gone_to]
        return _pick(repo, listed[:LISTED])
    return points.find_point(repo, args.to, args.all)


def _pick(repo: Repo, listed: Sequence[Point]) -> Point | None:
    """Let the person choose a point."""
    if not listed:
        print(_NO_POINT)
        return None
    preview = preparing.Preview(repo)
    agents = name_agents(repo, listed)

    def draw_entry(number: int, width: int) -> Line:
        row = going_back.build_point_row(listed[number], "", agents, term.format_since)
        return draw_row(row, width)

    def draw_plan(number: int) -> Iterable[Line]:
        lines = list(going_back.draw_plan(preview.get_plan(listed[number])))
        return lines or [[("no file changes", "dim")]]

    def draw_diff(number: int) -> Iterable[Line]:
        return rows.draw_patch(preview.draw_diff(listed[number]))

    def tell_effect(number: int) -> str:
        return going_back.format_would(plan.count_verbs(preview.get_plan(listed[number]).actions))

    views = (
        picker.View("plan", draw_plan, tell_effect),
        picker.View("diff", draw_diff, tell_effect),
    )
    count = f"{len(listed)}, newest first"
    chosen = picker.choose_entry(
        picker.Question("go back to before…", count, "go back"), len(listed), draw_entry, views
    )
    if chosen is None:
        return None
    return listed[chosen]


def _go_to_point(repo: Repo, args: Namespace, point: Point) -> int:
    name = point.id[:10]
    if args.path and (args.transcript_only or args.same_id):
        raise UsageError(
            "--transcript-only and --same-id are for conversations: they take no paths"
        )
    if point.is_logs_only:
        raise Error(f"'{name}' is a commit: 'gitcp resume {name}' restores its conversation")
    if not args.transcript_only or point.gone:
        _check_complete(point, args)
    below = [name_in_worktree(repo, path) for path in args.path]
    if args.transcript_only:
        wisher = wishes.wish_nothing()
    else:
        wisher = wishes.go_to_point(point, below)
    reason = f"to {shorten_names([point])[point.id]}"
    if below:
        reason += f", {' '.join(below)}"
    talk = _cut_conversation(repo, args, point)
    written: list[Effect] = []
    if talk:
        written = talk.effects
    step = replace(
        undo_log.make_step("rewind", reason, written), session_id=point.session_id, point=point.id
    )
    agree = undo.Agreement(repo, args, ask=args.to is None, force=args.force)
    move = steps.Move(wisher, step, talk)
    outcome = undo.make_mover(repo, args, agree).take_step(lambda: move)
    return undo.tell(repo, outcome, args, "rewound")


def _take_back_edits(repo: Repo, args: Namespace) -> int:
    """Take back single edits, as one step."""
    if args.to or args.list or args.transcript_only or args.same_id:
        raise UsageError(
            "--session, --turn and --tool take back edits: they take no options for points"
        )
    below = [name_in_worktree(repo, path) for path in args.path]
    outcome = undo.make_mover(repo, args).take_step(lambda: _choose_edits(repo, args, below))
    return undo.tell(repo, outcome, args, "taken back")


def _choose_edits(repo: Repo, args: Namespace, below: Sequence[str]) -> steps.Move:
    """The step that takes the edits back which are recorded now."""
    call, entries = stashes.find_taken(repo, args.tool) if not below else ("", [])
    calls = ignored.find_calls(repo, args.session, args.turn, args.tool)
    lines: list[Edit | Opening] = []
    try:
        kept = read_kept_edits(repo)
        found = moments.find_edits(kept, args.session, args.turn, args.tool)
        what = found.what
        lines = found.lines
    except Error:
        # A call may have dropped entries of the stash, or taken ignored files, and nothing else.
        if not entries and len({taken_call["call"] for taken_call in calls}) != 1:
            raise
        what = f"tool {call or calls[0]['call']}"
    wisher = wishes.take_back_edits(wishes.Takings(lines, below, calls), args.conflict)
    stashed = [effects.describe_stash(repo, oid) for oid in reversed(entries)]
    step = undo_log.make_step("rewind", f"the edits of {what}", stashed)
    return steps.Move(wisher, step)


def _cut_conversation(repo: Repo, args: Namespace, point: Point) -> ReadyConversation | None:
    """The conversation to put back with the files; None for single paths."""
    if args.files_only or args.path:
        return None
    try:
        return conversation.cut_at_point(repo, point, args.same_id, args.dry_run)
    except Error as e:
        if args.transcript_only or args.same_id:
            raise
        console.tell(f"note: {e}")
        return None


def _check_complete(point: Point, args: Namespace) -> None:
    """Raise Error for an expired point, and for an incomplete one without --force.  For a tool use
    the plan's notes say what is missing."""
    name = point.id[:10]
    if point.gone:
        raise Error(f"point '{name}' has expired: its content is gone")
    if point.incomplete and point.kind != "tool" and not args.force:
        words = describe_lacking(point.kind, point.lacking)
        raise Error(f"point '{name}' is incomplete: {words}; --force goes there anyway")
