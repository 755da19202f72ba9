"""What other sessions' tool events explain, which is therefore not this session's work."""

from __future__ import annotations

from gitcp.store.session import markers, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.repo import Repo

    Entry = tuple[str, str]


def explained(repo: Repo, session_id: str, entries: Mapping[str, Entry | None]) -> set[str]:
    """The paths that other sessions of this worktree wrote: in their turn that runs, and what
    they recorded and is still so in entries."""
    found: set[str] = set()
    for other in markers.here(repo):
        if other["session_id"] == session_id or not other.get("tool_events"):
            continue
        if other["phase"] == "active":
            found |= turn_log.told(turn_log.logged(repo, other["session_id"]))
        for stream in other["streams"]:
            for path, (mode, oid) in stream["files"].items():
                now = entries.get(path)
                if (now or ("000000", "")) == (mode, oid):
                    found.add(path)
    return found
