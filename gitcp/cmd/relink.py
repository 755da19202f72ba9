"""gitcp-relink - find the commits that lost their checkpoint id"""

from __future__ import annotations

import sys

from gitcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.console.cli import Parser
    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Record, Stage


def parser() -> Parser:
    """Only people need options; post-rewrite brings what was rewritten in its event."""
    from gitcp.console import cli

    p = cli.Parser("relink")
    p.add_argument("--dry-run", action="store_true", help="write nothing")
    p.add_argument("--hook", action="store_true", help="take post-rewrite events from the pipe")
    p.add_argument(
        "--onto", metavar="<commit>", help="give this merge of a forge the ids of a branch"
    )
    p.add_argument(
        "range",
        nargs="?",
        default="",
        metavar="<range>",
        help="commits to look in; with --onto the head of the branch that was merged",
    )
    return p


def bind(argv: Sequence[str]) -> Stage:
    """In a pipe: each post-rewrite event is obeyed.  By itself: look for all that is lost."""
    if not argv:
        return _events
    options = parser().parse_args(argv)
    return _events if options.hook else lambda _: _wanted(options)


def _events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield record
        if record.get("event") == "post-rewrite" and record["args"]:
            yield from _rewritten(record)


def _rewritten(event: Record) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.lines import ai_notes
    from gitcp.store.link import finalize
    from gitcp.store.relink import rewritten
    from gitcp.store.session import markers

    with context.here() as ctx:
        about = event["args"][0], event["stdin"]
        noted, fresh = rewritten.follow(ctx.repo, ctx.objects, *about)
        for marker in markers.here(ctx.repo) if fresh else ():
            state = ctx.state(marker["session_id"], rebuild=False)
            if state:
                rewritten.work(ctx.repo, ctx.objects, state, fresh)
                ctx.keep(state)
        for session_id in rewritten.amended_sessions(ctx.repo, ctx.objects, *about):
            state = ctx.state(session_id, rebuild=False)
            if state and state.get("pending_finalize"):
                finalize.finalize(ctx.repo, ctx.objects, state)
                ctx.keep(state)
        ctx.leave()
        became = fresh or rewritten.became(event["stdin"])
        _follow_lines(ctx, event["args"][0], became, noted)
        ai_notes.keep(ctx.repo, [*became])
    yield from ({"type": "match", **link} for link in noted)


def _follow_lines(
    ctx: Context, command: str, became: Mapping[str, Sequence[str]], noted: Sequence[Pair]
) -> None:
    from gitcp.store.lines import carried
    from gitcp.store.link import commit_hooks

    if command == "rebase" or not commit_hooks.rewriting(ctx.repo):
        commits = dict.fromkeys([*became, *(link["commit"] for link in noted)])
        amended = command == "amend"
        replaced = {new: olds for new, olds in became.items() if amended or len(olds) > 1}
        carried.follow(ctx.repo, ctx.objects, commits, replaced, amended)


def _wanted(options: Namespace) -> Iterator[Record]:
    if options.onto:
        if not options.range:
            raise UsageError("--onto: the head of the branch that was merged is missing")
        links = _onto(options.onto, options.range, options.dry_run)
    else:
        links = _all(options.range, options.dry_run)
    return links if options.dry_run else _noted(links)


def _noted(links: Iterable[Record]) -> Iterator[Record]:
    """The links, and where the person wants them the notes of Git AI on their commits."""
    from gitcp.repo import Repo
    from gitcp.store.lines import ai_notes

    commits = []
    for link in links:
        commits.append(link["commit"])
        yield link
    ai_notes.keep(Repo.here(), commits)


def _all(among: str, dry_run: bool) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.relink import lost_links, open_work, passed_by

    with context.here() as ctx:
        lost = lost_links.lost(ctx.repo, ctx.objects, among)
        seen = {link["commit"] for link in lost}
        if not dry_run:
            _note(ctx, lost)
        yield from ({"type": "match", **link} for link in lost)
        for commit, one in () if among else passed_by.mend(ctx.repo, ctx.objects, dry_run):
            if commit not in seen:
                yield {"type": "match", "commit": commit, "checkpoint_id": one, "how": "amend"}
        if ctx.repo.top:
            for link in open_work.link(ctx, among, dry_run):
                yield {"type": "match", **link}


def _onto(target: str, head: str, dry_run: bool) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.relink import onto

    with context.here() as ctx:
        links = onto.links(ctx.repo, ctx.objects, target, head)
        if not dry_run:
            _note(ctx, links)
        yield from ({"type": "match", **link} for link in links)


def _note(ctx: Context, links: Sequence[Pair]) -> None:
    """Note links, and let their checkpoints know the lines of the commits they go to."""
    from gitcp.store.git import notes
    from gitcp.store.lines import carried

    for link in links:
        notes.add(ctx.repo, ctx.objects, link["commit"], link["checkpoint_id"])
    carried.follow(ctx.repo, ctx.objects, dict.fromkeys(link["commit"] for link in links))


def main() -> int:
    from gitcp.console import cli

    argv = sys.argv[1:]
    if "--hook" in argv:
        return cli.filter_main(bind, argv)
    return cli.source_main(lambda given: lambda _: _run(given), argv)


def _run(argv: Sequence[str]) -> Iterable[Record]:
    return _wanted(parser().parse_args(argv))
