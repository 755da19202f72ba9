"""The stages that list, check and delete refs and stored data."""

from __future__ import annotations

import sys
import time

from gitcp.checkpoints.format import orphan_rules
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import Error, InputError
from gitcp.git import decode_name, refs
from gitcp.git.repo import Repo
from gitcp.setup.care import findings, table, upkeep
from gitcp.text.console import parse_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from gitcp.setup.care.findings import Diagnosis
    from gitcp.text.record_types import Record, Records

_DAY = 86400  # seconds
_FORMAT = "--format=%(refname)%00%(objectname)%00%(creatordate:unix)"


def list_refs(_: object, args: Namespace) -> Iterator[Record]:
    """A record of type ref for each ref below patterns, in the order of their names."""
    patterns = args.pattern or orphan_rules.OURS
    for line in Repo.find().git.read_records("for-each-ref", _FORMAT, "--", *patterns, sep=b"\n"):
        ref, oid, created = decode_name(line).split("\0")
        yield {"type": "ref", "ref": ref, "oid": oid, "time": int(created or 0)}


def expire_refs(records: Records, args: Namespace) -> Iterator[Record]:
    """The records of type ref that orphan_rules.list_expired() chooses."""
    known = [_check_record(r) for r in records if r.get("type") == "ref"]
    if args.older_than:
        before = int(time.time()) - args.older_than * _DAY
    else:
        before = sys.maxsize
    yield from orphan_rules.list_expired(known, args.keep, before)  # type: ignore[misc]


def _check_record(record: Record) -> orphan_rules.Ref:
    if not isinstance(record.get("ref"), str) or not isinstance(record.get("time"), int):
        raise InputError("a record of type 'ref' needs 'ref' and 'time'")
    return record  # type: ignore[return-value]


def delete_refs(records: Records) -> Iterator[Record]:
    """Delete the refs of records, all or none; yield their records afterwards.

    Raise Moved for a ref that has another oid than its record, Error for a ref that is not
    temporary data of gitcp.
    """
    doomed = [r for r in records if r.get("type") == "ref"]
    updates = [(ref, None, oid) for ref, oid in map(_build_deletion, doomed)]
    refs.update_refs(Repo.find(), updates, "gitcp: delete")
    yield from doomed


def _build_deletion(record: Record) -> tuple[str, str]:
    """The (ref, oid) of a record."""
    ref = record.get("ref")
    oid = record.get("oid")
    if not isinstance(ref, str) or not isinstance(oid, str) or not oid.isalnum():
        raise InputError("a record of type 'ref' needs 'ref' and 'oid'")
    if not orphan_rules.is_deletable(ref) or any(c in ref for c in "\0\n "):
        raise Error(f"not a temporary ref of gitcp: '{ref}'")
    return ref, oid


def check_store(_: object, args: Namespace) -> Iterator[Record]:
    """The records of find_in_store()."""
    for found in find_in_store(args):
        yield found.build_stored_record()


def find_in_store(args: Namespace) -> Iterator[Diagnosis]:
    """The findings that args ask for, one at a time."""
    for found in table.check_store(Repo.find(), secrets=args.secrets, fix=args.fix):
        if not args.quiet or found.severity != findings.NOTE:
            yield found


def list_orphans(_: object, args: Namespace) -> list[Record]:
    """A record of type finding for each orphan (core.orphan_rules); nothing is written."""
    repo = Repo.find()
    orphans = upkeep.find_orphans(repo, upkeep.find_ages(repo, args.older_than))
    return [orphan.build_record() for orphan in orphans]


OPTIONS = {
    "list-refs": (
        make_value(
            "pattern",
            "<pattern>",
            "as in git-for-each-ref(1) (default: every ref of gitcp)",
            nargs="*",
        ),
    ),
    "expire-refs": (
        make_value(
            "--keep",
            "<n>",
            "how many refs of each directory to keep (default: %(default)s)",
            type=parse_number,
            default=10,
        ),
        make_value(
            "--older-than",
            "<days>",
            "only refs older than this (default: %(default)s)",
            type=parse_number,
            default=0,
        ),
    ),
    "check-store": (
        make_flag("--fix --repair", "repair what can be repaired without loss"),
        make_flag("--secrets", "search what is stored for secrets"),
        make_flag("-q --quiet", "leave notes out"),
        make_flag("-v --verbose", "show each finding, also of many with the same cause"),
        JSON,
    ),
    "list-orphans": (
        make_value(
            "--older-than",
            "<days>",
            "what has not been used for so long (default: what is configured)",
            type=parse_number,
        ),
    ),
}
