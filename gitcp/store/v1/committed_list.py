"""Listing committed checkpoints, with one `cat-file --batch` and in bounded memory."""

from __future__ import annotations

from contextlib import suppress

from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.core.v1 import summary
from gitcp.errors import Error, InputError
from gitcp.record import parse_json
from gitcp.store.git.commit import need_commit
from gitcp.store.git.prefetch import Prefetched, run_task, run_tasks, split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.git.tree import TREE, read_tree
from gitcp.store.v1 import committed_refs
from gitcp.store.v1.committed_read import Parts, find_sole_session
from gitcp.store.v1.committed_refs import find_holding_ref, list_places, list_sources
from gitcp.store.v1.committed_tree import list_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from gitcp.core.record_types import Record, Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.git.prefetch import Steps
    from gitcp.store.v1.committed_read import Checkpoint

    Converted = TypeVar("Converted")
    _Window = tuple[str, list[tuple[str, str]]]

_WINDOW = 32  # checkpoints whose objects are read at once
_BATCH = 8  # windows that one process takes at once
_SHARDS = 32  # directories of checkpoints that are read at once
_AT_ONCE = 400  # commits of checkpoints that are read at once
_HEX = frozenset("0123456789abcdef")


def list_checkpoints(repo: Repo, brief: bool = False) -> Iterator[Checkpoint]:
    """Every checkpoint of list_sources(), once, in the order of ids in each source.

    brief: as for Parts.load_checkpoint().
    """
    return map_checkpoints(repo, lambda checkpoint: checkpoint, brief)


def map_checkpoints(
    repo: Repo, convert: Callable[[Checkpoint], Converted], brief: bool = False
) -> Iterator[Converted]:
    """What convert() returns for each checkpoint of list_checkpoints().

    A large store is divided among processes: spread_batches() sends what convert() returns."""

    def begin(objects: Prefetched) -> Callable[[list[_Window]], list[Converted]]:
        return lambda batch: [
            convert(checkpoint)
            for loaded in run_tasks(objects, (_load_window(objects, *w, brief) for w in batch))
            for checkpoint in loaded
        ]

    with Prefetched(repo) as objects:
        batches = split_windows(_list_windows(repo, objects, list_sources(repo)), _BATCH)
        for batch in spread_batches(objects, batches, begin):
            yield from batch


def _list_windows(repo: Repo, objects: Prefetched, places: list[str]) -> Iterator[_Window]:
    """Yield (place, some of its checkpoints), each checkpoint in the first place that has it."""
    listed: set[str] = set()
    for place in places:
        fresh = (item for item in list_trees(repo, objects, place, "") if item[0] not in listed)
        for window in split_windows(fresh, _WINDOW):
            if len(places) > 1:
                listed.update(dict(window))
            yield place, window


def _load_window(
    objects: Prefetched, place: str, window: list[tuple[str, str]], brief: bool
) -> Steps[list[Checkpoint]]:
    loader = Loader(objects, brief)
    yield from loader.read_ahead(tree for _, tree in window)
    return [loader.load(name, find_holding_ref(place, name), tree) for name, tree in window]


class Loader:
    """Loads many checkpoints.  brief: as for Parts.load_checkpoint().  trees: the directories that
    were read ahead, by oid."""

    def __init__(self, objects: Prefetched, brief: bool = False) -> None:
        self._objects, self._brief = objects, brief
        self.trees: dict[str, Tree] = {}

    def prepare(self, trees: Iterable[str], *more: str) -> None:
        """Read ahead what load() needs of the checkpoints with these trees, and the files named
        more."""
        run_task(self._objects, self.read_ahead(trees, *more))

    def read_ahead(self, trees: Iterable[str], *more: str) -> Steps[None]:
        """prepare() as a task of run_tasks()."""
        entries = yield from self._read_trees(list(trees))
        below = yield from self._read_trees(
            [files[name][1] for files in entries for name in list_numbers(files)]
        )
        roots = [files for files in entries if not (self._brief and find_sole_session(files))]
        names = (summary.METADATA, *more)
        yield [files[n][1] for files in (*roots, *below) for n in names if n in files]

    def _read_trees(self, oids: list[str]) -> Steps[list[Tree]]:
        unread = [oid for oid in oids if oid not in self.trees]
        yield unread
        for oid in unread:
            with suppress(Error):  # load() warns
                self.trees[oid] = read_tree(self._objects, oid)
        return [self.trees[oid] for oid in oids if oid in self.trees]

    def load(self, checkpoint_id: str, ref: str, tree: str) -> Checkpoint:
        """Parts.load_checkpoint() with what was read ahead."""
        return self.make_parts(checkpoint_id).load_checkpoint(ref, tree, self._brief)

    def make_parts(self, checkpoint_id: str) -> Parts:
        """A reader of the parts of a checkpoint with what was read ahead."""
        return Parts(self._objects, checkpoint_id, self.trees, parse_json)


def list_trees(repo: Repo, objects: Objects, place: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (id, tree) of the checkpoints of a place whose ids begin with prefix."""
    if place == ids.CHECKPOINTS:
        yield from _list_own_trees(repo, objects, prefix)
    else:
        yield from _list_branch_trees(objects, place, prefix)


def _list_own_trees(repo: Repo, objects: Objects, prefix: str) -> Iterator[tuple[str, str]]:
    """list_trees() of the checkpoints that have refs of their own."""
    refs = committed_refs.list_tips(repo).items()
    tips = ((ids.parse_checkpoint_ref(ref), oid) for ref, oid in refs)
    for window in split_windows((tip for tip in tips if tip[0].startswith(prefix)), _AT_ONCE):
        objects.read_ahead(oid for _, oid in window)
        for name, oid in window:
            try:
                yield name, need_commit(objects, oid)["tree"]
            except Error as e:
                notice.warn_lacking(f"checkpoint '{name}': {e}", notice.ABSENT)


def _list_branch_trees(objects: Objects, ref: str, prefix: str) -> Iterator[tuple[str, str]]:
    tip = objects.read(f"{ref}^{{tree}}")
    if tip is None:
        notice.warn_lacking(f"'{ref}': its tree is missing", notice.ABSENT)
    root = _read_entries(objects, tip[0], ref) if tip else {}
    for window in split_windows(_list_shards(ref, root, prefix), _SHARDS):
        objects.read_ahead(oid for _, oid in window)
        below = [(shard, _read_entries(objects, oid, f"{ref}:{shard}")) for shard, oid in window]
        for shard, entries in below:
            for name, (mode, tree) in entries.items():
                if not _HEX.issuperset(name) or not (shard + name).startswith(prefix):
                    continue
                if mode == TREE:
                    yield shard + name, tree
                else:
                    message = f"checkpoint '{shard}{name}' is no directory"
                    notice.warn_lacking(message, notice.DAMAGED)


def _list_shards(ref: str, entries: Tree, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (two digits, tree) of the directories whose checkpoints may begin with prefix."""
    for shard, (mode, oid) in entries.items():
        if len(shard) != 2 or not _HEX.issuperset(shard) or shard[: len(prefix)] != prefix[:2]:
            continue
        if mode == TREE:
            yield shard, oid
        else:
            notice.warn_lacking(f"'{ref}:{shard}' is no directory", notice.DAMAGED)


def _read_entries(objects: Objects, tree: str, spec: str) -> Tree:
    try:
        return read_tree(objects, tree)
    except Error as e:
        notice.warn_lacking(f"'{spec}': {e}", notice.ABSENT)
        return {}


def resolve_id(repo: Repo, objects: Objects, prefix: str) -> str:
    """The only checkpoint id that begins with prefix; raises Error if there is none, or several,
    which it lists."""
    if not prefix or not ids.begins_checkpoint_id(prefix):
        raise InputError(f"not a checkpoint id: '{prefix}'")
    return ids.pick_match("checkpoint", prefix, find_ids(repo, objects, prefix))


def find_ids(repo: Repo, objects: Objects, prefix: str) -> list[str]:
    """The checkpoint ids that begin with prefix, which may be any text, sorted."""
    if not ids.begins_checkpoint_id(prefix):
        return []
    places = list_places(repo)
    listed = {name for p in places for name, _ in list_trees(repo, objects, p, prefix)}
    return sorted(filter(ids.is_checkpoint_id, listed))


def build_record(checkpoint: Checkpoint) -> Record:
    """A checkpoint as a record of a stream (gitcp-record(5))."""
    root, sessions = checkpoint["summary"], checkpoint["sessions"]
    metadata = [s["metadata"] for s in sessions]
    created = [m["created_at"] for m in metadata if m.get("created_at")]
    listed: Record = {
        "type": "checkpoint",
        "checkpoint_id": checkpoint["checkpoint_id"],
        "ref": checkpoint["ref"],
        "strategy": summary.get_text(root, "strategy"),
        "branch": next(
            filter(None, (summary.get_text(m, "branch") for m in (root, *metadata))), ""
        ),
        "created_at": max(created, default=""),
        "sessions": [s["session_id"] for s in sessions],
        "agents": list(dict.fromkeys(m["agent"] for m in metadata if m.get("agent"))),
        "checkpoints_count": root.get("checkpoints_count") or 0,
        "files_touched": summary.list_strings(root.get("files_touched")),
    }
    if checkpoint["lacks"]:
        listed["lacks"] = checkpoint["lacks"]
    if isinstance(root.get("token_usage"), dict):
        listed["token_usage"] = root["token_usage"]
    return listed
