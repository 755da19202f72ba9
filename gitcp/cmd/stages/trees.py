"""The stages that build a tree and move a ref to a commit of it."""

from __future__ import annotations

from gitcp.commands import make_value
from gitcp.errors import Error, InputError, Moved, UsageError
from gitcp.git import encode_name, objects, refs
from gitcp.git.objects import Objects, patches
from gitcp.git.repo import Repo
from gitcp.record.snapshot import scan as snapshot_scan
from gitcp.text.ids import COMMIT, GONE, check_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping

    from gitcp.text.record_types import Entry, Record, Records


def list_changes(_: object) -> Iterator[Record]:
    """HEAD's tree as a record, then a record of type change for each path, in git's order.

    Paths that a snapshot leaves out come last: status '!', with the reason in 'omitted'.  The tree
    announces a record of type end, by which write_tree() recognises a list that is cut short.
    """
    repo = Repo.find()
    scan = snapshot_scan.scan_worktree(repo)
    with Objects(repo):
        snapshot_scan.confirm_changes(repo.objects, scan)
        tree = None
        if scan.head:
            tree = repo.objects.read(f"{scan.head}^{{tree}}")
    head = tree[0] if tree else repo.empty_tree
    yield {"type": "tree", "oid": head, "base": scan.head, "ends": True}
    for path in sorted(scan.changes, key=encode_name):
        change = scan.changes[path]
        entry = patches.build_change(path, change.mode, change.oid, change.head_entry)
        yield {**entry, "type": "change"}
    for item in scan.omitted:
        yield dict(patches.build_omission(item["path"], item["reason"]))
    yield {"type": "end"}


def write_blobs(records: Records) -> Iterator[Record]:
    """Each change with the oid of the present content of its path, stored as by `git add`.

    Everything is stored before the first record, so that a failure does not look like a short list.
    A path that equals HEAD's by now is dropped.
    """
    repo = Repo.find()
    records = list(records)
    width = len(repo.empty_tree)
    old_entries = {
        check_path(r.get("path")): patches.parse_old_entry(r, width)
        for r in records
        if r.get("type") == "change" and r.get("mode") != GONE
    }
    with Objects(repo):
        read = snapshot_scan.read_paths_and_omitted
        entries, omitted = read(repo, old_entries, write=True, capped=False)
    reasons = {item["path"]: item["reason"] for item in omitted}
    for record in records:
        path = record.get("path")
        if record.get("type") != "change" or path not in old_entries:
            yield record
            continue
        old = old_entries[path]
        entry = entries.get(path)
        if path in reasons:
            yield dict(patches.build_omission(path, reasons[path]))
        if entry != old and (entry or path not in reasons):
            mode, oid = entry or (GONE, None)
            yield {**record, **patches.build_change(path, mode, oid, old)}


_TAKEN = ("tree", "change", "blob", "end")


def write_tree(records: Records, args: Namespace) -> Iterator[Record]:
    """One record of type tree: the base with every change and blob applied.

    Other records are passed on.  Raise InputError without any record of _TAKEN, or without an
    announced end: the stage before has failed, and the tree would be stale or partial.
    """
    repo = Repo.find()
    base_record: Record = {}
    edits: dict[str, Entry | None] = {}
    omitted = []
    kinds = set[str]()
    for record in records:
        kind = record.get("type")
        if kind not in _TAKEN:
            yield record
            continue
        kinds.add(kind)
        if kind == "tree":
            base_record = record
        elif record.get("status") == "!":
            omitted.append({"path": record.get("path"), "reason": record.get("omitted")})
        elif kind != "end":
            path, entry = patches.parse_new_entry(record, len(repo.empty_tree))
            edits[path] = entry
    if not kinds:
        raise InputError("no records to build a tree from")
    if base_record.get("ends") and "end" not in kinds:
        raise InputError("the input ends too early: its last record, of type 'end', is missing")
    _check_objects(repo, edits)
    with Objects(repo):
        commit, tree = _find_base(repo, args.base, base_record)
        oid = snapshot_scan.write_tree(repo.objects, tree, edits)
    yield {"type": "tree", "oid": oid, "base": commit, "omitted": omitted}


def _check_objects(repo: Repo, edits: Mapping[str, Entry | None]) -> None:
    """Raise InputError if a tree would name an object that is missing or not a blob."""
    paths = {e[1]: path for path, e in edits.items() if e and e[0] != COMMIT}
    names = "".join(f"{oid}\n" for oid in paths).encode()
    repo.objects.flush()
    _, out = repo.git.run("cat-file", "--batch-check", stdin=names) if names else (0, b"")
    for line in out.decode().splitlines():
        oid, kind, *_ = line.split(" ")
        if kind != "blob":
            if kind == "missing":
                reason = "it is missing"
            else:
                reason = f"it is a {kind}"
            raise InputError(f"no blob '{oid}' for '{paths[oid]}': {reason}")


def _find_base(repo: Repo, base: str | None, base_record: Record) -> tuple[str | None, str | None]:
    """(commit, tree) to apply the changes to; either may be missing."""
    recorded = base_record.get("base")
    if base is None:
        return recorded, base_record.get("oid")
    commit = repo.objects.read(f"{base}^{{commit}}")
    tree = repo.objects.read(f"{base}^{{tree}}")
    if tree is None and base != "HEAD":
        raise Error(f"not a tree or commit: '{base}'")
    oid = commit[0] if commit else None
    if base == "HEAD" and base_record and oid != recorded:
        raise Moved("HEAD", recorded, oid)
    return oid, tree[0] if tree else None


def write_commit(records: Records, args: Namespace) -> Iterator[Record]:
    """A record of type commit for each tree; 'omitted' is carried on, other records pass."""
    repo = Repo.find()
    with Objects(repo):
        for record in records:
            if record.get("type") != "tree":
                yield record
                continue
            tree = record.get("oid")
            base = record.get("base")
            if not isinstance(tree, str) or not isinstance(base, str | None):
                raise InputError("'oid' or 'base' of a tree record is not the name of an object")
            repo.objects.need(tree, "tree")
            if args.parents is not None:
                parents = args.parents
            else:
                parents = [base] if base else []
            oids = [objects.need_commit(repo.objects, name)["oid"] for name in parents]
            oid = objects.write_commit(repo, tree, oids, args.message)
            repo.objects.flush()  # the reader of the record may ask git for it
            if "omitted" in record:
                omitted = {"omitted": record["omitted"]}
            else:
                omitted = {}
            yield {"type": "commit", "oid": oid, "tree": tree, "parents": oids, **omitted}


def update_ref(records: Records, args: Namespace) -> Iterator[Record]:
    """Move the named ref by _move_ref(); its old value is read when the pipeline starts."""
    if not args.ref.startswith("refs/"):
        raise UsageError(f"not the full name of a ref: '{args.ref}'")
    repo = Repo.find()
    return _move_ref(repo, records, args.ref, _read_old(repo, args.ref, args.old))


def _move_ref(repo: Repo, records: Records, ref: str, old: str | None) -> Iterator[Record]:
    """A record of type ref for each commit that ref was moved to; other records are passed on.

    old: its expected oid, None for no such ref.  Raise Moved if it has another one.
    """
    for record in records:
        if record.get("type") != "commit":
            yield record
            continue
        oid = record.get("oid")
        if not isinstance(oid, str) or len(oid) != len(repo.empty_tree):
            raise InputError("'oid' of a commit record is not the name of an object")
        refs.update_refs(repo, [(ref, oid, old)], "gitcp-update-ref")
        if "omitted" in record:
            omitted = {"omitted": record["omitted"]}
        else:
            omitted = {}
        yield {"type": "ref", "ref": ref, "oid": oid, "old": old, **omitted}
        old = oid


def _read_old(repo: Repo, ref: str, spelled: str | None) -> str | None:
    if spelled is None:
        return refs.read_ref(repo, ref)
    if not spelled.strip("0"):
        return None
    oid = refs.read_ref(repo, spelled)
    if oid is None:
        raise Error(f"not an object: '{spelled}'")
    return oid


OPTIONS = {
    "write-tree": (
        make_value(
            "--base",
            "<tree-ish>",
            "the commit or tree to change (default: what the changes are against)",
        ),
    ),
    "write-commit": (
        make_value("-m", "<message>", "its message", dest="message", required=True),
        make_value(
            "-p",
            "<parent>",
            "a parent; may be given again (default: the commit that the tree was built on)",
            dest="parents",
            action="append",
        ),
    ),
    "update-ref": (
        make_value("ref", "<ref>", "its full name, refs/…"),
        make_value(
            "old",
            "<old>",
            "what it must be now, '' for not there (default: what it is at the start)",
            nargs="?",
        ),
    ),
}
