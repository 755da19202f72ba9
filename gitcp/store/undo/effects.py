"""The effects of a step outside the worktree: on notes, checkpoints, refs and clients' files.

All effects of a step are checked before the first is made: what has changed since is never
overwritten.  Contents of clients' files are kept in <common>/gitcp/kept, named by the hash of their
bytes and readable for the person alone.  They are not git objects, since a live transcript is not
redacted.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from itertools import groupby

from gitcp.errors import Changed, Error
from gitcp.process.files import Damaged, hash_bytes, read_file, replace_file
from gitcp.process.files import read_bytes as content
from gitcp.store.git import notes, private, refs
from gitcp.store.v1 import committed_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.back.plan import Conflict
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Effect = dict[str, Any]


def invert_effects(effects: Iterable[Effect]) -> list[Effect]:
    """The effects that undo these, in reverse order."""
    return [{**e, "old": e["new"], "new": e["old"]} for e in reversed(list(effects))]


def find_possible(
    repo: Repo, objects: Objects, effects: Iterable[Effect], keep: bool
) -> tuple[list[Effect], list[str], list[Conflict]]:
    """(the effects that can be made, a sentence for each that is left alone, the conflicts).

    A file that a step created or deleted and that was changed since, as a client does with a
    conversation, is left alone; with keep so is everything that was changed since.
    """
    todo, notes = [], []
    blocked: list[Conflict] = []
    for effect in effects:
        subject = _name_subject(effect)
        if _read_current(repo, objects, effect) in (effect["old"], effect["new"]):
            todo.append(effect)
        elif keep or ("file" in effect and None in (effect["old"], effect["new"])):
            notes.append(f"'{subject}' has gone on since, and stays as it is")
        else:
            blocked.append({"path": subject, "reason": "changed since by somebody else"})
    return todo, notes, blocked


def put_effects(repo: Repo, objects: Objects, effects: Iterable[Effect]) -> None:
    """Make effects, except those that are made already.

    Raises Changed or Moved if a subject is neither as before nor as after its effect, and Error if
    a content is not kept any more.  Effects that were made are then undone.
    """
    done: list[Effect] = []
    try:
        for _, group in groupby(effects, _get_kind):
            todo = [e for e in group if _read_current(repo, objects, e) != e["new"]]
            _make_effects(repo, objects, todo)
            done += todo
    except (Error, OSError):
        for effect in invert_effects(done):
            _make_effects(repo, objects, [effect])
        raise


def _get_kind(effect: Effect) -> str:
    return next(kind for kind in ("note", "checkpoint", "ref", "file") if kind in effect)


def _make_effects(repo: Repo, objects: Objects, group: list[Effect]) -> None:
    """Make effects of one kind; those of notes or checkpoints all at once."""
    for effect in group:
        if _read_current(repo, objects, effect) != effect["old"]:
            raise Changed(f"'{_name_subject(effect)}' has changed meanwhile")
    if not group:
        return
    if _get_kind(group[0]) == "note":
        notes.edit_notes(repo, objects, {e["note"]: partial(_swap_note, objects, e) for e in group})
    elif _get_kind(group[0]) == "checkpoint":
        trees = {effect["checkpoint"]: effect["new"] for effect in group}
        committed_write.set_trees(repo, objects, trees)
    for effect in group:
        if "ref" in effect:
            refs.update_refs(repo, [(effect["ref"], effect["new"], effect["old"])], "gitcp: undo")
        elif "file" in effect:
            _write_file(repo, effect)


def _name_subject(effect: Effect) -> str:
    """The subject of an effect, for messages."""
    if "note" in effect:
        return f"note on {effect['note'][:12]}"
    return str(effect[_get_kind(effect)])


def _read_current(repo: Repo, objects: Objects, effect: Effect) -> str | None:
    if "note" in effect:
        text = notes.read_note(objects, effect["note"])
        return None if text is None else objects.hash_object("blob", text)
    if "checkpoint" in effect:
        return committed_write.find_tree_here(repo, objects, effect["checkpoint"])
    if "ref" in effect:
        return refs.read_ref(repo, effect["ref"])
    data = content(effect["file"])
    return None if data is None else hash_bytes(data)


def _swap_note(objects: Objects, effect: Effect, old: bytes | None) -> bytes | None:
    current = None if old is None else objects.hash_object("blob", old)
    if current != effect["old"]:
        return old
    return objects.need(effect["new"], "blob") if effect["new"] else None


def _write_file(repo: Repo, effect: Effect) -> None:
    path, data = effect["file"], read_kept(repo, effect["new"])
    if data is None:
        os.unlink(path)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_file(path, data, 0o600)


def keep_bytes(repo: Repo, data: bytes | None) -> str | None:
    """Keep bytes and return their name; None for None."""
    if data is None:
        return None
    name = hash_bytes(data)
    path = repo.join_shared("kept", name)
    if _read_file(path) == data:
        os.utime(path)  # so that clean does not remove it
    else:
        private.write_private(repo, path, data, durable=True)
    return name


def read_kept(repo: Repo, name: str | None) -> bytes | None:
    """The bytes kept under a name; raises Error if they are gone."""
    if name is None:
        return None
    data = _read_file(repo.join_shared("kept", name))
    if data is None or hash_bytes(data) != name:
        raise Error(f"content '{name[:12]}' is not kept any more")
    return data


def _read_file(path: str) -> bytes | None:
    """The bytes of a kept file of any size; None if it cannot be read."""
    try:
        return read_file(path, most=sys.maxsize)
    except Damaged:
        return None
