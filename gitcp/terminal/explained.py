"""Draw the lines of `gitcp explain`, in the original program's form: checkpoints with their
conversations."""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.agents.reading import conversation
from gitcp.terminal.usage import format_usage
from gitcp.text import prompt_text
from gitcp.text.json import ensure_object
from gitcp.text.spans import (
    abbreviate,
    count_noun,
    cut_rows,
    shorten,
    split_rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.text.record_types import Record
    from gitcp.text.spans import Line

    Changed = tuple[int, int]  # lines added and removed
    Share = tuple[str, str, str, int]  # author, colour, sign in a bar, lines
    When = Callable[[float], str]  # seconds since 1970 -> date and time
    Shown = Mapping[str, Any]

_TURN_PROMPT = 60
_INTENT = 200  # characters
SHORT = "short"
SCOPE = "scope"
FULL = "full"


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit of a checkpoint.  time: in seconds since 1970; message: its first line."""

    time: float
    oid: str
    message: str


@dataclass(slots=True)
class CheckpointRow:
    """A checkpoint of a branch.  kinds: the words in brackets behind its id."""

    id: str
    kinds: list[str]
    prompt: str
    commits: list[CommitRow]


def draw_branch(branch: str, checkpoints: Collection[CheckpointRow], when: When) -> Iterator[Line]:
    """The checkpoints of a branch."""
    yield [("Branch: ", "bold"), (branch, "")]
    yield [("Checkpoints: ", "bold"), (str(len(checkpoints)), "")]
    for row in checkpoints:
        yield []
        kinds = "".join(f" [{kind}]" for kind in row.kinds)
        name = prompt_text.name_prompt(row.prompt)
        prompt = ""
        if name:
            prompt = f' "{shorten(name, _TURN_PROMPT)}"'
        yield [(f"[{row.id[:12]}]", "cyan"), (kinds, "dim"), (prompt, "")]
        for commit in row.commits:
            at = f"  {when(commit.time)[5:]} ({abbreviate(commit.oid)}) "
            yield [(at, "dim"), (commit.message, "")]


def draw_committed(checkpoint: Record, when: When, how: str) -> Iterator[Line]:
    """A committed checkpoint with each of its sessions, as gitcp.link.commits makes it."""
    yield from _draw_fact("Checkpoint", checkpoint["checkpoint_id"])
    if checkpoint.get("missing"):
        yield [("It is not in this repository; 'gitcp fetch' may bring it.", "dim")]
        return
    authors = dict.fromkeys(commit["author"] for commit in checkpoint["commits"])
    for number, session in enumerate(checkpoint["contents"]):
        if number:
            yield []
        facts = {
            "Session": session["session_id"],
            "Agent": session["agent"],
            "Created": str(session.get("created_at") or checkpoint["created_at"]),
            "Author": ", ".join(authors),
            "Forgotten": str(session.get("forgotten") or ""),
            "Tokens": format_usage(session.get("token_usage"), session.get("agent", "")),
        }
        for name, value in facts.items():
            yield from _draw_fact(name, value)
        if not number:
            yield [(f"Commits: ({len(checkpoint['commits'])})", "bold")]
            for commit in checkpoint["commits"]:
                at = f"  {abbreviate(commit['oid'])} {when(commit['time'])[:10]} "
                yield [(at, "dim"), (commit["message"], "")]
        yield []
        yield from _draw_summary(ensure_object(session.get("summary")), session["asked"])
        yield from _draw_files(session["files"])
        yield from _draw_transcript(
            session["transcript"], session.get("checkpoint_transcript_start"), how
        )


def draw_temporary(checkpoint: Record, when: When, how: str) -> Iterator[Line]:
    """A temporary checkpoint as gitcp.link.commits makes it."""
    yield from _draw_fact("Checkpoint", f"{checkpoint['oid'][:12]} [temporary]")
    yield from _draw_fact("Session", checkpoint["session_id"])
    yield from _draw_fact("Agent", checkpoint["agent"])
    yield from _draw_fact("Created", when(checkpoint["time"]))
    yield []
    yield from _draw_summary({}, [checkpoint["prompt"]])
    yield from _draw_files(checkpoint["files"])
    yield from _draw_transcript(checkpoint["transcript"], checkpoint["start"], how)


def _draw_fact(name: str, value: str) -> Iterator[Line]:
    if value:
        yield [(f"{name}: ", "bold"), (value, "")]


def _draw_summary(summary: Record, asked: list[str]) -> Iterator[Line]:
    """The lines of a summary; the last prompt takes the place of a missing intent."""
    names = prompt_text.list_names(asked)
    intent = str(summary.get("intent") or "")
    if names and not intent:
        intent = shorten(names[-1], _INTENT)
    yield from _draw_fact("Intent", intent)
    yield from _draw_fact("Outcome", str(summary.get("outcome") or ""))
    learned = ensure_object(summary.get("learnings"))
    items = []
    for part in learned.values():
        if isinstance(part, list):
            items += part
    yield from _draw_items("Learnings", items)
    yield from _draw_items("Friction", summary.get("friction"))
    yield from _draw_items("Open Items", summary.get("open_items"))


def _draw_items(name: str, items: Any) -> Iterator[Line]:
    if isinstance(items, list) and items:
        yield [(f"{name}:", "bold")]
        for item in items:
            if isinstance(item, dict):
                words = " ".join(map(str, item.values()))
            else:
                words = str(item)
            yield [(f"  - {words}", "")]


def _draw_files(files: Collection[str]) -> Iterator[Line]:
    yield [(f"Files: ({len(files)})", "bold")]
    yield from ([(f"  {path}", "")] for path in files)


def _draw_transcript(transcript: bytes, start: Any, how: str) -> Iterator[Line]:
    if how == SHORT:
        return
    scope = "checkpoint scope"
    if how == FULL:
        scope = "full session"
    drawn = draw_excerpt(transcript, start, how == FULL)
    for number, line in enumerate(drawn):
        if number:
            yield line
        else:
            yield [(f"Transcript ({scope}):", "bold")]


_ROLES = {"User": "green", "Assistant": "", "Tool": "dim"}
_LINES = 12  # of an entry that is not shown in full


def draw_excerpt(transcript: bytes, start: object, full: bool) -> Iterator[Line]:
    """The conversation in a transcript: shortened from item start on, or in full."""
    first = 0
    if isinstance(start, int) and not full:
        first = start
    yield from _draw_entries(conversation.list_entries(transcript, first), full)


def _draw_entries(entries: Iterable[tuple[str, str]], full: bool) -> Iterator[Line]:
    for number, (role, text) in enumerate(entries):
        if not number:
            yield [("  Transcript:", "bold")]
        lines = split_rows(text)
        if not full:
            lines = cut_rows(lines, _LINES, lambda left: f"… {count_noun(left, 'more line')}")
        colour = ""
        if role == "Tool":
            colour = "dim"
        yield [(f"    [{role}] ", _ROLES[role]), (lines[0], colour)]
        for line in lines[1:]:
            yield [(f"      {line}", "")]
