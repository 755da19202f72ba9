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
_MOST = 1_000_000  # notes: one tree, referred to again and again, can pretend to any number
_LARGEST = 1 << 20  # bytes of a note whose lines are looked at


def unite_notes(objects: Objects, a: str, b: str, *, joined: Join) -> str:
    """The tree of the notes of both; joined makes one note of two that differ.

    What is no note is left out; of notes too large to be one the larger stays.  Raises Error
    where there are more notes than any repository has.
    """
    mine, theirs = dict(_list_notes(objects, a)), dict(_list_notes(objects, b))
    united: dict[str, Entry | None] = {}
    for name, entry in {**mine, **theirs}.items():
        one, two = mine.get(name, entry), theirs.get(name, entry)
        united[f"{name[:2]}/{name[2:]}"] = (
            entry if one == two else _join_note(objects, one, two, joined)
        )
    return edit_tree(objects, None, united)


def _list_notes(objects: Objects, tree: str) -> Iterator[tuple[str, Entry]]:
    """(commit, entry) of each note, whatever the fan-out."""
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


def _join_note(objects: Objects, mine: Entry, two: Entry, joined: Join) -> Entry:
    sizes = {entry: objects.read_size(entry[1]) for entry in (mine, two)}
    if max(sizes.values()) > _LARGEST:
        return max(mine, two, key=lambda entry: (sizes[entry], entry))
    texts = (objects.need(oid, "blob") for _, oid in (mine, two))
    return BLOB, objects.write("blob", joined(*texts))


def unite_lines(text: bytes, two: bytes) -> bytes:
    """The lines of two notes, each once, sorted (as cat_sort_uniq of git-notes)."""
    both = {line for note in (text, two) for line in note.split(b"\n") if line}
    return b"".join(line + b"\n" for line in sorted(both))
