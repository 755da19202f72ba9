"""Mending gitcp's refs that git cannot read or that lack objects: the branch of committed
checkpoints, the edits of sessions, and others.

`git gc` fails if a branch lacks an object.  The old value of a ref is written to a file; its
content is kept as far as it can be read here or on a remote's branch.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from gitcp.checkpoints.stored import list_remote_branches
from gitcp.checkpoints.writing import move_refs
from gitcp.errors import Error
from gitcp.git import encode_name, files, refs
from gitcp.git.files import choose_place_aside, exclusive
from gitcp.git.objects import TREE, read_commit, read_tree, write_commit, write_tree
from gitcp.git.objects.pack_care import forget_logs
from gitcp.git.refs import REF
from gitcp.record.stream import get_lock_name
from gitcp.setup.care.mend_objects import format_lost, list_lacking, write_objects_again
from gitcp.text.ids import NOTES, V1
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Tree

SUBJECT = "Rebuilt from what was left of it"
_LOCKS = {V1: "v1", NOTES: "notes"}


def read_log(repo: Repo, ref: str) -> list[str]:
    """The former values of a ref by its reflog, newest first."""
    log = files.peek(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref)))
    lines = log.decode("utf-8", "replace").splitlines()
    found: list[str] = []
    for line in reversed(lines):
        found += reversed(line.split(" ", 2)[:2])
    return found


def follow_parents(tips: list[str], read: Callable[[str], Commit | None]) -> list[Commit]:
    """The commits from the first of tips that read() finds, and their first parents; newest
    first."""
    for oid in dict.fromkeys(tips):
        commits: list[Commit] = []
        commit = read(oid)
        while commit:
            commits.append(commit)
            if not commit["parents"]:
                break
            commit = read(commit["parents"][0])
        if commits:
            return commits
    return []


def write_note(repo: Repo, ref: str, old: str, log: list[str]) -> str:
    """Write the value and the log of a ref to a new file; return its path."""
    path = choose_place_aside(repo.common, ref)
    with open(path, "x") as f:
        f.writelines(f"{line}\n" for line in [f"{ref} {old}", *log])
    return path


def mend_ref(repo: Repo, ref: str) -> str:
    """Set a ref without a commit to the last one in its reflog, or remove it; return what was done,
    '' if it has a commit by now."""
    with exclusive(repo, _LOCKS.get(ref) or get_lock_name(repo, ref)):
        path = os.path.join(os.fsencode(repo.common), encode_name(ref))
        log_path = os.path.join(repo.common, "logs", ref)
        old = refs.read_ref(repo, ref)
        log = read_log(repo, ref)
        stands = _is_no_folder(path)
        is_logged = _is_no_folder(log_path)
        if old and _is_commit(repo.objects, old):
            return ""
        if not (old or stands or is_logged):
            return ""
        if stands:
            aside = choose_place_aside(repo.common, ref)
            os.rename(path, encode_name(aside))
        else:
            aside = write_note(repo, ref, old or "", log)
        packed = refs.read_ref(repo, ref)  # the file hid this value
        oid = _choose_commit(repo.objects, [*log, packed or ""])
        if oid is None and is_logged:
            os.rename(log_path, choose_place_aside(repo.common, f"logs/{ref}"))
        if oid != packed:
            refs.update_refs(repo, [(ref, oid, packed)], "gitcp: fsck")
    moved = f"moved what stood there to '{aside}'"
    if oid:
        return f"put it back to {abbreviate(oid)}, {moved}"
    return moved


def _is_no_folder(path: str | bytes) -> bool:
    """Whether something other than a directory stands at path, such as a link."""
    return os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path))


def _choose_commit(objects: Objects, oids: list[str]) -> str | None:
    """The first that is a commit here."""
    for oid in oids:
        if _is_commit(objects, oid):
            return oid
    return None


def _is_commit(objects: Objects, oid: str) -> bool:
    """Whether an object exists and is a commit."""
    if not oid.strip("0"):
        return False
    answer = objects.read(oid)
    return bool(answer and answer[1] == "commit")


def mend_store(repo: Repo, ref: str) -> str:
    """Write the branch of checkpoints, or the ref of one, again without missing objects; return
    what was done, '' if it lacks none."""
    with exclusive(repo, "v1"):
        rewritten = write_objects_again(repo, ref)
        old = rewritten.lacking
        if not old:
            return rewritten.done
        log = read_log(repo, ref)
        note = write_note(repo, ref, old, log)
        theirs: list[str] = []
        if ref == REF:
            theirs = [name for name in list_remote_branches(repo) if not list_lacking(repo, name)]
        rebuilt = _rebuild_commit(repo, [old, *log], theirs)
        move_refs(repo, [(ref, rebuilt.oid, old)], "gitcp: fsck")
        forget_logs(repo, [ref])
    if rebuilt.oid is None:
        return f"nothing of it could be read: removed, noted in '{note}'"
    return f"built it again, what it was is noted in '{note}'{format_lost(rebuilt.lost)}"


@dataclass(slots=True)
class Rebuilt:
    """A commit or tree that was written again.  oid: None if nothing is left of it.  lost: the
    paths of what was missing, with a slash at the end for a directory."""

    oid: str | None
    lost: list[str] = field(default_factory=list)


def _rebuild_commit(repo: Repo, tips: list[str], theirs: list[str]) -> Rebuilt:
    """A commit with the readable content of the newest readable tip."""
    history = follow_parents(tips, lambda oid: read_commit(repo.objects, oid))
    sound: list[Commit] = []
    for name in (_find_sound(repo, history), *theirs):
        commit = None
        if name:
            commit = read_commit(repo.objects, name)
        if commit:
            sound.append(commit)
    rebuilt = Rebuilt(None)
    if history:
        gone = list_lacking(repo, history[0]["oid"])
        trees = [commit["tree"] for commit in sound]
        rebuilt = rebuild_tree(repo.objects, history[0]["tree"], trees, gone)
    if rebuilt.oid:
        parents = list(dict.fromkeys(commit["oid"] for commit in sound))
        oid = write_commit(repo, rebuilt.oid, parents, SUBJECT)
        return Rebuilt(oid, sorted(rebuilt.lost))
    if sound:
        return Rebuilt(sound[0]["oid"], rebuilt.lost)
    return rebuilt


def _find_sound(repo: Repo, history: list[Commit]) -> str | None:
    """A commit of the history that lacks no object; each one tried is twice as far back."""
    number = 0
    while number < len(history):
        if not list_lacking(repo, history[number]["oid"]):
            return history[number]["oid"]
        number = number * 2 + 1
    return None


def rebuild_tree(
    objects: Objects, oid: str, sound: Sequence[str], gone: Collection[str]
) -> Rebuilt:
    """Write a tree again without the objects in gone.

    sound: trees that lack nothing; the first that has an entry replaces a missing one.
    """
    if oid in sound:
        return Rebuilt(oid)
    entries = _read_if_there(objects, oid, gone)
    if entries is None:
        if sound:
            return Rebuilt(sound[0], [""])
        return Rebuilt(None, [""])
    layers = [_read_if_there(objects, tree, ()) or {} for tree in sound]
    rebuilt = dict(entries)
    lost: list[str] = []
    for name, (mode, of_entry) in entries.items():
        substitutes = [layer[name] for layer in layers if name in layer]
        if mode == TREE:
            trees = [tree for other, tree in substitutes if other == TREE]
            below = rebuild_tree(objects, of_entry, trees, gone)
            lost += [f"{name}/{path}" for path in below.lost]
            substitutes = []
            if below.oid:
                substitutes = [(TREE, below.oid)]
        elif of_entry in gone:
            lost.append(name)
        else:
            continue
        if substitutes:
            rebuilt[name] = substitutes[0]
        else:
            del rebuilt[name]
    if rebuilt == entries:
        return Rebuilt(oid, lost)
    if rebuilt:
        return Rebuilt(write_tree(objects, rebuilt), lost)
    return Rebuilt(None, lost)


def _read_if_there(objects: Objects, oid: str, gone: Collection[str]) -> Tree | None:
    """The entries of a tree; None if it cannot be read."""
    if oid in gone:
        return None
    try:
        return read_tree(objects, oid)
    except Error:
        return None


def mend_edits(repo: Repo, ref: str) -> str:
    """Write the history of a session's edits again, as far as it can be read; return what was
    done."""
    old = refs.read_ref(repo, ref)
    if old is None:
        return ""
    gone: set[str] = set()
    kept = 0
    tip: str | None = None
    for commit in reversed(follow_parents([old], lambda oid: read_commit(repo.objects, oid))):
        gone |= list_lacking(repo, commit["oid"], "--no-walk")
        tree = rebuild_tree(repo.objects, commit["tree"], (), gone).oid
        if tree:
            parents = []
            if tip:
                parents = [tip]
            tip = write_commit(repo, tree, parents, commit["message"])
            kept += 1
    refs.update_refs(repo, [(ref, tip, old)], "gitcp: fsck")
    if tip is None:
        return (
            "all are lost, and no author of uncommitted lines is known; the files stay as they are"
        )
    done = f"kept what {count_noun(kept, 'prompt')} wrote"
    if gone:
        done += f"; {len(gone)} of their contents are lost, and cannot be put back"
    return done
