"""gitcp-update-ref - move a ref by compare and swap"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> cli.Parser:
    p = cli.Parser("update-ref")
    p.add_argument("ref", metavar="<ref>", help="its full name, refs/…")
    what = "what it must be now, '' for not there (default: what it is at the start)"
    p.add_argument("old", metavar="<old>", nargs="?", help=what)
    return p


def moved(repo: Repo, records: Iterable[Record], ref: str, old: str | None) -> Iterator[Record]:
    """A record of type ref for each commit that ref was moved to; other records pass.

    old: the oid it must be at, None for not there.  Raises Moved when it is elsewhere.
    """
    from gitcp.errors import InputError
    from gitcp.store.git import refs

    for record in records:
        if record.get("type") != "commit":
            yield record
            continue
        oid = record.get("oid")
        if not isinstance(oid, str) or len(oid) != len(repo.empty_tree):
            raise InputError("'oid' of a commit record is no object name")
        refs.update(repo, [(ref, oid, old)], "gitcp-update-ref")
        kept = {"omitted": record["omitted"]} if "omitted" in record else {}
        yield {"type": "ref", "ref": ref, "oid": oid, "old": old, **kept}
        old = oid


def _old(repo: Repo, ref: str, given: str | None) -> str | None:
    from gitcp.errors import Error
    from gitcp.store.git import refs

    if given is None:
        return refs.read(repo, ref)
    if not given.strip("0"):
        return None
    oid = refs.read(repo, given)
    if oid is None:
        raise Error(f"not an object: '{given}'")
    return oid


def bind(argv: Sequence[str]) -> Stage:
    from gitcp.errors import UsageError
    from gitcp.repo import Repo

    opts = parser().parse_args(argv)
    if not opts.ref.startswith("refs/"):
        raise UsageError(f"not the full name of a ref: '{opts.ref}'")
    repo = Repo.find()
    old = _old(repo, opts.ref, opts.old)  # before the first record: when the pipe starts
    return lambda records: moved(repo, records, opts.ref, old)


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
