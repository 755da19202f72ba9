"""gitcp-read-stream - read the checkpoints of a stream"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def parser() -> cli.Parser:
    p = cli.Parser("read-stream")
    base = "the live stream of this commit, in place of its name"
    p.add_argument("--base", metavar="<commit>", help=base)
    where = "with --base: git's name of a linked worktree, '' for the main one (default: this one)"
    p.add_argument("--worktree", metavar="<id>", help=where)
    metadata = "add what each keeps of its session: name -> oid"
    p.add_argument("-m", "--metadata", action="store_true", help=metadata)
    p.add_argument("-t", "--transcript", action="store_true", help="add the transcript of each")
    what = "its ref, or its id or the beginning of it"
    p.add_argument("stream", nargs="?", metavar="<stream>", help=what)
    return p


def history(args: Namespace) -> Iterator[Record]:
    """A record for each checkpoint of a stream, with its prompt and files (gitcp-record(5))."""
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.stream import stream_history, stream_list

    repo = Repo.here()
    with Objects(repo) as objects:
        name = args.stream if args.base is None else _live(repo, objects, args)
        tip = stream_list.find(repo, objects, name)
        for checkpoint in stream_history.chains(repo, [tip])[tip["ref"]]:
            yield {
                **stream_history.detailed(objects, checkpoint),
                **_kept(objects, checkpoint, args),
            }


def _live(repo: Repo, objects: Objects, args: Namespace) -> str:
    from gitcp.core.git import ids
    from gitcp.store.git.commit import need_commit

    base = need_commit(objects, args.base)["oid"]
    worktree = repo.worktree_id if args.worktree is None else args.worktree
    return "refs/heads/" + ids.shadow_branch(base, ids.worktree_hash(worktree))


def _kept(objects: Objects, checkpoint: Record, args: Namespace) -> Record:
    """What was asked for of the session's metadata in a checkpoint."""
    from gitcp.record import text
    from gitcp.store.git.tree import Lookup, walk
    from gitcp.store.stream import shadow_refs
    from gitcp.store.v1 import committed_read

    more: Record = {}
    look = Lookup(objects, checkpoint["tree"])
    own = look(shadow_refs.METADATA + checkpoint["session_id"])
    if args.metadata:
        more["metadata"] = {name: e[1] for name, e in walk(objects, own[1])} if own else {}
    if args.transcript:
        files = look.folder(shadow_refs.METADATA + checkpoint["session_id"])
        more["transcript"] = text(b"\n".join(committed_read.pieces(objects, files)))
    return more


def _options(argv: Sequence[str]) -> Namespace:
    p = parser()
    args = p.parse_args(argv)
    if args.stream is not None and args.base is not None:
        p.error("needs the name of a stream, or --base")
    if args.worktree is not None and args.base is None:
        p.error("--worktree needs --base")
    return args


def bind(argv: Sequence[str]) -> Stage:
    """A stage that begins a pipe, or without a name reads streams from it."""
    args = _options(argv)
    if args.stream is None and args.base is None:
        return lambda records: _each(args, records)
    return lambda _: history(args)


def _each(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
    """The checkpoints of every stream that a record names; other records pass."""
    for record in records:
        if record.get("type") == "stream" and isinstance(record.get("ref"), str):
            args.stream = record["ref"]
            yield from history(args)
        else:
            yield record


def main() -> int:
    argv = sys.argv[1:]
    args = parser().parse_args(argv) if argv else None
    named = args is not None and not (args.stream is None and args.base is None)
    return (cli.source_main if named else cli.filter_main)(bind, argv)
