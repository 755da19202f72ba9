"""Checks of the permanent store: layout, JSON, paths and hashes of every checkpoint."""

from __future__ import annotations

import hashlib

from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.core.transcript import chunks
from gitcp.core.upkeep.findings import make_finding
from gitcp.core.v1 import schema, summary
from gitcp.errors import Error
from gitcp.record import parse_json
from gitcp.store.git import refs
from gitcp.store.git.prefetch import split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.git.tree import TREE, read_tree
from gitcp.store.v1 import committed_list
from gitcp.store.v1.committed_tree import list_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.core.record_types import Finding, Tree
    from gitcp.core.v1.summary import Metadata
    from gitcp.repo import Repo
    from gitcp.store.care.case import Case
    from gitcp.store.git.prefetch import Prefetched

    _Window = list[tuple[str, str] | Finding]

_KEYS = ("metadata", "transcript", "context", "content_hash", "prompt")
_HEX = frozenset("0123456789abcdef")
_WINDOW = 64  # checkpoints whose objects are read at once
_LAST = 999  # the highest number of a piece whose name sorts right
_ALONE = 16  # windows before worker processes are started: these cost what 200 checkpoints do


def look_at_checkpoints(case: Case) -> Iterator[Finding]:
    """Check every checkpoint of the store in today's layout, with its transcripts.

    Data without cli_version is older than some rules: breaking one is a note there, since readers
    accept it (doc/formats.md "Accepted variations").
    """

    def begin(objects: Prefetched) -> Callable[[_Window], list[Finding]]:
        hashes = Hashes()
        return lambda window: list(_check_window(objects, hashes, window))

    objects = case.objects
    for source in (ref for ref in case.sources if not ref.endswith("/entire/sessions")):
        windows = split_windows(_list_checkpoints(case.repo, objects, source), _WINDOW)
        for findings in spread_batches(objects, windows, begin, _ALONE):
            yield from findings


def _check_window(objects: Prefetched, hashes: Hashes, window: _Window) -> Iterator[Finding]:
    yield from (item for item in window if isinstance(item, dict))
    checkpoints = [item for item in window if isinstance(item, tuple)]
    yield from _check_checkpoints(objects, hashes, checkpoints)


def _list_checkpoints(
    repo: Repo, objects: Prefetched, source: str
) -> Iterator[tuple[str, str] | Finding]:
    """(id, tree) of each checkpoint; a finding for everything else."""
    if source != ids.CHECKPOINTS:
        yield from _list_on_branch(objects, source)
        return
    for ref in refs.list_refs(repo, source):
        if not ids.parse_checkpoint_ref(ref):
            yield make_finding("stray", ref, "not the name of a checkpoint")
    with notice.Collected():  # another check reports a ref that cannot be read
        yield from committed_list.list_trees(repo, objects, source, "")


def _list_on_branch(objects: Prefetched, ref: str) -> Iterator[tuple[str, str] | Finding]:
    tip = objects.read(f"{ref}^{{tree}}")
    entries = read_tree(objects, tip[0]) if tip else {}
    objects.read_ahead(oid for mode, oid in entries.values() if mode == TREE)
    for shard, (mode, oid) in entries.items():
        if mode != TREE or len(shard) != 2 or not _HEX.issuperset(shard):
            yield make_finding("stray", f"{ref}:{shard}", "part of no checkpoint")
            continue
        try:
            below = read_tree(objects, oid)
        except Error as e:
            yield make_finding("missing-object", f"{ref}:{shard}", str(e))
            continue
        for name, (kind, tree) in below.items():
            if kind == TREE and ids.is_checkpoint_id(shard + name):
                yield shard + name, tree
            else:
                yield make_finding("stray", f"{ref}:{shard}/{name}", "part of no checkpoint")


def _check_checkpoints(
    objects: Prefetched, hashes: Hashes, window: list[tuple[str, str]]
) -> Iterator[Finding]:
    loader = committed_list.Loader(objects)
    loader.prepare((tree for _, tree in window), summary.HASH)
    files = (file for tree in loader.trees.values() for file in tree.items())
    objects.fetch_small(oid for name, (_, oid) in files if chunks.parse_number(name) is not None)
    for checkpoint_id, tree in window:
        try:
            yield from _check_checkpoint(objects, hashes, checkpoint_id, tree, loader.trees)
        except Error as e:  # the other checkpoints are checked all the same
            yield make_finding("missing-object", checkpoint_id, str(e))
    objects.forget()


def _check_checkpoint(
    objects: Prefetched,
    hashes: Hashes,
    cid: str,
    tree: str,
    trees: Mapping[str, Tree],
) -> Iterator[Finding]:
    entries = _get_tree(objects, tree, trees)
    folders = {name: _get_tree(objects, entries[name][1], trees) for name in list_numbers(entries)}
    root = _read_json(objects, entries)
    parsed = {name: _read_json(objects, files) for name, files in folders.items()}
    old = not any((metadata or {}).get("cli_version") for metadata in (root, *parsed.values()))
    if root is None:
        yield make_finding("bad-summary", cid, "metadata.json is missing or not a JSON object")
    else:
        yield from _report_complaints("bad-summary", cid, schema.check_root(root, cid), old)
        yield from _check_paths(cid, root, folders, old)
    for name, files in folders.items():
        where, metadata = f"{cid}/{name}", parsed[name]
        if metadata is None:
            why = "metadata.json is missing or not a JSON object"
            yield make_finding("bad-metadata", where, why)
        else:
            complaints = schema.check_session(metadata, cid)
            yield from _report_complaints("bad-metadata", where, complaints, old)
        yield from _check_transcript(objects, hashes, where, metadata or {}, files, old)


def _get_tree(objects: Prefetched, oid: str, trees: Mapping[str, Tree]) -> Tree:
    return trees[oid] if oid in trees else read_tree(objects, oid)


def _report_complaints(
    code: str, where: str, complaints: schema.Complaints, old: bool
) -> Iterator[Finding]:
    """One finding for the errors, and one for the accepted variations."""
    for accepted in (False, True):
        words = [what for what, variation in complaints if variation is accepted]
        if words:
            yield make_finding(code, where, "; ".join(words), old=accepted or old)


def _check_paths(
    cid: str, root: dict[str, Any], folders: dict[str, Tree], old: bool
) -> Iterator[Finding]:
    entries = root.get("sessions")
    listed = [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    top = f"/{cid[:2]}/{cid[2:]}/"
    for number, entry in enumerate(listed):
        for key in _KEYS:
            path = entry.get(key)
            if not isinstance(path, str) or not path:
                continue
            folder, _, name = path.removeprefix(top).removeprefix("/").partition("/")
            if not path.startswith((top, f"/{folder}/")) or folder not in folders:
                yield make_finding("bad-path", cid, f"sessions[{number}] names '{path}'", old)
                break
            if name not in folders[folder]:
                # The original program lists a transcript and a hash even if it wrote none.
                gone = f"sessions[{number}] names '{path}', which does not exist"
                yield make_finding("bad-path", cid, gone, old or key != "metadata")
    if len(listed) != len(folders):
        counts = f"it lists {len(listed)} sessions and has {len(folders)}"
        yield make_finding("bad-path", cid, counts, old)
    gaps = [name for n, name in enumerate(folders) if name != str(n)]
    if gaps:
        yield make_finding("bad-number", cid, f"its directories are {' '.join(folders)}", old)


def _read_json(objects: Prefetched, entries: Tree) -> dict[str, Any] | None:
    entry = entries.get(summary.METADATA)
    return summary.parse_json(objects.need(entry[1], "blob"), parse_json) if entry else None


def read_trees(repo: Repo, objects: Prefetched, sources: Iterable[str]) -> dict[str, str]:
    """id -> tree of every checkpoint, from the first of the sources that has it."""
    trees: dict[str, str] = {}
    for source in sources:
        for item in _list_checkpoints(repo, objects, source):
            if isinstance(item, tuple):
                trees.setdefault(*item)
    return trees


class Hashes:
    """Computes SHA-256 of transcripts.  A transcript that begins with the pieces of the session's
    last one continues its digest, so that each piece of a growing session is read once."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[list[str], Any]] = {}

    def compute_digest(self, objects: Prefetched, session_id: str, oids: list[str]) -> str:
        """'sha256:' and the hex digits of the pieces joined with newlines."""
        known, digest = self._last.get(session_id, ([], None))
        if digest is None or oids[: len(known)] != known or len(oids) == len(known):
            known, digest = [], hashlib.sha256()
        digest = digest.copy()
        for number in range(len(known), len(oids)):
            data = objects.need(oids[number], "blob")
            if number == len(oids) - 1:
                self._last[session_id] = (oids[:number], digest.copy())
            digest.update(b"\n" * (number > 0) + data)
        return "sha256:" + str(digest.hexdigest())


def _check_transcript(
    objects: Prefetched, hashes: Hashes, where: str, metadata: Metadata, files: Tree, old: bool
) -> Iterator[Finding]:
    """Check the pieces and the hash of one session directory; old: hashes may be missing."""
    pieces = {
        n: oid for name, (_, oid) in files.items() if (n := chunks.parse_number(name)) is not None
    }
    yield from _check_names(where, files, sorted(pieces))
    stored = _read_hash(objects, files)
    if not pieces:
        if stored:
            yield make_finding("bad-hash", where, "it has a hash, and no transcript", old)
        return
    if not stored:
        # The original program writes none under auto-commit.
        accepted = old or metadata.get("strategy") == "auto-commit"
        yield make_finding("bad-hash", where, "there is no content_hash.txt", accepted)
        return
    session_id = str(metadata.get("session_id", where))
    actual = hashes.compute_digest(objects, session_id, [oid for _, oid in sorted(pieces.items())])
    if stored != actual:
        why = f"content_hash.txt is '{stored[:80]}', not '{actual}'"
        yield make_finding("bad-hash", where, why, old)


def _check_names(where: str, files: Tree, numbers: list[int]) -> Iterator[Finding]:
    if numbers and numbers != list(range(len(numbers))):
        gone = next(n for n in range(numbers[-1]) if n not in numbers)
        yield make_finding("bad-chunk", where, f"'{chunks.format_name(gone)}' is missing")
    if numbers and numbers[-1] > _LAST:
        why = f"'{chunks.format_name(numbers[-1])}' sorts before others"
        yield make_finding("bad-chunk", where, why)
    for name in files:
        digits = name.removeprefix(chunks.NAME + ".")
        if digits != name and digits[:1].isdecimal() and len(digits) < 3:
            yield make_finding("bad-chunk", where, f"'{name}' has less than three digits")
    if chunks.NAME in files and chunks.LEGACY in files:
        yield make_finding("bad-chunk", where, "there are two first pieces")


def _read_hash(objects: Prefetched, files: Tree) -> str:
    entry = files.get(summary.HASH)
    return objects.need(entry[1], "blob").decode(errors="replace").strip() if entry else ""
