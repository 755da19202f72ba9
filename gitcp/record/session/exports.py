"""Copies of conversations that clients keep in databases of their own, redacted as they grow."""

from __future__ import annotations

import os

from gitcp.agents import find_client
from gitcp.checkpoints import redactor
from gitcp.errors import Busy
from gitcp.git.files import exclusive, locate_exports
from gitcp.record import make_event
from gitcp.record.session import others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Event

_PATIENCE = 2.0  # seconds


def copy_conversation(repo: Repo, client: Client, event: Event) -> None:
    """Let a client's adapter export the session of an event, one hook at a time: two at once, as
    of parallel subagents, would add the same messages twice."""
    folder = locate_exports(repo, client.NAME)
    names = [event["session_id"]]
    if "tool" in event:
        names.append(event["tool"].get("agent_id", ""))
    paths = [os.path.join(folder, f"{name}.jsonl") for name in names if name]
    try:
        with exclusive(repo, f"transcript-{event['session_id']}", _PATIENCE):
            sizes = [_measure_lines(path) for path in paths]
            client.export(event, folder)
            for path, size in zip(paths, sizes, strict=True):
                _redact_from(repo, event["session_id"], path, size)
    except Busy:
        pass  # a later event exports it


def _measure_lines(path: str) -> int:
    """The bytes of a file up to the end of its last whole line; 0 if it is not there."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if file.read() == b"\n":
                return size
            file.seek(0)
            return file.read().rfind(b"\n") + 1
    except FileNotFoundError:
        return 0


def _redact_from(repo: Repo, session_id: str, path: str, offset: int) -> None:
    """Redact what was appended to a copy, which outlives its turn; while a rule cannot be read,
    take it off again, for a later event to export."""
    if not os.path.exists(path):
        return
    with open(path, "r+b") as file:
        file.seek(offset)
        added = file.read()
        clean = b""
        if added and redactor.can_read_rules(repo):
            clean = redactor.get_redactor(repo, session_id).redact_jsonl(added)
        if clean != added:
            file.seek(offset)
            file.write(clean)
            file.truncate()


def renew_copy(repo: Repo, session_id: str) -> None:
    """Update the copy at a commit, for a client without hooks in its turns."""
    state = others.peek_state(repo, session_id)

    client = None
    if state:
        client = find_client(state.get("agent_type") or "")
    if state and client and client.FORM == "run" and state.get("transcript_path"):
        cwd = state.get("worktree_path") or repo.worktree
        event = make_event("commit", session_id)
        event["cwd"] = cwd
        copy_conversation(repo, client, event)
