"""A stream after a step back or forth: its tip and its sessions' records have what is there now.

Otherwise a commit would be compared with content that was taken back.  Whose a path's content
is tells the stream's own history: the record of the checkpoint that had just this content.
"""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.tree import Lookup, edit_tree
from gitcp.store.rewind.history import Recorded
from gitcp.store.session import markers, recall
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Entry, State, Stream, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Now = Mapping[str, Entry | None]  # path -> what is there after the step


def follow(repo: Repo, objects: Objects, now: Now, head: Lookup) -> None:
    """Bring every live stream of this worktree, and the states on it, up to date.

    now: the paths that the step touched.  head: HEAD's tree.  Raises Moved when a stream
    moves meanwhile, Busy when a session's lock is not let go: then it stays as it was, and the
    next turn sees to it.
    """
    for ref, sessions in _live(repo).items():
        try:
            tip = shadow_refs.read(objects, ref)
        except Error:
            continue
        if tip:
            with states.held(repo, sessions), exclusive(repo, f"stream-{repo.worktree_hash}"):
                _one(repo, objects, tip, sessions, now, head)


def _live(repo: Repo) -> dict[str, list[str]]:
    """ref -> the sessions homed here that are on it."""
    streams: dict[str, list[str]] = {}
    for name in states.names(repo):
        state = states.peek(repo, name)
        if not state or not markers.is_home(repo, state):
            continue
        for stream in state["streams"]:
            if stream["ref"].startswith(shadow_refs.BRANCHES):
                streams.setdefault(stream["ref"], []).append(state["session_id"])
    return streams


def _one(
    repo: Repo, objects: Objects, tip: Tip, sessions: list[str], now: Now, head: Lookup
) -> None:
    known = Recorded(repo, objects, tip)
    changed = []
    for session_id in sorted(set(sessions)):
        state = recall.recall(repo, objects, session_id)
        stream = _stream(state, tip["stream"])
        if state and stream:
            files = known.after(session_id, stream["files"], now, head)
            if files != stream["files"]:
                stream["files"] = files
                changed.append(state)
    look = Lookup(objects, tip["tree"])
    edits = {path: entry for path, entry in now.items() if look(path) != entry}
    if not edits and not changed:
        return
    for state in changed:
        state["revision"] = state.get("revision", 0) + 1
    oid = _commit(repo, objects, tip, edits, changed)
    refs.update(repo, [(tip["ref"], oid, tip["oid"])], "gitcp: rewind")
    for state in changed:
        markers.save(repo, state)


def _stream(state: State | None, stream_id: str) -> Stream | None:
    return next((s for s in (state or {}).get("streams", ()) if s["id"] == stream_id), None)


def _commit(
    repo: Repo,
    objects: Objects,
    tip: Tip,
    edits: Mapping[str, Entry | None],
    changed: list[State],
) -> str:
    tree = edit_tree(objects, tip["tree"], edits)
    for state in changed:
        blob = objects.write("blob", states.text(state))
        path = f"{shadow_refs.METADATA}{state['session_id']}/state.json"
        tree = edit_tree(objects, tree, {path: ("100644", blob)})
    about = (tip["session_id"], tip["base"], tip["stream"])
    message = shadow_refs.message(shadow_refs.FOLLOWED, *about)
    return write_commit(objects, repo, tree, [tip["oid"]], message)
