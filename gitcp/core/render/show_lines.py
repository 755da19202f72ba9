"""Draw the lines of `gitcp show` for a committed checkpoint, with its conversation."""

from __future__ import annotations

from gitcp.agents.reading import conversation
from gitcp.core.render.spans import (
    count_noun,
    cut_rows,
    format_shares,
    format_usage,
    shorten,
    split_rows,
)
from gitcp.core.transcript.facts import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Line

    When = Callable[[float], str]  # seconds since 1970 -> date and time

_ROLES = {"User": "green", "Assistant": "", "Tool": "dim"}
_LINES = 12  # of an entry that is not shown in full
_PROMPT = 60


def draw_committed(checkpoint: Record, when: When, full: bool, transcript: bool) -> Iterator[Line]:
    """A committed checkpoint as of subject.read_committed()."""
    yield [("checkpoint ", ""), (checkpoint["checkpoint_id"], "cyan")]
    if checkpoint.get("missing"):
        yield [("  is not stored here; 'gitcp relink' or 'gitcp fetch' may bring it", "dim")]
        return
    for commit in checkpoint["commits"]:
        yield [
            ("  commit ", ""),
            (commit["oid"][:12], "yellow"),
            (f"  {when(commit['time'])}  {commit['author']}  {commit['message']}", ""),
        ]
    if not checkpoint["commits"]:
        yield [("  no commit carries it", "dim")]
    branch = f"branch {checkpoint['branch']}" if checkpoint["branch"] else ""
    files = count_noun(len(checkpoint["files_touched"]), "file")
    facts = [checkpoint["strategy"], branch, files, _format_time(checkpoint["created_at"])]
    yield [("  " + ", ".join(filter(None, facts)), "")]
    for session in checkpoint["contents"]:
        yield []
        yield from _draw_session(session)
        if transcript:
            start = session.get("checkpoint_transcript_start")
            yield from draw_excerpt(session["transcript"], start, full)


def _draw_session(record: Record) -> Iterator[Line]:
    agent = record["agent"] or "Agent"
    yield [("session ", ""), (record["session_id"], "yellow"), (f"  {agent}", "green")]
    branch = f"branch {record['branch']}" if record.get("branch") else ""
    facts = [_format_time(record.get("created_at", "")), branch]
    yield [("  " + ", ".join(filter(None, facts)), "")]
    if record.get("forgotten"):
        time = _format_time(str(record["forgotten"]))
        yield [(f"  forgotten {time}: 'gitcp forget' took it out", "")]
    for key, name in (("token_usage_delta", "this commit"), ("token_usage", "whole session")):
        if used := format_usage(record.get(key), agent):
            yield [(f"  {name}: {used}", "")]
    yield from _draw_attribution(ensure_object(record.get("initial_attribution")))
    if record.get("commit"):
        yield [(f"  linked by a note to commit {record['commit']}", "")]
    if intent := ensure_object(record.get("summary")).get("intent"):
        yield [(f"  {intent}", "")]
    if record["hash"] == "differs":
        yield [("  the transcript does not match its content hash", "red")]
    yield from draw_prompts(record["prompts"])
    yield from _draw_files(record["files"])
    if record["tasks"]:
        yield [("  Tasks:", "bold")]
        yield from ([(f"    {path}", "")] for path in record["tasks"])


def _format_time(stored: str) -> str:
    """A stored time without its fraction of a second."""
    seconds, dot, _ = stored.partition(".")
    return f"{seconds}Z" if dot else stored


def _draw_attribution(credit: Record) -> Iterator[Line]:
    if credit:
        keys = ("agent_lines", "agent_removed", "total_committed")
        counts = (credit.get(key) for key in keys)
        added, removed, total = (n if isinstance(n, int) else 0 for n in counts)
        share = credit.get("agent_percentage")
        percent = f" ({share:.0f} %)" if isinstance(share, (int, float)) else ""
        words = [f"{added + removed} of {count_noun(total, 'line')} by the agent{percent}"]
        people = {k: credit.get(f"human_{k}") or 0 for k in ("added", "modified", "removed")}
        words += [f"{count} {verb} by the person" for verb, count in people.items() if count]
        yield [(f"  attribution: {', '.join(words)}", "")]
    if hands := format_shares(credit, ("agent", "others", "person", "unknown")):
        yield [(f"  lines: {hands}", "")]


def draw_prompts(texts: Sequence[str]) -> Iterator[Line]:
    """The prompts, numbered, a line for each."""
    if texts:
        yield [("  Prompts:", "bold")]
    for number, prompt in enumerate(texts, 1):
        yield [(f"    {number:2}  {shorten(prompt, 100)}", "")]


def _draw_files(files: dict[str, Record]) -> Iterator[Line]:
    if files:
        yield [("  Files:", "bold")]
    for path, by in files.items():
        prompt = f"  {shorten(by['prompt'], _PROMPT)}" if by["prompt"] else ""
        yield [(f"    {path}", ""), (prompt, "dim")]


def draw_excerpt(transcript: bytes, start: object, full: bool) -> Iterator[Line]:
    """The conversation in a transcript: shortened from item start on, or in full."""
    first = start if isinstance(start, int) and not full else 0
    entries = conversation.list_entries(transcript, first)
    for number, (role, text) in enumerate(entries):
        if not number:
            yield [("  Transcript:", "bold")]
        rows = split_rows(text)
        if not full:
            rows = cut_rows(rows, _LINES, lambda left: f"… {count_noun(left, 'more line')}")
        yield [(f"    [{role}] ", _ROLES[role]), (rows[0], "dim" if role == "Tool" else "")]
        yield from ([(f"      {line}", "")] for line in rows[1:])
