"""What others than its own hooks do with the state of a session: put it away, leave a message for
it, keep it locked.
"""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.files import Damaged, exclusive
from gitcp.record import session
from gitcp.record.session import locate_auto, process
from gitcp.text import json
from gitcp.text.shapes import is_count, is_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Marker, State


_INTENT = {
    **dict.fromkeys("session_id checkpoint_id tool_use_id expected tree tip".split(), str),
    **dict.fromkeys(("dirty", "entries"), is_entries),
    **dict.fromkeys(("stash", "commit"), str),
    "mark": [is_count],
    "noted": bool,
}


def list_state_ids(repo: Repo) -> list[str]:
    """The ids of all sessions that have a state file, sorted."""
    listed = files.list_names(session.get_folder(repo))
    return sorted(name.removesuffix(".json") for name in listed if name.endswith(".json"))


def peek_state(repo: Repo, session_id: str) -> State | None:
    """Read a state without its lock; None without one, an empty state for a damaged file."""
    try:
        return session.read_state(repo, session_id)
    except Damaged:
        return session.update_fields({"session_id": session_id})


class held_state:
    """Hold the locks of several sessions, taken in the order of their ids
    (doc/git.md "Locks and refs")."""

    __slots__ = ("_all", "_taken")

    def __init__(self, repo: Repo, session_ids: Iterable[str]) -> None:
        self._all = [
            exclusive(repo, f"session-{session_id}") for session_id in sorted(set(session_ids))
        ]
        self._taken: list[exclusive] = []

    def __enter__(self) -> None:
        try:
            for lock in self._all:
                lock.__enter__()
                self._taken.append(lock)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        while self._taken:
            self._taken.pop().__exit__()


def forget_state(repo: Repo, session_id: str) -> None:
    """Remove a state file; the caller holds its lock, and the session is settled."""
    os.unlink(session.get_state_path(repo, session_id))


def find_path(repo: Repo, session_id: str) -> str:
    """The path of a session's marker, whether it exists or not."""
    paths = session.list_places(repo, session_id)
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn and its agent runs, or may run."""
    active = marker["phase"] == "active"

    return active and process.is_agent_working(
        marker["agent_process"], read_last_heard(repo, marker)
    )


def read_last_heard(repo: Repo, marker: Marker) -> float:
    """When a marker was last written, in seconds since 1970; 0 if it is gone or rests."""
    try:
        return os.stat(repo.join_shared("open", marker["session_id"])).st_mtime
    except OSError:
        return 0.0


def put_away(repo: Repo) -> None:
    """Let markers rest, except those of locked sessions.  The caller holds no session's lock."""
    repo.make_folder(session.get_resting_folder(repo))
    for session_id in session.list_recent_ids(repo):
        try:
            with exclusive(repo, f"session-{session_id}", timeout=0):
                if _may_rest(repo, session_id):
                    os.rename(
                        repo.join_shared("open", session_id),
                        os.path.join(session.get_resting_folder(repo), session_id),
                    )
        except (Error, FileNotFoundError) as e:
            git.append_trace("marker", f"'{session_id}' stays: {e}")


def _may_rest(repo: Repo, session_id: str) -> bool:
    marker = session.read_stored(repo, session_id)
    if marker is None or marker["phase"] != "active":
        return marker is not None
    age = time.time() - os.stat(repo.join_shared("open", session_id)).st_mtime

    return age > _GONE and not process.is_alive(marker["agent_process"])


def set_dirty(
    repo: Repo, session_id: str, baseline: session.Baseline, dirty: dict[str, Entry | None]
) -> None:
    """Replace the dirty files of a turn's baseline."""
    data = json.dumps({**baseline, "dirty": dirty}).encode()
    files.write_private(repo, repo.join_own("turn", session_id), data)


def get_intent_path(repo: Repo) -> str:
    return locate_auto(repo, "intent")


def write_intent(repo: Repo, intent: session.CommitIntent) -> None:
    """Write the intent durably: from here on the next process can finish the commit."""
    files.write_private(repo, get_intent_path(repo), json.dumps(intent).encode(), durable=True)


def read_intent(repo: Repo) -> session.CommitIntent | None:
    """The intent that is stored; None without one.  Raises Damaged for one that lacks something."""
    intent: session.CommitIntent | None = files.load_json(get_intent_path(repo), _INTENT)
    if intent:
        intent["dirty"] = _parse_entries(intent["dirty"])
        intent["entries"] = _parse_entries(intent["entries"])
    return intent


def _parse_entries(stored: Mapping[str, Sequence[str] | None]) -> dict[str, Entry | None]:
    entries: dict[str, Entry | None] = {}
    for path, entry in stored.items():
        entries[path] = (entry[0], entry[1]) if entry else None
    return entries


def drop_intent(repo: Repo) -> None:
    """Remove the intent and the files of its commit."""
    folder = os.path.dirname(get_intent_path(repo))
    for name in ("intent", "message", "index", "index.lock", "next-index", "lock"):
        files.remove_file(os.path.join(folder, name))
    files.remove_if_empty(folder)


def leave_message(repo: Repo, session_id: str, text: str) -> None:
    """Add a text to those for the session's next prompt in this worktree."""
    path = session.locate_message(repo, session_id)
    fd = files.open_private(repo, path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(fd, "a", encoding="utf-8", errors="backslashreplace") as f:
        f.write(text + "\n")


# The markers of sessions, by which others know who is at work.
_GONE = 3600.0  # seconds after which a session whose agent is gone is not at work


def list_marked_ids(repo: Repo) -> list[str]:
    """The sessions that have a marker, sorted."""
    before = session.list_recent_ids(repo)
    resting = files.list_names(session.get_resting_folder(repo))
    # A marker that moves meanwhile is in the first list or in the last.
    return sorted({*before, *resting, *session.list_recent_ids(repo)})


def read_markers(repo: Repo) -> list[Marker]:
    """Every marker of the repository, by session id, as find_marker() reads it."""
    found: list[Marker] = []
    for session_id in list_marked_ids(repo):
        marker = session.find_marker(repo, session_id)
        if marker:
            found.append(marker)
    return found


def read_here(repo: Repo) -> list[Marker]:
    """The markers of sessions whose home is this worktree."""
    return [m for m in read_markers(repo) if session.is_home(repo, m)]
