"""The union of two trees of notes."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.git.tree import TREE, edit_tree, read_tree
from gitcp.store.v1.committed_tree import BLOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.core.record_types import Entry
    from gitcp.store.git.objects import Objects

    Join = Callable[[bytes, bytes], bytes]  # one note of two on the same commit

_HEX = frozenset("0123456789abcdef")
_MOST = 1_000_000  # notes: a tree that refers to another one many times can have any number
_LARGEST = 1 << 20  # bytes of a note that is joined


def unite_notes(objects: Objects, a: str, b: str, *, joined: Join) -> str:
    """Write the tree of the notes of both; joined makes one note of two that differ.

    Other files are left out.  Of two notes that are too large to join, the larger stays.  Raises
    Error if there are more than _MOST notes.
    """
    mine, theirs = dict(_list_notes(objects, a)), dict(_list_notes(objects, b))
    united: dict[str, Entry | None] = {}
    for name, entry in {**mine, **theirs}.items():
        pair = mine.get(name, entry), theirs.get(name, entry)
        joined_entry = entry if pair[0] == pair[1] else _join_note(objects, *pair, joined)
        united[f"{name[:2]}/{name[2:]}"] = joined_entry
    return edit_tree(objects, None, united)


def _list_notes(objects: Objects, tree: str) -> Iterator[tuple[str, Entry]]:
    """Yield (commit, entry) of each note, with any fan-out."""
    todo, count = [("", tree)], 0
    while todo:
        before, oid = todo.pop()
        for name, entry in read_tree(objects, oid).items():
            commit = before + name
            if len(commit) > len(tree) or not _HEX.issuperset(name):
                continue
            if entry[0] == TREE:
                todo.append((commit, entry[1]))
            elif len(commit) == len(tree):
                yield commit, entry
            count += 1
            if count > _MOST:
                raise Error(f"more than {_MOST} notes: not merged")


def _join_note(objects: Objects, ours: Entry, theirs: Entry, joined: Join) -> Entry:
    sizes = {entry: objects.read_size(entry[1]) for entry in (ours, theirs)}
    if max(sizes.values()) > _LARGEST:
        return max(ours, theirs, key=lambda entry: (sizes[entry], entry))
    texts = (objects.need(oid, "blob") for _, oid in (ours, theirs))
    return BLOB, objects.write("blob", joined(*texts))


def unite_lines(a: bytes, b: bytes) -> bytes:
    """The lines of two notes, each once, sorted, as cat_sort_uniq of git-notes(1)."""
    lines = {line for note in (a, b) for line in note.split(b"\n") if line}
    return b"".join(line + b"\n" for line in sorted(lines))
