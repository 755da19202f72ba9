"""gitcp-match-commit - decide which sessions a commit belongs to"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """A commit to ask about; without one, commits are in the events of git's hooks."""
    from gitcp.console import cli

    p = cli.Parser("gitcp-match-commit", "Decide which sessions a commit belongs to.")
    p.add_argument("commit", nargs="?", metavar="<commit>", help="a commit that is made")
    return p


def bind(argv: Sequence[str]) -> Stage:
    """prepare-commit-msg and post-commit events become match records."""
    commit = parser().parse_args(argv).commit if argv else None
    return (lambda _: _ask(commit)) if commit else _matches


def _matches(records: Iterable[Record]) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import commit_hooks

    for record in records:
        hook = record.get("event")
        if hook not in ("prepare-commit-msg", "post-commit"):
            yield record
            continue
        repo = Repo.here()
        with Objects.shared(repo) as objects:
            if hook == "prepare-commit-msg":
                told = dict(commit_hooks.prepare(repo, objects, record["args"]))
                yield {"type": "match", **told, "args": record["args"]}
            else:
                yield {"type": "match", **commit_hooks.made(repo, objects)}


def _ask(commit: str) -> Iterator[Record]:
    """What would link to a commit, decided anew; nothing is written."""
    from gitcp.repo import Repo
    from gitcp.store.git.commit import need_commit
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import commit_match

    repo = Repo.here()
    with Objects.shared(repo) as objects:
        made = need_commit(objects, commit)
        parent, changes = commit_match.of_commit(objects, made)
        found = commit_match.sessions(repo, objects, changes, parent, agent=False)
        for session_id, linked in found.items():
            yield {"type": "match", "commit": made["oid"], "session_id": session_id, **linked}


def main() -> int:
    from gitcp.console import cli

    return cli.source_main(bind, argv) if (argv := sys.argv[1:]) else cli.filter_main(bind, argv)
