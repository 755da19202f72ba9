"""Removing content from the permanent store: a new history without parents, with tombstones."""

from __future__ import annotations

from contextlib import suppress

from gitcp.core.git import ids
from gitcp.core.v1 import merge_rules, summary
from gitcp.errors import Moved
from gitcp.record import format_now
from gitcp.store.git import refs
from gitcp.store.git.commit import is_ancestor, list_commits, need_commit
from gitcp.store.git.tree import TREE, edit_tree
from gitcp.store.pack import dropping
from gitcp.store.v1 import committed_list, committed_read, committed_refs, pictures, signing
from gitcp.store.v1.committed_read import Parts
from gitcp.store.v1.committed_tree import read_directory, write_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.git.refs import Update
    from gitcp.store.v1.committed_read import Checkpoint, SessionEntry

    Chosen = Callable[[str, SessionEntry], bool]  # by a checkpoint's id


def _list_chosen(
    repo: Repo, objects: Objects, chosen: Chosen
) -> Iterator[tuple[Checkpoint, list[int]]]:
    """Yield (checkpoint, indices of its chosen sessions that are not forgotten yet)."""
    for place in committed_refs.list_own_places(repo):
        for name, tree in committed_list.list_trees(repo, objects, place, ""):
            ref = committed_refs.find_holding_ref(place, name)
            checkpoint = Parts(objects, name).load_checkpoint(ref, tree)
            indices = [
                entry["index"]
                for entry in checkpoint["sessions"]
                if chosen(name, entry) and not summary.is_forgotten(entry["metadata"])
            ]
            if indices:
                yield checkpoint, indices


def write_forgetting(repo: Repo, objects: Objects, chosen: Chosen) -> tuple[list[Update], int]:
    """Write histories of the store without the chosen sessions; return (the updates of its
    refs, the number of sessions removed).  The new commits have no parent.  The caller holds the
    store's lock."""
    time = format_now()
    trees: dict[str, dict[str, str]] = {}  # ref -> checkpoint id -> its new tree
    counts: dict[str, int] = {}
    for checkpoint, indices in _list_chosen(repo, objects, chosen):
        ref, checkpoint_id = checkpoint["ref"], checkpoint["checkpoint_id"]
        for index in indices:
            session = committed_read.read_session(objects, checkpoint, index)
            pictures.forget_pictures(repo, session["transcript"])
        tree = _write_emptied(objects, checkpoint, indices, time)
        trees.setdefault(ref, {})[checkpoint_id] = tree
        counts[ref] = counts.get(ref, 0) + len(indices)
    moved: list[Update] = []
    for ref, changed in trees.items():
        old = need_commit(objects, ref)
        if own := ids.parse_checkpoint_ref(ref):
            tree = changed[own]
        else:
            below: dict[str, Entry | None] = {
                f"{cid[:2]}/{cid[2:]}": (TREE, new) for cid, new in changed.items()
            }
            tree = edit_tree(objects, old["tree"], below)
        message = merge_rules.format_message(counts[ref], list_roots(repo, objects, old["oid"]))
        moved.append((ref, signing.write_signed(objects, repo, tree, [], message), old["oid"]))
    return moved, sum(counts.values())


def list_roots(repo: Repo, objects: Objects, tip: str) -> set[str]:
    """The root commits of a history, and the forgotten roots that their messages list."""
    roots = set(list_commits(repo, "--max-parents=0", tip))
    return roots | list_forgotten_roots(repo, objects, tip)


def list_forgotten_roots(repo: Repo, objects: Objects, tip: str) -> set[str]:
    """The roots of forgotten histories that the messages of a history's root commits list."""
    messages = (
        need_commit(objects, oid)["message"] for oid in list_commits(repo, "--max-parents=0", tip)
    )
    return set().union(*map(merge_rules.parse_roots, messages))


def drop_replaced(repo: Repo, updates: Iterable[Update]) -> None:
    """Let git prune the histories that these updates of refs replaced by others, with the
    remote-tracking branches that have one of them, which git's next fetch brings again."""
    replaced = {
        ref: (old, new)
        for ref, new, old in updates
        if new and old and is_ancestor(repo, old, new) is False
    }
    if not replaced:
        return
    roots = set[str]()
    for old, new in replaced.values():
        roots.update(list_commits(repo, "--max-parents=0", old, "--not", new))
    tracking = refs.list_refs(repo, committed_refs.TRACKING)
    having = [(ref, None, tip) for ref, tip in tracking.items() if _has_root(repo, tip, roots)]
    with suppress(Moved):
        refs.update_refs(repo, having, "gitcp: forget")
    dropping.forget_logs(repo, [*replaced, committed_refs.MEMORY, *tracking])
    dropping.unpin_tips(repo, [*(old for old, _ in replaced.values()), *(u[2] for u in having)])


def _has_root(repo: Repo, tip: str, roots: set[str]) -> bool:
    return not roots.isdisjoint(list_commits(repo, "--max-parents=0", tip))


def _write_emptied(objects: Objects, checkpoint: Checkpoint, indices: list[int], time: str) -> str:
    """Write the tree of a checkpoint with tombstones for the sessions of these indices."""
    checkpoint_id = checkpoint["checkpoint_id"]
    directory = read_directory(objects, checkpoint["tree"], lenient=True)
    for index in indices:
        metadata = summary.build_forgotten(checkpoint["sessions"][index]["metadata"], time)
        metadata.setdefault("checkpoint_id", checkpoint_id)
        directory["sessions"][index] = {"metadata": metadata, "files": {}}
    return write_directory(objects, checkpoint_id, directory)
