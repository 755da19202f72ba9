"""gitcp-find-commits - find the commits of a checkpoint"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("find-commits")
    p.add_argument("-z", action="store_true", help="write the commits alone, each ended by NUL")
    what = "a checkpoint, by its id or the beginning of it (default: those of the records read)"
    p.add_argument("id", nargs="*", metavar="<id>", help=what)
    return p


def bind(argv: Sequence[str]) -> Stage:
    """A commit record for each commit that carries one of the ids, in a trailer or a note."""
    opts = parser().parse_args(argv)
    return lambda records: _find(opts.id, () if opts.id else records)


def _find(prefixes: Sequence[str], records: Iterable[Record]) -> Iterator[Record]:
    from gitcp.core.git import ids
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import find_commits
    from gitcp.store.v1 import committed_list

    repo = Repo.find()
    with Objects(repo) as objects:
        # A whole id may be one whose checkpoint is gone: its commits are still found.
        wanted = [
            p if ids.is_checkpoint_id(p) else committed_list.resolve(repo, objects, p)
            for p in prefixes
        ]
        for record in records:
            if record.get("type") == "checkpoint" and "checkpoint_id" in record:
                if not ids.is_checkpoint_id(record["checkpoint_id"]):
                    raise InputError(f"not a checkpoint id: '{record['checkpoint_id']}'")
                wanted.append(record["checkpoint_id"])
        for checkpoint_id, oids in find_commits.commits(repo, objects, wanted).items():
            if not oids and checkpoint_id in prefixes:
                committed_list.resolve(repo, objects, checkpoint_id)  # raises what is not known
            for oid in oids:
                yield {"type": "commit", "oid": oid, "checkpoint_id": checkpoint_id}


def main() -> int:
    argv = sys.argv[1:]

    def body() -> int:
        from gitcp import record

        opts = parser().parse_args(argv)
        given = () if opts.id else record.read(sys.stdin.buffer)
        commits = bind(argv)(given)
        if opts.z:
            for oid in dict.fromkeys(commit["oid"] for commit in commits):
                sys.stdout.write(oid + "\0")
        else:
            record.write(sys.stdout.buffer, commits)
        return OK

    return cli.guard(body)
