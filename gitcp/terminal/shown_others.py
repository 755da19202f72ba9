"""The lines of `gitcp show` for a session, a point and what was saved after a prompt."""

from __future__ import annotations

from collections.abc import Iterator

from gitcp.agents.reading import prompts_done
from gitcp.steps import handover_text
from gitcp.steps.back.point import AFTER, describe_lacking, shorten_ids
from gitcp.terminal.rows import INDENT, NO_LIMIT, ScreenRow, draw_row, name_state
from gitcp.terminal.shown import View, draw_prompt, draw_prompted
from gitcp.terminal.usage import format_usage
from gitcp.text import prompt_text
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun, cut_rows, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Line

_FILES = 12  # of a list that is not shown in full
_POINTS = {  # kind -> (what its row says, the noun for what changed files after it)
    "prompt": ("prompt", "prompt"),
    "tool": ("tool use", "tool use"),
    "safety": ("kept by undo", "step"),
}
_CHANGES = {"added": ("A", "green"), "modified": ("M", "yellow"), "deleted": ("D", "red")}


def draw_session(record: Record, view: View) -> Iterator[Line]:
    """A record of list-sessions with its checkpoints, which may be an iterator: what is not
    committed, then a row for each prompt that was saved or committed."""
    agent = record.get("agent_type") or "Agent"
    yield [
        ("session ", ""),
        (shorten_id(record["session_id"]), "yellow"),
        (", ", ""),
        (agent, "green"),
        (_describe_state(record), ""),
    ]
    if "unreadable" in record:
        yield [(f"  cannot be read: {record['unreadable']}", "red")]
    description = prompt_text.read_first_line(record["description"])
    if description:
        text = f"  > {description}"
        yield [(text if view.width == NO_LIMIT else shorten(text.strip(), view.width - 2), "")]
    if view.verbose:
        yield from _draw_stored(record, agent)
    touched = record.get("files_touched") or ()
    if touched:
        yield [("not committed", "bold")]
        rows: list[Line] = [[(f"  {path}", "")] for path in touched]
        most = len(rows) if view.full else _FILES
        yield from cut_rows(rows, most, _count_more)
    for number, checkpoint in enumerate(record["checkpoints"]):
        if not number:
            yield [("prompts", "bold")]
        yield from _draw_step(checkpoint, view)


def _count_more(count: int) -> Line:
    return [(f"  … {count_noun(count, 'more file')}: --full", "dim")]


def _describe_state(record: Record) -> str:
    """`, waiting, since 2026-03-15 01:10`; only the time of one that has no state here."""
    words = ""
    if record.get("phase"):
        words += f", {name_state(str(record['phase']), bool(record.get('dead')))}"
    if record["started_at"]:
        words += f", begun {str(record['started_at'])[:10]}"
    return words


def _draw_stored(record: Record, agent: str) -> Iterator[Line]:
    """What is stored of a session."""
    yield [(f"  id {record['session_id']}, {record['strategy']}", "dim")]
    if record.get("worktree_path"):
        base = abbreviate(str(record.get("base_commit")))
        yield [(f"  in {record['worktree_path']} at {base}", "dim")]
    used = format_usage(record.get("token_usage"), agent)
    if used:
        yield [(f"  {used}", "dim")]


def _draw_step(checkpoint: Record, view: View) -> Iterator[Line]:
    """What was committed, or saved after a prompt, with the last prompt and the files."""
    asked = checkpoint.get("asked", ())
    files = checkpoint.get("files", {})
    names = prompt_text.list_names(asked)
    if names:
        text = f"> {prompt_text.read_first_line(names[-1])}"
    else:
        text = checkpoint["message"]
    if len(names) > 1:
        numbers = [count_noun(len(names), "prompt")]
    else:
        numbers = []
    if files:
        numbers.append(count_noun(len(files), "file"))
    commit = checkpoint.get("commit") or ""
    name = commit or checkpoint["checkpoint_id"] or checkpoint["oid"]
    is_saved = not checkpoint["checkpoint_id"]
    who = "saved" if is_saved else "committed"
    if view.verbose and checkpoint["checkpoint_id"]:
        who = checkpoint["checkpoint_id"]
    row = ScreenRow(
        abbreviate(name),
        view.ago(checkpoint["time"]),
        who,
        text,
        ", ".join(numbers),
        "dim",
        indent=INDENT,
    )
    yield draw_row(row, view.width)
    parent, agent = handover_text.find_parent(asked)
    if parent:
        yield [(f"    goes on from session {shorten_id(parent)} of {agent}", "dim")]
    if not view.full:
        return
    for prompt in names:
        yield from draw_prompt(prompt, view)
    for path, change in files.items():
        letter, colour = _CHANGES.get(change, (" ", ""))
        yield [(f"    {letter} ", colour), (path, "dim")]


def draw_saved(checkpoint: Record, view: View) -> Iterator[Line]:
    """A temporary checkpoint as read_temporary() makes it."""
    agent = checkpoint["agent"] or "Agent"
    prompt = prompt_text.read_first_line(checkpoint["prompt"])
    if prompt:
        text = f"> {prompt}"
    else:
        text = checkpoint["message"]
    row = ScreenRow(abbreviate(checkpoint["oid"]), view.ago(checkpoint["time"]), agent, text)
    yield draw_row(row, view.width)
    base = abbreviate(checkpoint["base_commit"]) or "?"
    yield [
        ("saved after a prompt of session ", ""),
        (shorten_id(checkpoint["session_id"]), "yellow"),
        (f", on {base}", ""),
    ]
    if view.verbose:
        task = ""
        if checkpoint["tool_use_id"]:
            task = f", task {checkpoint['tool_use_id']}"
        yield [(f"  {checkpoint['oid']} on stream {checkpoint['stream']}{task}", "dim")]
    yield from _draw_changes("changed since the point before", checkpoint["files"])
    if view.talk:
        start = 0 if view.whole else checkpoint["start"]
        done = prompts_done.list_prompted(checkpoint["transcript"], checkpoint["agent"])
        for prompted in [one for one in done if one.line >= start] or done[-1:]:
            yield from draw_prompted(prompted, checkpoint["files"], view)


def draw_point(record: Record, view: View) -> Iterator[Line]:
    """A point that is not a checkpoint, as gitcp.steps.back.steps makes it."""
    kind, whose = _POINTS[record["kind"]]
    text = prompt_text.read_first_line(record["session_prompt"])
    point_id = record["id"].removesuffix(AFTER)
    name = shorten_ids([point_id])[point_id]
    row = ScreenRow(
        record["id"] if view.verbose else name,
        view.ago(record["time"]),
        kind,
        f"before > {text}" if text and record["kind"] == "prompt" else record["message"],
    )
    yield draw_row(row, view.width)
    if record["session_id"]:
        yield [("session ", ""), (shorten_id(record["session_id"]), "yellow")]
    expired = ""
    if record["gone"]:
        expired = "it has expired: its content is gone"
    for sentence in (describe_lacking(record["kind"], record["lacking"]), expired):
        if sentence:
            yield [(sentence, "red")]
    if record["session_prompt"]:
        yield from draw_prompt(record["session_prompt"], view)
    yield from _draw_changes(f"files that this {whose} changed", record["files"])


def _draw_changes(head: str, files: dict[str, str]) -> Iterator[Line]:
    if files:
        yield [(head, "bold")]
    for path, change in files.items():
        letter, colour = _CHANGES[change]
        yield [(f"  {letter} ", colour), (path, "")]
