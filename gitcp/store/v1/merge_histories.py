"""Merging two histories of checkpoints, or of notes, into one commit."""

from __future__ import annotations

from gitcp.core.v1 import merge_rules, summary
from gitcp.store.git.commit import need_commit, write_commit
from gitcp.store.git.tree import TREE, edit_tree, read_tree, walk, write_tree
from gitcp.store.v1.committed_tree import BLOB, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitcp.core.record_types import Entry, Tree
    from gitcp.core.v1.merge_rules import Directory, Files
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Join = Callable[[bytes, bytes], bytes]  # one note of two on the same commit

_HEX = frozenset("0123456789abcdef")
_SUBJECT = "Merge remote session logs"  # the original's (E§2.5)


def histories(
    repo: Repo, objects: Objects, ours: str, theirs: str, joined: Join | None = None
) -> str:
    """The commit that has both: one of the two, or a new merge with their united trees.

    Neither needs to know the other: unrelated roots are joined.  joined: they are of notes, and
    this makes one note of two on the same commit.
    """
    if _contains(repo, ours, theirs):
        return ours
    if _contains(repo, theirs, ours):
        return theirs
    trees = [need_commit(objects, oid)["tree"] for oid in (ours, theirs)]
    tree = (
        note_trees(objects, *trees, joined=joined)
        if joined
        else trees_of_checkpoints(objects, *trees)
    )
    subject = "notes: Merged by gitcp" if joined else _SUBJECT
    return write_commit(objects, repo, tree, [ours, theirs], subject)


def _contains(repo: Repo, commit: str, other: str) -> bool:
    return commit == other or repo.git.test("merge-base", "--is-ancestor", other, commit)


def trees_of_checkpoints(objects: Objects, a: str, b: str) -> str:
    """The union of two trees of the permanent store; equal subtrees are not read."""
    return _unite(objects, a, b, "")


def _unite(objects: Objects, a: str, b: str, path: str) -> str:
    if a == b:
        return a
    if _is_checkpoint(path):
        return _checkpoint(objects, a, b, path.replace("/", ""))
    mine, theirs = read_tree(objects, a), read_tree(objects, b)
    united: Tree = {**mine, **theirs}
    for name in mine.keys() & theirs.keys():
        one, two = mine[name], theirs[name]
        if one[0] == two[0] == TREE:
            below = f"{path}/{name}" if path else name
            united[name] = (TREE, _unite(objects, one[1], two[1], below))
        elif one != two:
            united[name] = _greater(objects, one, two)
    return write_tree(objects, united)


def _is_checkpoint(path: str) -> bool:
    shard, _, rest = path.partition("/")
    return len(shard) == 2 and len(rest) == 10 and _HEX.issuperset(shard + rest)


def _greater(objects: Objects, one: Entry, two: Entry) -> Entry:
    if TREE in (one[0], two[0]):
        return one if one[0] == TREE else two
    return max(one, two, key=lambda e: (_size(objects, e[1]), e))


def _size(objects: Objects, oid: str) -> int:
    return len(objects.need(oid, "blob"))


def _checkpoint(objects: Objects, a: str, b: str, checkpoint_id: str) -> str:
    joined = merge_rules.merge(
        _directory(objects, a), _directory(objects, b), lambda oid: _size(objects, oid)
    )
    edits: dict[str, Entry | None] = dict(joined["files"])
    sessions: list[summary.Session] = []
    for index, session in enumerate(joined["sessions"]):
        metadata, files = session["metadata"], session["files"]
        if metadata is not None:
            metadata = _tidy(metadata, summary.SESSION_KEYS)
            files = {**files, summary.METADATA: _json(objects, metadata)}
        edits.update({f"{index}/{name}": entry for name, entry in files.items()})
        sessions.append((metadata, files))
    root = summary.summarize(checkpoint_id, joined["root"] or {}, sessions)
    edits[summary.METADATA] = _json(objects, _tidy(root, summary.ROOT_KEYS))
    return edit_tree(objects, None, edits)


def _json(objects: Objects, value: summary.Metadata) -> Entry:
    return BLOB, objects.write("blob", summary.dump(value))


def _directory(objects: Objects, tree: str) -> Directory:
    entries = read_tree(objects, tree)
    dirs = numbers(entries)
    files: Files = {}
    for name, (mode, oid) in entries.items():
        if name not in dirs:
            files.update(walk(objects, oid, f"{name}/") if mode == TREE else {name: (mode, oid)})
    root = _take_json(objects, files)
    parts: Directory = {"root": root, "sessions": [], "files": files}
    for name in dirs:
        inner: Files = dict(walk(objects, entries[name][1]))
        metadata = _take_json(objects, inner)
        parts["sessions"].append({"metadata": metadata, "files": inner})
    return parts


def _take_json(objects: Objects, files: Files) -> summary.Metadata | None:
    """Take metadata.json out of files; what cannot be read stays there as a file."""
    entry = files.get(summary.METADATA)
    metadata = summary.load(objects.need(entry[1], "blob")) if entry else None
    if metadata is not None:
        del files[summary.METADATA]
    return metadata


def _tidy(metadata: summary.Metadata, keys: Sequence[str]) -> summary.Metadata:
    return summary.ordered({k: metadata[k] for k in sorted(metadata)}, keys)


def note_trees(objects: Objects, a: str, b: str, *, joined: Join) -> str:
    """The union of two trees of notes; joined makes one note of two that differ."""
    mine, theirs = ({p.replace("/", ""): e for p, e in walk(objects, t)} for t in (a, b))
    united: dict[str, Entry | None] = {}
    for name, entry in {**mine, **theirs}.items():
        one, two = mine.get(name, entry), theirs.get(name, entry)
        texts = [objects.need(e[1], "blob") for e in (one, two)] if one != two else None
        new = (BLOB, objects.write("blob", joined(*texts))) if texts else entry
        united[f"{name[:2]}/{name[2:]}"] = new
    return edit_tree(objects, None, united)


def lines(one: bytes, two: bytes) -> bytes:
    """The lines of two notes, each once, sorted (as cat_sort_uniq of git-notes)."""
    both = {line for note in (one, two) for line in note.split(b"\n") if line}
    return b"".join(line + b"\n" for line in sorted(both))
