"""Format the texts that an editor shows of a line: hover, lens, and the turn that wrote it."""

from __future__ import annotations

from itertools import groupby

from gitcp.core.render.spans import SHORTEST, count_noun, shorten
from gitcp.core.render.why_lines import describe_other_author

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.conversation import Around, Entry

    Record = Mapping[str, Any]  # of type `line`
    Words = tuple[Around | None, list[Entry]]

_LINE, _ANSWER = 100, 600  # characters
UNSAVED = "changed in the editor: not saved yet"


def format_hover(record: Record, words: Words, subject: str) -> str:
    """The author of a line, its prompt, the agent's words about it, and its commit."""
    lines = [_format_author(record)]
    if record["who"] == "session":
        lines += [f"> {shorten(record['prompt'], _LINE)}"] if record["prompt"] else []
        lines += [answer] if (answer := _choose_answer(words)) else []
    name = f"commit {record['commit'][:12]}  {subject}"
    return "\n\n".join([*lines, name if record["commit"].strip("0") else "not committed yet"])


def _format_author(record: Record) -> str:
    if record["who"] == "session":
        model = f" ({record['model']})" if record["model"] else ""
        return f"{name_turn(record)}{model}, session {record['session_id'][:SHORTEST]}"
    return describe_other_author(record, record["commit"].strip("0"))


def _choose_answer(words: Words) -> str:
    """The agent's words next to the call, else its last ones in the turn, shortened."""
    call, entries = words
    texts = [call["before"], call["after"]] if call else []
    texts += [text for role, text in reversed(entries) if role == "Assistant"]
    text = next(filter(str.strip, texts), "").strip()
    return text if len(text) <= _ANSWER else text[:_ANSWER].rstrip() + "…"


def name_turn(record: Record) -> str:
    """The name of a turn: its agent, and the number of its prompt."""
    number = f" #{record['number']}" if record["number"] is not None else ""
    return f"{record['agent'] or 'Agent'}{number}"


def list_lenses(records: Sequence[Record | None]) -> Iterator[tuple[int, str]]:
    """(index of the first line, title) of the lens of each run of lines from the same turn.

    records: one for each line of a text, None if its author is unknown.
    """
    start = 0
    for turn, run in groupby(records, _identify_turn):
        lines = list(run)
        if turn and lines[0]:
            yield start, f"{name_turn(lines[0])} · {count_noun(len(lines), 'line')}"
        start += len(lines)


def _identify_turn(record: Record | None) -> tuple[str, str] | None:
    if not record or record["who"] != "session":
        return None
    return record["session_id"], record["turn_id"]


def format_turn(record: Record, words: Words, subject: str) -> str:
    """The turn that wrote a line, as text."""
    entries = [f"[{role}] {text}" for role, text in words[1]] or [f"[User] {record['prompt']}"]
    commit = f"commit {record['commit']}  {subject}\n" if record["commit"].strip("0") else ""
    checkpoint = f"checkpoint {record['checkpoint_id']}\n" if record["checkpoint_id"] else ""
    head = f"{name_turn(record)}, session {record['session_id']}\n{commit}{checkpoint}"
    return head + "".join(f"\n{entry}\n" for entry in entries)
