"""What no session and no commit needs any more, and when it may go."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypedDict

    from gitcp.core.record_types import Finding

    class Ref(TypedDict):
        """A record of type ref; time is the creation of its commit in seconds since 1970."""

        type: str
        ref: str
        oid: str
        time: int


OURS = ("refs/gitcp/", "refs/heads/entire/", "refs/notes/gitcp")
_PERMANENT = ("refs/heads/entire/checkpoints/", "refs/notes/")

# kind -> the heading under which clean shows it, in its order
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
    """The time now, after how many seconds archives and settled things expire, and whether the
    edits of settled sessions do at once."""

    def __init__(self, now: float, archive: float, state: float, edits: bool = False) -> None:
        self.now, self.archive, self.state, self.edits = now, archive, state, edits


def is_settled(state: Mapping[str, Any]) -> bool:
    """Whether nothing of a session can matter to a commit or to its next event.

    Not one that is active, cannot be read, has files that no commit settled, or checkpoints
    that its turn's end has still to complete (doc/behaviour.md "Upkeep").
    """
    if state.get("unreadable") or state.get("phase") not in ("idle", "ended"):
        return False
    if state.get("turn_checkpoint_ids"):
        return False
    return not any(stream["files"] for stream in state["streams"])


def build_finding(kind: str, subject: str, reason: str, **facts: object) -> Finding:
    """A record of type finding; settled: whether it may go now."""
    head = {"type": "finding", "kind": kind, "severity": "note", "subject": subject}
    return {**head, "reason": reason, "settled": True, **facts}


def list_possible_owners(name: str) -> set[str]:
    """The sessions whose file this could be: <sid>, <sid>.<kind>, of a subagent
    <sid>~<agent>.<kind> or, of a process that was killed, <sid>.<kind>.<pid>.  Ids may hold dots
    themselves."""
    ends, name = (".redacted", ".json", ".log", ".middle"), name.partition("~")[0]
    return {name, *(name.rpartition(end)[0] for end in ends)} - {""}


def format_days(seconds: float) -> str:
    """An age in whole days."""
    count = int(seconds // DAY)
    return "1 day" if count == 1 else f"{count} days"


def choose_surplus(sizes: Mapping[str, int], settled: Iterable[str], ceiling: int) -> list[str]:
    """The oldest of the settled sessions without whose edits all others take at most ceiling bytes;
    all of the settled ones where that is not enough.  sizes: bytes of the edits of each session."""
    left, going = sum(sizes.values()), []
    for session_id in settled:
        if left <= ceiling:
            break
        if sizes.get(session_id):
            left -= sizes[session_id]
            going.append(session_id)
    return going


def list_expired(refs: Iterable[Ref], keep: int, before: int) -> Iterator[Ref]:
    """Those older than before and not among the newest keep of their directory, oldest first.

    before: seconds since 1970; directories come in the order in which they are first seen.
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
    """Whether ref is temporary data of ours: never a person's, never the permanent store."""
    return ref.startswith(OURS) and not ref.startswith(_PERMANENT)
