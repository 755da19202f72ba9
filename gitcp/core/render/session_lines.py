"""Draw the lines of `gitcp show` for a temporary checkpoint, a point and a session."""

from __future__ import annotations

from gitcp.core.back.point_list import describe_lacking
from gitcp.core.render.show_lines import draw_excerpt, draw_prompts
from gitcp.core.render.spans import count_noun, cut_rows, format_usage, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Record
    from gitcp.core.render.show_lines import When
    from gitcp.core.render.spans import Line


_LINES = 12  # of a list that is not shown in full
_POINTS = {  # kind -> (description, the noun for what changed files after it)
    "prompt": ("before a prompt", "turn"),
    "tool": ("before a tool use", "tool use"),
    "safety": ("kept by undo", "step"),
}
_CHANGES = {"added": ("A", "green"), "modified": ("M", "yellow"), "deleted": ("D", "red")}


def draw_temporary(checkpoint: Record, when: When, full: bool, transcript: bool) -> Iterator[Line]:
    """A temporary checkpoint as of subject.read_temporary()."""
    yield [("temporary checkpoint ", ""), (checkpoint["oid"], "cyan")]
    yield [(f"  {when(checkpoint['time'])}  {checkpoint['message']}", "")]
    agent = checkpoint["agent"] or "Agent"
    yield [("  session ", ""), (checkpoint["session_id"], "yellow"), (f"  {agent}", "green")]
    where = f"stream {checkpoint['stream']}, base {checkpoint['base_commit'][:12] or '?'}"
    task = f", task {checkpoint['tool_use_id']}" if checkpoint["tool_use_id"] else ""
    yield [(f"  {where}{task}", "")]
    yield from draw_prompts([checkpoint["prompt"]] if checkpoint["prompt"] else [])
    yield from _draw_changes("Files since the one before", checkpoint["files"])
    if transcript:
        yield from draw_excerpt(checkpoint["transcript"], checkpoint["start"], full)


def draw_point(record: Record, when: When) -> Iterator[Line]:
    """A point that is not a checkpoint, as of store.back.trees.show()."""
    kind, whose = _POINTS[record["kind"]]
    if record["id"].endswith(":after"):
        kind = kind.replace("before", "after")
    yield [("point ", ""), (record["id"], "cyan"), (f"  {kind}", "")]
    yield [(f"  {when(record['time'])}  {record['message']}", "")]
    if record["session_id"]:
        yield [("  session ", ""), (record["session_id"], "yellow")]
    gone = "it has expired: its content is gone" if record["gone"] else ""
    for sentence in filter(None, (describe_lacking(record["kind"], record["lacking"]), gone)):
        yield [(f"  {sentence}", "red")]
    yield from draw_prompts([record["session_prompt"]] if record["session_prompt"] else [])
    yield from _draw_changes(f"Files that this {whose} changed", record["files"])


def _draw_changes(head: str, files: dict[str, str]) -> Iterator[Line]:
    if files:
        yield [(f"  {head}:", "bold")]
    for path, change in files.items():
        letter, colour = _CHANGES[change]
        yield [(f"    {letter} ", colour), (path, "")]


def draw_session(record: Record, when: When, full: bool) -> Iterator[Line]:
    """A session as of list-sessions, with its checkpoints, which may be an iterator.  full: with
    every prompt and file of each."""
    agent = record.get("agent_type") or "Agent"
    yield [("session ", ""), (record["session_id"], "yellow"), (f"  {agent}", "green")]
    if "unreadable" in record:
        yield [(f"  its state cannot be read: {record['unreadable']}", "red")]
    phase = record.get("phase") or "without a state"
    facts = [f"{phase}, {record['strategy']}, started {record['started_at'] or 'at no known time'}"]
    if record.get("worktree_path"):
        facts.append(f"in {record['worktree_path']} at {str(record.get('base_commit'))[:12]}")
    yield from ([(f"  {fact}", "")] for fact in [*facts, shorten(record["description"], 100)])
    if used := format_usage(record.get("token_usage"), agent):
        yield [(f"  {used}", "")]
    touched = record.get("files_touched") or ()
    if touched:
        yield [("  Not committed yet:", "bold")]
        most = len(touched) if full else _LINES
        rows = [(f"    {path}", "") for path in touched]
        rows = cut_rows(rows, most, lambda n: (f"    … {count_noun(n, 'more file')}", "dim"))
        yield from ([row] for row in rows)
    for number, checkpoint in enumerate(record["checkpoints"]):
        if not number:
            yield [("  Checkpoints:", "bold")]
        yield from _draw_checkpoint(checkpoint, when, full)


def _draw_checkpoint(checkpoint: Record, when: When, full: bool) -> Iterator[Line]:
    """A line for a session's checkpoint and its last prompt; full: each prompt and file."""
    name = checkpoint["checkpoint_id"] or checkpoint["oid"][:12]
    asked, files = checkpoint.get("asked", ()), checkpoint.get("files", {})
    kind = "" if checkpoint["checkpoint_id"] else "  (temporary)"
    folded = [count_noun(len(asked), "prompt")] if len(asked) > 1 else []
    folded += [count_noun(len(files), "file")] if files else []
    yield [
        (f"    {name}", "cyan"),
        (f"  {when(checkpoint['time'])}  {shorten(checkpoint['message'], 72)}", ""),
        (kind, "dim"),
        (f"  {', '.join(folded)}" if folded and not full else "", "dim"),
    ]
    for prompt in asked if full else asked[-1:]:
        yield [(f"      {shorten(prompt, 100)}", "")]
    for path, change in files.items() if full else ():
        letter, colour = _CHANGES.get(change, (" ", ""))
        yield [(f"        {letter} ", colour), (path, "dim")]
