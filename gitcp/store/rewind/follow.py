"""What sessions believe about the worktree, brought up to date after a step back or forth.

Going back is nobody's work: the turn of a session that is under way does not get what was
put back as its own (doc/behaviour.md "Going back").
"""

from __future__ import annotations

from gitcp.errors import Busy, Moved
from gitcp.store.git import refs
from gitcp.store.git.tree import Lookup, tree_of
from gitcp.store.rewind import stream_follow
from gitcp.store.session import markers, tidings, turn_log
from gitcp.store.session import state as states
from gitcp.store.snapshot import blobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_LISTED = 100


def tell_agents(repo: Repo, what: str, paths: Collection[str]) -> list[str]:
    """Let the next prompt of every session that is open here say which files changed under its
    agent; a sentence for each."""
    names = sorted(paths)
    listed = "\n".join(f"- {path}" for path in names[:_LISTED])
    more = f"\n- and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    begin = f"The user ran 'gitcp {what}'. These files changed since you last saw them; read them"
    text = f"{begin} again before you rely on them:\n{listed}{more}"
    notes = []
    for session_id in states.names(repo):
        state = states.peek(repo, session_id)
        if state and state.get("phase") != "ended" and markers.is_home(repo, state):
            tidings.leave(repo, session_id, text)
            notes.append(f"session {session_id[:8]} is told with its next prompt")
    return notes


def files(repo: Repo, objects: Objects, paths: Collection[str] = ()) -> list[str]:
    """Let every turn under way here begin with these paths as they are now; sentences about
    the sessions that this concerns."""
    if not paths:
        return []
    there = blobs.at(repo, objects, paths, write=True)
    head = Lookup(objects, tree_of(objects, refs.head(repo)))
    notes = []
    for session_id in states.names(repo):
        baseline = turn_log.baseline(repo, session_id)
        if baseline is None:
            continue
        state = states.peek(repo, session_id)
        dirty = {**baseline["dirty"], **there}
        dirty = {path: entry for path, entry in dirty.items() if entry != head(path)}
        turn_log.set_dirty(repo, session_id, baseline, dirty)
        if state and state.get("phase") == "active":
            notes.append(f"session {session_id[:8]} is at work here: its files changed under it")
    try:
        stream_follow.follow(repo, objects, there, head)
    except (Busy, Moved) as e:
        notes.append(f"the streams are brought up to date by the next turn: {e}")
    return notes
