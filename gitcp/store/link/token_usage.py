"""The tokens of a session so far, its subagents' among them."""

from __future__ import annotations

from gitcp.core.transcript import tokens
from gitcp.errors import InputError
from gitcp.store.v1 import transcript_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Scan, State, Usage
    from gitcp.store.v1.transcript import Stored

_SLACK = 60_000_000_000  # ns by which a session's own first lines may seem older than it


def of(state: State, stored: Stored | None) -> Usage | None:
    """Cumulative usage of the session's transcript and of those of its subagents on disk.

    What the transcript tells of the time before the session began is not the session's: a fork
    begins with a copy of what another one has said and paid for.  The caller saves the state.
    """
    if stored is None or not stored.scan:
        return None
    from gitcp.agents import adapter

    try:
        client = adapter(state.get("agent_type", ""))
    except InputError:
        own: Usage | None = stored.scan["usage"]
        return own
    if "tokens_at_condensation" not in state:
        _begin(state, stored, client)
    total = _with_subagents(state, stored.scan, client)
    copied = state.get("tokens_before")
    return tokens.subtract(total, copied) if total and copied else total


def _with_subagents(state: State, scan: Scan, client: Any) -> Usage | None:
    from gitcp.agents import subagent_transcript

    path, usages = state.get("transcript_path"), []
    for name in scan["subagents"] if path else ():
        try:
            theirs = subagent_transcript(client.NAME, path or "", name)
            usages += [client.scan(transcript_copy.live(theirs))["usage"]] if theirs else []
        except (OSError, InputError):
            continue  # it is gone, or its name can be none
    return tokens.with_subagents(scan["usage"], usages)


def _begin(state: State, stored: Stored, client: Any) -> None:
    """Note what was spent before the session began, and of one taken over from the original
    program what that has condensed: neither is in what a checkpoint of ours cost."""
    before = _with_subagents(state, client.scan(_older(stored, state, client)), client)
    if before:
        state["tokens_before"] = before
    start = state.get("checkpoint_transcript_start", 0)
    if start:
        from itertools import islice

        scan = client.scan(b"".join(islice(stored.lines(), start)))
        condensed = tokens.subtract(_with_subagents(state, scan, client), before)
        state["tokens_at_condensation"] = condensed


def _older(stored: Stored, state: State, client: Any) -> bytes:
    """The lines of a transcript that are older than the session, by the times they tell; none
    where all of it seems to be: then its clock is not ours."""
    from gitcp.core.transcript.tool_ends import nanoseconds

    lines: list[bytes] = []
    began = nanoseconds(str(state.get("started_at")))
    newest = nanoseconds(str(stored.scan["last_timestamp"]))
    if began is None or newest is None or newest < began - _SLACK:
        return b""
    for line in stored.lines():
        at = nanoseconds(str(client.scan(line)["last_timestamp"]))
        if at is not None and at < began:
            lines.append(line)
        elif b'"assistant"' in line:
            break  # from here on it is the session's own
    return b"".join(lines)
