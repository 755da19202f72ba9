"""One context a hook: what the stages of a process ask about a repository, asked once.

    with context.open_context(repo) as ctx:
        state = ctx.read_state(session_id)   # locked, read once, the same dict for every stage
        ...                             # objects first, then refs
        ctx.keep(state)                 # what is to be on disk, as it is now

The hook opens the context around a whole pipeline, each stage opens it again inside: only the
outermost end writes.  There every state that was kept is written, once, and every lock let go;
write order so stays objects, refs, states.  What a stage changed and did not keep, because it
failed, is dropped, what stages before it kept is written.  Killed before the end, the next
event takes the copy of the state that the checkpoint carries, or finds on v1 what was stored.

Run alone, a stage makes its own context and writes at its own end.  Before a foreign stage
leave() writes and lets go in the middle; after it everything is read anew.  Outside of `with` a
state that was asked for stays locked until leave().

repo and objects are for everybody; head is HEAD when it was first asked for, which a stage
that is about to move a ref has to look at again under the stream's lock.  Whoever wants to act
on every event of a kind (a tool call, a turn's start or end, a commit) does it in the stage that
takes the event, inside its `with`, where the state is at hand and its lock held; a lock of one's
own comes after the sessions' and before the streams' (lock.ORDER).
"""

from __future__ import annotations

import os

from gitcp import git, memory, trace
from gitcp.core.git import ids
from gitcp.errors import Error, Late, NoJj
from gitcp.lock import exclusive
from gitcp.repo import Repo
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.git.objects import Objects
from gitcp.store.session import markers
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from gitcp.core.record_types import Record, State


class Context:
    """What is known of one repository in this process; of() finds it."""

    def __init__(self, repo: Repo) -> None:
        self.repo, self.objects = repo, Objects.get_shared(repo)
        self._depth = 0
        self._locks: dict[str, exclusive] = {}
        self._states: dict[str, State | None] = {}
        self._rebuilt: set[str] = set()
        self._kept: dict[str, tuple[bytes, bytes | None]] = {}
        self._head: str | None = None

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.leave()

    @property
    def head(self) -> str:
        """The oid of HEAD, zeros when unborn, as it was when first asked for."""
        if self._head is None:
            self._head = refs.read_head(self.repo) or "0" * len(self.repo.empty_tree)
        return self._head

    def read_state(self, session_id: str, rebuild: bool = True) -> State | None:
        """The state of a session, locked until leave(); None for one that is not known.

        rebuild: take the copy on its stream where the file is behind it, lost or damaged; what
        is in a hurry (a tool call) leaves that to the next prompt.  Raises InputError for an
        id that is none, Busy where another process keeps the lock.
        """
        self.hold([session_id])
        if session_id not in self._states:
            self._states[session_id] = states.load(self.repo, session_id)
        if rebuild and session_id not in self._rebuilt:
            self._rebuilt.add(session_id)
            self._states[session_id] = late.recall.catch_up_state(
                self.repo, self.objects, session_id, self._states[session_id], self.head
            )
        return self._states[session_id]

    def read_states(self, session_ids: Iterable[str]) -> dict[str, State]:
        """state() of several sessions: those that are known, by id."""
        wanted = sorted(set(session_ids))
        self.hold(wanted)
        return {one: state for one in wanted if (state := self.read_state(one)) is not None}

    def hold(self, session_ids: Iterable[str]) -> None:
        """Have the locks of these sessions, taken in the order of their ids.

        One that comes before a lock we hold makes us leave() first: states that were handed
        out before are then void.
        """
        wanted = sorted({ids.check_session_id(one) for one in session_ids} - self._locks.keys())
        if wanted and self._locks and wanted[0] < max(self._locks):
            self.leave()
        for one in wanted:
            lock = exclusive(self.repo, f"session-{one}")
            lock.__enter__()
            self._locks[one] = lock

    def keep(self, state: State) -> None:
        """This is what the session's file is to hold, with its marker, at the latest at the
        context's end; changes that come later count only when they are kept in their turn."""
        session_id = state["session_id"]
        if session_id not in self._kept:
            state["revision"] = state.get("revision", 0) + 1
        self._states[session_id] = state
        self._rebuilt.add(session_id)
        if state["streams"]:
            late.work.read_streams(self.repo, state)
        self._kept[session_id] = states.encode(state), markers.encode(state)

    def leave(self) -> None:
        """Write what was kept, let go of every lock, forget what was asked."""
        try:
            git.settle_pending()
            while self._kept:
                session_id = min(self._kept)
                markers.put(self.repo, session_id, *self._kept[session_id])
                del self._kept[session_id]
        finally:
            self._kept.clear()
            self._states.clear()
            self._rebuilt.clear()
            self._head = None
            while self._locks:
                self._locks.popitem()[1].__exit__()


_OPEN: dict[str, Context] = memory.get_table("contexts")


def open_context(repo: Repo) -> Context:
    """The context of a worktree in this process."""
    if repo.git_dir not in _OPEN:
        _OPEN[repo.git_dir] = Context(repo)
    return _OPEN[repo.git_dir]


def open_here() -> Context:
    """The context of the worktree around the current directory."""
    return open_context(Repo.find_here())


def leave_all() -> None:
    """leave() in every worktree: before a program of somebody else's runs."""
    for one in _OPEN.values():
        one.leave()


def locate(event: Record, project: str = "") -> tuple[str, Repo] | None:
    """(a directory, the repository around it) that an agent's event is about: its session's home.

    project: the directory in which the agent was started, as far as its client tells.
    A prompt speaks of the directory it comes from.  Tools and subagents may run elsewhere
    (`cd`, another worktree): then the worktree the session's state names counts.
    """
    fresh = event["event"] in ("session-start", "turn-start")
    for place in dict.fromkeys((event.get("cwd"), project)):
        if not place or not os.path.isdir(place):
            continue
        try:
            repo = Repo.find_at(place)
        except Error as e:
            if isinstance(e, Late) or (isinstance(e, NoJj) and event["event"] == "session-start"):
                raise
            trace.append_note("hook", str(e))
            continue
        if fresh or is_off(repo):
            return place, repo
        state = open_context(repo).read_state(event["session_id"], rebuild=False)
        if state is None:
            leave_all()
            continue
        home = state.get("worktree_path")
        if (state.get("worktree_id") or "") != repo.worktree_id and home and os.path.isdir(home):
            leave_all()
            return home, Repo.find_at(home)
        return place, repo
    return None


def is_off(repo: Repo) -> bool:
    """Whether nothing is to be done here: no worktree, or disabled."""
    return repo.top is None or os.path.exists(repo.join_shared("off"))


_CALLS = ("tool-start", "tool-end", "subagent-start", "subagent-end")


def locate_unheard(event: Record, project: str = "") -> tuple[str, Repo] | None:
    """As locate(), of a tool call whose session no state names; None elsewhere.

    It is the client's project, not where a `cd` led, and one in which gitcp is enabled.
    """
    place = project or event.get("cwd")
    if event["event"] not in _CALLS or "tool" not in event or event.get("agent_id"):
        return None
    if not place or not os.path.isdir(place):
        return None
    try:
        repo = Repo.find_at(place)
    except Error:
        return None
    return (place, repo) if os.path.isdir(repo.join_shared()) else None
