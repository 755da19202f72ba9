"""The context of a hook: data about a repository that is read once for all stages of a process.

    with open_context(repo) as ctx:
        state = ctx.read_state(session_id)   # locked, read once, the same dict for every stage
        ...                             # objects first, then refs
        ctx.keep(state)                 # what is to be on disk, as it is now

A pipeline opens the context around its stages, which it hands to each.  The end of the
outermost `with` writes each kept state once and releases all locks, so that the order of writes is
objects, refs, states.  Changes that a failed stage did not keep are dropped; states kept by earlier
stages are written.  After a kill before the end, the next event reads the copy of the state in the
checkpoint, or the data stored on v1.

Before a foreign stage, leave() writes and releases the locks; after it, everything is read anew.
Outside of `with` a state that was read stays locked until leave().

head is HEAD when it was first read; a stage that moves a ref reads it again under the stream's
lock.  Work for every event of a kind (a tool call, a turn's start or end, a commit) belongs in the
stage that takes the event, where the state is locked.  Other locks are taken
after the sessions' and before the streams' (files.ORDER).
"""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.git import refs
from gitcp.git.files import exclusive, locate_state
from gitcp.git.repo import Repo
from gitcp.record import session
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from gitcp.text.record_types import Event, Message, State, Tool


# Where files are that every hook asks for, also of what no hook of an ordinary turn loads.
CONFIGURED = "configured"  # below the common directory, or the worktree's own


def locate_off(repo: Repo) -> str:
    """The flag by which the person has disabled gitcp."""
    return repo.join_shared("off")


def locate_heard(repo: Repo, agent: str) -> str:
    """The flag that hooks of an agent have run in this worktree."""
    return repo.join_own("heard", agent)


def locate_recording(repo: Repo) -> str:
    """When this clone recorded, as in the note."""
    return repo.join_shared("recording")


def locate_claims(repo: Repo, *key: str) -> str:
    """The claim of a running tool call, or the directory of all."""
    return repo.join_own("claims", *key)


def locate_visits(*name: str) -> str:
    """A repository that a session is in, all of its session, or all."""
    return locate_state("visits", *name)


def get_call(event: Event) -> Tool:
    """The tool call of an event; one whose texts are empty for an event of none."""
    call = event.get("tool")
    if call:
        return call
    return {"name": "", "id": "", "kind": "", "input_paths": [], "failed": False}


def make_event(name: str, session_id: str, agent: str = "") -> Event:
    """An event that no client has told."""
    return {"type": "event", "event": name, "agent": agent, "session_id": session_id}


class Context:
    """The data about a repository that this process has read; see open_context()."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._depth = 0
        self._locks: dict[str, exclusive] = {}
        self._states: dict[str, State | None] = {}
        self._rebuilt: set[str] = set()
        self._kept: dict[str, tuple[bytes, bytes | None]] = {}
        self._head: str | None = None
        # What is to be done after all stages of a pipeline, told whether one of them has failed.
        self.endings: list[Callable[[bool], list[Message]]] = []

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.leave()

    @property
    def head(self) -> str:
        """The oid of HEAD when it was first read, zeros if unborn."""
        if self._head is None:
            self._head = refs.read_head(self.repo) or "0" * len(self.repo.empty_tree)
        return self._head

    def read_state(self, session_id: str, rebuild: bool = True) -> State | None:
        """The state of a session, locked until leave(); None if there is none.

        rebuild: read the copy on its stream if the file is older, lost or damaged; a tool call
        leaves that to the next prompt.  Raise InputError for an invalid id, Busy if another process
        keeps the lock.
        """
        if session_id not in self._locks:
            self.hold([session_id])
        if session_id not in self._states:
            self._states[session_id] = session.load_state(self.repo, session_id)
        if rebuild and session_id not in self._rebuilt:
            self._rebuilt.add(session_id)

            from gitcp.record import stream

            self._states[session_id] = stream.catch_up_state(
                self.repo, session_id, self._states[session_id], self.head
            )
        return self._states[session_id]

    def read_states(self, session_ids: Iterable[str]) -> dict[str, State]:
        """read_state() of several sessions: the existing states by id."""
        names = sorted(set(session_ids))
        self.hold(names)
        found: dict[str, State] = {}
        for name in names:
            state = self.read_state(name)
            if state is not None:
                found[name] = state
        return found

    def hold(self, session_ids: Iterable[str]) -> None:
        """Lock these sessions, in the order of their ids.

        It leaves first if one comes before a lock that is held: states read earlier are then void.
        """
        names = sorted(set(map(ids.check_session_id, session_ids)) - self._locks.keys())
        if names and self._locks and names[0] < max(self._locks):
            self.leave()
        for name in names:
            lock = exclusive(self.repo, f"session-{name}")
            lock.__enter__()
            self._locks[name] = lock

    def keep(self, state: State) -> None:
        """Have the state written, with its marker, at the context's end at the latest.  Later
        changes of it are written only if it is kept again."""
        session_id = state["session_id"]
        if session_id not in self._kept:
            state["revision"] = state.get("revision", 0) + 1
        self._states[session_id] = state
        self._rebuilt.add(session_id)
        if state["streams"] or state.get("unstored"):
            from gitcp.record import stream

            stream.set_streams(self.repo, state)
        self._kept[session_id] = session.encode_state(state), session.encode_marker(state)

    def leave(self) -> None:
        """Write the kept states, release all locks, and forget all data."""
        try:
            self.repo.objects.flush()
            while self._kept:
                session_id = min(self._kept)
                session.put_marker(self.repo, session_id, *self._kept[session_id])
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
    """leave() the contexts of all worktrees, before a foreign program runs."""
    for ctx in _OPEN.values():
        ctx.leave()


def is_off(repo: Repo) -> bool:
    """Whether gitcp does nothing here: there is no worktree, or it is disabled."""
    return repo.top is None or os.path.exists(locate_off(repo))
