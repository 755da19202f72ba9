"""gitcp-delete-refs - delete the refs named by records"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> cli.Parser:
    return cli.Parser("delete-refs")


def delete(repo: Repo, records: Iterable[Record]) -> Iterator[Record]:
    """Delete every ref named, all or none; yield their records when it is done.

    Each ref must still have the oid its record shows (else Moved).  Raises Error for a ref
    that is not temporary data of gitcp.
    """
    from gitcp.store.git import refs

    doomed = [r for r in records if r.get("type") == "ref"]
    named = [(ref, None, oid) for ref, oid in map(_named, doomed)]
    refs.update(repo, named, "gitcp: delete")
    yield from doomed


def _named(record: Record) -> tuple[str, str]:
    from gitcp.core.decide.ref_expiry import deletable
    from gitcp.errors import Error, InputError

    ref, oid = record.get("ref"), record.get("oid")
    if not isinstance(ref, str) or not isinstance(oid, str) or not oid.isalnum():
        raise InputError("a record of type 'ref' needs 'ref' and 'oid'")
    if not deletable(ref) or any(c in ref for c in "\0\n "):
        raise Error(f"not a temporary ref of gitcp: '{ref}'")
    return ref, oid


def bind(argv: Sequence[str]) -> Stage:
    from gitcp.repo import Repo

    parser().parse_args(argv)
    return lambda records: delete(Repo.find(), records)


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
