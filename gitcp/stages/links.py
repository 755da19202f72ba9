"""The stage that finds links again."""

from __future__ import annotations

from gitcp.console.options import flag, value
from gitcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Record


def relink(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
    """In a hook each post-rewrite event is obeyed; by itself it looks for all that is lost."""
    return _obeyed(records) if args.hook else _wanted(args)


def _obeyed(records: Iterable[Record]) -> Iterator[Record]:
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
                rewritten.link_replayed(ctx.repo, ctx.objects, state, fresh)
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
    from gitcp.store.link import unhooked
    from gitcp.store.relink import lost_links, reconcile

    with context.here() as ctx:
        lost = lost_links.find_lost(ctx.repo, ctx.objects, among)
        seen = {link["commit"] for link in lost}
        if not dry_run:
            _note(ctx, lost)
        yield from ({"type": "match", **link} for link in lost)
        for link in () if among else reconcile.mend(ctx.repo, ctx.objects, dry_run):
            if link["commit"] not in seen:
                yield {"type": "match", **link}
        if ctx.repo.top:
            for link in unhooked.link_range(ctx, among, dry_run):
                yield {"type": "match", **link}


def _onto(target: str, head: str, dry_run: bool) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.relink import lost_links

    with context.here() as ctx:
        links = lost_links.find_onto(ctx.repo, ctx.objects, target, head)
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


STAGES = {
    "relink": (
        relink,
        flag("--dry-run", "write nothing"),
        flag("--hook", "take post-rewrite events from the pipe"),
        value("--onto", "<commit>", "give this merge of a forge the ids of a branch"),
        value(
            "range",
            "<range>",
            "commits to look in; with --onto the head of the branch that was merged",
            nargs="?",
            default="",
        ),
    )
}
