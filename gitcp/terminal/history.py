"""Draw commits and sessions: the lines of `log` and `sessions`."""

from __future__ import annotations

from gitcp.steps import handover_text
from gitcp.terminal import usage
from gitcp.terminal.rows import (
    ENDED,
    INDENT,
    NO_LIMIT,
    STATES,
    ScreenRow,
    count_tasks,
    draw_below,
    draw_row,
    format_changes,
    list_paths,
    name_session,
)
from gitcp.text import prompt_text
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import (
    COMMAND,
    abbreviate,
    count_noun,
    shorten,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.schema import Part
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Ago, Line

    Changed = tuple[int, int]  # lines added and removed
    Share = tuple[str, str, str, int]  # author, colour, sign in a bar, lines
    When = Callable[[float], str]  # seconds since 1970 -> date and time
    Shown = Mapping[str, Any]


def draw_log(commit: Record, ago: Ago, width: int, counted: Changed | None) -> Iterator[Line]:
    """The row of a commit, and below it rows of at most _ROWS sessions behind it.

    width: cells of a row, rows.NO_LIMIT for any.  counted: the lines added and removed."""
    parts = list_parts(commit)
    numbers = ""
    if counted:
        numbers = format_changes(*counted)
    yield draw_row(build_commit_row(commit, ago, numbers), width)
    for part in parts[:_ROWS]:
        yield draw_row(_build_session_row(part), width)
    words: list[str] = []
    left = len(parts) - _ROWS
    if left > 0:
        words.append(f"and {count_noun(left, 'more session')}")
    if _lacks_checkpoint(commit):
        words.append("a session is not here: 'gitcp fetch' may bring it")
    if words:
        yield [(f"{INDENT}{'; '.join(words)}", "dim")]


def build_commit_row(commit: Shown, ago: Ago, numbers: str) -> ScreenRow:
    """The row of a commit.  numbers: its lines by format_changes()."""
    style = ""
    if commit.get("checkpoints"):
        style = "bold"
    when = ago(commit["time"])
    oid = abbreviate(commit["oid"])
    return ScreenRow(oid, when, commit["author"], commit["message"], numbers, "blue", style)


_ROWS = 2  # sessions of a commit that have a row


def list_parts(commit: Record) -> list[Part]:
    """The sessions behind a commit, each once, those first that wrote most."""
    parts: dict[str, Part] = {}
    for link in commit["checkpoints"]:
        for part in link.get("contents", ()):
            parts.setdefault(part["session_id"], part)

    def count_lines(part: Part) -> int:
        return usage.count_session(commit, part["session_id"])

    return sorted(parts.values(), key=count_lines, reverse=True)


def _build_session_row(part: Part) -> ScreenRow:
    text = name_session(part)
    if part.get("forgotten"):
        text = f"forgotten {str(part['forgotten'])[:10]}"
    parent, agent = handover_text.find_parent(part["asked"])
    if parent:
        text += f" (goes on from session {shorten_id(parent)} of {agent})"
    tasks = count_tasks(part)
    text = text or "no prompt is recorded"
    typed = len(prompt_text.list_names(part["asked"]))
    if typed > 1:
        tasks = ", ".join(filter(None, [f"{typed} prompts", tasks]))
    who = part["agent"] or "Agent"
    return ScreenRow(shorten_id(part["session_id"]), "", who, text, tasks, indent=INDENT)


def draw_oneline(commit: Record, ago: Ago, width: int, counted: Changed | None) -> Iterator[Line]:
    """The row of a commit, with the number of sessions behind it at its end."""
    parts = list_parts(commit)
    numbers: list[str] = []
    if counted:
        numbers.append(format_changes(*counted))
    if parts:
        numbers.append(f"({len(parts)})")
    if _lacks_checkpoint(commit):
        numbers.append("(not here)")
    yield draw_row(build_commit_row(commit, ago, " ".join(filter(None, numbers))), width)


def _lacks_checkpoint(commit: Record) -> bool:
    return any(link.get("missing") for link in commit["checkpoints"])


_TURN_DIGITS = 8


OUTCOMES = {
    "rewound": "taken back by gitcp",
    "discarded": "discarded",
    "stashed": "put into a stash entry that is gone",
    "overwritten": "overwritten",
}


def draw_abandoned(record: Record, ago: Ago, width: int = NO_LIMIT) -> Iterator[Line]:
    """A turn of which work was given up: its prompt, what it changed, how it went, the prompt after
    it, and the way back."""
    files = record["files"].values()
    added = sum(file.get("added", 0) for file in files)
    removed = sum(file.get("removed", 0) for file in files)
    who = record["agent"] or "Agent"
    text = _quote_prompt(record["prompt"])
    numbers = format_changes(added, removed)
    row = ScreenRow(record["turn"][:_TURN_DIGITS], ago(record["time"]), who, text, numbers)
    yield draw_row(row, width)
    for path, file in record["files"].items():
        counted = f"{path}  +{file.get('added', 0)} -{file.get('removed', 0)}"
        yield [(INDENT, ""), (_cut_text(counted, width), "")]
    outcome = str(OUTCOMES.get(record["how"], record["how"]))
    if record["by"]:
        outcome += f" by session {shorten_id(record['by'])}"
    after = prompt_text.read_first_line(record["next_prompt"])
    if after:
        outcome += f", then > {after}"
    yield [(INDENT, ""), (_cut_text(outcome, width), "dim")]
    if record["restore"]:
        yield [(INDENT, ""), (record["restore"], COMMAND)]
    else:
        why = "are in the clone that recorded it"
        if record["worktree"]:
            why = "are not kept any more"
        yield [(f"{INDENT}its contents {why}", "dim")]


def _quote_prompt(prompt: str) -> str:
    """The first line of a prompt as the text of a row."""
    name = prompt_text.read_first_line(prompt)
    if name:
        return f"> {name}"
    return "no prompt is recorded"


def _cut_text(text: str, width: int) -> str:
    """A text below a row in the cells that are left."""
    if width == NO_LIMIT:
        return text
    return shorten(text, max(1, width - len(INDENT)))


def draw_sessions(
    records: Sequence[Shown], ago: Ago, width: int, *, with_places: bool
) -> Iterator[Line]:
    """A row for each session, and below it what it does, its uncommitted files, and its worktree
    if they are in several.

    with_places: the sessions of each repository below its path.  width: as for draw_row()."""
    names_worktrees = with_places or len({record["worktree"] for record in records}) > 1
    repository = ""
    for record in records:
        if with_places and record["repository"] != repository:
            if repository:
                yield []
            repository = record["repository"]
            yield [(repository, "bold")]
        yield draw_row(_build_activity_row(record, ago), width)
        doing = STATES[record["state"]]
        if doing == ENDED:
            doing = ""
        files = list_paths(record["files_touched"], width, room=len(doing) + 2)
        words = [word for word in (doing, files) if word]
        if words and record["worktree"] and names_worktrees:
            words.append(f"in {record['worktree']}")
        if words:
            yield draw_below("  ".join(words), width)


def _build_activity_row(record: Shown, ago: Ago) -> ScreenRow:
    text = _quote_prompt(record["prompt"])
    if record.get("title") and not record["files_touched"]:
        text = str(record["title"])
    tasks = record.get("tasks")
    numbers = ""
    if tasks:
        numbers = f"and {count_noun(tasks, 'task')}"
    who = record["agent"] or "Agent"
    name = shorten_id(record["session_id"])
    return ScreenRow(name, ago(record["last"]), who, text, numbers, indent=INDENT)
