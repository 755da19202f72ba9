"""Listing committed checkpoints: one `cat-file --batch`, flat memory, however many there are."""

from __future__ import annotations

from gitcp.core.v1 import summary
from gitcp.errors import Error, InputError
from gitcp.store.git.prefetch import Ahead
from gitcp.store.git.tree import TREE, read_tree
from gitcp.store.v1.committed_read import directories, everywhere, load, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.record import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_read import Checkpoint

_WINDOW = 128  # checkpoints whose objects are asked for at once
_HEX = frozenset("0123456789abcdef")
_SHOWN = 10


def listing(repo: Repo) -> Iterator[Checkpoint]:
    """Every checkpoint of sources(), by id in each; one that several refs have comes once."""
    seen: set[str] = set()
    refs = sources(repo)
    with Ahead(repo) as objects:
        for ref in refs:
            window: list[tuple[str, str]] = []
            for checkpoint_id, tree in _trees(objects, ref, ""):
                if len(refs) > 1:
                    if checkpoint_id in seen:
                        continue
                    seen.add(checkpoint_id)
                window.append((checkpoint_id, tree))
                if len(window) == _WINDOW:
                    yield from _load(objects, ref, window)
                    window = []
            yield from _load(objects, ref, window)


def _load(objects: Ahead, ref: str, window: list[tuple[str, str]]) -> Iterator[Checkpoint]:
    objects.fetch(tree for _, tree in window)
    entries = [read_tree(objects, tree) for _, tree in window]
    objects.fetch(e[summary.METADATA][1] for e in entries if summary.METADATA in e)
    below = [e[name][1] for e in entries for name in directories(e, {})]
    objects.fetch(below)
    inner = [read_tree(objects, tree) for tree in below]
    objects.fetch(e[summary.METADATA][1] for e in inner if summary.METADATA in e)
    for checkpoint_id, tree in window:
        yield load(objects, checkpoint_id, ref, tree)
    objects.forget()


def _trees(objects: Objects, ref: str, prefix: str) -> Iterator[tuple[str, str]]:
    """(id, tree) of the checkpoints of ref whose ids begin with prefix."""
    tip = objects.read(f"{ref}^{{tree}}")
    shards = read_tree(objects, tip[0]) if tip else {}
    for shard, (mode, oid) in shards.items():
        if mode != TREE or len(shard) != 2 or not _HEX.issuperset(shard):
            continue
        if shard[: len(prefix)] != prefix[:2]:
            continue
        for name, (kind, tree) in read_tree(objects, oid).items():
            if kind == TREE and _HEX.issuperset(name) and (shard + name).startswith(prefix):
                yield shard + name, tree


def resolve(repo: Repo, objects: Objects, prefix: str) -> str:
    """The one checkpoint id that begins with prefix.

    Raises Error when there is none, or several: it lists them.
    """
    if not prefix or len(prefix) > 12 or not _HEX.issuperset(prefix):
        raise InputError(f"not a checkpoint id: '{prefix}'")
    found: dict[str, None] = {}
    for ref in everywhere(repo):
        found.update((checkpoint_id, None) for checkpoint_id, _ in _trees(objects, ref, prefix))
    if not found:
        raise Error(f"no such checkpoint: '{prefix}'")
    if len(found) > 1:
        shown = " ".join(sorted(found)[:_SHOWN]) + (" ..." if len(found) > _SHOWN else "")
        raise Error(f"ambiguous checkpoint id '{prefix}': {shown}")
    return next(iter(found))


def record(checkpoint: Checkpoint) -> Record:
    """A checkpoint as a record of a stream (gitcp-record(5))."""
    root, sessions = checkpoint["summary"], checkpoint["sessions"]
    known = [s["metadata"] for s in sessions]
    created = [m["created_at"] for m in known if m.get("created_at")]
    made: Record = {
        "type": "checkpoint",
        "checkpoint_id": checkpoint["checkpoint_id"],
        "ref": checkpoint["ref"],
        "strategy": root.get("strategy", ""),
        "branch": root.get("branch") or next((m["branch"] for m in known if m.get("branch")), ""),
        "created_at": max(created, default=""),
        "sessions": [s["session_id"] for s in sessions],
        "agents": list(dict.fromkeys(m["agent"] for m in known if m.get("agent"))),
        "checkpoints_count": root.get("checkpoints_count") or 0,
        "files_touched": summary.strings(root.get("files_touched")),
    }
    if isinstance(root.get("token_usage"), dict):
        made["token_usage"] = root["token_usage"]
    return made
