"""Taking content out of the permanent store: a history that begins anew, with tombstones."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.core.v1 import merge_rules, summary
from gitcp.record import format_now
from gitcp.store.git.commit import list_commits, need_commit
from gitcp.store.git.tree import TREE, edit_tree, read_tree
from gitcp.store.v1 import committed_list, committed_read, committed_refs, pictures, signing
from gitcp.store.v1.committed_read import load_checkpoint
from gitcp.store.v1.committed_tree import BLOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.git.refs import Edit
    from gitcp.store.v1.committed_read import Checkpoint, SessionEntry

    Chosen = Callable[[str, SessionEntry], bool]  # by a checkpoint's id


def _list_chosen(
    repo: Repo, objects: Objects, chosen: Chosen
) -> Iterator[tuple[Checkpoint, list[int]]]:
    """The checkpoints of our places with the indices of the sessions that are chosen and not yet
    forgotten, where there are any."""
    for place in committed_refs.list_own_places(repo):
        for name, tree in committed_list.list_trees(repo, objects, place, ""):
            checkpoint = load_checkpoint(
                objects, name, committed_refs.find_holding_ref(place, name), tree
            )
            wanted = [
                entry["index"]
                for entry in checkpoint["sessions"]
                if chosen(name, entry) and not merge_rules.is_forgotten(entry["metadata"])
            ]
            if wanted:
                yield checkpoint, wanted


def write_forgetting(repo: Repo, objects: Objects, chosen: Chosen) -> tuple[list[Edit], int]:
    """(how the refs of the store move to histories without what is chosen, how many sessions'
    parts that is).  The new commits have no parent; the caller holds the store's lock."""
    at, count = format_now(), 0
    trees: dict[str, dict[str, str]] = {}  # ref -> checkpoint id -> its new tree
    counts: dict[str, int] = {}
    for checkpoint, wanted in _list_chosen(repo, objects, chosen):
        ref = checkpoint["ref"]
        for index in wanted:
            pictures.forget_pictures(
                repo, committed_read.read_session(objects, checkpoint, index)["transcript"]
            )
        trees.setdefault(ref, {})[checkpoint["checkpoint_id"]] = _write_emptied(
            objects, checkpoint, wanted, at
        )
        counts[ref] = counts.get(ref, 0) + len(wanted)
        count += len(wanted)
    moved: list[Edit] = []
    for ref, changed in trees.items():
        old = need_commit(objects, ref)
        if own := ids.parse_checkpoint_ref(ref):
            tree = changed[own]
        else:
            below: dict[str, Entry | None] = {
                f"{cid[:2]}/{cid[2:]}": (TREE, new) for cid, new in changed.items()
            }
            tree = edit_tree(objects, old["tree"], below)
        words = merge_rules.format_message(counts[ref], list_roots(repo, objects, old["oid"]))
        moved.append((ref, signing.write_signed(objects, repo, tree, [], words), old["oid"]))
    return moved, count


def list_roots(repo: Repo, objects: Objects, tip: str) -> set[str]:
    """The commits that a history begins with, and those that they say are forgotten."""
    begun = set(list_commits(repo, "--max-parents=0", tip))
    return begun | list_forgotten_roots(repo, objects, tip)


def list_forgotten_roots(repo: Repo, objects: Objects, tip: str) -> set[str]:
    """The roots of the histories that a history's own beginnings say are forgotten."""
    begun = list_commits(repo, "--max-parents=0", tip)
    return set().union(
        *(merge_rules.parse_roots(need_commit(objects, one)["message"]) for one in begun)
    )


def _write_emptied(objects: Objects, checkpoint: Checkpoint, wanted: list[int], at: str) -> str:
    """The tree of a checkpoint with tombstones for the sessions of these indices."""
    entries = read_tree(objects, checkpoint["tree"])
    left: dict[str, Entry | None] = {}
    sessions: list[summary.Session] = []
    tasks: set[str] = set()
    for entry in checkpoint["sessions"]:
        metadata, names = entry["metadata"], set(entry["files"])
        if entry["index"] in wanted:
            metadata = merge_rules.build_forgotten(metadata, at)
            metadata.setdefault("checkpoint_id", checkpoint["checkpoint_id"])
            tasks.update(summary.list_strings(metadata.get("tasks")))
            blob = objects.write("blob", summary.dump_json(metadata))
            folder = edit_tree(objects, None, {summary.METADATA: (BLOB, blob)})
            left[str(entry["index"])] = (TREE, folder)
            names = {summary.METADATA}
        elif entry["directory"]:
            left[str(entry["index"])] = (TREE, entry["tree"])
        sessions.append((metadata, names))
    if all(merge_rules.is_forgotten(metadata) for metadata, _ in sessions):
        known = None
    else:
        known = {**checkpoint["summary"], "files_touched": []}
        left |= {
            name: item
            for name, item in entries.items()
            if not name.isdigit() and name != summary.METADATA
        }
        left |= {f"tasks/{task}": None for task in tasks}
    root = summary.dump_json(summary.summarize(checkpoint["checkpoint_id"], known, sessions))
    left[summary.METADATA] = (BLOB, objects.write("blob", root))
    return edit_tree(objects, None, left)
