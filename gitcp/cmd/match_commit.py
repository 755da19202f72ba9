"""gitcp-match-commit - decide which sessions a commit belongs to"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.core.record_types import Record, Stage


def parser() -> Parser:
    """A commit to ask about; without one, commits are in the events of git's hooks."""
    from gitcp.console import cli

    p = cli.Parser("match-commit")
    p.add_argument("commit", nargs="?", metavar="<commit>", help="a commit that is made")
    return p


def bind(argv: Sequence[str]) -> Stage:
    """prepare-commit-msg and post-commit events become match records."""
    commit = parser().parse_args(argv).commit if argv else None
    return (lambda _: _ask(commit)) if commit else _matches


def _matches(records: Iterable[Record]) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.link import commit_hooks

    for record in records:
        hook = record.get("event")
        if hook not in ("prepare-commit-msg", "post-commit"):
            yield record
            continue
        with context.here() as ctx:
            if hook == "prepare-commit-msg":
                prepared = commit_hooks.prepare(ctx.repo, ctx.objects, record["args"])
                match: Record = {**prepared, "args": record["args"]}
            else:
                match = {**commit_hooks.conclude(ctx.repo, ctx.objects)}
        yield {"type": "match", **match}


def _ask(commit: str) -> Iterator[Record]:
    """What would link to a commit, decided anew; nothing is written."""
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link import commit_changes, commit_match

    with context.here() as ctx:
        asked = need_commit(ctx.objects, commit)
        parent, changes = commit_changes.of_commit(ctx.objects, asked)
        linked = commit_match.sessions(ctx.repo, ctx.objects, changes, parent, agent=False)
    for session_id, why in linked.items():
        yield {"type": "match", "commit": asked["oid"], "session_id": session_id, **why}


def main() -> int:
    from gitcp.console import cli

    return cli.source_main(bind, argv) if (argv := sys.argv[1:]) else cli.filter_main(bind, argv)
