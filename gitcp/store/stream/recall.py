"""Recovery of a session's state that is behind its stream, lost or damaged.

Every checkpoint has a copy of the state, and the marker has its unsettled work, so that nothing
recorded is lost (doc/behaviour.md "Events", "Temporary checkpoints").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.core.git import ids
from gitcp.errors import Error, InputError
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.journal.work import read_streams
from gitcp.store.session import markers
from gitcp.store.session import state as states
from gitcp.store.stream import branches, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.core.record_types import Marker, State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def recall_state(repo: Repo, objects: Objects, session_id: str) -> State | None:
    """The state of a session; None for an unknown one.

    A newer copy on its stream wins: a process was killed between the ref and the state.  A lost or
    damaged file is rebuilt from the copies and the marker.  The caller holds the session's lock.
    """
    head = refs.read_base(repo)
    return catch_up_state(repo, objects, session_id, states.load(repo, session_id), head)


def catch_up_state(
    repo: Repo, objects: Objects, session_id: str, state: State | None, head: str
) -> State | None:
    """recall_state() for a loaded state, None if it has no file.  head: HEAD's commit."""
    if state is None:
        return _rebuild_state(repo, objects, session_id)
    read_streams(repo, state)
    tip, revision = _find_newest(objects, session_id, _list_near(repo, objects, state, head))
    newer = tip and revision > state.get("revision", 0)
    copy = late.state_copy.read_with_turns(objects, tip, session_id) if tip and newer else None
    if copy:
        trace.append_note("state", f"'{session_id}' is behind its stream: taking the copy there")
        state = states.update_fields(copy)
        read_streams(repo, state)
    return state


def is_orphaned(repo: Repo, objects: Objects, tip: Tip) -> bool:
    """Whether no state names a stream (doc/behaviour.md "Conflicts and warnings").

    A state that is behind the stream or unreadable counts as naming it, and so does one of the
    original program with its base.
    """
    owners = shadow_refs.list_sessions(objects, tip)
    concerned = markers.read_concerned(repo, owners)
    if any(stream["id"] == tip["stream"] for marker in concerned for stream in marker["streams"]):
        return False
    return not any(_is_named(repo, objects, tip, session_id) for session_id in owners)


def holds_lost_work(
    repo: Repo, objects: Objects, tip: Tip, saved: Collection[str] = frozenset()
) -> bool:
    """Whether a stream has work that no state has: it was lost, or its process was killed.

    saved: the sessions whose states were just saved with everything on the stream.
    """
    try:
        for session_id in shadow_refs.list_sessions(objects, tip).difference(saved):
            state = states.peek(repo, ids.check_session_id(session_id))
            copy = late.state_copy.read_copy(objects, tip, session_id)
            if state is None or (copy and copy.get("revision", 0) > state.get("revision", 0)):
                return True
    except Error:
        return True  # an unreadable stream may be unsettled
    return False


def _is_named(repo: Repo, objects: Objects, tip: Tip, session_id: str) -> bool:
    try:
        state = states.peek(repo, ids.check_session_id(session_id))
    except InputError:
        return False
    if state is None:
        return False
    if any(stream["id"] == tip["stream"] for stream in state["streams"]):
        return True
    copy = late.state_copy.read_copy(objects, tip, session_id)
    if copy is None:
        return bool(state["base_commit"]) and tip["base"].startswith(state["base_commit"][:7])
    return bool(copy.get("revision", 0) > state.get("revision", 0))


def _list_near(repo: Repo, objects: Objects, state: State, head: str) -> list[Tip]:
    """The streams that may have a checkpoint of the session made after its state was saved."""
    home = ids.hash_worktree(str(state.get("worktree_id") or ""))
    tips = []
    for base in dict.fromkeys((state["base_commit"], head)):
        if not base:
            continue
        candidates = [shadow_refs.build_ref(repo, base, worktree=home)]
        if branches.get_mode(repo) == "suffix":
            candidates += refs.list_refs(repo, f"{candidates[0]}-*")
        tips += [tip for ref in candidates if (tip := shadow_refs.peek_tip(objects, ref))]
    return tips


def _find_newest(objects: Objects, session_id: str, tips: Iterable[Tip]) -> tuple[Tip | None, int]:
    """(the tip with the newest copy of a session's state, the copy's revision)."""
    copies: list[tuple[int, Tip]] = []
    for tip in tips:
        try:
            copy = late.state_copy.read_copy(objects, tip, session_id)
        except Error as e:
            trace.append_note("state", f"'{tip['ref']}': {e}")
            continue
        copies += [(int(copy.get("revision", 0)), tip)] if copy else []
    revision, newest = max(copies, key=lambda c: c[0], default=(0, None))
    return newest, revision


def _rebuild_state(repo: Repo, objects: Objects, session_id: str) -> State | None:
    marker = markers.find(repo, session_id)
    tip, _ = _find_newest(objects, session_id, shadow_refs.list_tips(repo, objects))
    copy = late.state_copy.read_with_turns(objects, tip, session_id) if tip else None
    if copy is None and marker is None:
        return None
    trace.append_note("state", f"'{session_id}' has no state: rebuilt from its stream and marker")
    state = states.update_fields(copy or states.make_state(repo, session_id, "", ""))
    if marker:
        _follow_marker(state, marker)
    read_streams(repo, state)
    return state


def _follow_marker(state: State, marker: Marker) -> None:
    """Update a rebuilt state from the marker, which is newer than the last checkpoint's copy."""
    streams = {stream["id"]: stream for stream in state["streams"]}
    for key in ("agent_type", "worktree_path", "phase", "base_commit", "agent_process"):
        state[key] = marker[key]
    state.pop("worktree_id", None)
    if marker.get("worktree_id"):
        state["worktree_id"] = marker["worktree_id"]
    state["checkpoint_count"] = marker["count"]
    state["streams"] = [
        {
            "id": stream["id"],
            "ref": stream["ref"],
            "base_commit": streams.get(stream["id"], marker)["base_commit"],
            "files": {},
        }
        for stream in marker["streams"]
    ]
