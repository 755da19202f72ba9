"""What a turn began with and what its tools touched: files of one worktree, one a session.

<git-dir>/gitcp/turn/<sid> is the baseline; <sid>.log takes a line for each tool event, so
that it costs one append and no state is written while a tool runs.
"""

from __future__ import annotations

import json
import os

from gitcp.core.upkeep import shapes
from gitcp.record import raw
from gitcp.store.git import private
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.repo import Repo

    Entry = tuple[str, str]
    Baseline = dict[str, Any]  # head, time_ns, dirty: {path: [mode, oid] | None}


def begin(
    repo: Repo,
    session_id: str,
    head: str,
    dirty: dict[str, Entry | None],
    time_ns: int,
    anew: bool = True,
) -> None:
    """Write the baseline of a turn that starts at time_ns; its tool log starts empty.

    anew: False for the rest of a turn after its Stop, which keeps the log: others read it, and
    the marker does not tell yet what the checkpoint recorded.
    """
    for name in (f"{session_id}.log", f"{session_id}.middle"):
        if anew or not name.endswith(".log"):
            _remove(repo, name)
    baseline = {"head": head, "time_ns": time_ns, "dirty": dirty}
    states.write_file(repo, repo.own("turn", session_id), json.dumps(baseline).encode())


def baseline(repo: Repo, session_id: str) -> Baseline | None:
    """What the turn began with; None when there is none or it cannot be read."""
    known: Baseline | None = private.cached(repo.own("turn", session_id), shapes.BASELINE)
    if known is not None:
        known["dirty"] = _tuples(known["dirty"])
    return known


def _tuples(entries: dict[str, Any]) -> dict[str, Entry | None]:
    return {path: tuple(entry) if entry else None for path, entry in entries.items()}


def set_dirty(repo: Repo, session_id: str, known: Baseline, dirty: dict[str, Entry | None]) -> None:
    """Let a turn have begun with other files dirty: somebody else changed them meanwhile."""
    data = json.dumps({**known, "dirty": dirty}).encode()
    states.write_file(repo, repo.own("turn", session_id), data)


def reach_middle(repo: Repo, session_id: str, dirty: dict[str, Entry | None]) -> None:
    """Keep what was dirty at the last checkpoint within the turn."""
    path = repo.own("turn", f"{session_id}.middle")
    states.write_file(repo, path, json.dumps(dirty).encode())


def middle(repo: Repo, session_id: str) -> dict[str, Entry | None] | None:
    """What reach_middle() kept in this turn; None when nothing was."""
    entries = private.cached(repo.own("turn", f"{session_id}.middle"), shapes.entries)
    return None if entries is None else _tuples(entries)


def _remove(repo: Repo, name: str) -> None:
    try:
        os.unlink(repo.own("turn", name))
    except FileNotFoundError:
        pass


def log(repo: Repo, session_id: str, line: dict[str, Any]) -> None:
    """Append one line: {"path"} written by a tool, {"begin"} or {"end"} of a shell call in ns,
    each with the tool's "id"."""
    path = repo.own("turn", f"{session_id}.log")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(path, flags, 0o600)
    with open(fd, "wb", buffering=0) as f:
        f.write(json.dumps(line).encode() + b"\n")


def logged(repo: Repo, session_id: str) -> list[dict[str, Any]]:
    """The lines of a turn's log in their order; a cut last line is left out."""
    try:
        with open(repo.own("turn", f"{session_id}.log"), "rb") as f:
            lines = f.read().split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not shapes.wrong(item, shapes.TOOL_LINE):
            found.append(item)
    return found


def told(lines: list[dict[str, Any]]) -> set[str]:
    """The paths that a turn's tool events name."""
    return {line["path"] for line in lines if "path" in line}


def windows(lines: list[dict[str, Any]], now: int) -> list[tuple[int, int]]:
    """(begin, end) in ns of each shell call; one without an end is still running at now."""
    ends = {line.get("id"): line["end"] for line in lines if "end" in line}
    return [(line["begin"], ends.get(line.get("id"), now)) for line in lines if "begin" in line]


def ctime(repo: Repo, path: str) -> int | None:
    """When a path of the worktree last changed, in ns; None when it is gone."""
    try:
        return os.lstat(os.path.join(os.fsencode(repo.worktree), raw(path))).st_ctime_ns
    except OSError:
        return None


def inside(repo: Repo, path: str, spans: list[tuple[int, int]]) -> bool:
    """Whether a shell call of the turn explains a path: its time, or its absence, fits."""
    time = ctime(repo, path)
    return any(time is None or begin <= time <= end for begin, end in spans)


def relative(repo: Repo, path: str) -> str | None:
    """A path a tool named, relative to the worktree's root; None when it lies outside.

    Symbolic links above the file are followed, the file itself is not: git tracks the link.
    """
    if not os.path.isabs(path):
        path = os.path.join(repo.worktree, path)
    folder, name = os.path.split(os.path.normpath(path))
    whole = os.path.join(os.path.realpath(folder), name)
    root = os.path.realpath(repo.worktree)
    return os.path.relpath(whole, root) if whole.startswith(root + os.sep) else None
