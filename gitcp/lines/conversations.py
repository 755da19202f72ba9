"""The conversation behind a line: the call that wrote it, and the words of its turn."""

from __future__ import annotations

from gitcp.agents import is_reading, locate_subagent_transcript
from gitcp.agents.reading import conversation
from gitcp.checkpoints.pieces import StoredPieces
from gitcp.checkpoints.stored import (
    pick_session,
    read_checkpoint,
    read_session,
    read_task_transcripts,
)
from gitcp.errors import Error
from gitcp.git import files
from gitcp.record import journal
from gitcp.record.journal.line_kinds import Opening
from gitcp.record.session import others
from gitcp.record.session.client_transcript import open_live, read_live
from gitcp.record.stream import read_tips, tasks
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents.reading.conversation import CallContext, Entry
    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.checkpoints.stored import SessionEntry, StoredCheckpoint
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import State


@value_class
class _Transcripts:
    """A session's transcript, and those of its subagents by the id of the call that started
    them."""

    own: bytes
    subagents: dict[str, bytes]


def find_edit(repo: Repo, author: Author) -> CallContext | None:
    """The call that wrote lines; None if it is not known, or if what is known of it writes
    nothing."""
    tool = author["tool_use_id"]
    if not tool:
        return None
    call = _find_call(repo, author, tool)
    if call is None or is_reading(call["name"]):
        return None
    return call


def _find_call(repo: Repo, author: Author, tool: str) -> CallContext | None:
    if author["checkpoint_id"]:
        return _find_stored_call(repo, author, tool)
    state = others.peek_state(repo, author["session_id"])
    if not state:
        return None
    agent_id = _find_subagent(repo, author["session_id"], tool)
    subagents = _read_live_subagent(repo, state, agent_id)
    return conversation.find_call(open_live(state), subagents, tool, bool(subagents))


def _find_stored_call(repo: Repo, author: Author, tool: str) -> CallContext | None:
    """The call in the transcripts of a checkpoint, of which no more is read than is necessary."""
    try:
        checkpoint = read_checkpoint(repo, author["checkpoint_id"])
        entry = pick_session(checkpoint, author["session_id"])
        pieces = StoredPieces(repo.objects, entry)
        if pieces:
            return _find_in_pieces(repo, checkpoint, entry, pieces, tool)
    except Error:
        pass  # a part is missing: the others may have it
    transcripts = _read_stored(repo, author)
    return conversation.find_call([transcripts.own], transcripts.subagents, tool)


def _find_in_pieces(
    repo: Repo, checkpoint: StoredCheckpoint, entry: SessionEntry, pieces: StoredPieces, tool: str
) -> CallContext | None:
    """The call in a session's own transcript, else in those of its subagents."""
    if not _is_by_subagent(entry, tool):
        call = conversation.find_call(pieces, {}, tool)
        if call:
            return call
    subagents = _read_tasks(repo, checkpoint)
    return conversation.find_call(pieces, subagents, tool, by_subagent=True)


def _is_by_subagent(entry: SessionEntry, tool: str) -> bool:
    """Whether a session's metadata tell that a subagent made a call."""
    tools = entry["metadata"].get("tools")
    if not isinstance(tools, dict) or not isinstance(tools.get(tool), dict):
        return False
    return bool(tools[tool].get("agent"))


def _read_tasks(repo: Repo, checkpoint: StoredCheckpoint) -> dict[str, bytes]:
    return read_task_transcripts(repo.objects, checkpoint["checkpoint_id"], checkpoint["tree"])


def read_conversation(repo: Repo, author: Author) -> tuple[CallContext | None, list[Entry]]:
    """(the call that wrote a session's line, the words of its turn).

    The call is None if it is not known.  The words are (role, text), the prompt first; [] if the
    transcript is not here.
    """
    transcripts = _read_transcripts(repo, author)
    tool = author["tool_use_id"]
    call = None
    if tool:
        call = conversation.find_call([transcripts.own], transcripts.subagents, tool)
    return call, conversation.list_turn_entries(transcripts.own, author)


def _read_transcripts(repo: Repo, author: Author) -> _Transcripts:
    if author["checkpoint_id"]:
        return _read_stored(repo, author)
    return _read_live(repo, author["session_id"], author["tool_use_id"] or "")


def _read_stored(repo: Repo, author: Author) -> _Transcripts:
    """The transcripts in a checkpoint."""
    try:
        checkpoint = read_checkpoint(repo, author["checkpoint_id"])
        content = read_session(repo.objects, checkpoint, author["session_id"])
    except Error:
        return _Transcripts(b"", {})
    return _Transcripts(content.transcript, _read_tasks(repo, checkpoint))


def _read_live(repo: Repo, session_id: str, tool_use_id: str) -> _Transcripts:
    """The transcripts of a session without a checkpoint: its own, and that of the subagent that
    made a call."""
    state = others.peek_state(repo, session_id)
    if not state:
        return _Transcripts(b"", {})
    agent_id = _find_subagent(repo, session_id, tool_use_id)
    return _Transcripts(read_live(state), _read_live_subagent(repo, state, agent_id))


def _find_subagent(repo: Repo, session_id: str, tool_use_id: str) -> str:
    """The subagent that made a call, by the journal; '' for none."""
    name = session_id, tool_use_id
    for line in journal.read_journal(repo):
        if isinstance(line, Opening) and line.name == name and line.agent:
            return line.agent
    return ""


def _read_live_subagent(repo: Repo, state: State, agent_id: str) -> dict[str, bytes]:
    """The id of the call that started a subagent -> its transcript, in the client's own file or on
    the session's streams; {} without one, and while a subagent runs that has no file."""
    if not agent_id:
        return {}
    task = ""
    stored = ""
    for tip in read_tips(repo.objects, [stream["ref"] for stream in state["streams"]]):
        for path, oid in tasks.list_stored(repo.objects, tip, state["session_id"]).items():
            if not stored and path.endswith(f"/agent-{agent_id}.jsonl"):
                task = path.partition("/")[0]
                stored = oid
    if not stored:
        task = tasks.find_task(state, agent_id) or ""
    transcript = _read_subagent_file(state, agent_id)
    if not transcript and stored:
        transcript = repo.objects.need(stored, "blob")
    if not transcript:
        return {}
    return {task: transcript}


def _read_subagent_file(state: State, agent_id: str) -> bytes:
    """The transcript in the client's own file; b"" if there is none."""
    agent = state.get("agent_type") or ""
    transcript_path = state.get("transcript_path") or ""
    try:
        path = locate_subagent_transcript(agent, transcript_path, agent_id)
        if path:
            return files.read_bytes(path) or b""
    except Error:
        pass  # the client or the id has none
    return b""
