"""What a step changes outside the worktree: notes, refs and files of clients, put back.

All of a step's effects are looked at before the first is touched: one that has changed since is
never overwritten.  Contents of files that are not the repository's lie under <common>/gitcp/kept
by the name of their bytes, readable for the person alone, and never in an object database: a live
transcript is not redacted.
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
    """The effects that take these back, in the order in which that is to be done."""
    return [{**e, "old": e["new"], "new": e["old"]} for e in reversed(list(effects))]


def find_possible(
    repo: Repo, objects: Objects, effects: Iterable[Effect], keep: bool
) -> tuple[list[Effect], list[str], list[Conflict]]:
    """(the effects that can be brought about, a sentence for each that is left alone, what
    stands against the others: {path, reason} each).

    A file that a step made or took away and that somebody has gone on with since, as a client
    does with a conversation, is left alone; with keep so is whatever was changed since.
    """
    todo, notes = [], []
    blocked: list[Conflict] = []
    for effect in effects:
        if _read_now(repo, objects, effect) in (effect["old"], effect["new"]):
            todo.append(effect)
        elif keep or ("file" in effect and None in (effect["old"], effect["new"])):
            notes.append(f"'{_name_subject(effect)}' has gone on since, and stays as it is")
        else:
            blocked.append(
                {"path": _name_subject(effect), "reason": "changed since by somebody else"}
            )
    return todo, notes, blocked


def put_effects(repo: Repo, objects: Objects, effects: Iterable[Effect]) -> None:
    """Bring about effects; one that is there already is done.

    Raises Changed or Moved where something is not as it was before the effect, Error when a
    content is kept no more: then those that were done are taken back.
    """
    done: list[Effect] = []
    try:
        for _, alike in groupby(effects, _get_kind):
            todo = [one for one in alike if _read_now(repo, objects, one) != one["new"]]
            _bring_about(repo, objects, todo)
            done += todo
    except (Error, OSError):
        for effect in invert_effects(done):
            _bring_about(repo, objects, [effect])
        raise


def _get_kind(effect: Effect) -> str:
    return next(kind for kind in ("note", "checkpoint", "ref", "file") if kind in effect)


def _bring_about(repo: Repo, objects: Objects, alike: list[Effect]) -> None:
    """Bring about effects of one kind, all of notes and of checkpoints at once."""
    for effect in alike:
        if _read_now(repo, objects, effect) != effect["old"]:
            raise Changed(f"'{_name_subject(effect)}' has changed meanwhile")
    if not alike:
        return
    if _get_kind(alike[0]) == "note":
        notes.edit_notes(repo, objects, {e["note"]: partial(_swap_note, objects, e) for e in alike})
    elif _get_kind(alike[0]) == "checkpoint":
        trees = {effect["checkpoint"]: effect["new"] for effect in alike}
        committed_write.set_trees(repo, objects, trees)
    for effect in alike:
        if "ref" in effect:
            refs.update_refs(repo, [(effect["ref"], effect["new"], effect["old"])], "gitcp: undo")
        elif "file" in effect:
            _write_file(repo, effect)


def _name_subject(effect: Effect) -> str:
    """What an effect is on, for eyes."""
    if "note" in effect:
        return f"note on {effect['note'][:12]}"
    return str(effect[_get_kind(effect)])


def _read_now(repo: Repo, objects: Objects, effect: Effect) -> str | None:
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
    there = None if old is None else objects.hash_object("blob", old)
    if there != effect["old"]:
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
    """The name of these bytes, which are kept; None for none."""
    if data is None:
        return None
    name = hash_bytes(data)
    path = repo.join_shared("kept", name)
    if _read_file(path) == data:
        os.utime(path)  # it is needed anew: clean leaves it alone
    else:
        private.write_private(repo, path, data, durable=True)
    return name


def read_kept(repo: Repo, name: str | None) -> bytes | None:
    """The bytes kept under a name; raise Error when they are gone."""
    if name is None:
        return None
    data = _read_file(repo.join_shared("kept", name))
    if data is None or hash_bytes(data) != name:
        raise Error(f"what '{name[:12]}' held is not kept any more")
    return data


def _read_file(path: str) -> bytes | None:
    """The bytes of a kept file, however many; None where it cannot be read."""
    try:
        return read_file(path, most=sys.maxsize)
    except Damaged:
        return None
