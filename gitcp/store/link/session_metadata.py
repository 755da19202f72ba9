"""The metadata of a session in a committed checkpoint, and its task files."""

from __future__ import annotations

import os
from itertools import islice

from gitcp.agents import find_client, locate_subagent_transcript
from gitcp.console import notice
from gitcp.core.credit import entries
from gitcp.core.transcript import tokens
from gitcp.core.v1.summary import parse_json
from gitcp.errors import Error, InputError
from gitcp.record import format_now
from gitcp.start import late
from gitcp.store.stream import branches
from gitcp.store.turn import tasks
from gitcp.store.v1 import transcript, transcript_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from gitcp.core.decide.difference import Staged
    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import File, Scan, State, Usage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.lines.commit_lines import Credit
    from gitcp.store.v1.committed_write import SessionData
    from gitcp.store.v1.transcript import StoredTranscript

_SLACK = 60_000_000_000  # ns by which a session's own first lines may be older than its start


def describe_session(
    repo: Repo,
    state: State,
    linked: Linked,
    changes: dict[str, Staged],
    stored: StoredTranscript | None,
    credit: Credit,
) -> SessionData:
    """The data of one session of a commit with these changes; state gets its tokens until now."""
    session_id = state["session_id"]
    lines = credit.build_ranges(session_id)
    session_files = _describe_files(state, linked, changes, credit)
    metadata: dict[str, Any] = {
        "cli_version": state.get("cli_version"),
        "session_id": session_id,
        "strategy": "manual-commit",
        "created_at": format_now(),
        "branch": read_branch(repo),
        "checkpoints_count": state.get("checkpoint_count", 0),
        "files_touched": sorted(session_files),
        "agent": state.get("agent_type"),
        "turn_id": state.get("turn_id"),
        "transcript_identifier_at_start": state.get("transcript_identifier_at_start"),
        "checkpoint_transcript_start": state.get("checkpoint_transcript_start", 0),
        "transcript_path": shorten_home(state.get("transcript_path")),
        "files": session_files,
        "turns": _describe_turns(state, session_files, lines),
        "tools": credit.map_tools(session_id),
        "initial_attribution": credit.compute_attribution(session_id),
    }
    metadata |= note_spent(state, stored)
    return {
        "session_id": session_id,
        "transcript": stored,
        "prompts": transcript.list_prompts(state, stored),
        "metadata": metadata,
        "lines": lines,
        "ephemeral_branch": state.get("shadow_ref", "").removeprefix("refs/heads/"),
    }


def note_spent(state: State, stored: StoredTranscript | None) -> dict[str, Any]:
    """token_usage of the session and its delta since the last condensation; noted in state."""
    cumulative = count_tokens(state, stored)
    if not cumulative:
        return {}
    before: Usage | None = state.get("tokens_at_condensation")
    state["token_usage"] = state["tokens_at_condensation"] = cumulative
    delta = tokens.subtract(cumulative, before)
    return {"token_usage": cumulative, "token_usage_delta": delta}


def read_task_files(
    repo: Repo,
    objects: Objects,
    parent: str,
    state: State,
    changes: Container[str],
    credit: Credit,
) -> dict[str, bytes]:
    """The session's task files, on its live streams and outside: path below tasks/ -> bytes.

    A task whose work is in the journal is left out unless changes has some of its paths.
    """

    def list_written(agent_id: str) -> set[str]:
        return entries.list_written_paths(credit.lines, agent_id)

    blobs, excluded = _read_stream_tasks(repo, objects, parent, state), set()
    for path, data in blobs.items():
        if path.endswith("/checkpoint.json"):
            agent = (parse_json(data) or {}).get("agent_id")
            written = list_written(agent) if isinstance(agent, str) else set()
            if written and not any(p in changes for p in written):
                excluded.add(path.split("/")[0])
    files = {path: data for path, data in blobs.items() if path.split("/")[0] not in excluded}
    return files | tasks.list_ended_files(repo, objects, state, list_written, changes)


def _read_stream_tasks(repo: Repo, objects: Objects, parent: str, state: State) -> dict[str, bytes]:
    """The readable task files on a session's streams; warns once of the others."""
    blobs: dict[str, bytes] = {}
    for stream in state["streams"]:
        tip = branches.find_live(repo, objects, parent, stream["id"], stream["ref"])
        try:
            for path, oid in tasks.list_stored(objects, tip, state["session_id"]).items():
                blobs[path] = objects.need(oid, "blob")
        except Error as e:
            notice.warn_lacking(f"tasks of session '{state['session_id']}' are left out: {e}")
    return blobs


def _describe_files(
    state: State, linked: Linked, changes: dict[str, Staged], credit: Credit
) -> dict[str, dict[str, Any]]:
    """For each of the session's paths in the commit: its content there and in the parent, the
    turns that wrote its lines, and the last of them with its prompt."""
    recorded: dict[str, File] = {}
    for stream in state["streams"]:
        recorded |= stream["files"]
    session_id, turns = state["session_id"], state.get("turns", {})
    touched: dict[str, dict[str, Any]] = {}
    for path in sorted({*linked["paths"], *credit.list_touched(session_id)}):
        old_mode, old, mode, oid = changes.get(path, ("", None, "000000", None))
        writers = [turn for turn in credit.list_turns(session_id, path) if turn]
        writers.sort(key=lambda turn: int(turns.get(turn, {}).get("number", 0)))
        if (
            not writers
        ):  # no line tells the turn: the one that recorded the file, or the running one
            recorded_in = recorded[path].get("turn_id") if path in recorded else ""
            writers = [recorded_in or state.get("turn_id", "")]
        prompt = turns.get(writers[-1], {}).get("prompt", "")
        touched[path] = {"oid": oid or "", "mode": mode, "turn_id": writers[-1], "prompt": prompt}
        touched[path] |= {"turns": writers, "before": [old_mode, old] if old else None}
        if credit.is_by_window(session_id, path):
            touched[path]["by_window"] = True
    return touched


def _describe_turns(
    state: State,
    session_files: dict[str, dict[str, Any]],
    lines: dict[str, list[dict[str, Any]]],
) -> dict[str, dict[str, Any]]:
    """Number, prompt and model of each turn that files or lines name."""
    turns = {turn for file in session_files.values() for turn in file["turns"]}
    turns |= {run[2] for path in lines.values() for entry in path for run in entry["ranges"]}
    return {
        turn: {key: facts[key] for key in ("number", "prompt", "model") if facts.get(key)}
        for turn, facts in state.get("turns", {}).items()
        if turn in turns
    }


def read_branch(repo: Repo) -> str | None:
    """The name of the branch HEAD is on; None when detached."""
    try:
        with open(os.path.join(repo.git_dir, "HEAD"), encoding="utf-8") as f:
            return f.read().strip().partition("refs/heads/")[2] or None
    except (OSError, UnicodeDecodeError):
        return None


def shorten_home(path: str | None) -> str | None:
    """A path relative to the home directory if it is below it, else unchanged."""
    home = os.path.expanduser("~")
    if path and path.startswith(home + os.sep):
        return os.path.relpath(path, home)
    return path


def count_tokens(state: State, stored: StoredTranscript | None) -> Usage | None:
    """Cumulative usage of the session's transcript and of its subagents' transcripts on disk.

    What the transcript has from before the session's start does not count: a fork begins with a
    copy of another conversation.  The caller saves the state.
    """
    if stored is None or not stored.scan:
        return None
    client = find_client(state.get("agent_type", ""))
    total = _add_subagents(state, stored.scan, client)
    if total and "tokens_at_condensation" not in state:
        _note_earlier_costs(state, stored, client)
    copied = state.get("tokens_before")
    return tokens.subtract(total, copied) if total and copied else total


def _add_subagents(state: State, scan: Scan, client: Any) -> Usage | None:
    path, usages = state.get("transcript_path"), []
    for name in scan["subagents"] if path else ():
        try:
            transcript = locate_subagent_transcript(client.NAME, path or "", name)
            usages += (
                [client.scan(transcript_copy.read_live(transcript))["usage"]] if transcript else []
            )
        except (OSError, InputError):
            continue  # the file is gone, or its name is invalid
    return tokens.add_subagents(scan["usage"], usages)


def _note_earlier_costs(state: State, stored: StoredTranscript, client: Any) -> None:
    """Note in state what does not count for our checkpoints: the tokens before the session's
    start, and those that the original program has condensed."""
    before = _add_subagents(state, client.scan(_list_older_lines(stored, state, client)), client)
    if before:
        state["tokens_before"] = before
    start = state.get("checkpoint_transcript_start", 0)
    if start:
        scan = client.scan(b"".join(islice(stored.list_lines(), start)))
        condensed = tokens.subtract(_add_subagents(state, scan, client), before)
        state["tokens_at_condensation"] = condensed


def _list_older_lines(stored: StoredTranscript, state: State, client: Any) -> bytes:
    """The lines of a transcript from before the session's start, by their times; none if all lines
    are older, since then its clock is another one."""
    lines: list[bytes] = []
    began = late.tool_ends.parse_time(str(state.get("started_at")))
    newest = late.tool_ends.parse_time(str(stored.scan["last_timestamp"]))
    if began is None or newest is None or newest < began - _SLACK:
        return b""
    for line in stored.list_lines():
        time = late.tool_ends.parse_time(str(client.scan(line)["last_timestamp"]))
        if time is not None and time < began:
            lines.append(line)
        elif b'"assistant"' in line:
            break  # the session's own lines begin here
    return b"".join(lines)
