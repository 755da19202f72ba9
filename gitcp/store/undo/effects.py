"""What a step changed beside the worktree: notes, refs and files of clients, put back.

All of a step's effects are looked at before the first is touched: one that somebody has
changed since is a reason not to, never overwritten.
"""

from __future__ import annotations

import os

from gitcp.errors import Changed, Error
from gitcp.store.git import notes, refs
from gitcp.store.git.files import replace
from gitcp.store.undo import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.rewind.plan import Conflict
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Effect = dict[str, Any]


def turned(effects: Iterable[Effect]) -> list[Effect]:
    """The effects that take these back, in the order in which that is to be done."""
    return [{**e, "old": e["new"], "new": e["old"]} for e in reversed(list(effects))]


def possible(
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
        if _now(repo, objects, effect) in (effect["old"], effect["new"]):
            todo.append(effect)
        elif keep or ("file" in effect and None in (effect["old"], effect["new"])):
            notes.append(f"'{name(effect)}' has gone on since, and stays as it is")
        else:
            blocked.append({"path": name(effect), "reason": "changed since by somebody else"})
    return todo, notes, blocked


def put(repo: Repo, objects: Objects, effects: Iterable[Effect]) -> None:
    """Bring about effects; one that is there already is done.

    Raises Changed or Moved where something is not as it was before the effect, Error when a
    content is kept no more: then those that were done are taken back.
    """
    done: list[Effect] = []
    try:
        for effect in effects:
            if _now(repo, objects, effect) != effect["new"]:
                _one(repo, objects, effect)
                done.append(effect)
    except (Error, OSError):
        for effect in turned(done):
            _one(repo, objects, effect)
        raise


def _one(repo: Repo, objects: Objects, effect: Effect) -> None:
    if _now(repo, objects, effect) != effect["old"]:
        raise Changed(f"'{name(effect)}' has changed meanwhile")
    if "note" in effect:
        _note(repo, objects, effect)
    elif "ref" in effect:
        refs.update(repo, [(effect["ref"], effect["new"], effect["old"])], "gitcp: undo")
    else:
        _file(repo, effect)


def name(effect: Effect) -> str:
    """What an effect is on, for eyes."""
    return f"note on {effect['note'][:12]}" if "note" in effect else _subject(effect)


def _subject(effect: Effect) -> str:
    return str(effect.get("ref") or effect.get("file"))


def _now(repo: Repo, objects: Objects, effect: Effect) -> str | None:
    if "note" in effect:
        text = notes.text_on(objects, effect["note"])
        return None if text is None else objects.hash("blob", text)
    return refs.read(repo, effect["ref"]) if "ref" in effect else kept.now(effect["file"])


def _note(repo: Repo, objects: Objects, effect: Effect) -> None:
    def swapped(old: bytes | None) -> bytes | None:
        there = None if old is None else objects.hash("blob", old)
        if there != effect["old"]:
            return old
        return objects.need(effect["new"], "blob") if effect["new"] else None

    notes.change(repo, objects, effect["note"], swapped)


def _file(repo: Repo, effect: Effect) -> None:
    path, data = effect["file"], kept.give(repo, effect["new"])
    if data is None:
        os.unlink(path)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace(path, data, 0o600)
