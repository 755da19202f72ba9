"""Checks of the permanent store: layout, JSON, paths and hashes of every checkpoint."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from gitcp.agents import transcripts
from gitcp.checkpoints import format, listing
from gitcp.checkpoints.format import schema
from gitcp.checkpoints.stored import list_numbers
from gitcp.checkpoints.transcripts import CHUNKS, hash_chunks
from gitcp.errors import Error
from gitcp.git import refs
from gitcp.git.objects import TREE, cat_file, read_tree
from gitcp.git.objects.reading import split_windows, spread_batches
from gitcp.git.records import parse_json
from gitcp.setup.care.findings import Finding
from gitcp.text import console, ids, term
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from gitcp.checkpoints.format import Metadata
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Case
    from gitcp.text.record_types import Tree

    _Tree = tuple[str, str]  # id of a checkpoint, its tree
    _Fault = tuple[str, str, str, bool]  # kind, subject, reason, is_note: as workers pass it on

_KEYS = ("metadata", "transcript", "context", "content_hash", "prompt")
_HEX = frozenset("0123456789abcdef")
_WINDOW = 64  # checkpoints whose objects are read at once
_LAST = 999  # the last three-digit chunk: names above it sort wrongly
_ALONE = 16  # windows before workers are started: a start costs what 200 checkpoints do


def look_at_checkpoints(case: Case) -> Iterator[Finding]:
    """Check every checkpoint of the store in today's layout, with its transcripts.

    Data without cli_version is older than some rules: breaking one is a note there, since readers
    accept it (doc/formats.md "Accepted variations").
    """

    def begin(objects: Objects) -> Callable[[list[_Tree]], list[_Fault]]:
        hashes = Hashes()

        def check(window: list[_Tree]) -> list[_Fault]:
            found = _check_checkpoints(objects, hashes, window)
            return [(each.kind, each.subject, each.reason, each.is_note) for each in found]

        return check

    for source in (ref for ref in case.sources if not ref.endswith("/entire/sessions")):
        listed = _list_checkpoints(case.repo, source)
        yield from listed.strays
        windows = split_windows(listed.trees, _WINDOW)
        batches = spread_batches(case.repo.objects, windows, begin, _ALONE)
        for number, faults in enumerate(batches, 1):
            for fault in faults:
                yield Finding(*fault)
            term.show_count("checking checkpoints", number * _WINDOW)


class _Listed(NamedTuple):
    """What a ref of the store has.  strays: what is no checkpoint."""

    trees: list[_Tree]
    strays: list[Finding]


def _list_checkpoints(repo: Repo, source: str) -> _Listed:
    if source != ids.CHECKPOINTS:
        return _list_on_branch(repo.objects, source)
    strays = [
        Finding("stray", ref, "not the name of a checkpoint")
        for ref in refs.list_refs(repo, source)
        if not ids.parse_checkpoint_ref(ref)
    ]
    with console.Collected():  # another check reports a ref that cannot be read
        return _Listed([*listing.list_trees(repo, source, "")], strays)


def _list_on_branch(objects: Objects, ref: str) -> _Listed:
    listed = _Listed([], [])
    tip = objects.read(f"{ref}^{{tree}}")
    if not tip:
        return listed
    entries = read_tree(objects, tip[0])
    objects.read_ahead(oid for mode, oid in entries.values() if mode == TREE)
    for shard, (mode, oid) in entries.items():
        if mode != TREE or len(shard) != 2 or not _HEX.issuperset(shard):
            listed.strays.append(Finding("stray", f"{ref}:{shard}", "part of no checkpoint"))
            continue
        try:
            below = read_tree(objects, oid)
        except Error as e:
            listed.strays.append(Finding("missing-object", f"{ref}:{shard}", str(e)))
            continue
        for name, (kind, tree) in below.items():
            if kind == TREE and ids.is_checkpoint_id(shard + name):
                listed.trees.append((shard + name, tree))
            else:
                where = f"{ref}:{shard}/{name}"
                listed.strays.append(Finding("stray", where, "part of no checkpoint"))
    return listed


def _check_checkpoints(objects: Objects, hashes: Hashes, window: list[_Tree]) -> Iterator[Finding]:
    loader = listing.Loader(objects)
    loader.prepare((tree for _, tree in window), format.HASH)
    pieces: list[str] = []
    for listed in loader.trees.values():
        pieces += _map_pieces(listed).values()
    objects.ahead.fetch_small(pieces)
    for checkpoint_id, tree in window:
        try:
            yield from _check_checkpoint(objects, hashes, checkpoint_id, tree, loader.trees)
        except Error as e:  # the other checkpoints are checked all the same
            # Whether the remote promised it is looked at for all refs together.
            is_partial = bool(cat_file.find_promisor(objects.repo))
            if is_partial and cat_file.lacks_objects(objects.repo, [tree]):
                yield Finding("absent", checkpoint_id, f"it is not checked: {e}")
            else:
                yield Finding("missing-object", checkpoint_id, str(e))
    objects.ahead.forget()


def _check_checkpoint(
    objects: Objects,
    hashes: Hashes,
    cid: str,
    tree: str,
    trees: Mapping[str, Tree],
) -> Iterator[Finding]:
    entries = _get_tree(objects, tree, trees)
    folders = {name: _get_tree(objects, entries[name][1], trees) for name in list_numbers(entries)}
    root = _read_json(objects, entries)
    parsed = {name: _read_json(objects, files) for name, files in folders.items()}
    old = not any(map(_names_version, (root, *parsed.values())))
    if root is None:
        yield Finding("bad-summary", cid, "metadata.json is missing or not a JSON object")
    else:
        yield from _report_complaints("bad-summary", cid, schema.check_root(root, cid), old)
        yield from _check_paths(cid, root, folders, old)
    for name, listed in folders.items():
        where = f"{cid}/{name}"
        metadata = parsed[name]
        if metadata is None:
            why = "metadata.json is missing or not a JSON object"
            yield Finding("bad-metadata", where, why)
        else:
            complaints = schema.check_session(metadata, cid)
            yield from _report_complaints("bad-metadata", where, complaints, old)
        yield from _check_transcript(objects, hashes, where, metadata or {}, listed, old)


def _names_version(metadata: dict[str, Any] | None) -> bool:
    """Whether metadata say which version of the original program wrote them."""
    return bool(metadata and metadata.get("cli_version"))


def _get_tree(objects: Objects, oid: str, trees: Mapping[str, Tree]) -> Tree:
    if oid in trees:
        return trees[oid]
    return read_tree(objects, oid)


def _report_complaints(
    code: str, where: str, complaints: schema.Complaints, old: bool
) -> Iterator[Finding]:
    """One finding for the errors, and one for the accepted variations."""
    for accepted in (False, True):
        words = [what for what, variation in complaints if variation is accepted]
        if words:
            yield Finding(code, where, "; ".join(words), is_note=accepted or old)


def _check_paths(
    cid: str, root: dict[str, Any], folders: dict[str, Tree], old: bool
) -> Iterator[Finding]:
    listed: list[dict[str, Any]] = []
    entries = root.get("sessions")
    if isinstance(entries, list):
        listed = [entry for entry in entries if isinstance(entry, dict)]
    top = f"/{cid[:2]}/{cid[2:]}/"
    for number, entry in enumerate(listed):
        for key in _KEYS:
            path = entry.get(key)
            if not isinstance(path, str) or not path:
                continue
            folder, _, name = path.removeprefix(top).removeprefix("/").partition("/")
            if not path.startswith((top, f"/{folder}/")) or folder not in folders:
                yield Finding("bad-path", cid, f"sessions[{number}] names '{path}'", old)
                break
            if name not in folders[folder]:
                # The original program lists a transcript and a hash even if it wrote none.
                gone = f"sessions[{number}] names '{path}', which does not exist"
                yield Finding("bad-path", cid, gone, old or key != "metadata")
    if len(listed) != len(folders):
        sessions = count_noun(len(listed), "session")
        verb = "is" if len(folders) == 1 else "are"
        counts = f"it lists {sessions}, and {len(folders)} {verb} stored"
        yield Finding("bad-path", cid, counts, old)
    gaps = [name for n, name in enumerate(folders) if name != str(n)]
    if gaps:
        yield Finding("bad-number", cid, f"its directories are {' '.join(folders)}", old)


def _read_json(objects: Objects, entries: Tree) -> dict[str, Any] | None:
    entry = entries.get(format.METADATA)
    if entry:
        return format.parse_json(objects.need(entry[1], "blob"), parse_json)
    return None


class Hashes:
    """Computes SHA-256 of transcripts, which are stored in pieces.

    Of a session's last transcript it keeps the digest before the last piece.  One that begins with
    the same pieces continues from there, so that most pieces of a growing session are read once.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[list[str], Any]] = {}

    def compute_digest(self, objects: Objects, session_id: str, oids: list[str]) -> str:
        """'sha256:' and the hex digits of the pieces joined with newlines."""
        known, digest = self._last.get(session_id, ([], None))
        if digest is None or oids[: len(known)] != known or len(oids) == len(known):
            known = []
            digest = hashlib.sha256()
        digest = digest.copy()
        for number in range(len(known), len(oids)):
            data = objects.need(oids[number], "blob")
            if number == len(oids) - 1:
                self._last[session_id] = (oids[:number], digest.copy())
            digest.update(b"\n" * (number > 0) + data)
        return "sha256:" + str(digest.hexdigest())


def _check_transcript(
    objects: Objects, hashes: Hashes, where: str, metadata: Metadata, files: Tree, old: bool
) -> Iterator[Finding]:
    """Check the pieces and the hash of one session directory; old: hashes may be missing."""
    pieces = _map_pieces(files)
    yield from _check_names(where, files, sorted(pieces))
    stored = _read_hash(objects, files)
    if not pieces:
        if stored:
            yield Finding("bad-hash", where, "it has a hash, and no transcript", old)
        return
    if not stored:
        # The original program writes none under auto-commit.
        accepted = old or metadata.get("strategy") == "auto-commit"
        yield Finding("bad-hash", where, "there is no content_hash.txt", accepted)
        return
    oids = [oid for _, oid in sorted(pieces.items())]
    if stored.startswith(CHUNKS):
        actual = hash_chunks(oids)
    else:
        session_id = str(metadata.get("session_id", where))
        actual = hashes.compute_digest(objects, session_id, oids)
    if stored != actual:
        why = f"content_hash.txt is '{stored[:80]}', not '{actual}'"
        yield Finding("bad-hash", where, why, old)


def _map_pieces(files: Tree) -> dict[int, str]:
    """The pieces of a transcript by their numbers, as oids."""
    pieces: dict[int, str] = {}
    for name, (_, oid) in files.items():
        number = transcripts.parse_number(name)
        if number is not None:
            pieces[number] = oid
    return pieces


def _check_names(where: str, files: Tree, numbers: list[int]) -> Iterator[Finding]:
    if numbers and numbers != list(range(len(numbers))):
        gone = next(n for n in range(numbers[-1]) if n not in numbers)
        yield Finding("bad-chunk", where, f"'{transcripts.format_name(gone)}' is missing")
    if numbers and numbers[-1] > _LAST:
        why = f"'{transcripts.format_name(numbers[-1])}' sorts before others"
        yield Finding("bad-chunk", where, why)
    for name in files:
        digits = name.removeprefix(transcripts.NAME + ".")
        if digits != name and digits[:1].isdecimal() and len(digits) < 3:
            yield Finding("bad-chunk", where, f"'{name}' has less than three digits")
    if transcripts.NAME in files and transcripts.LEGACY in files:
        yield Finding("bad-chunk", where, "there are two first pieces")


def _read_hash(objects: Objects, files: Tree) -> str:
    entry = files.get(format.HASH)
    if entry:
        return objects.need(entry[1], "blob").decode(errors="replace").strip()
    return ""
