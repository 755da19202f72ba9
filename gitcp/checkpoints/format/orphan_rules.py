"""Decide which stored data no session and no commit needs, and when it may be deleted."""

from __future__ import annotations

from gitcp.text.ids import BRANCHES, NOTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypedDict

    class Ref(TypedDict):
        """A record of type ref; time: of its commit, in seconds since 1970."""

        type: str
        ref: str
        oid: str
        time: int


OURS = ("refs/gitcp/", BRANCHES, NOTES)
_PERMANENT = ("refs/heads/entire/checkpoints/", "refs/notes/")
# kind -> its heading in `gitcp clean`, in its order
KINDS = {
    "orphan-stream": "Streams without a session",
    "settled-stream": "Settled streams",
    "expired-archive": "Archived streams",
    "left-stream": "Streams left behind",
    "lost-stream": "Work whose stream is gone",
    "orphan-edits": "Edits of sessions",
    "settled-state": "Session states",
    "transcript-cache": "Transcript caches",
    "turn-file": "Turn files",
    "session-lock": "Locks of sessions",
    "expired-undo": "Undo logs",
    "expired-steps": "Steps of undo logs",
    "kept-file": "Contents kept for undo",
    "leftover": "Scratch files",
}
DAY = 86400


class Ages:
    """now: seconds since 1970; archive, state: the seconds after which archives and settled states
    expire; edits: whether edits of settled sessions expire at once."""

    def __init__(self, now: float, archive: float, state: float, edits: bool = False) -> None:
        self.now = now
        self.archive = archive
        self.state = state
        self.edits = edits


def is_settled(state: Mapping[str, Any]) -> bool:
    """Whether neither a commit nor a later event needs a session (doc/behaviour.md "Upkeep").

    It is not active, its state is readable, and it has neither open edits nor checkpoints that its
    turn's end has to complete.
    """
    if state.get("unreadable") or state.get("phase") not in ("idle", "ended"):
        return False
    if state.get("turn_checkpoint_ids") or state.get("unread"):
        return False
    return not any(stream["files"] for stream in state["streams"])


def list_possible_owners(name: str) -> set[str]:
    """The ids of the sessions to which a file may belong; ids may have dots.

    Names of files are <id>, <id>.<kind>, for a subagent <id>~<agent>.<kind>, and for a process
    that was killed <id>.<kind>.<pid>.
    """
    ends = (".redacted", ".json", ".jsonl", ".log", ".middle", ".tell", ".unread")
    name = name.partition("~")[0]
    return {name, *(name.rpartition(end)[0] for end in ends)} - {""}


def format_days(seconds: float) -> str:
    """The text of an age in whole days."""
    count = int(seconds // DAY)
    return "1 day" if count == 1 else f"{count} days"


def choose_surplus(sizes: Mapping[str, int], settled: Iterable[str], ceiling: int) -> list[str]:
    """The settled sessions, oldest first, whose edits have to go until all edits take at most
    ceiling bytes, or until none is left.  sizes: bytes of the edits of each session."""
    total = sum(sizes.values())
    surplus = []
    for session_id in settled:
        if total <= ceiling:
            break
        if sizes.get(session_id):
            total -= sizes[session_id]
            surplus.append(session_id)
    return surplus


def list_expired(refs: Iterable[Ref], keep: int, before: int) -> Iterator[Ref]:
    """Yield the refs older than before, except the newest `keep` of each directory; oldest first.

    before: seconds since 1970.  Directories come in the order of their first refs.
    """
    groups: dict[str, list[Ref]] = {}
    for ref in refs:
        groups.setdefault(ref["ref"].rpartition("/")[0], []).append(ref)
    for group in groups.values():
        # archive/…/10 is younger than archive/…/9 where both are of one second
        group.sort(key=lambda r: (r["time"], len(r["ref"]), r["ref"]))
        for ref in group[: max(0, len(group) - keep)]:
            if ref["time"] < before:
                yield ref


def is_deletable(ref: str) -> bool:
    """Whether ref is temporary data of gitcp, not a person's and not of the permanent store."""
    return ref.startswith(OURS) and not ref.startswith(_PERMANENT)


# Decide whether a branch is gone because jj undid an operation, or because a person deleted it.
_UNDOES = ("undo", "redo", "restore", "revert")
# jj imports a branch's deletion in git.
_DELETES = ("import git refs", "delete bookmark", "forget bookmark")


def was_undone(operations: Iterable[str]) -> bool:
    """Whether jj removed the branch by undoing an operation; operations: jj's last, newest
    first."""
    for operation in operations:
        if operation.startswith(_UNDOES):
            return True
        if operation.startswith(_DELETES):
            return False
    return False
