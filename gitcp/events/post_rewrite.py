"""A rewrite: links that commits have lost are found again."""

from __future__ import annotations

from gitcp.commands import make_flag, make_value
from gitcp.errors import UsageError
from gitcp.events import is_of_git
from gitcp.lines import carried, commit_lines
from gitcp.link import condense, unhooked
from gitcp.link.relink import (
    copy_unknown,
    link_left_behind,
    link_replayed,
    list_amended_sessions,
    reconcile,
)
from gitcp.record import match
from gitcp.record.match import rewrites
from gitcp.record.match.sources import LOST, ONTO, RELINK, REWRITE, MatchCase, Merged
from gitcp.record.session import others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.record import Context
    from gitcp.text.record_types import GitEvent, Pair, PairMatch, Passed


def relink(
    ctx: Context, records: Iterable[Passed], args: Namespace | None = None
) -> Iterable[Passed]:
    """Relink the commits of post-rewrite events; with args without --hook those that they name."""
    if args and not args.hook:
        return _relink_named(ctx, args)
    passed: list[Passed] = []
    for item in records:
        passed.append(item)
        if is_of_git(item, "post-rewrite") and item.get("args"):
            passed += _relink_rewritten(ctx, item)
    return passed


def _relink_rewritten(ctx: Context, event: GitEvent) -> list[Passed]:
    repo = ctx.repo
    command = event["args"][0]
    rewrite = rewrites.read_rewrite(repo, command, event.get("stdin", ()))
    case = MatchCase(repo, rewrite=rewrite)
    noted = reconcile(case, REWRITE)
    replayed = rewrite.list_replayed()
    if replayed:
        for marker in others.read_here(repo):
            state = ctx.read_state(marker["session_id"], rebuild=False)
            if state:
                link_replayed(repo, state, replayed)
                ctx.keep(state)
    amended = rewrite.targets if command == "amend" else ()
    for session_id in list_amended_sessions(repo, amended):
        state = ctx.read_state(session_id, rebuild=False)
        if state and state.get("pending_finalize"):
            condense.finalize(ctx.repo, state)
            ctx.keep(state)
    ctx.leave()
    old_by_new = replayed or rewrite.sources
    copy_unknown(repo, old_by_new)
    _follow_lines(ctx, command, old_by_new, noted)
    commit_lines.keep_ai_note(repo, [*old_by_new])
    return [_build_match(link) for link in noted]


def _build_match(link: Pair) -> PairMatch:
    return {"type": "match", **link}


def _follow_lines(
    ctx: Context, command: str, old_by_new: Mapping[str, Sequence[str]], noted: Sequence[Pair]
) -> None:
    if command == "rebase" or not match.is_replaying(ctx.repo):
        commits = dict.fromkeys([*old_by_new, *(link["commit"] for link in noted)])
        amended = command == "amend"
        replaced = {new: old for new, old in old_by_new.items() if amended or len(old) > 1}
        carried.follow_lines(ctx.repo, commits, replaced, amended)


def _relink_named(ctx: Context, options: Namespace) -> Iterator[Passed]:
    """Find links for the commits of a range or, with --onto, for a merge.  Unless it is a dry run,
    the commits get notes of Git AI if they are wanted."""
    dry_run = options.dry_run
    revisions = options.range
    if options.onto and not revisions:
        raise UsageError("--onto needs the head of the branch that was merged, too")
    if options.onto:
        case = MatchCase(ctx.repo, onto=Merged(options.onto, revisions), dry_run=dry_run)
        links = reconcile(case, ONTO)
    else:
        case = MatchCase(ctx.repo, among=revisions, dry_run=dry_run)
        seen = bool(revisions) or not ctx.repo.top
        links = [] if seen else link_left_behind(ctx, dry_run)
        links += reconcile(case, LOST if revisions else RELINK)
    commits = [link["commit"] for link in links]
    yield from (_build_match(link) for link in links)
    if ctx.repo.top and not options.onto:
        for link in unhooked.link_range(ctx, revisions, dry_run):
            commits.append(link["commit"])
            yield _build_match(link)
    if not dry_run:
        ctx.leave()
        commit_lines.keep_ai_note(ctx.repo, commits)


OPTIONS = {
    "relink": (
        make_flag("-n --dry-run", "write nothing"),
        make_flag("--hook", "take post-rewrite events from the pipe"),
        make_value("--onto", "<commit>", "give this merge of a forge the ids of a branch"),
        make_value(
            "range",
            "<range>",
            "commits to look in; with --onto the head of the branch that was merged",
            nargs="?",
            default="",
        ),
    )
}

PIPELINES = {"post-rewrite": (relink,)}
