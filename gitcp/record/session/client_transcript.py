"""The transcript that a client itself keeps of a session: where it lies, and its content."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence

from gitcp.git import format_now
from gitcp.git.files import read_bytes
from gitcp.record.session import others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from gitcp.agents import Client
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import State


def read_live(state: State) -> bytes:
    """The client's own transcript, not redacted; b'' if there is none."""
    path = state.get("transcript_path")
    if isinstance(path, str) and os.path.isabs(path):
        return read_bytes(path) or b""
    return b""


_PIECE = 1 << 20  # bytes, after which a piece ends with the next line


class LivePieces(Sequence[bytes]):
    """The lines of a client's file in pieces, each of which is read when it is asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        size = os.fstat(file.fileno()).st_size
        self._starts = [0]
        while self._starts[-1] < size:
            file.seek(self._starts[-1] + _PIECE)
            file.readline()  # the rest of the line there
            self._starts.append(min(file.tell(), size))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: Any) -> Any:
        start = self._starts[:-1][number]
        end = self._starts[1:][number]
        self._file.seek(start)
        return self._file.read(end - start)


def open_live(state: State) -> Sequence[bytes]:
    """The client's own transcript as read_live() reads it, in pieces."""
    path = state.get("transcript_path")
    if not (isinstance(path, str) and os.path.isabs(path)) or "\0" in path:
        return []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return []
    return LivePieces(os.fdopen(fd, "rb"))


def find_home(agent: Client, cwd: str) -> str:
    """The directory where a client looks for the conversations of cwd."""
    return str(agent.locate_sessions(os.path.expanduser("~"), cwd))


def find_local(repo: Repo, agent: Client, session_id: str, cwd: str) -> str:
    """The path where the client has the conversation, or would look for it."""
    folder = find_home(agent, cwd)
    pattern = os.path.join(glob.escape(folder), "**", f"*{glob.escape(session_id)}.jsonl")
    listed = [p for p in sorted(glob.glob(pattern, recursive=True)) if "subagents" not in p]
    paths = [p for p in listed if _is_named(agent, os.path.basename(p), session_id)]
    if paths:
        return paths[-1]
    if cwd == os.path.realpath(repo.worktree):
        known = find_conversation(repo, session_id)
        if known:
            return known
    return os.path.join(folder, agent.name_transcript(session_id, format_now()))


def has_local(repo: Repo, agent: Client, session_id: str) -> bool:
    """Whether the client has a conversation for this worktree."""
    if agent.can_cut() and repo.top:
        return os.path.exists(find_local(repo, agent, session_id, os.path.realpath(repo.top)))
    return bool(find_conversation(repo, session_id))


def _is_named(agent: Client, name: str, session_id: str) -> bool:
    """Whether a file has the name that the client gives to a session with this whole id, at any
    time."""
    own, longer = (
        os.path.basename(agent.name_transcript(one, format_now()))
        for one in (session_id, f"{session_id}0")
    )
    size = len(own) - len(f"{session_id}.jsonl")  # of what is before the id: a word and the time
    begin = _replace_digits(name[:size])
    expected = _replace_digits(own[:size])
    return own != longer and name[size:] == own[size:] and begin == expected


def _replace_digits(text: str) -> str:
    return "".join("0" if c.isdigit() else c for c in text)


def find_conversation(repo: Repo, session_id: str) -> str:
    """The path of a session's transcript by its state here; '' if there is no such file."""
    path = (others.peek_state(repo, session_id) or {}).get("transcript_path")
    if isinstance(path, str) and os.path.exists(path):
        return path
    return ""
