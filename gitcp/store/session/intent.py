"""The intent of an auto-commit: what it is about to do, so that a killed one can be finished.

It is one file in the git directory of a worktree, changed under the lock of its commits.
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
        """expected: HEAD's commit (zeros: unborn).  tree: its tree.  tip: the checkpoint that
        holds dirty, the entries that differed from it when the hooks began.  stash: the newest
        stash then.  Set before HEAD moves: commit; entries, its part of the person's index;
        mark, by which its index.lock is known; noted, whether the id goes into a note."""

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
    """Write the intent durably: from here on the next process can finish the commit."""
    private.write_private(repo, get_path(repo), json.dumps(intent).encode(), durable=True)


def read(repo: Repo) -> Intent | None:
    """The intent that is stored; None without one, or for any other file."""
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
    """Remove the intent and the files of its commit."""
    folder = os.path.dirname(get_path(repo))
    for name in ("intent", "message", "index", "index.lock", "next-index", "lock"):
        files.remove_file(os.path.join(folder, name))
    files.remove_if_empty(folder)
