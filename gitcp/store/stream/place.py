"""The place of a session's next checkpoint, by its verdict unless that is void.

Nothing is written here: the writer of the checkpoint makes the ref updates that are returned.
"""

from __future__ import annotations

from gitcp import trace
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.session import markers, process
from gitcp.store.session.state import make_id
from gitcp.store.stream import branches, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from gitcp.core.record_types import State, Tip, Verdict
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    class Place(TypedDict):
        """The place of a checkpoint.  parent: the tip that it continues.  before: the ref updates
        before the branch's own, as to archive the old stream; after: those that follow."""

        ref: str
        old: str | None
        parent: Tip | None
        stream: str
        suffix: int | None
        reset: bool
        before: list[refs.Update]
        after: list[refs.Update]


NO_VERDICT: Verdict = {"verdict": "none", "ref": "", "tip": "", "reason": ""}


def find_place(repo: Repo, objects: Objects, state: State, base: str) -> Place:
    """The place by the verdict that the turn began with (doc/behaviour.md "Streams")."""
    current = branches.find_current(repo, objects, state, base)
    suffixed = branches.get_mode(repo) == "suffix"
    parent = _choose_parent(repo, objects, state, current, suffixed)
    branch = shadow_refs.build_ref(repo, base)
    numbered = suffixed and parent and parent["ref"].startswith(branch + "-")
    if parent and (numbered or parent["ref"] == branch or (suffixed and parent is current)):
        return _build_place(parent["ref"], parent["oid"], parent)
    moved = [(parent["ref"], None, parent["oid"])] if parent else []
    if suffixed:
        number = max([0, *branches.map_suffixes(repo, base)]) + 1
        return _build_place(shadow_refs.build_ref(repo, base, number), None, parent, after=moved)
    if current is None or current is parent:
        # A branch whose commit is missing can be neither read nor archived.
        return _build_place(branch, refs.read_ref(repo, branch), parent, after=moved)
    archived = [archive_stream(repo, current)]
    if current["ref"] == branch:
        return _build_place(branch, current["oid"], parent, archived, moved)
    # An old name without a worktree.
    return _build_place(
        branch, None, parent, archived, [(current["ref"], None, current["oid"]), *moved]
    )


def _choose_parent(
    repo: Repo, objects: Objects, state: State, current: Tip | None, suffixed: bool
) -> Tip | None:
    """The tip that the verdict continues: current, or that of the stream that it restores; None to
    start a new stream.  A void verdict continues the current one."""
    verdict = state.get("verdict") or NO_VERDICT
    action = verdict["verdict"]
    replaces = action in ("reset", "restore") and not suffixed
    if current and replaces and _is_busy(repo, state, current["stream"]):
        trace.append_note("stream", f"'{current['ref']}' stays: another session is active on it")
        return current
    if action == "restore":
        restored = shadow_refs.read_tip(objects, verdict["ref"])
        is_current = current and restored and current["ref"] == restored["ref"]
        if restored and restored["oid"] == verdict["tip"] and not is_current:
            return restored  # else it moved on, or HEAD is at its base again
    if action in ("reset", "new") and current:
        if current["oid"] == verdict["tip"]:
            return None
        trace.append_note("stream", f"verdict '{action}' is void: '{current['ref']}' moved on")
    return current


def _build_place(
    ref: str,
    old: str | None,
    parent: Tip | None,
    before: Sequence[refs.Update] = (),
    after: Sequence[refs.Update] = (),
) -> Place:
    parsed = ids.parse_shadow(ref)
    return {
        "ref": ref,
        "old": old,
        "parent": parent,
        "stream": parent["stream"] if parent else make_id(),
        "suffix": parsed["suffix"] if parsed else None,
        "reset": parent is None,
        "before": [*before],
        "after": [*after],
    }


def archive_stream(repo: Repo, tip: Tip) -> refs.Update:
    """The ref update that archives a stream."""
    name = ids.parse_stream_name(tip["ref"])
    archived = refs.list_refs(repo, f"{shadow_refs.ARCHIVE}{name}/")
    for ref, oid in archived.items():
        if oid == tip["oid"]:  # archived by a process that was killed then
            return (ref, tip["oid"], oid)
    numbers = [
        int(ref.rpartition("/")[2]) for ref in archived if ref.rpartition("/")[2].isdecimal()
    ]
    return (f"{shadow_refs.ARCHIVE}{name}/{max([0, *numbers]) + 1}", tip["oid"], None)


def rename_stream(repo: Repo, objects: Objects, tip: Tip, base: str) -> list[refs.Update]:
    """The ref updates that rename a stream to a new base, or archive it if that name is taken."""
    parsed = ids.parse_shadow(tip["ref"])
    number = parsed["suffix"] if parsed else None
    ref = shadow_refs.build_ref(repo, base, number)
    if number is not None and objects.read(ref):
        number = max(branches.map_suffixes(repo, base)) + 1
        ref = shadow_refs.build_ref(repo, base, number)
    if ref == tip["ref"]:
        return [(ref, tip["oid"], tip["oid"])]
    update = archive_stream(repo, tip) if objects.read(ref) else (ref, tip["oid"], None)
    return [update, (tip["ref"], None, tip["oid"])]


def move_home(repo: Repo, objects: Objects) -> None:
    """Move the streams to the place that gitcp.streams-hidden says."""
    home = shadow_refs.get_prefix(repo)
    [other] = {*shadow_refs.PREFIXES} - {home}
    for ref in refs.list_refs(repo, other):
        if ids.parse_shadow(ref):
            with exclusive(repo, shadow_refs.get_lock_name(repo, ref)):
                _move_home(repo, objects, ref, home + ids.parse_stream_name(ref))


def _move_home(repo: Repo, objects: Objects, ref: str, new_ref: str) -> None:
    try:
        tip = shadow_refs.read_tip(objects, ref)
        if tip and tip["ref"] == ref:
            exists = refs.read_ref(repo, new_ref)
            update = archive_stream(repo, tip) if exists else (new_ref, tip["oid"], None)
            refs.update_refs(repo, [update, (ref, None, tip["oid"])], "gitcp: streams-hidden")
    except Error as e:
        # It is the person's, or is being written to.
        trace.append_note("stream", f"'{ref}' stays: {e}")


def _is_busy(repo: Repo, state: State, stream: str) -> bool:
    """Whether another session, in a turn, has work on the stream."""
    return any(
        m["phase"] == "active"
        and m["session_id"] != state["session_id"]
        and any(s["id"] == stream for s in m["streams"])
        and not process.is_gone(m["agent_process"])
        for m in markers.read_recent(repo)
    )
