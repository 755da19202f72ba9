"""What a commit of ours is about to do, written before it does it: a kill leaves this behind.

One file in the git directory of a worktree, changed only by who holds the lock of its commits.
"""

from __future__ import annotations

import os

from gitcp.core import json
from gitcp.process import files
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo

    class Intent(TypedDict):
        """expected: HEAD's commit (zeros: unborn), tree: its tree, dirty: what differed from it
        when the hooks began, as the checkpoint tip holds it, stash: the newest stash then.
        Then, with index.lock (known by its mark) and HEAD about to move: commit, and entries,
        what it gives the person's index; noted: the id goes into a note."""

        session_id: str
        checkpoint_id: str
        tool_use_id: str
        expected: str
        tree: str
        tip: str
        dirty: dict[str, Entry | None]
        stash: str
        commit: str
        mark: list[int]
        noted: bool
        entries: dict[str, Entry | None]


def get_path(repo: Repo) -> str:
    return repo.join_own("auto", "intent")


def write(repo: Repo, intent: Intent) -> None:
    """Put it on the disk: from here on whoever comes next can finish."""
    private.write_private(repo, get_path(repo), json.dumps(intent).encode(), durable=True)


def read(repo: Repo) -> Intent | None:
    """What was left; None for nothing, or a file that is none of ours."""
    try:
        intent: Any = json.loads(private.read_cache(get_path(repo)))
    except (ValueError, RecursionError):
        return None
    parts = ("dirty", "entries")
    if not isinstance(intent, dict) or any(not isinstance(intent.get(k), dict) for k in parts):
        return None
    for key in parts:
        intent[key] = {p: tuple(e) if e else None for p, e in intent[key].items()}
    return intent  # type: ignore[return-value]


def drop(repo: Repo) -> None:
    """All is done: nothing is left of it."""
    folder = os.path.dirname(get_path(repo))
    for name in ("intent", "message", "index", "index.lock", "next-index", "lock"):
        files.remove_file(os.path.join(folder, name))
    files.remove_if_empty(folder)
