"""The union of two trees of the permanent store, one of which may come from a stranger.

A stranger can make small objects that are costly to read: an endless list of sessions, a tree that
refers to another one a thousand times, documents of many megabytes.  Those are not merged: of two
such objects the greater in a fixed order stays.
"""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.v1 import merge_rules, summary
from gitcp.store.git.tree import TREE, read_tree, write_tree
from gitcp.store.v1.committed_tree import FILES, list_numbers, read_directory, write_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Entry, Tree
    from gitcp.core.v1.merge_rules import Directory
    from gitcp.store.git.objects import Objects

_HEX = frozenset("0123456789abcdef")
_SHARD, _REST = 2, 10  # digits of a checkpoint's id in the names of its two directories
_SESSIONS = 5000  # of one checkpoint
_DOCUMENT = 4 << 20  # bytes of one metadata.json
_ALL = 16 << 20  # bytes of what is read for one merge: a second of work
_DEEPEST = 16  # directories within a checkpoint
_CUT = (
    "too much differs between two stores to be merged at once:"
    " the rest is as one of them has it, and the other's stays in the history"
)


class Union:
    """One merge.  It reads at most _ALL bytes of the objects that differ between the sides."""

    def __init__(self, objects: Objects) -> None:
        self._objects, self._left = objects, _ALL
        self._united: dict[tuple[str, str], str] = {}
        self.lost = set[int]()  # the sides, 0 or 1, with what the other has forgotten
        self.is_cut = False  # whether something was too much to be united

    def unite_stores(self, a: str, b: str) -> str:
        """Write the union of two trees of the permanent store; return its oid.

        A file that belongs to no checkpoint stays only if both trees have it.
        """
        if a == b:
            return a
        return self._unite_level(a, b, _SHARD) or self._objects.write("tree", b"")

    def drop_strays(self, tree: str, ours: str | None) -> str:
        """Write tree without the files that belong to no checkpoint and are not in ours (a tree);
        return its oid."""
        own = read_tree(self._objects, ours) if ours else {}
        entries = read_tree(self._objects, tree)
        clean = {
            n: e for n, e in entries.items() if _get_directory(n, e, _SHARD) or own.get(n) == e
        }
        return tree if clean == entries else write_tree(self._objects, clean)

    def _unite_level(
        self, a: str | None, b: str | None, digits: int, shard: str = ""
    ) -> str | None:
        """The union of two roots, or of two shards; None without a checkpoint."""
        if not self._can_afford(*filter(None, (a, b))):
            return max(filter(None, (a, b)))
        a_tree, b_tree = (read_tree(self._objects, oid) if oid else {} for oid in (a, b))
        united: Tree = {}
        for name, entry in {**b_tree, **a_tree}.items():
            if b_tree.get(name) == a_tree.get(name):
                united[name] = entry
                continue
            old, new = (_get_directory(name, tree.get(name), digits) for tree in (a_tree, b_tree))
            if digits == _SHARD and (old or new):
                merged = self._unite_level(old, new, _REST, name)
            elif old and new:
                merged = self.unite_checkpoints(old, new, shard + name)
            else:
                merged = old or new
            if merged:
                united[name] = (TREE, merged)
        return write_tree(self._objects, united) if united else None

    def unite_checkpoints(self, a: str, b: str, checkpoint_id: str) -> str:
        """Write the union of two trees of one checkpoint; return its oid."""
        if a == b:
            return a
        if not (self._is_bounded(a) and self._is_bounded(b)):
            self.is_cut = True
            return min(a, b, key=lambda oid: (self._objects.read_size(oid), oid))
        mine, theirs = (self._read_directory(tree) for tree in (a, b))
        self.lost |= merge_rules.find_lost_sides(mine, theirs)
        size, pick = self._objects.read_size, self._pick_entry
        joined = merge_rules.merge_directories(mine, theirs, size, pick)
        for session in joined["sessions"]:
            metadata = session["metadata"]
            session["metadata"] = metadata and _order_keys(metadata, summary.SESSION_KEYS)
        joined["root"] = joined["root"] and _order_keys(joined["root"], summary.ROOT_KEYS)
        return write_directory(self._objects, checkpoint_id, joined)

    def _read_directory(self, tree: str) -> Directory:
        directory = read_directory(self._objects, tree, _DOCUMENT)
        for session in directory["sessions"]:
            session.pop("tree", None)  # of two clones that merge, each writes it in the same form
        return directory

    def _is_bounded(self, tree: str) -> bool:
        """Whether a checkpoint may be merged: its sessions are few, and small enough."""
        if not self._can_afford(tree):
            return False
        entries = read_tree(self._objects, tree)
        folders = [entries[name][1] for name in list_numbers(entries)]
        if len(folders) > _SESSIONS or not self._can_afford(*folders):
            return False
        inner = (read_tree(self._objects, oid).get(summary.METADATA) for oid in folders)
        return self._can_afford(*(entry[1] for entry in inner if entry and self._is_small(entry)))

    def _can_afford(self, *oids: str) -> bool:
        self._left -= sum(map(self._objects.read_size, oids))
        if self._left < 0:
            self.is_cut = True
            notice.warn_lacking(_CUT)
        return self._left >= 0

    def _is_small(self, entry: Entry) -> bool:
        return entry[0] in FILES and self._objects.read_size(entry[1]) <= _DOCUMENT

    def _pick_entry(self, a: Entry, b: Entry, depth: int = 1) -> Entry:
        """The union of two directories, the directory if the other is a file, the larger file."""
        if a[0] == b[0] == TREE:
            return TREE, self._unite_trees(a[1], b[1], depth)
        if TREE in (a[0], b[0]):
            return a if a[0] == TREE else b
        return max(a, b, key=lambda e: (e[0] in FILES and self._objects.read_size(e[1]), e))

    def _unite_trees(self, a: str, b: str, depth: int) -> str:
        if (a, b) not in self._united:
            united = max(a, b)
            if depth <= _DEEPEST and self._can_afford(a, b):
                mine, theirs = read_tree(self._objects, a), read_tree(self._objects, b)
                entries = merge_rules.unite_files(
                    mine, theirs, lambda left, right: self._pick_entry(left, right, depth + 1)
                )
                united = write_tree(self._objects, entries)
            self._united[a, b] = united
        return self._united[a, b]


def _order_keys(metadata: summary.Metadata, keys: Sequence[str]) -> summary.Metadata:
    return summary.order_keys({k: metadata[k] for k in sorted(metadata)}, keys)


def _get_directory(name: str, entry: Entry | None, digits: int) -> str | None:
    """The oid of a directory on the path of a checkpoint; None for any other entry."""
    if entry is None or entry[0] != TREE or len(name) != digits or not _HEX.issuperset(name):
        return None
    return entry[1]
