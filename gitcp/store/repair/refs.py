"""Mending gitcp's refs that git cannot read or that lack objects: the branch of committed
checkpoints, the edits of sessions, and others.

`git gc` fails if a branch lacks an object.  The old value of a ref is written to a file; its
content is kept as far as it can be read here or on a remote's branch.
"""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.process.files import choose_place_aside
from gitcp.record import encode_name
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit, write_commit
from gitcp.store.git.tree import TREE, edit_tree, read_tree, write_tree
from gitcp.store.pack.dropping import forget_logs
from gitcp.store.repair import missing
from gitcp.store.stream import shadow_refs
from gitcp.store.v1.committed_refs import REF, list_remote_branches
from gitcp.store.v1.committed_write import move_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Commit, Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_LOCKS = {"refs/heads/entire/checkpoints/v1": "v1", "refs/notes/gitcp": "notes"}
_SUBJECT = "Rebuilt from what was left of it"


def mend_ref(repo: Repo, objects: Objects, ref: str) -> str:
    """Set a ref without a commit to the last one in its reflog, or remove it; return what was done,
    '' if it has a commit by now."""
    with exclusive(repo, _LOCKS.get(ref) or shadow_refs.get_lock_name(repo, ref)):
        path = os.path.join(os.fsencode(repo.common), encode_name(ref))
        log_path = os.path.join(repo.common, "logs", ref)
        old, log = refs.read_ref(repo, ref), missing.read_log(repo, ref)
        stands, is_logged = _is_no_folder(path), _is_no_folder(log_path)
        if (old and is_commit(objects, old)) or not (old or stands or is_logged):
            return ""
        if stands:
            aside = choose_place_aside(repo.common, ref)
            os.rename(path, encode_name(aside))
        else:
            aside = missing.write_note(repo, ref, old or "", log)
        packed = refs.read_ref(repo, ref)  # the file hid this value
        oid = next((oid for oid in [*log, packed or ""] if is_commit(objects, oid)), None)
        if oid is None and is_logged:
            os.rename(log_path, choose_place_aside(repo.common, f"logs/{ref}"))
        if oid != packed:
            refs.update_refs(repo, [(ref, oid, packed)], "gitcp: fsck")
    return f"{f'put it back to {oid[:7]}, ' if oid else ''}moved what stood there to '{aside}'"


def _is_no_folder(path: str | bytes) -> bool:
    """Whether something other than a directory stands at path, such as a link."""
    return os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path))


def is_commit(objects: Objects, oid: str) -> bool:
    """Whether an object exists and is a commit."""
    answer = objects.read(oid) if oid.strip("0") else None
    return bool(answer and answer[1] == "commit")


def mend_store(repo: Repo, objects: Objects, ref: str) -> str:
    """Write the branch of checkpoints, or the ref of one, again without missing objects; return
    what was done, '' if it lacks none."""
    with exclusive(repo, "v1"):
        old, done = missing.write_objects_again(repo, objects, ref)
        if old is None:
            return done
        log = missing.read_log(repo, ref)
        note = missing.write_note(repo, ref, old, log)
        remote = list_remote_branches(repo) if ref == REF else []
        theirs = [name for name in remote if not missing.list_lacking(repo, name)]
        tip, lost = _rebuild_commit(repo, objects, [old, *log], theirs)
        move_refs(repo, [(ref, tip, old)], "gitcp: fsck")
        forget_logs(repo, [ref])
    if tip is None:
        return f"nothing of it could be read: removed, noted in '{note}'"
    return f"built it again, what it was is noted in '{note}'{missing.format_lost(lost)}"


def _rebuild_commit(
    repo: Repo, objects: Objects, tips: list[str], theirs: list[str]
) -> tuple[str | None, list[str]]:
    """(a commit with the readable content of the newest readable tip, the paths that it lacks)."""
    history = missing.follow_parents(tips, lambda oid: read_commit(objects, oid))
    sound = _find_sound(repo, history)
    fallbacks = [c for name in (sound, *theirs) if name and (c := read_commit(objects, name))]
    if not history:
        return (fallbacks[0]["oid"] if fallbacks else None), []
    lost: list[str] = []
    gone = missing.list_lacking(repo, history[0]["oid"])
    trees = [commit["tree"] for commit in (history[0], *fallbacks)]
    tree = _join_trees(objects, trees, gone, lost)
    if tree is None:
        return (fallbacks[0]["oid"] if fallbacks else None), lost
    parents = list(dict.fromkeys(commit["oid"] for commit in fallbacks))
    return write_commit(objects, repo, tree, parents, _SUBJECT), sorted(lost)


def _find_sound(repo: Repo, history: list[Commit]) -> str | None:
    """A commit of the history that lacks no object; each one tried is twice as far back."""
    number = 0
    while number < len(history):
        if not missing.list_lacking(repo, history[number]["oid"]):
            return history[number]["oid"]
        number = number * 2 + 1
    return None


def _join_trees(
    objects: Objects, trees: list[str], gone: set[str], lost: list[str], path: str = ""
) -> str | None:
    """Write a tree with the names of the first readable tree; None if it is empty.

    Each entry is from the first tree in which it lacks nothing; if there is none, its path is added
    to lost.
    """
    layers = [entries for oid in dict.fromkeys(trees) if (entries := _read_entries(objects, oid))]
    united: Tree = {}
    for name in layers[0] if layers else ():
        versions = [layer[name] for layer in layers if name in layer]
        if versions[0][0] == TREE:
            below = [oid for mode, oid in versions if mode == TREE]
            tree = _join_trees(objects, below, gone, lost, f"{path}{name}/")
            entry = (TREE, tree) if tree else None
        else:
            entry = next((e for e in versions if e[0] != TREE and e[1] not in gone), None)
        if entry:
            united[name] = entry
        else:
            lost.append(path + name)
    return write_tree(objects, united) if united else None


def _read_entries(objects: Objects, oid: str) -> Tree:
    try:
        return read_tree(objects, oid)
    except Error:
        return {}


def mend_edits(repo: Repo, objects: Objects, ref: str) -> str:
    """Write the history of a session's edits again, as far as it can be read; return what was
    done."""
    old = refs.read_ref(repo, ref)
    if old is None:
        return ""
    gone, count = missing.list_lacking(repo, ref), 0
    tip: str | None = None
    for commit in reversed(missing.follow_parents([old], lambda oid: read_commit(objects, oid))):
        tree = _drop_gone(objects, commit["tree"], gone)
        if tree:
            parents = [tip] if tip else []
            tip, count = write_commit(objects, repo, tree, parents, commit["message"]), count + 1
    refs.update_refs(repo, [(ref, tip, old)], "gitcp: fsck")
    return f"wrote {count} turns again without {len(gone)} lost objects"


def _drop_gone(objects: Objects, tree: str, gone: set[str]) -> str | None:
    """A turn's tree without the missing objects; None if nothing is left."""
    if objects.read(tree) is None:
        return None
    entries = read_tree(objects, tree)
    present = {name: entry for name, entry in entries.items() if objects.read(entry[1])}
    if "contents" in present:
        mode, contents = present["contents"]
        blobs = read_tree(objects, contents)
        lost = {name: None for name, entry in blobs.items() if entry[1] in gone}
        present["contents"] = (mode, edit_tree(objects, contents, lost))
    return edit_tree(objects, None, present) if present else None
