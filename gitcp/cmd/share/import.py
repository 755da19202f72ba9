"""gitcp-import - link commits to conversations that gitcp did not record"""

from __future__ import annotations

import os

from gitcp import record
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.extras.imports import linking
from gitcp.git.objects import need_commit
from gitcp.setup import adapters
from gitcp.terminal import cli
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.extras.imports.linking import ImportPlan
    from gitcp.git.objects import Objects
    from gitcp.text.record_types import Record

_LISTED = 20  # commits
OPTIONS = (
    make_value(
        "-a --agent",
        "<agent>",
        "only conversations of this agent; may be given again",
        action="append",
        type=adapters.parse_client,
        default=[],
    ),
    make_value(
        "--since",
        "<date>",
        "only conversations that went on after it, as in git-log(1)",
        default="",
    ),
    make_value(
        "--path",
        "<directory>",
        "where the repository was before; may be given again",
        action="append",
        default=[],
    ),
    make_flag("--coarse", "link by time and files where no line is evidence, and say so"),
    make_flag("--unlinked", "store sessions without a commit too"),
    make_flag("-n --dry-run", "show what would be linked, and do nothing"),
    make_flag("-y --yes", "do not ask"),
    JSON,
)


def run(argv: Sequence[str]) -> int:
    """Show the plan, ask, and carry it out."""
    args = cli.parse("import", OPTIONS, argv)
    with record.open_here() as ctx:
        where = ctx.repo, os.path.expanduser("~"), args.agent, args.path, args.since
        plan = linking.prepare_import(*where, args.coarse, args.unlinked)
        if args.json:
            cli.write_records(list_records(plan))
        else:
            agents = ", ".join(f"{count} of {agent}" for agent, count in plan.counts.items())
            print(f"conversations: {agents or 'none'} ({plan.size / 1e6:.1f} MB)")
            if plan.recorded:
                print(f"  of sessions that gitcp has recorded itself: {plan.recorded}")
            show(plan, ctx.repo.objects)
        if args.dry_run:
            return OK
        if plan.links and not (args.yes or args.json or cli.ask_consent("import them?")):
            return OK
        step = linking.carry_out_plan(ctx.repo, plan)
    if step and not args.json:
        print(f"linked: 'gitcp undo' takes it back ({step[:8]})")
    return OK


def list_records(plan: ImportPlan) -> Iterator[Record]:
    """A record for each session of a commit."""
    for link in plan.links:
        for part in link.parts:
            yield {
                "type": "import",
                "commit": link.commit,
                "checkpoint_id": link.checkpoint_id,
                "session_id": part.session,
                "agent": plan.gathered.sessions[part.session].client.AGENT_TYPE,
                "files": sorted(part.files),
                "lines": part.attribution["agent_lines"],
                "coarse": part.coarse,
            }


def show(plan: ImportPlan, objects: Objects) -> None:
    """Print which commits are linked to which sessions."""
    for link in plan.links[:_LISTED]:
        subject = "no commit"
        if link.commit:
            subject = need_commit(objects, link.commit)["message"].partition("\n")[0][:50]
        cli.show(f"  {abbreviate(link.commit) or '-'} {subject}")
        for part in link.parts:
            agent = plan.gathered.sessions[part.session].client.AGENT_TYPE
            files = count_noun(len(part.files), "file")
            lines = count_noun(part.attribution["agent_lines"], "line")
            evidence = ""
            if part.coarse:
                evidence = " (by time and files alone)"
            if link.by_hand:
                evidence = " (by your word alone)"
            cli.show(f"    {agent} {shorten_id(part.session)}: {files}, {lines}{evidence}")
    if len(plan.links) > _LISTED:
        print(f"  and {len(plan.links) - _LISTED} more: 'gitcp import --dry-run --json' lists all")
    unlinked = plan.gathered.sessions.keys() - plan.list_linked_sessions()
    stored = unlinked & plan.counted.keys()
    before = ""
    if stored:
        before = f"; stored before: {count_noun(len(stored), 'session')}"
    left_out = count_noun(len(unlinked - stored), "session")
    print(f"to be stored: {plan.format_reason()}{before}; left out: {left_out}")
