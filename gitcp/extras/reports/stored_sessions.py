"""The sessions that are known from commits: those of others, and those whose states are gone."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitcp.agents import find_client
from gitcp.agents.reading import turns
from gitcp.checkpoints import format, heads, listing
from gitcp.checkpoints.stored import Parts
from gitcp.git.records import load_entry
from gitcp.text import prompt_text
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.agents.transcripts.heads import Head
    from gitcp.checkpoints.stored import SessionEntry
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Record


@dataclass(slots=True)
class StoredSession:
    """A conversation and its tasks.

    entries: what checkpoints have of it, none of one of which only tasks are stored.  agent: the
    name of its client.  title: that its client gave it."""

    session_id: str
    agent: str = ""
    entries: list[tuple[str, SessionEntry]] = field(default_factory=list)  # with checkpoint ids
    title: str = ""
    tasks: set[str] = field(default_factory=set)
    last: float = 0.0  # seconds since 1970


@dataclass(slots=True)
class StoredSessions:
    """All conversations, by session id; checkpoints: how many are stored."""

    sessions: dict[str, StoredSession] = field(default_factory=dict)
    checkpoints: int = 0

    def count_tasks(self) -> int:
        """The number of tasks of all conversations."""
        return sum(len(session.tasks) for session in self.sessions.values())

    def map_roots(self) -> dict[str, str]:
        """The session id of each task -> that of its conversation."""
        roots: dict[str, str] = {}
        for name, session in self.sessions.items():
            roots |= dict.fromkeys(session.tasks, name)
        return roots


def read_stored(repo: Repo) -> StoredSessions:
    """The conversations of all checkpoints.  repo.objects is open."""
    found = StoredSessions()
    stored: dict[str, StoredSession] = {}
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        found.checkpoints += 1
        for entry in checkpoint["sessions"]:
            name = entry["session_id"]
            session = stored.setdefault(name, StoredSession(name))
            session.agent = session.agent or format.get_text(entry["metadata"], "agent")
            session.entries.append((checkpoint["checkpoint_id"], entry))
            session.last = max(session.last, parse_time(entry["metadata"].get("created_at")))
    listed = [entry for session in stored.values() for _, entry in session.entries]
    reader = heads.Heads(repo)
    known_heads = reader.read(listed, with_prompts=False)
    for name, session in stored.items():
        root = _find_root(name, known_heads)
        if root == name:
            if name in known_heads:
                session.title = known_heads[name].title
            else:
                session.title = ""
            session.tasks |= found.sessions.get(name, session).tasks
            found.sessions[name] = session
            continue
        parent = found.sessions.setdefault(root, StoredSession(root))
        parent.tasks.add(name)
        parent.last = max(parent.last, session.last)
        parent.agent = parent.agent or session.agent
    return found


def _find_root(session_id: str, known_heads: Mapping[str, Head]) -> str:
    """The conversation that a session is a task of; the session itself if it is none."""
    seen = {session_id}
    name = session_id
    while name in known_heads and known_heads[name].parent:
        name = known_heads[name].parent
        if name in seen:
            return session_id
        seen.add(name)
    return name


def build_record(repo: Repo, session: StoredSession) -> Record:
    """The record `activity` (gitcp-record(5)) of a session."""
    return {
        "type": "activity",
        "repository": repo.top or repo.common,
        "session_id": session.session_id,
        "agent": session.agent,
        "state": "ended",
        "worktree": "",
        "last": session.last,
        "prompt": read_first_prompt(repo, session),
        "title": session.title,
        "tasks": len(session.tasks),
        "files_touched": [],
    }


def read_first_prompt(repo: Repo, session: StoredSession) -> str:
    """The first prompt of a session; '' if it is not here."""
    for checkpoint_id, entry in session.entries:
        parts = Parts(repo.objects, checkpoint_id)
        for prompt in parts.read_prompts(entry["files"], entry["directory"]):
            if prompt_text.name_prompt(prompt):
                return prompt
    return ""


def list_turns(data: bytes, agent: object, start: int) -> list[Record]:
    """prompt, start, end and tokens (None if unknown) of the turns that begin at line `start` or
    later."""
    client = find_client(str(agent))
    listed: list[Record] = []
    for turn in turns.gather_turns(data, client, load=load_entry):
        if turn["line"] >= start:
            about = {key: turn[key] for key in ("prompt", "start", "end")}
            listed.append({**about, "tokens": turn["spent"]})
    return listed
