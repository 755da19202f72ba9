"""The origin of lines: commit, session, prompt, and the tool call that wrote them."""

from __future__ import annotations

from itertools import groupby

from gitcp.agents import find_client, locate_subagent_transcript
from gitcp.agents.reading import conversation
from gitcp.core.blame import options as arguments
from gitcp.errors import Error, InputError
from gitcp.process import files
from gitcp.record import decode_name
from gitcp.store.back.conversation import read_live
from gitcp.store.journal import journal
from gitcp.store.lines import run
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs
from gitcp.store.turn import tasks
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.agents.reading.conversation import Around, Entry
    from gitcp.core.blame.porcelain import Entry as Row
    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Record, State
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.lines.evidence import Evidence

    # The session's transcript, and those of its subagents by the id of the call that started them.
    Transcripts = tuple[bytes, dict[str, bytes]]


def parse_place(text: str) -> tuple[str, int, int]:
    """(file, first line, last line) of `<file>:<line>` or `<file>:<first>,<last>`.

    Raises InputError for another text.
    """
    path, _, span = text.rpartition(":")
    numbers = span.split(",")
    if not path or len(numbers) > 2 or not all(map(_is_line_number, numbers)):
        raise InputError(f"not <file>:<line>: '{text}'")
    first, last = int(numbers[0]), int(numbers[-1])
    if last < first:
        raise InputError(f"the last line is before the first: '{text}'")
    return path, first, last


def _is_line_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def list_origins(
    repo: Repo, git: Git, objects: Objects, evidence: Evidence, place: str, revision: str = ""
) -> Iterator[Record]:
    """Yield a record `origin` (gitcp-record(5)) for each run of lines that one edit or commit made.

    place: as for parse_place().
    """
    path, first, last = parse_place(place)
    options = arguments.ask_file(path, revision, "-L", f"{first},{last}")
    lines = evidence.blame_lines(git, options, contents=True)
    file = decode_name(run.find_asked_path(repo, git, options, [entry for entry, _ in lines]))
    for _, group in groupby(lines, _get_key):
        entries, authors = zip(*group, strict=True)
        yield _build_origin(repo, objects, file, entries, authors[0])


def _get_key(line: tuple[Row, Author]) -> tuple[object, ...]:
    entry, author = line
    return (entry["oid"], entry["path"], *author.values())


def _build_origin(
    repo: Repo, objects: Objects, file: str, entries: Sequence[Row], author: Author
) -> Record:
    entry, headers = entries[0], dict(entries[0]["headers"])
    commit = {
        "oid": entry["oid"],
        "subject": decode_name(headers.get(b"summary", b"")),
        "committer": decode_name(headers.get(b"committer", b"")),
    }
    return {
        "type": "origin",
        "file": file,
        "path": entry["path"],
        "original_line": entry["orig"],
        "first": entry["final"],
        "last": entries[-1]["final"],
        "content": [decode_name(line["content"] or b"") for line in entries],
        **author,
        "author": decode_name(headers.get(b"author", b"")),
        "commit": commit if entry["oid"].strip("0") else None,
        "call": _find_call(repo, objects, author),
        "resume": _build_resume_command(author),
    }


def _build_resume_command(author: Author) -> str:
    """The client's command that resumes the session; '' for none."""
    if author["who"] != "session":
        return ""
    return find_client(author["agent"]).format_resume_command(author["session_id"])


def _find_call(repo: Repo, objects: Objects, author: Author) -> Around | None:
    tool = author["tool_use_id"]
    return conversation.find_call(*_read_transcripts(repo, objects, author), tool) if tool else None


def read_words(repo: Repo, objects: Objects, author: Author) -> tuple[Around | None, list[Entry]]:
    """(the call that wrote a session's line, the words of its turn).

    The call is None if it is not known.  The words are (role, text), the prompt first; [] if the
    transcript is not here.
    """
    transcripts = _read_transcripts(repo, objects, author)
    tool = author["tool_use_id"]
    call = conversation.find_call(*transcripts, tool) if tool else None
    return call, conversation.list_turn_entries(transcripts[0], author)


def _read_transcripts(repo: Repo, objects: Objects, author: Author) -> Transcripts:
    if author["checkpoint_id"]:
        return _read_stored(repo, objects, author)
    return _read_live(repo, objects, author["session_id"], author["tool_use_id"] or "")


def _read_stored(repo: Repo, objects: Objects, author: Author) -> Transcripts:
    """The transcripts in a checkpoint."""
    try:
        checkpoint = committed_read.read_checkpoint(repo, objects, author["checkpoint_id"])
        content = committed_read.read_session(objects, checkpoint, author["session_id"])
    except Error:
        return b"", {}
    tasks = committed_read.read_task_transcripts(
        objects, checkpoint["checkpoint_id"], checkpoint["tree"]
    )
    return content["transcript"], tasks


def _read_live(repo: Repo, objects: Objects, session_id: str, tool_use_id: str) -> Transcripts:
    """The transcripts of a session without a checkpoint: its own, and that of the subagent that
    made a call."""
    state = states.peek(repo, session_id)
    if not state:
        return b"", {}
    agent_id = _find_subagent(repo, session_id, tool_use_id)
    task, stored = _find_task(objects, state, agent_id) if agent_id else ("", b"")
    transcript = _read_subagent_transcript(state, agent_id) or stored
    return read_live(state), {task: transcript} if transcript else {}


def _find_subagent(repo: Repo, session_id: str, tool_use_id: str) -> str:
    """The subagent that made a call, by the journal; '' for none."""
    key = session_id, tool_use_id
    lines = journal.read(repo)
    agents = (line.get("agent") for line in lines if (line.get("session"), line.get("open")) == key)
    return next((str(agent) for agent in agents if agent), "")


def _find_task(objects: Objects, state: State, agent_id: str) -> tuple[str, bytes]:
    """(the id of the call that started a subagent, its transcript on the session's streams).

    The transcript is b"" while the subagent runs, and the id is '' if it is not known.
    """
    for tip in shadow_refs.read_tips(objects, [stream["ref"] for stream in state["streams"]]):
        for path, oid in tasks.list_stored(objects, tip, state["session_id"]).items():
            if path.endswith(f"/agent-{agent_id}.jsonl"):
                return path.partition("/")[0], objects.need(oid, "blob")
    return tasks.find_task(state, agent_id) or "", b""


def _read_subagent_transcript(state: State, agent_id: str) -> bytes:
    """The transcript in the client's own file; b"" if there is none."""
    agent, transcript_path = state.get("agent_type") or "", state.get("transcript_path") or ""
    try:
        path = agent_id and locate_subagent_transcript(agent, transcript_path, agent_id)
        return (files.read_bytes(path) if path else None) or b""
    except Error:  # the client or the id has none
        return b""
