"""The state of a session, whatever became of its file: behind its stream, lost or corrupted.

Every checkpoint carries a copy of the state, and the marker tells what is unsettled; between
them nothing that was recorded is lost (doc/behaviour.md "Events", "Temporary checkpoints").
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
    """The state of a session; None for one that is not known.

    A copy on its stream that is newer wins: we were killed between the ref and the state.
    A file that is lost or corrupted is rebuilt from the copies and the marker.  The caller
    holds the session's lock.
    """
    state = states.load(repo, session_id)
    return catch_up_state(
        repo, objects, session_id, state, refs.read_head(repo) or shadow_refs.get_zeros(repo)
    )


def catch_up_state(
    repo: Repo, objects: Objects, session_id: str, state: State | None, head: str
) -> State | None:
    """recall_state() of a state that is loaded already, None where it has no file; head: HEAD."""
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

    A state that is merely behind it, or cannot be read, still counts: its session will settle
    that.  So does one of the original program, which names only a base.
    """
    owners = shadow_refs.list_sessions(objects, tip)
    near = markers.read_concerned(repo, owners)
    if any(stream["id"] == tip["stream"] for marker in near for stream in marker["streams"]):
        return False
    return not any(_is_named(repo, objects, tip, session_id) for session_id in owners)


def holds_lost_work(
    repo: Repo, objects: Objects, tip: Tip, sure: Collection[str] = frozenset()
) -> bool:
    """Whether a stream holds work that no state has taken in: lost, or killed before.

    sure: sessions whose states have just been saved with all that the stream knows.
    """
    try:
        for session_id in shadow_refs.list_sessions(objects, tip).difference(sure):
            state = states.peek(repo, ids.check_session_id(session_id))
            copy = late.state_copy.read_copy(objects, tip, session_id)
            if state is None or (copy and copy.get("revision", 0) > state.get("revision", 0)):
                return True
    except Error:
        return True  # what cannot be read is not known to be settled
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
    """The streams a checkpoint of the session could have gone to since its state was saved."""
    home = ids.hash_worktree(str(state.get("worktree_id") or ""))
    tips = []
    for base in dict.fromkeys((state["base_commit"], head)):
        if not base:
            continue
        plain = shadow_refs.build_ref(repo, base, worktree=home)
        names = [plain]
        if branches.get_mode(repo) == "suffix":
            names += refs.list_refs(repo, f"{plain}-*")
        for ref in names:
            try:
                tip = shadow_refs.read_tip(objects, ref)
            except Error:
                continue
            tips += [tip] if tip else []
    return tips


def _find_newest(objects: Objects, session_id: str, tips: Iterable[Tip]) -> tuple[Tip | None, int]:
    """The tip that carries the newest copy, and its revision."""
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
    """Take what the marker knows: it is written with every state, checkpoint or not."""
    known = {stream["id"]: stream for stream in state["streams"]}
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
            "base_commit": known.get(stream["id"], marker)["base_commit"],
            "files": {},
        }
        for stream in marker["streams"]
    ]
