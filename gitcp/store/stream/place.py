"""The place of a session's next checkpoint, by its verdict unless that is void.

Nothing is written here: the writer of the checkpoint makes the ref edits that are returned.
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
        """The place of a checkpoint.  parent: the tip that it continues.  before: the ref edits
        before the branch's own, as to archive the old stream; after: those that follow."""

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
    """The place by the verdict that the turn began with; a void verdict means continue
    (doc/behaviour.md "Streams")."""
    tip = branches.find_current(repo, objects, state, base)
    verdict = state.get("verdict") or NO_VERDICT
    action = verdict["verdict"]
    suffixed = branches.get_mode(repo) == "suffix"
    replaces = action in ("reset", "restore") and not suffixed
    if replaces and tip and _is_busy(repo, state, tip["stream"]):
        trace.append_note("stream", f"'{tip['ref']}' stays: another session is active on it")
        action = "continue"
    if action == "restore":
        restored = shadow_refs.read_tip(objects, verdict["ref"])
        is_same = tip and restored and tip["ref"] == restored["ref"]  # HEAD is at its base again
        if restored and restored["oid"] == verdict["tip"] and not is_same:
            return _restore_stream(repo, base, tip, restored, suffixed)
        action = "continue"
    if action in ("reset", "new") and tip and tip["oid"] != verdict["tip"]:
        trace.append_note("stream", f"verdict '{action}' is void: '{tip['ref']}' moved on")
        action = "continue"
    if tip and action not in ("reset", "new"):
        if suffixed or tip["ref"] == shadow_refs.build_ref(repo, base):
            return _continue_stream(tip)
        return _restore_stream(repo, base, None, tip, suffixed)  # it has an old name
    if suffixed:
        number = max([0, *branches.map_suffixes(repo, base)]) + 1
        return _start_stream(shadow_refs.build_ref(repo, base, number), None, number, [])
    ref = shadow_refs.build_ref(repo, base)
    archived = [archive_stream(repo, tip)] if tip else []
    if tip and tip["ref"] != ref:
        return {
            **_start_stream(ref, None, None, archived),
            "after": [(tip["ref"], None, tip["oid"])],
        }
    # A branch whose commit is missing cannot be read, nor archived.
    return _start_stream(ref, tip["oid"] if tip else refs.read_ref(repo, ref), None, archived)


def _continue_stream(tip: Tip) -> Place:
    parsed = ids.parse_shadow(tip["ref"])
    return {
        "ref": tip["ref"],
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


def _restore_stream(repo: Repo, base: str, tip: Tip | None, restored: Tip, suffix: bool) -> Place:
    place = _continue_stream(restored)
    if suffix and restored["ref"].startswith(shadow_refs.build_ref(repo, base) + "-"):
        return place  # its branch still exists
    if suffix:
        place["suffix"] = max([0, *branches.map_suffixes(repo, base)]) + 1
        place["ref"], place["old"] = shadow_refs.build_ref(repo, base, place["suffix"]), None
    else:
        place["ref"], place["suffix"] = shadow_refs.build_ref(repo, base), None
        place["old"] = tip["oid"] if tip and tip["ref"] == place["ref"] else None
        place["before"] = [archive_stream(repo, tip)] if tip else []
        if tip and tip["ref"] != place["ref"]:  # an old name without a worktree
            place["after"] = [(tip["ref"], None, tip["oid"])]
    place["after"] = [*place["after"], (restored["ref"], None, restored["oid"])]
    return place


def archive_stream(repo: Repo, tip: Tip) -> refs.Edit:
    """The ref edit that archives a stream."""
    name = ids.parse_stream_name(tip["ref"])
    archived = refs.list_refs(repo, f"{shadow_refs.ARCHIVE}{name}/")
    for ref, oid in archived.items():
        if oid == tip["oid"]:  # archived by a process that was killed then
            return (ref, tip["oid"], oid)
    numbers = [
        int(ref.rpartition("/")[2]) for ref in archived if ref.rpartition("/")[2].isdecimal()
    ]
    return (f"{shadow_refs.ARCHIVE}{name}/{max([0, *numbers]) + 1}", tip["oid"], None)


def rename_stream(repo: Repo, objects: Objects, tip: Tip, base: str) -> list[refs.Edit]:
    """The ref edits that rename a stream to a new base, or archive it if that name is taken."""
    parsed = ids.parse_shadow(tip["ref"])
    number = parsed["suffix"] if parsed else None
    ref = shadow_refs.build_ref(repo, base, number)
    if number is not None and objects.read(ref):
        number = max(branches.map_suffixes(repo, base)) + 1
        ref = shadow_refs.build_ref(repo, base, number)
    if ref == tip["ref"]:
        return [(ref, tip["oid"], tip["oid"])]
    edit = archive_stream(repo, tip) if objects.read(ref) else (ref, tip["oid"], None)
    return [edit, (tip["ref"], None, tip["oid"])]


def move_home(repo: Repo, objects: Objects) -> None:
    """Move the streams to the place that gitcp.streams-hidden says."""
    home = shadow_refs.get_home(repo)
    [other] = {*shadow_refs.PLACES} - {home}
    for ref in refs.list_refs(repo, other):
        if ids.parse_shadow(ref):
            with exclusive(repo, shadow_refs.get_lock_name(repo, ref)):
                _move_home(repo, objects, ref, home + ids.parse_stream_name(ref))


def _move_home(repo: Repo, objects: Objects, ref: str, new_ref: str) -> None:
    try:
        tip = shadow_refs.read_tip(objects, ref)
        if tip and tip["ref"] == ref:
            edit = (
                archive_stream(repo, tip)
                if refs.read_ref(repo, new_ref)
                else (new_ref, tip["oid"], None)
            )
            refs.update_refs(repo, [edit, (ref, None, tip["oid"])], "gitcp: streams-hidden")
    except Error as e:
        # It is the person's, or is being written to.
        trace.append_note("stream", f"'{ref}' stays: {e}")


def make_id() -> str:
    """A new id for a stream, a turn or a checkpoint: 12 hex digits."""
    return os.urandom(6).hex()


def _is_busy(repo: Repo, state: State, stream: str) -> bool:
    """Whether another session, in a turn, has work on the stream."""
    return any(
        m["phase"] == "active"
        and m["session_id"] != state["session_id"]
        and any(s["id"] == stream for s in m["streams"])
        and not process.is_gone(m["agent_process"])
        for m in markers.read_recent(repo)
    )
