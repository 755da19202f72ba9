"""What a turn began with: a file of its worktree for each session, <git-dir>/gitcp/turn/<sid>.

head, time_ns and dirty {path: [mode, oid] | null} say how the worktree was; at is time_ns by the
clock that stamps its files; turn, transcript and offset, where the transcript then ended.
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
    """Write the baseline of a turn, or of the rest of one after its Stop."""
    private.remove_private(repo, repo.join_own("turn", f"{state['session_id']}.middle"))
    offset = read_size(state.get("transcript_path"))
    _write(repo, state, {"head": head, "time_ns": time_ns, "at": at, "dirty": dirty}, offset)


def read_size(transcript: str | None) -> int:
    """How long a transcript is now, in bytes; 0 where there is none."""
    try:
        return os.stat(transcript or "").st_size
    except (OSError, ValueError):
        return 0


def take_over(repo: Repo, state: State) -> None:
    """Let a turn that the original program saw begin have a baseline: nothing is known of what
    was dirty then, and of its transcript all counts that was not condensed."""
    begun = late.tool_ends.parse_time(str(state.get("last_interaction_time"))) or time.time_ns()
    start, offset = state.get("checkpoint_transcript_start", 0), 0
    try:
        with open(state.get("transcript_path") or "", "rb") as f:
            offset = sum(map(len, islice(f, start)))
    except (OSError, ValueError):
        pass
    known = {"head": state["base_commit"], "time_ns": begun, "at": begun, "dirty": {}}
    if markers.is_home(repo, state):
        _write(repo, state, known, offset)


def _write(repo: Repo, state: State, base: Baseline, offset: int) -> None:
    transcript, turn = state.get("transcript_path"), state.get("turn_id", "")
    baseline = {**base, "turn": turn, "transcript": transcript, "offset": offset}
    private.write_private(
        repo, repo.join_own("turn", state["session_id"]), json.dumps(baseline).encode()
    )


def read_baseline(repo: Repo, session_id: str, git_dir: str | None = None) -> Baseline | None:
    """What the turn began with; None when there is none or it cannot be read.

    git_dir: of the worktree that is the session's home, default this one.
    """
    path = os.path.join(git_dir or repo.git_dir, "gitcp", "turn", session_id)
    known: Baseline | None = private.load_cache(path, shapes.BASELINE)
    if known is not None:
        known["dirty"] = _make_tuples(known["dirty"])
    return known


def _make_tuples(entries: dict[str, Any]) -> dict[str, Entry | None]:
    return {path: tuple(entry) if entry else None for path, entry in entries.items()}


def set_dirty(repo: Repo, session_id: str, base: Baseline, dirty: dict[str, Entry | None]) -> None:
    """Replace the dirty files of a turn's baseline: another has changed them since."""
    data = json.dumps({**base, "dirty": dirty}).encode()
    private.write_private(repo, repo.join_own("turn", session_id), data)


def reach_middle(repo: Repo, session_id: str, dirty: dict[str, Entry | None]) -> None:
    """Keep what was dirty at the last checkpoint within the turn."""
    path = repo.join_own("turn", f"{session_id}.middle")
    private.write_private(repo, path, json.dumps(dirty).encode())


def read_middle(repo: Repo, session_id: str) -> dict[str, Entry | None] | None:
    """What reach_middle() kept in this turn; None when nothing was."""
    entries = private.load_cache(repo.join_own("turn", f"{session_id}.middle"), shapes.is_entries)
    return None if entries is None else _make_tuples(entries)


def resolve_paths(repo: Repo, paths: Iterable[str]) -> list[str]:
    """The paths, relative to the worktree's root, that a tool may write when it names these."""
    places = (place for path in paths for place in list_targets(os.path.join(repo.worktree, path)))
    return list(
        dict.fromkeys(path for place in places if (path := find_relative_path(repo, place)))
    )


def list_targets(path: str) -> list[str]:
    """The path, and the file that it leads to where it is a symbolic link: most tools write through
    a link, some put a file in its place."""
    return [path, os.path.realpath(path)] if os.path.islink(path) else [path]


def find_relative_path(repo: Repo, path: str) -> str | None:
    """A path a tool named, relative to the worktree's root; None when it lies outside.

    Symbolic links above the file are followed, the file itself is not: git tracks the link.
    """
    if not os.path.isabs(path):
        path = os.path.join(repo.worktree, path)
    folder, name = os.path.split(os.path.normpath(path))
    whole = os.path.join(os.path.realpath(folder), name)
    if has_many_names(repo):
        return late.spelling.find_relative(repo, whole)
    root = os.path.realpath(repo.worktree)
    return os.path.relpath(whole, root) if whole.startswith(root + os.sep) else None


def has_many_names(repo: Repo) -> bool:
    """Whether the disk knows a file by names that differ from git's."""
    flags = ("core.ignorecase", "core.precomposeunicode")
    return any(map(repo.config.get_flag, flags))
