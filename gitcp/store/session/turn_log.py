"""The baseline of a session's turn: <git-dir>/gitcp/turn/<session id> of its worktree.

head, time_ns and dirty {path: [mode, oid] | null} describe the worktree at the turn's start.  at
is time_ns by the clock that stamps its files.  offset is where the transcript ended.
"""

from __future__ import annotations

import os
import time
from itertools import islice

from gitcp.core import json
from gitcp.core.upkeep import shapes
from gitcp.start import late
from gitcp.store.git import private
from gitcp.store.session import markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.core.record_types import Entry, State
    from gitcp.repo import Repo

    Baseline = dict[str, Any]  # the keys above


def begin(
    repo: Repo, state: State, head: str, dirty: Mapping[str, Entry | None], time_ns: int, at: int
) -> None:
    """Write the baseline of a turn, or of its continuation after its Stop."""
    private.remove_private(repo, repo.join_own("turn", f"{state['session_id']}.middle"))
    offset = read_size(state.get("transcript_path"))
    _write(repo, state, {"head": head, "time_ns": time_ns, "at": at, "dirty": dirty}, offset)


def read_size(transcript: str | None) -> int:
    """The size of a transcript in bytes; 0 without one."""
    try:
        return os.stat(transcript or "").st_size
    except (OSError, ValueError):
        return 0


def take_over(repo: Repo, state: State) -> None:
    """Write a baseline for a turn that began under the original program: nothing was dirty, and
    its transcript begins behind the condensed part."""
    begun = late.tool_ends.parse_time(str(state.get("last_interaction_time"))) or time.time_ns()
    start, offset = state.get("checkpoint_transcript_start", 0), 0
    try:
        with open(state.get("transcript_path") or "", "rb") as f:
            offset = sum(map(len, islice(f, start)))
    except (OSError, ValueError):
        pass
    baseline = {"head": state["base_commit"], "time_ns": begun, "at": begun, "dirty": {}}
    if markers.is_home(repo, state):
        _write(repo, state, baseline, offset)


def _write(repo: Repo, state: State, baseline: Baseline, offset: int) -> None:
    transcript, turn = state.get("transcript_path"), state.get("turn_id", "")
    data = {**baseline, "turn": turn, "transcript": transcript, "offset": offset}
    private.write_private(
        repo, repo.join_own("turn", state["session_id"]), json.dumps(data).encode()
    )


def read_baseline(repo: Repo, session_id: str, git_dir: str | None = None) -> Baseline | None:
    """The baseline of a session's turn; None if it is absent or damaged.

    git_dir: that of the session's home; by default this worktree's.
    """
    path = os.path.join(git_dir or repo.git_dir, "gitcp", "turn", session_id)
    baseline: Baseline | None = private.load_cache(path, shapes.BASELINE)
    if baseline is not None:
        baseline["dirty"] = _make_tuples(baseline["dirty"])
    return baseline


def _make_tuples(entries: dict[str, Any]) -> dict[str, Entry | None]:
    return {path: tuple(entry) if entry else None for path, entry in entries.items()}


def set_dirty(
    repo: Repo, session_id: str, baseline: Baseline, dirty: dict[str, Entry | None]
) -> None:
    """Replace the dirty files of a turn's baseline."""
    data = json.dumps({**baseline, "dirty": dirty}).encode()
    private.write_private(repo, repo.join_own("turn", session_id), data)


def reach_middle(repo: Repo, session_id: str, dirty: dict[str, Entry | None]) -> None:
    """Store the dirty files of the last checkpoint within the turn."""
    path = repo.join_own("turn", f"{session_id}.middle")
    private.write_private(repo, path, json.dumps(dirty).encode())


def read_middle(repo: Repo, session_id: str) -> dict[str, Entry | None] | None:
    """The dirty files of the last checkpoint within this turn; None without one."""
    entries = private.load_cache(repo.join_own("turn", f"{session_id}.middle"), shapes.is_entries)
    return None if entries is None else _make_tuples(entries)


def resolve_paths(repo: Repo, paths: Iterable[str]) -> list[str]:
    """The paths, relative to the worktree's root, that a tool which names these may write."""
    targets = (
        target for path in paths for target in list_targets(os.path.join(repo.worktree, path))
    )
    return list(
        dict.fromkeys(path for target in targets if (path := find_relative_path(repo, target)))
    )


def list_targets(path: str) -> list[str]:
    """The path, and the target if it is a symbolic link: most tools write through a link, but some
    replace it."""
    return [path, os.path.realpath(path)] if os.path.islink(path) else [path]


def find_relative_path(repo: Repo, path: str) -> str | None:
    """A path that a tool named, relative to the worktree's root; None if it is outside.

    Symbolic links are followed except the last component: git tracks the link.
    """
    if not os.path.isabs(path):
        path = os.path.join(repo.worktree, path)
    folder, name = os.path.split(os.path.normpath(path))
    full_path = os.path.join(os.path.realpath(folder), name)
    if has_many_names(repo):
        return late.spelling.find_relative(repo, full_path)
    above = os.path.realpath(repo.worktree) + os.sep
    return full_path.removeprefix(above) if full_path.startswith(above) else None


def has_many_names(repo: Repo) -> bool:
    """Whether the file system finds a file by names that differ from git's."""
    flags = ("core.ignorecase", "core.precomposeunicode")
    return any(map(repo.config.get_flag, flags))
