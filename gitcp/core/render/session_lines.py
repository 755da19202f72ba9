"""The lines of `gitcp show` for what is not committed: a temporary checkpoint, a session."""

from __future__ import annotations

from gitcp.core.render.show_lines import excerpt, prompts
from gitcp.core.render.spans import short, spent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.render.show_lines import When
    from gitcp.core.render.spans import Line

    Record = dict[str, Any]

_CHANGES = {"added": ("A", "green"), "modified": ("M", "yellow"), "deleted": ("D", "red")}


def temporary(told: Record, when: When, full: bool, transcript: bool) -> Iterator[Line]:
    """A temporary checkpoint as shown.temporary() gives it."""
    yield [("temporary checkpoint ", ""), (told["oid"], "cyan")]
    yield [(f"  {when(told['time'])}  {told['message']}", "")]
    agent = told["agent"] or "Agent"
    yield [("  session ", ""), (told["session_id"], "yellow"), (f"  {agent}", "green")]
    where = f"stream {told['stream']}, base {told['base_commit'][:12] or '?'}"
    task = f", task {told['tool_use_id']}" if told["tool_use_id"] else ""
    yield [(f"  {where}{task}", "")]
    yield from prompts([told["prompt"]] if told["prompt"] else [])
    if told["files"]:
        yield [("  Files since the one before:", "bold")]
    for path, change in told["files"].items():
        letter, colour = _CHANGES[change]
        yield [(f"    {letter} ", colour), (path, "")]
    if transcript:
        yield from excerpt(told["transcript"], told["start"], full)


def session(told: Record, when: When) -> Iterator[Line]:
    """A session as list-sessions gives it, with all of its checkpoints."""
    agent = told.get("agent_type") or "Agent"
    yield [("session ", ""), (told["session_id"], "yellow"), (f"  {agent}", "green")]
    if "unreadable" in told:
        yield [(f"  its state cannot be read: {told['unreadable']}", "red")]
    phase = told.get("phase") or "without a state"
    facts = [f"{phase}, {told['strategy']}, started {told['started_at'] or 'at no known time'}"]
    if told.get("worktree_path"):
        facts.append(f"in {told['worktree_path']} at {str(told.get('base_commit'))[:12]}")
    yield from ([(f"  {fact}", "")] for fact in [*facts, short(told["description"], 100)])
    if used := spent(told.get("token_usage")):
        yield [(f"  tokens: {used}", "")]
    touched = told.get("files_touched") or ()
    if touched:
        yield [("  Not committed yet:", "bold")]
        yield from ([(f"    {path}", "")] for path in touched)
    if told["checkpoints"]:
        yield [("  Checkpoints:", "bold")]
    for found in told["checkpoints"]:
        name = found["checkpoint_id"] or found["oid"][:12]
        kind = "" if found["checkpoint_id"] else "  (temporary)"
        yield [
            (f"    {name}", "cyan"),
            (f"  {when(found['time'])}  {short(found['message'], 72)}", ""),
            (kind, "dim"),
        ]
        for prompt in found.get("asked", ()):
            yield [(f"      {short(prompt, 100)}", "")]
        for path, change in found.get("files", {}).items():
            letter, colour = _CHANGES.get(change, (" ", ""))
            yield [(f"        {letter} ", colour), (path, "dim")]
