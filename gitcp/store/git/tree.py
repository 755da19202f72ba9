"""Trees: read one, look a path up, edit a few paths, compare two.

Only the directories of the paths in question are read and written.
"""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.record import encode_lines, encode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gitcp.core.record_types import Entry, Tree
    from gitcp.store.git.objects import Objects


TREE = "040000"
_DEEPEST, _MOST = 200, 10_000_000
_SMALL, _KEPT = 1 << 13, 256  # bytes of a tree that stays parsed, and how many of them
_MODES = {"40000": TREE, "100644": "100644", "100755": "100755"}


def read_tree(objects: Objects, oid: str) -> Tree:
    """The entries of one tree by name; raises Error if it is missing or malformed."""
    if oid in objects.trees:
        return dict(objects.trees[oid])
    data = objects.need(oid, "tree")
    entries = _parse_tree(oid, data)
    if len(data) <= _SMALL:
        if len(objects.trees) >= _KEPT:
            objects.trees.clear()
        objects.trees[oid] = dict(entries)
    return entries


def _parse_tree(oid: str, data: bytes) -> Tree:
    entries: Tree = {}
    width = len(oid) // 2 + 1
    start, end, digits = 0, len(data), data.hex()
    while start < end:
        nul = data.find(b"\0", start)
        mode, _, name = data[start:nul].decode("utf-8", "surrogateescape").partition(" ")
        start = nul + width
        usual = _MODES.get(mode)
        if nul < 0 or start > end or not (usual or (mode.isascii() and mode.isdigit())):
            raise Error(f"malformed tree '{oid}'")
        entries[name] = (usual or mode.zfill(6), digits[2 * nul + 2 : 2 * start])
    return entries


def find_file(look: Callable[[str], Entry | None], path: str) -> Entry | None:
    """The entry of a file by a Lookup; None also for a directory."""
    entry = look(path)
    return None if entry and entry[0] == TREE else entry


def find_tree(objects: Objects, commit: str | None) -> str | None:
    """The tree of a commit, by any name; None for zeros, and for a missing one."""
    named = objects.read(f"{commit}^{{tree}}") if commit and commit.strip("0") else None
    return named[0] if named else None


def write_tree(objects: Objects, entries: Tree) -> str:
    """Store one tree; return its oid."""
    # git sorts a directory as if its name ended in a slash
    keyed = sorted(
        (encode_name(n) + b"/" * (e[0] == TREE), encode_name(n), e) for n, e in entries.items()
    )
    data = [
        b"%s %s\0%s" % (mode.lstrip("0").encode(), name, bytes.fromhex(oid))
        for _, name, (mode, oid) in keyed
    ]
    return objects.write("tree", b"".join(data))


def encode_index_info(entries: Mapping[str, Entry]) -> bytes:
    """Entries by path as `git update-index -z --index-info` reads them."""
    return encode_lines((f"{mode} {oid}\t{path}" for path, (mode, oid) in entries.items()), "\0")


def edit_tree(objects: Objects, base: str | None, edits: Mapping[str, Entry | None]) -> str:
    """The tree base (None: the empty one) with edits applied; return its oid.

    edits: path -> entry to set, or None to remove a file or a directory.  A directory that is set
    is changed by the edits below it.  A path set below a file replaces the file; a file set over a
    directory replaces the directory.  Directories that become empty are removed.
    """
    return _edit_folder(objects, base, edits) or objects.write("tree", b"")


def _edit_folder(
    objects: Objects, base: str | None, edits: Mapping[str, Entry | None]
) -> str | None:
    tree = read_tree(objects, base) if base else {}
    before = dict(tree)
    below: dict[str, dict[str, Entry | None]] = {}
    for path, entry in edits.items():
        name, slash, tail = path.partition("/")
        if slash:
            below.setdefault(name, {})[tail] = entry
        elif entry is None:
            tree.pop(name, None)
        else:
            tree[name] = entry
    for name, inner in below.items():
        mode, oid = tree.get(name, ("", ""))
        is_tree = mode == TREE
        if not is_tree and not any(inner.values()):
            continue  # nothing below a file to remove
        subtree = _edit_folder(objects, oid if is_tree else None, inner)
        if subtree:
            tree[name] = (TREE, subtree)
        else:
            tree.pop(name, None)
    if base and tree == before:
        return base
    return write_tree(objects, tree) if tree else None


def find_entry(objects: Objects, tree: str, path: str) -> Entry | None:
    """The entry at a path below a tree; None if there is none."""
    entry: Entry | None = (TREE, tree)
    for name in path.split("/"):
        if entry is None or entry[0] != TREE:
            return None
        entry = read_tree(objects, entry[1]).get(name)
    return entry


class Lookup:
    """find_entry() in one tree for many paths, each directory read once."""

    def __init__(self, objects: Objects, tree: str | None) -> None:
        self._objects = objects
        self._seen: dict[str, Tree] = {"": read_tree(objects, tree) if tree else {}}

    def __call__(self, path: str) -> Entry | None:
        folder, _, name = path.rpartition("/")
        return self.read_folder(folder).get(name)

    def read_folder(self, path: str) -> Tree:
        """The entries of a directory; {} for anything else."""
        if path not in self._seen:
            mode, oid = self(path) or ("", "")
            self._seen[path] = read_tree(self._objects, oid) if mode == TREE else {}
        return self._seen[path]


def list_files(objects: Objects, tree: str, most: int = _MOST) -> Iterator[tuple[str, Entry]]:
    """Yield (path, entry) of every file below a tree.

    Raises Error for more than `most` entries, and for directories nested too deep: a few objects
    can refer to each other so often that they make up any number of paths.
    """
    yield from _list_files(objects, tree, "", [most])


def _list_files(
    objects: Objects, tree: str, prefix: str, left: list[int]
) -> Iterator[tuple[str, Entry]]:
    if prefix.count("/") > _DEEPEST:
        raise Error(f"directories nested more than {_DEEPEST} deep: '{prefix[:60]}'")
    entries = read_tree(objects, tree)
    left[0] -= len(entries) + 1
    if left[0] < 0:
        raise Error(f"too many entries below '{tree}'")
    for name, (mode, oid) in entries.items():
        if mode == TREE:
            yield from _list_files(objects, oid, f"{prefix}{name}/", left)
        else:
            yield prefix + name, (mode, oid)


def compare_trees(
    objects: Objects, old: str | None, new: str | None, prefix: str = ""
) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    """Yield (path, old entry, new entry) for each file that differs."""
    if old == new:
        return
    a = read_tree(objects, old) if old else {}
    b = read_tree(objects, new) if new else {}
    for name in sorted(name for name in {*a, *b} if a.get(name) != b.get(name)):
        entries = a.get(name), b.get(name)
        old_tree, new_tree = (e[1] if e and e[0] == TREE else None for e in entries)
        if old_tree or new_tree:
            yield from compare_trees(objects, old_tree, new_tree, f"{prefix}{name}/")
        old_file, new_file = (None if e and e[0] == TREE else e for e in entries)
        if old_file != new_file:
            yield prefix + name, old_file, new_file
