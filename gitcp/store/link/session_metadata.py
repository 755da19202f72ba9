"""What a committed checkpoint says of a session: its metadata, its tasks, who made which file."""

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
    from gitcp.store.v1.transcript import Stored

_SLACK = 60_000_000_000  # ns by which a session's own first lines may seem older than it


def describe_session(
    repo: Repo,
    state: State,
    linked: Linked,
    changes: dict[str, Staged],
    stored: Stored | None,
    credit: Credit,
) -> SessionData:
    """One session of a commit with these changes; in state, what it has cost until now."""
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


def note_spent(state: State, stored: Stored | None) -> dict[str, Any]:
    """token_usage of the session, and its delta since what was last told; noted in state."""
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
    """The task files on the session's live streams, and those that are on none: path below
    tasks/ -> bytes.

    A task whose work the journal knows goes to a commit that has some of it, and to no other.
    """
    blobs, elsewhere = _read_kept_tasks(repo, objects, parent, state), set()
    for path, data in blobs.items():
        if path.endswith("/checkpoint.json"):
            agent = (parse_json(data) or {}).get("agent_id")
            work = (
                entries.list_written_paths(credit.lines, agent) if isinstance(agent, str) else set()
            )
            if work and not any(one in changes for one in work):
                elsewhere.add(path.split("/")[0])
    there = {path: data for path, data in blobs.items() if path.split("/")[0] not in elsewhere}

    def list_written(agent_id: str) -> set[str]:
        return entries.list_written_paths(credit.lines, agent_id)

    return there | tasks.list_ended_files(repo, objects, state, list_written, changes)


def _read_kept_tasks(repo: Repo, objects: Objects, parent: str, state: State) -> dict[str, bytes]:
    """The task files of a session that can be read; which cannot is said once."""
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
    """For each path of the commit that is the session's: what it is there and in its parent, the
    last turn that wrote a line of it with its prompt, and all turns that did."""
    recorded: dict[str, File] = {}
    for stream in state["streams"]:
        recorded |= stream["files"]
    session_id, prompts_of = state["session_id"], state.get("turns", {})
    touched: dict[str, dict[str, Any]] = {}
    for path in sorted({*linked["paths"], *credit.list_touched(session_id)}):
        old_mode, old, mode, oid = changes.get(path, ("", None, "000000", None))
        wrote = [turn for turn in credit.list_turns(session_id, path) if turn]
        wrote.sort(key=lambda turn: int(prompts_of.get(turn, {}).get("number", 0)))
        # Without a line that tells: the turn that recorded it, or the one that runs.
        recorded_in = recorded[path].get("turn_id") if path in recorded else ""
        turn_id = recorded_in or state.get("turn_id", "")
        wrote = wrote or [turn_id]
        prompt = prompts_of.get(wrote[-1], {}).get("prompt", "")
        touched[path] = {"oid": oid or "", "mode": mode, "turn_id": wrote[-1], "prompt": prompt}
        touched[path] |= {"turns": wrote, "before": [old_mode, old] if old else None}
        if credit.is_by_window(session_id, path):
            touched[path]["by_window"] = True
    return touched


def _describe_turns(
    state: State,
    session_files: dict[str, dict[str, Any]],
    lines: dict[str, list[dict[str, Any]]],
) -> dict[str, dict[str, Any]]:
    """Number, prompt and model of each turn that files or lines name."""
    known = state.get("turns", {})
    named = {turn for file in session_files.values() for turn in file["turns"]}
    named |= {run[2] for path in lines.values() for entry in path for run in entry["ranges"]}
    return {
        turn: {key: facts[key] for key in ("number", "prompt", "model") if facts.get(key)}
        for turn, facts in known.items()
        if turn in named
    }


def read_branch(repo: Repo) -> str | None:
    """The name of the branch HEAD is on; None when detached."""
    try:
        with open(os.path.join(repo.git_dir, "HEAD"), encoding="utf-8") as f:
            return f.read().strip().partition("refs/heads/")[2] or None
    except (OSError, UnicodeDecodeError):
        return None


def shorten_home(path: str | None) -> str | None:
    """A path as it is below home; one elsewhere as it is."""
    home = os.path.expanduser("~")
    if path and path.startswith(home + os.sep):
        return os.path.relpath(path, home)
    return path


def count_tokens(state: State, stored: Stored | None) -> Usage | None:
    """Cumulative usage of the session's transcript and of those of its subagents on disk.

    What the transcript tells of the time before the session began is not the session's: a fork
    begins with a copy of what another one has said and paid for.  The caller saves the state.
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
            theirs = locate_subagent_transcript(client.NAME, path or "", name)
            usages += [client.scan(transcript_copy.read_live(theirs))["usage"]] if theirs else []
        except (OSError, InputError):
            continue  # it is gone, or its name can be none
    return tokens.add_subagents(scan["usage"], usages)


def _note_earlier_costs(state: State, stored: Stored, client: Any) -> None:
    """Note what was spent before the session began, and of one taken over from the original
    program what that has condensed: neither is in what a checkpoint of ours cost."""
    before = _add_subagents(state, client.scan(_list_older_lines(stored, state, client)), client)
    if before:
        state["tokens_before"] = before
    start = state.get("checkpoint_transcript_start", 0)
    if start:
        scan = client.scan(b"".join(islice(stored.list_lines(), start)))
        condensed = tokens.subtract(_add_subagents(state, scan, client), before)
        state["tokens_at_condensation"] = condensed


def _list_older_lines(stored: Stored, state: State, client: Any) -> bytes:
    """The lines of a transcript that are older than the session, by their times; none where all of
    it seems to be, for then its clock is another."""
    lines: list[bytes] = []
    began = late.tool_ends.parse_time(str(state.get("started_at")))
    newest = late.tool_ends.parse_time(str(stored.scan["last_timestamp"]))
    if began is None or newest is None or newest < began - _SLACK:
        return b""
    for line in stored.list_lines():
        at = late.tool_ends.parse_time(str(client.scan(line)["last_timestamp"]))
        if at is not None and at < began:
            lines.append(line)
        elif b'"assistant"' in line:
            break  # from here on it is the session's own
    return b"".join(lines)
