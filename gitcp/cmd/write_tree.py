"""gitcp-write-tree - build a tree from changes and a base"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.core.record_types import Entry, Record, Stage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


_OURS = ("tree", "change", "blob", "end")


def parser() -> cli.Parser:
    p = cli.Parser("write-tree")
    what = "the commit or tree to change (default: what the changes are against)"
    p.add_argument("--base", metavar="<tree-ish>", help=what)
    return p


def built(repo: Repo, records: Iterable[Record], base: str | None) -> Iterator[Record]:
    """One record of type tree: the base with every change and blob applied.

    Other records pass through.  No record of these at all, or no end where one is announced, is
    an error: the stage before has failed, and what came would make a stale or partial tree.
    """
    from gitcp.core.git import tree_entries
    from gitcp.errors import InputError
    from gitcp.store.git.objects import Objects
    from gitcp.store.snapshot import snapshot

    against: Record = {}
    edits: dict[str, Entry | None] = {}
    omitted, some, ended = [], False, False
    for record in records:
        if record.get("type") not in _OURS:
            yield record
            continue
        some = True
        if record["type"] == "tree":
            against = record
        elif record["type"] == "end":
            ended = True
        elif record.get("status") == "!":
            omitted.append({"path": record.get("path"), "reason": record.get("omitted")})
        else:
            path, entry = tree_entries.new(record, len(repo.empty_tree))
            edits[path] = entry
    if not some:
        raise InputError("no records to build a tree from")
    if against.get("ends") and not ended:
        raise InputError("the records are cut short: one of type 'end' is missing")
    _there(repo, edits)
    with Objects(repo) as objects:
        commit, tree = _base(objects, base, against)
        oid = snapshot.tree(objects, tree, edits)
    yield {"type": "tree", "oid": oid, "base": commit, "omitted": omitted}


def _there(repo: Repo, edits: Mapping[str, Entry | None]) -> None:
    """Raise InputError where a tree would name an object that is not there, or is no blob."""
    from gitcp.core.git.porcelain import COMMIT
    from gitcp.errors import InputError

    paths = {e[1]: path for path, e in edits.items() if e and e[0] != COMMIT}
    names = "".join(f"{oid}\n" for oid in paths).encode()
    _, out = repo.git.run("cat-file", "--batch-check", stdin=names) if names else (0, b"")
    for line in out.decode().splitlines():
        oid, kind, *_ = line.split(" ")
        if kind != "blob":
            what = "there is none" if kind == "missing" else f"it is a {kind}"
            raise InputError(f"no blob '{oid}' for '{paths[oid]}': {what}")


def _base(objects: Objects, base: str | None, against: Record) -> tuple[str | None, str | None]:
    """(commit, tree) to apply the changes to; either may be missing."""
    from gitcp.errors import Error, Moved

    recorded = against.get("base")
    if base is None:
        return recorded, against.get("oid")
    commit, tree = objects.read(f"{base}^{{commit}}"), objects.read(f"{base}^{{tree}}")
    if tree is None and base != "HEAD":
        raise Error(f"not a tree or commit: '{base}'")
    oid = commit[0] if commit else None
    if base == "HEAD" and against and oid != recorded:
        raise Moved("HEAD", recorded, oid)
    return oid, tree[0] if tree else None


def bind(argv: Sequence[str]) -> Stage:
    base = parser().parse_args(argv).base

    def stage(records: Iterable[Record]) -> Iterator[Record]:
        from gitcp.repo import Repo

        return built(Repo.find(), records, base)

    return stage


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
