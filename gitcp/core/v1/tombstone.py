"""What stands in a checkpoint for a session whose content was forgotten.

It wins over the content wherever two clones are united, so that none brings it back.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

KEY = "forgotten"  # in a session's metadata: when
TRAILER = "Gitcp-Forgets"  # of a commit: the root of a history that is to go
_KEPT = ("cli_version", "checkpoint_id", "session_id", "strategy", "created_at", "branch", "agent")


def of_session(metadata: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The metadata that stays: whose it was, and when it was forgotten.  tasks: the ids of what is
    to go beside it."""
    kept = {key: metadata[key] for key in _KEPT if key in metadata}
    tasks = {"tasks": metadata["tasks"]} if metadata.get("tasks") else {}
    return {**kept, "checkpoints_count": 0, "files_touched": [], **tasks, KEY: at}


def is_one(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a session's metadata say that its content was forgotten."""
    return bool(metadata and metadata.get(KEY))


def message(count: int, roots: Iterable[str]) -> str:
    """The message of the commit that a store without the content begins with."""
    lines = [f"Forget {count} part{'s' if count != 1 else ''} of checkpoints", ""]
    return "\n".join([*lines, *(f"{TRAILER}: {root}" for root in sorted(set(roots)))])


def roots(message: str) -> set[str]:
    """The roots of the histories that a commit says are to go."""
    start = f"{TRAILER}: "
    return {line[len(start) :] for line in message.split("\n") if line.startswith(start)}
