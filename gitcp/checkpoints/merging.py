"""The union of two trees of the permanent store, one of which may come from a stranger.

A stranger can make small objects that are costly to read: an endless list of sessions, a tree that
refers to another one a thousand times, documents of many megabytes.  Those are not merged: one of
two such objects stays, the same one in every clone.
"""

from __future__ import annotations

from contextlib import suppress

from gitcp.checkpoints import format, listing, stored
from gitcp.checkpoints.format import merge_rules
from gitcp.checkpoints.format.keys import SESSION_ORDER, SUMMARY_ORDER
from gitcp.checkpoints.redact import pictures
from gitcp.checkpoints.stored import (
    BLOB,
    FILES,
    Parts,
    list_numbers,
    read_directory,
    write_directory,
    write_store_commit,
)
from gitcp.errors import Error, Moved
from gitcp.git import format_now, refs
from gitcp.git.objects import (
    TREE,
    edit_tree,
    need_commit,
    pack_care,
    read_tree,
    write_commit,
    write_tree,
)
from gitcp.git.objects.object_lists import is_ancestor, list_commits
from gitcp.text import console, ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.checkpoints.format.merge_rules import Directory
    from gitcp.checkpoints.stored import SessionEntry, StoredCheckpoint
    from gitcp.git.objects import Objects
    from gitcp.git.refs import Update
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Tree

    Join = Callable[[bytes, bytes], bytes]  # one note of two on the same commit
    Chosen = Callable[[str, SessionEntry], bool]  # by a checkpoint's id

_HEX = frozenset("0123456789abcdef")
# digits of a checkpoint's id in the names of its two directories
_SHARD = 2
_REST = 10
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
        self._objects = objects
        self._left = _ALL
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
        clean: Tree = {}
        for name, entry in entries.items():
            if own.get(name) == entry or _get_directory(name, entry, _SHARD):
                clean[name] = entry
        if clean == entries:
            return tree
        return write_tree(self._objects, clean)

    def _unite_level(
        self, a: str | None, b: str | None, digits: int, shard: str = ""
    ) -> str | None:
        """The union of two roots, or of two shards; None without a checkpoint."""
        if not self._reserve(*filter(None, (a, b))):
            return max(filter(None, (a, b)))
        a_tree, b_tree = (read_tree(self._objects, oid) if oid else {} for oid in (a, b))
        united: Tree = {}
        for name, entry in {**b_tree, **a_tree}.items():
            if b_tree.get(name) == a_tree.get(name):
                united[name] = entry
                continue
            left, right = (_get_directory(name, t.get(name), digits) for t in (a_tree, b_tree))
            if digits == _SHARD and (left or right):
                merged = self._unite_level(left, right, _REST, name)
            elif left and right:
                merged = self.unite_checkpoints(left, right, shard + name)
            else:
                merged = left or right
            if merged:
                united[name] = (TREE, merged)
        if united:
            return write_tree(self._objects, united)
        return None

    def unite_checkpoints(self, a: str, b: str, checkpoint_id: str) -> str:
        """Write the union of two trees of one checkpoint; return its oid."""
        if a == b:
            return a
        if not (self._is_bounded(a) and self._is_bounded(b)):
            self.is_cut = True
            return min(a, b, key=lambda oid: (self._objects.read_size(oid), oid))
        mine, theirs = (self._read_directory(tree) for tree in (a, b))
        self.lost |= merge_rules.find_lost_sides(mine, theirs)
        size = self._objects.read_size
        pick = self._pick_entry
        merged = merge_rules.merge_directories(mine, theirs, size, pick)
        for session in merged["sessions"]:
            metadata = session["metadata"]
            session["metadata"] = metadata and _order_keys(metadata, SESSION_ORDER)
        merged["root"] = merged["root"] and _order_keys(merged["root"], SUMMARY_ORDER)
        return write_directory(self._objects, checkpoint_id, merged)

    def _read_directory(self, tree: str) -> Directory:
        directory = read_directory(self._objects, tree, _DOCUMENT)
        for session in directory["sessions"]:
            session.pop("tree", None)  # it is written anew, in the same form by every clone
        return directory

    def _is_bounded(self, tree: str) -> bool:
        """Whether a checkpoint may be merged: its sessions are few, and small enough."""
        if not self._reserve(tree):
            return False
        entries = read_tree(self._objects, tree)
        folders = [entries[name][1] for name in list_numbers(entries)]
        if len(folders) > _SESSIONS or not self._reserve(*folders):
            return False
        documents: list[str] = []
        for folder in folders:
            entry = read_tree(self._objects, folder).get(format.METADATA)
            if entry and self._is_small(entry):
                documents.append(entry[1])
        return self._reserve(*documents)

    def _reserve(self, *oids: str) -> bool:
        """Count the bytes of these objects as read; return whether this merge may still read so
        many."""
        self._left -= sum(map(self._objects.read_size, oids))
        if self._left < 0:
            self.is_cut = True
            console.warn_lacking(_CUT)
        return self._left >= 0

    def _is_small(self, entry: Entry) -> bool:
        return entry[0] in FILES and self._objects.read_size(entry[1]) <= _DOCUMENT

    def _pick_entry(self, a: Entry, b: Entry, depth: int = 1) -> Entry:
        """The union of two directories, the directory if the other is a file, the larger file."""
        if a[0] == b[0] == TREE:
            return TREE, self._unite_trees(a[1], b[1], depth)
        if a[0] == TREE:
            return a
        if b[0] == TREE:
            return b
        return max(a, b, key=self._rank_file)

    def _rank_file(self, entry: Entry) -> tuple[int, Entry]:
        """The key of an order of files by size; what is no regular file counts as empty."""
        mode, oid = entry
        if mode in FILES:
            return self._objects.read_size(oid), entry
        return 0, entry

    def _unite_trees(self, a: str, b: str, depth: int) -> str:
        if (a, b) not in self._united:
            united = max(a, b)
            if depth <= _DEEPEST and self._reserve(a, b):
                mine = read_tree(self._objects, a)
                theirs = read_tree(self._objects, b)
                entries = merge_rules.unite_files(
                    mine, theirs, lambda left, right: self._pick_entry(left, right, depth + 1)
                )
                united = write_tree(self._objects, entries)
            self._united[a, b] = united
        return self._united[a, b]


def _order_keys(metadata: format.Metadata, keys: Sequence[str]) -> format.Metadata:
    return format.order_keys({k: metadata[k] for k in sorted(metadata)}, keys)


def _get_directory(name: str, entry: Entry | None, digits: int) -> str | None:
    """The oid of a directory on the path of a checkpoint; None for any other entry."""
    is_named_so = len(name) == digits and _HEX.issuperset(name)
    if entry and entry[0] == TREE and is_named_so:
        return entry[1]
    return None


# The union of two trees of notes.
_MOST = 1_000_000  # notes: a tree that refers to another one many times can have any number
_LARGEST = 1 << 20  # bytes of a note that is joined


def merge_note_trees(objects: Objects, a: str, b: str, *, join: Join) -> str:
    """Write the tree of the notes of both; join makes one note of two that differ.

    Other files are left out.  Of two notes that are too large to join, the larger stays.  Raises
    Error if there are more than _MOST notes.
    """
    mine = dict(_list_notes(objects, a))
    theirs = dict(_list_notes(objects, b))
    united: dict[str, Entry | None] = {}
    for name, entry in {**mine, **theirs}.items():
        pair = mine.get(name, entry), theirs.get(name, entry)
        if pair[0] == pair[1]:
            merged = entry
        else:
            merged = _join_note(objects, *pair, join)
        united[f"{name[:2]}/{name[2:]}"] = merged
    return edit_tree(objects, None, united)


def _list_notes(objects: Objects, tree: str) -> Iterator[tuple[str, Entry]]:
    """Yield (commit, entry) of each note, with any fan-out."""
    # full: digits of an oid
    full = len(tree)
    todo = [("", tree)]
    count = 0
    while todo:
        before, oid = todo.pop()
        for name, entry in read_tree(objects, oid).items():
            commit = before + name
            if len(commit) > full or not _HEX.issuperset(name):
                continue
            if entry[0] == TREE:
                todo.append((commit, entry[1]))
            elif len(commit) == full:
                yield commit, entry
            count += 1
            if count > _MOST:
                raise Error(f"more than {_MOST} notes: not merged")


def _join_note(objects: Objects, ours: Entry, theirs: Entry, join: Join) -> Entry:
    sizes = {entry: objects.read_size(entry[1]) for entry in (ours, theirs)}
    if max(sizes.values()) > _LARGEST:
        return max(ours, theirs, key=lambda entry: (sizes[entry], entry))
    texts = (objects.need(oid, "blob") for _, oid in (ours, theirs))
    return BLOB, objects.write("blob", join(*texts))


def unite_lines(a: bytes, b: bytes) -> bytes:
    """The lines of two notes, each once, sorted, as cat_sort_uniq of git-notes(1)."""
    lines = {*a.split(b"\n"), *b.split(b"\n")} - {b""}
    return b"".join(line + b"\n" for line in sorted(lines))


def _list_chosen(repo: Repo, chosen: Chosen) -> Iterator[tuple[StoredCheckpoint, list[int]]]:
    """Yield (checkpoint, indices of its chosen sessions that are not forgotten yet)."""
    for place in stored.list_own_places(repo):
        for name, tree in listing.list_trees(repo, place, ""):
            ref = stored.find_holding_ref(place, name)
            checkpoint = Parts(repo.objects, name).load_checkpoint(ref, tree)
            indices: list[int] = []
            for entry in checkpoint["sessions"]:
                if chosen(name, entry) and not format.is_forgotten(entry["metadata"]):
                    indices.append(entry["index"])
            if indices:
                yield checkpoint, indices


class Forgetting:
    """Histories of the store without some sessions.  updates: of the refs, to be made.  count: of
    the sessions that are removed."""

    __slots__ = ("count", "updates")

    def __init__(self, updates: list[Update], count: int) -> None:
        self.updates = updates
        self.count = count


def write_forgetting(repo: Repo, chosen: Chosen) -> Forgetting:
    """Write histories of the store without the chosen sessions.  The new commits have no parent.
    The caller holds the store's lock."""
    time = format_now()
    trees: dict[str, dict[str, str]] = {}  # ref -> checkpoint id -> its new tree
    counts: dict[str, int] = {}
    for checkpoint, indices in _list_chosen(repo, chosen):
        ref = checkpoint["ref"]
        checkpoint_id = checkpoint["checkpoint_id"]
        for index in indices:
            session = stored.read_session(repo.objects, checkpoint, index)
            pictures.forget_pictures(repo, session.transcript)
        tree = _write_emptied(repo.objects, checkpoint, indices, time)
        trees.setdefault(ref, {})[checkpoint_id] = tree
        counts[ref] = counts.get(ref, 0) + len(indices)
    moved: list[Update] = []
    for ref, changed in trees.items():
        old = need_commit(repo.objects, ref)
        own = ids.parse_checkpoint_ref(ref)
        if own:
            tree = changed[own]
        else:
            below: dict[str, Entry | None] = {
                f"{cid[:2]}/{cid[2:]}": (TREE, new) for cid, new in changed.items()
            }
            tree = edit_tree(repo.objects, old["tree"], below)
        message = merge_rules.format_message(counts[ref], list_roots(repo, old["oid"]))
        moved.append((ref, write_store_commit(repo, tree, [], message), old["oid"]))
    return Forgetting(moved, sum(counts.values()))


def count_chosen(repo: Repo, chosen: Chosen) -> int:
    """The number of sessions that write_forgetting() would remove."""
    return sum(len(indices) for _, indices in _list_chosen(repo, chosen))


def list_roots(repo: Repo, tip: str) -> set[str]:
    """The root commits of a history, and the forgotten roots that their messages list."""
    roots = set(list_commits(repo, "--max-parents=0", tip))
    return roots | list_forgotten_roots(repo, tip)


def list_forgotten_roots(repo: Repo, tip: str) -> set[str]:
    """The roots of forgotten histories that the messages of a history's root commits list."""
    messages = (
        need_commit(repo.objects, oid)["message"]
        for oid in list_commits(repo, "--max-parents=0", tip)
    )
    return set().union(*map(merge_rules.parse_roots, messages))


def drop_replaced(repo: Repo, updates: Iterable[Update]) -> None:
    """Let git prune the histories that these updates of refs replaced by others.

    Remote-tracking branches that have one of these histories are deleted; git's next fetch brings
    them again.
    """
    replaced: dict[str, str] = {}  # ref -> its old tip
    roots = set[str]()
    for ref, new, old in updates:
        if new and old and is_ancestor(repo, old, new) is False:
            replaced[ref] = old
            roots.update(list_commits(repo, "--max-parents=0", old, "--not", new))
    if not replaced:
        return
    tracking = refs.list_refs(repo, stored.TRACKING)
    deleted = {ref: tip for ref, tip in tracking.items() if _has_root(repo, tip, roots)}
    with suppress(Moved):
        deletions = [(ref, None, tip) for ref, tip in deleted.items()]
        refs.update_refs(repo, deletions, "gitcp: forget")
    pack_care.forget_logs(repo, [*replaced, refs.MEMORY, *tracking])
    pack_care.unpin_tips(repo, [*replaced.values(), *deleted.values()])


def _has_root(repo: Repo, tip: str, roots: set[str]) -> bool:
    return not roots.isdisjoint(list_commits(repo, "--max-parents=0", tip))


def _write_emptied(
    objects: Objects, checkpoint: StoredCheckpoint, indices: list[int], time: str
) -> str:
    """Write the tree of a checkpoint with tombstones for the sessions of these indices."""
    checkpoint_id = checkpoint["checkpoint_id"]
    directory = read_directory(objects, checkpoint["tree"], lenient=True)
    for index in indices:
        metadata = format.build_forgotten(checkpoint["sessions"][index]["metadata"], time)
        metadata.setdefault("checkpoint_id", checkpoint_id)
        directory["sessions"][index] = {"metadata": metadata, "files": {}}
    return write_directory(objects, checkpoint_id, directory)


# Merging two histories of checkpoints, or of notes, into one commit.
_SUBJECT = "Merge remote session logs"  # the original program's
_UNSAFE = "too much differs between two stores, one of which has forgotten content: not merged"
_CLEANED = "Leave out what is no checkpoint"


def merge_histories(
    repo: Repo,
    ours: str | None,
    theirs: str,
    join: Join | None = None,
    checkpoint_id: str = "",
) -> str:
    """The commit that has both histories: one of the two, or a new merge with their united trees.

    The histories may be unrelated.  join: their trees are like those of notes, and this function
    joins two files of one name.  checkpoint_id: they are of that checkpoint only.  Files of theirs
    that belong to no checkpoint are left out of the tree.
    """
    if ours and is_ancestor(repo, theirs, ours):
        return ours
    their_tree = need_commit(repo.objects, theirs)["tree"]
    our_tree = None
    if ours:
        our_tree = need_commit(repo.objects, ours)["tree"]
    if not (ours and our_tree) or is_ancestor(repo, ours, theirs):
        if join or checkpoint_id:
            return theirs
        clean = Union(repo.objects).drop_strays(their_tree, our_tree)
        if clean == their_tree:
            return theirs
        return write_commit(repo, clean, [theirs], _CLEANED)
    if join:
        united = merge_note_trees(repo.objects, our_tree, their_tree, join=join)
        if any(list_forgotten_roots(repo, tip) for tip in (ours, theirs)):
            return _merge_stores(repo, united, (ours, theirs), Union(repo.objects))
        return write_commit(repo, united, [ours, theirs], "notes: Merged by gitcp")
    union = Union(repo.objects)
    if checkpoint_id:
        united = union.unite_checkpoints(our_tree, their_tree, checkpoint_id)
    else:
        united = union.unite_stores(our_tree, their_tree)
    return _merge_stores(repo, united, (ours, theirs), union)


def _merge_stores(repo: Repo, tree: str, tips: tuple[str, str], union: Union) -> str:
    """Write the merge of two stores.  A side is no parent of it if the other has forgotten its
    history, or something that it has.

    Raises Error if the sides have forgotten different histories, and too much differs to unite the
    trees: a tree that was taken from one side could bring back what the other has forgotten, or
    lack what no parent has.
    """
    parents = []
    forgotten = set[str]()
    replaced = [list_forgotten_roots(repo, tip) for tip in tips]
    if union.is_cut and replaced[0] != replaced[1]:
        raise Error(_UNSAFE)
    for side, tip in enumerate(tips):
        own_roots = list_commits(repo, "--max-parents=0", tip)
        if side in union.lost or not replaced[1 - side].isdisjoint(own_roots):
            forgotten |= list_roots(repo, tip)
        else:
            parents.append(tip)
    if len(parents) == 2:
        return write_store_commit(repo, tree, parents, _SUBJECT)
    if parents and need_commit(repo.objects, parents[0])["tree"] == tree:
        return parents[0]
    lines = [_SUBJECT, "", *(f"{merge_rules.TRAILER}: {root}" for root in sorted(forgotten))]
    return write_store_commit(repo, tree, parents, "\n".join(lines))
