"""Where the next checkpoint of a session goes: its verdict obeyed, or found void.

Everything here reads; the ref edits it returns are made by who writes the checkpoint.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.session import markers, process
from gitcp.store.stream import branches, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from gitcp.core.record_types import State, Tip, Verdict
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    class Place(TypedDict):
        """Where a checkpoint goes.  parent: the tip it continues; before: ref edits that come
        before the branch's own (the archive of what it replaces), after: those that follow."""

        ref: str
        old: str | None
        parent: Tip | None
        stream: str
        suffix: int | None
        reset: bool
        before: list[refs.Edit]
        after: list[refs.Edit]


NO_VERDICT: Verdict = {"verdict": "none", "ref": "", "tip": "", "reason": ""}


def find_place(repo: Repo, objects: Objects, state: State, base: str) -> Place:
    """Obey the verdict the turn began with; a verdict that is void means continue
    (doc/behaviour.md "Streams")."""
    tip = branches.find_current(repo, objects, state, base)
    verdict = state.get("verdict") or NO_VERDICT
    word = verdict["verdict"]
    suffix = branches.get_mode(repo) == "suffix"
    if word in ("reset", "restore") and tip and not suffix and _is_busy(repo, state, tip["stream"]):
        trace.append_note("stream", f"'{tip['ref']}' stays: another session is active on it")
        word = "continue"
    if word == "restore":
        back = shadow_refs.read_tip(objects, verdict["ref"])
        here = tip and back and tip["ref"] == back["ref"]  # HEAD has come back to its base
        if back and back["oid"] == verdict["tip"] and not here:
            return _restore_stream(repo, base, tip, back, suffix)
        word = "continue"
    if word in ("reset", "new") and tip and tip["oid"] != verdict["tip"]:
        trace.append_note("stream", f"verdict '{word}' is void: '{tip['ref']}' moved on")
        word = "continue"
    if tip and word not in ("reset", "new"):
        old = not suffix and tip["ref"] != shadow_refs.build_ref(
            repo, base
        )  # takes its present name
        return (
            _restore_stream(repo, base, None, tip, suffix)
            if old
            else _continue_stream(tip, base=tip["ref"])
        )
    if suffix:
        number = max([0, *branches.map_suffixes(repo, base)]) + 1
        return _start_stream(shadow_refs.build_ref(repo, base, number), None, number, [])
    ref = shadow_refs.build_ref(repo, base)
    keep = [archive_stream(repo, tip)] if tip else []
    if tip and tip["ref"] != ref:
        return {**_start_stream(ref, None, None, keep), "after": [(tip["ref"], None, tip["oid"])]}
    # A branch whose commit is missing cannot be read, nor archived.
    return _start_stream(ref, tip["oid"] if tip else refs.read_ref(repo, ref), None, keep)


def _continue_stream(tip: Tip, base: str) -> Place:
    parsed = ids.parse_shadow(base)
    return {
        "ref": base,
        "old": tip["oid"],
        "parent": tip,
        "stream": tip["stream"],
        "suffix": parsed["suffix"] if parsed else None,
        "reset": False,
        "before": [],
        "after": [],
    }


def _start_stream(ref: str, old: str | None, suffix: int | None, before: list[refs.Edit]) -> Place:
    return {
        "ref": ref,
        "old": old,
        "parent": None,
        "stream": make_id(),
        "suffix": suffix,
        "reset": True,
        "before": before,
        "after": [],
    }


def _restore_stream(repo: Repo, base: str, tip: Tip | None, back: Tip, suffix: bool) -> Place:
    spot = _continue_stream(back, base=back["ref"])
    if suffix and back["ref"].startswith(shadow_refs.build_ref(repo, base) + "-"):
        return spot  # its branch is still there: go back to it
    if suffix:
        spot["suffix"] = max([0, *branches.map_suffixes(repo, base)]) + 1
        spot["ref"], spot["old"] = shadow_refs.build_ref(repo, base, spot["suffix"]), None
    else:
        spot["ref"], spot["suffix"] = shadow_refs.build_ref(repo, base), None
        spot["old"] = tip["oid"] if tip and tip["ref"] == spot["ref"] else None
        spot["before"] = [archive_stream(repo, tip)] if tip else []
        if tip and tip["ref"] != spot["ref"]:  # named as before worktrees had their own
            spot["after"] = [(tip["ref"], None, tip["oid"])]
    spot["after"] = [*spot["after"], (back["ref"], None, back["oid"])]
    return spot


def archive_stream(repo: Repo, tip: Tip) -> refs.Edit:
    """The ref edit that keeps a stream when its branch goes on without it."""
    name = ids.parse_stream_name(tip["ref"])
    taken = refs.list_refs(repo, f"{shadow_refs.ARCHIVE}{name}/")
    for ref, oid in taken.items():
        if oid == tip["oid"]:  # a kill came between the archive and the branch
            return (ref, tip["oid"], oid)
    numbers = [int(ref.rpartition("/")[2]) for ref in taken if ref.rpartition("/")[2].isdecimal()]
    return (f"{shadow_refs.ARCHIVE}{name}/{max([0, *numbers]) + 1}", tip["oid"], None)


def rename_stream(repo: Repo, objects: Objects, tip: Tip, now: str) -> list[refs.Edit]:
    """The ref edits that give a stream the new base's name, or archive it if that is taken."""
    parsed = ids.parse_shadow(tip["ref"])
    number = parsed["suffix"] if parsed else None
    ref = shadow_refs.build_ref(repo, now, number)
    if number is not None and objects.read(ref):
        number = max(branches.map_suffixes(repo, now)) + 1
        ref = shadow_refs.build_ref(repo, now, number)
    if ref == tip["ref"]:
        return [(ref, tip["oid"], tip["oid"])]
    kept = archive_stream(repo, tip) if objects.read(ref) else (ref, tip["oid"], None)
    return [kept, (tip["ref"], None, tip["oid"])]


def move_home(repo: Repo, objects: Objects) -> None:
    """Bring the streams that lie where gitcp.streams-hidden no longer puts them to their place."""
    home = shadow_refs.get_home(repo)
    [other] = {*shadow_refs.PLACES} - {home}
    for ref in refs.list_refs(repo, other):
        if ids.parse_shadow(ref):
            with exclusive(repo, shadow_refs.get_lock_name(repo, ref)):
                _move_home(repo, objects, ref, home + ids.parse_stream_name(ref))


def _move_home(repo: Repo, objects: Objects, ref: str, now: str) -> None:
    try:
        tip = shadow_refs.read_tip(objects, ref)
        if tip and tip["ref"] == ref:
            keep = (
                archive_stream(repo, tip) if refs.read_ref(repo, now) else (now, tip["oid"], None)
            )
            refs.update_refs(repo, [keep, (ref, None, tip["oid"])], "gitcp: streams-hidden")
    except Error as e:
        trace.append_note(
            "stream", f"'{ref}' stays: {e}"
        )  # the person's, or it is written to just now


def make_id() -> str:
    """A new id of a stream, a turn or a checkpoint: 12 hex digits."""
    return os.urandom(6).hex()


def _is_busy(repo: Repo, state: State, stream: str) -> bool:
    """Whether another live session has work on the stream in the middle of a turn."""
    return any(
        m["phase"] == "active"
        and m["session_id"] != state["session_id"]
        and any(s["id"] == stream for s in m["streams"])
        and not process.is_gone(m["agent_process"])
        for m in markers.read_recent(repo)
    )
