"""Where lines come from: commit, session, prompt, and the tool call that wrote them."""

from __future__ import annotations

from gitcp.agents import find_client, locate_subagent_transcript
from gitcp.agents.reading import around_call, conversation
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
    from collections.abc import Iterator

    from gitcp.agents.reading.conversation import Entry
    from gitcp.core.blame.porcelain import Entry as Row
    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Record, State
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.lines.evidence import Evidence


def parse_place(name: str) -> tuple[str, int, int]:
    """(file, first line, last line) of `<file>:<line>` or `<file>:<first>,<last>`.

    Raises InputError for anything else.
    """
    path, colon, numbers = name.rpartition(":")
    first, comma, last = numbers.partition(",")
    wanted = [first, last] if comma else [first]
    if not colon or not path or not all(n.isascii() and n.isdigit() and int(n) for n in wanted):
        raise InputError(f"not <file>:<line>: '{name}'")
    start, end = int(wanted[0]), int(wanted[-1])
    if end < start:
        raise InputError(f"the last line is before the first: '{name}'")
    return path, start, end


def list_origins(
    repo: Repo, git: Git, objects: Objects, evidence: Evidence, name: str, revision: str = ""
) -> Iterator[Record]:
    """A record `origin` for each run of lines of name that came of one edit or commit."""
    path, first, last = parse_place(name)
    words = ["-L", f"{first},{last}", *([revision] if revision else []), "--", path]
    given = arguments.parse(words)
    known = evidence.blame_lines(git, given, contents=True)
    file = decode_name(run.find_asked_path(repo, git, given, [entry for entry, _ in known]))
    start = 0
    for n in range(1, len(known) + 1):
        if n == len(known) or _get_key(*known[n]) != _get_key(*known[start]):
            part = [entry for entry, _ in known[start:n]]
            yield _build_origin(repo, objects, file, part, known[start][1])
            start = n


def _get_key(entry: Row, author: Author) -> tuple[object, ...]:
    return (entry["oid"], entry["path"], *author.values())


def _build_origin(
    repo: Repo, objects: Objects, file: str, part: list[Row], author: Author
) -> Record:
    entry, headers = part[0], dict(part[0]["headers"])
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
        "last": part[-1]["final"],
        "content": [decode_name(one["content"] or b"") for one in part],
        **author,
        "author": decode_name(headers.get(b"author", b"")),
        "commit": commit if entry["oid"].strip("0") else None,
        "call": _find_call(repo, objects, author),
        "resume": _build_resume_command(author),
    }


def _find_call(repo: Repo, objects: Objects, author: Author) -> around_call.Around | None:
    tool = author["tool_use_id"]
    return around_call.find(*_read_talk(repo, objects, author), tool) if tool else None


def read_words(
    repo: Repo, objects: Objects, author: Author
) -> tuple[around_call.Around | None, list[Entry]]:
    """Of a session's line: the call that wrote it, None where that is not known, and what was said
    in its turn as (role, text), the prompt first; [] where that is not here."""
    talk = _read_talk(repo, objects, author)
    tool, number = author["tool_use_id"], author["number"]
    call = around_call.find(*talk, tool) if tool else None
    return call, conversation.list_turn_entries(talk[0], number) if number else []


def _read_talk(repo: Repo, objects: Objects, author: Author) -> tuple[bytes, dict[str, bytes]]:
    """The transcript of a line's session, and those of its subagents."""
    if author["checkpoint_id"]:
        return _read_stored(repo, objects, author)
    return _read_live(repo, objects, author["session_id"], author["tool_use_id"] or "")


def _read_stored(repo: Repo, objects: Objects, author: Author) -> tuple[bytes, dict[str, bytes]]:
    """The transcript of a session and those of its subagents, as a checkpoint has them."""
    try:
        checkpoint = committed_read.read_checkpoint(repo, objects, author["checkpoint_id"])
        content = committed_read.read_session(objects, checkpoint, author["session_id"])
    except Error:
        return b"", {}
    tasks = committed_read.read_task_transcripts(
        objects, checkpoint["checkpoint_id"], checkpoint["tree"]
    )
    return content["transcript"], tasks


def _build_resume_command(author: Author) -> str:
    """The command of the agent's own client that goes on with the conversation; '' for none."""
    if author["who"] != "session":
        return ""
    return find_client(author["agent"]).format_resume_command(author["session_id"])


def _read_live(
    repo: Repo, objects: Objects, session_id: str, tool_use_id: str
) -> tuple[bytes, dict[str, bytes]]:
    """The transcript of a session, and of the subagent that made this call: by the id of the
    call that started it, '' where that is not known; b'' and {} for what is not there."""
    state = states.peek(repo, session_id)
    if not state:
        return b"", {}
    agent_id = _find_subagent(repo, session_id, tool_use_id)
    task, stored = _find_task(objects, state, agent_id) if agent_id else ("", b"")
    theirs = _read_transcript(state, agent_id) or stored
    return read_live(state), {task: theirs} if theirs else {}


def _find_subagent(repo: Repo, session_id: str, tool_use_id: str) -> str:
    """The subagent of a session that made a call, by the journal; '' for none."""
    call = session_id, tool_use_id
    calls = (one for one in journal.read(repo) if (one.get("session"), one.get("open")) == call)
    return next((str(one["agent"]) for one in calls if one.get("agent")), "")


def _find_task(objects: Objects, state: State, agent_id: str) -> tuple[str, bytes]:
    """The call that started a subagent, with what the session's streams keep of it; of one that
    is at work still there is nothing."""
    for tip in shadow_refs.read_tips(objects, [stream["ref"] for stream in state["streams"]]):
        for path, oid in tasks.list_stored(objects, tip, state["session_id"]).items():
            if path.endswith(f"/agent-{agent_id}.jsonl"):
                return path.partition("/")[0], objects.need(oid, "blob")
    return tasks.find_task(state, agent_id) or "", b""


def _read_transcript(state: State, agent_id: str) -> bytes:
    try:
        about = state.get("agent_type") or "", state.get("transcript_path") or "", agent_id
        path = locate_subagent_transcript(*about) if agent_id else None
        return (files.read_bytes(path) if path else None) or b""
    except Error:  # an agent, or an id, that has none
        return b""
