"""gitcp-read-checkpoint - read a committed checkpoint or a session in it"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_read import Checkpoint, Content


def parser() -> cli.Parser:
    p = cli.Parser("read-checkpoint")
    p.add_argument("-c", "--commit", metavar="<commit>", help="read the checkpoints of a commit")
    one = "only this session: its number in the checkpoint, from 0, or its id"
    p.add_argument("-s", "--session", metavar="<session>", help=one)
    raw = "write the stored transcript itself, byte for byte, and no records"
    p.add_argument("-t", "--transcript", action="store_true", help=raw)
    what = "a checkpoint, by its id or the beginning of it"
    p.add_argument("id", nargs="*", metavar="<id>", help=what)
    return p


def bind(argv: Sequence[str]) -> Stage:
    """A source: a checkpoint record, then a session record for each session in it."""
    opts = _options(argv)
    return lambda _: _records(opts)


def main() -> int:
    def body() -> int:
        from gitcp import record

        opts = _options(sys.argv[1:])
        if opts.transcript:
            for checkpoint in _temporaries(opts):
                sys.stdout.buffer.write(checkpoint["transcript"])
            for _, sessions in _read(opts):
                for content in sessions:
                    sys.stdout.buffer.write(content["transcript"])
        else:
            record.write(sys.stdout.buffer, _records(opts))
        return OK

    return cli.guard(body)


def _options(argv: Sequence[str]) -> Namespace:
    p = parser()
    opts = p.parse_args(argv)
    if not opts.id and not opts.commit:
        p.error("needs the id of a checkpoint, or --commit")
    return opts


def _records(opts: Namespace) -> Iterator[Record]:
    from gitcp.store.v1 import committed_list

    for temporary in _temporaries(opts):
        size = len(temporary["transcript"])
        yield {
            **{k: v for k, v in temporary.items() if k != "transcript"},
            "transcript_bytes": size,
        }
    for checkpoint, sessions in _read(opts):
        yield committed_list.record(checkpoint) | {"summary": checkpoint["summary"]}
        for content in sessions:
            yield _record(checkpoint["checkpoint_id"], content)


def _temporaries(opts: Namespace) -> Iterator[Record]:
    """The temporary checkpoints among what is asked for, which is taken out of it."""
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.show import checkpoint_view, lookup

    repo = Repo.find()
    with Objects(repo) as objects:
        for name in list(opts.id):
            oid = lookup.temporary(repo, objects, name)
            if oid:
                opts.id.remove(name)
                yield checkpoint_view.temporary(repo, objects, oid)


def _record(checkpoint_id: str, content: Content) -> Record:
    return {
        "type": "session",
        "checkpoint_id": checkpoint_id,
        "index": content["index"],
        "session_id": content["session_id"],
        "metadata": content["metadata"],
        "prompts": content["prompts"],
        "transcript_bytes": len(content["transcript"]),
        "content_hash": content["content_hash"],
        "hash": content["hash"],
        "tasks": content["tasks"],
        **({"lacks": content["lacks"]} if content["lacks"] else {}),
    }


def _read(opts: Namespace) -> Iterator[tuple[Checkpoint, list[Content]]]:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1 import committed_read

    repo = Repo.find()
    with Objects(repo) as objects:
        ids = _resolved(repo, objects, opts.id)
        if opts.commit:
            ids += _of_commit(repo, objects, opts.commit)
        for checkpoint_id in dict.fromkeys(ids):
            checkpoint = committed_read.read(repo, objects, checkpoint_id)
            which: list[int | str] = [s["index"] for s in checkpoint["sessions"]]
            if opts.session is not None:
                which = [int(opts.session) if opts.session.isdecimal() else opts.session]
            yield checkpoint, [committed_read.session(objects, checkpoint, w) for w in which]


def _resolved(repo: Repo, objects: Objects, prefixes: Sequence[str]) -> list[str]:
    """The ids that begin so.  Of several, one that is unknown does not keep back the others."""
    from gitcp.console import notice
    from gitcp.store.v1 import committed_list

    ids = []
    for prefix in prefixes:
        try:
            ids.append(committed_list.resolve(repo, objects, prefix))
        except Error as e:
            if len(prefixes) == 1:
                raise
            notice.lack(str(e))
    return ids


def _of_commit(repo: Repo, objects: Objects, spec: str) -> list[str]:
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link.find_commits import of_commit

    ids = of_commit(repo, objects, need_commit(objects, spec)["oid"])
    if not ids:
        raise Error(f"no checkpoint belongs to '{spec}'")
    return ids
