"""Draw the lines of `gitcp explain`, in the original program's form."""

from __future__ import annotations

from gitcp.core.render.show_lines import draw_excerpt
from gitcp.core.render.spans import format_usage, shorten
from gitcp.core.transcript.facts import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.core.record_types import Record
    from gitcp.core.render.show_lines import When
    from gitcp.core.render.spans import Line


_PROMPT = 60
SHORT, SCOPE, FULL = "short", "scope", "full"


def draw_branch(branch: str, rows: Iterable[Record], when: When) -> Iterator[Line]:
    """The checkpoints of a branch: {id, kinds, prompt, rows: [{time, oid, message}]} each."""
    checkpoints = list(rows)
    yield [("Branch: ", "bold"), (branch, "")]
    yield [("Checkpoints: ", "bold"), (str(len(checkpoints)), "")]
    for row in checkpoints:
        yield []
        kinds = "".join(f" [{kind}]" for kind in row["kinds"])
        prompt = f' "{shorten(row["prompt"], _PROMPT)}"' if row["prompt"] else ""
        yield [(f"[{row['id'][:12]}]", "cyan"), (kinds, "dim"), (prompt, "")]
        for commit in row["rows"]:
            at = f"  {when(commit['time'])[5:]} ({commit['oid'][:7]}) "
            yield [(at, "dim"), (commit["message"], "")]


def draw_committed(checkpoint: Record, when: When, how: str) -> Iterator[Line]:
    """A committed checkpoint with each of its sessions, as of subject.read_committed()."""
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
                at = f"  {commit['oid'][:7]} {when(commit['time'])[:10]} "
                yield [(at, "dim"), (commit["message"], "")]
        yield []
        yield from _draw_summary(ensure_object(session.get("summary")), session["asked"])
        yield from _draw_files(session["files"])
        yield from _draw_transcript(session, session.get("checkpoint_transcript_start"), how)


def draw_temporary(checkpoint: Record, when: When, how: str) -> Iterator[Line]:
    """A temporary checkpoint as of subject.read_temporary()."""
    yield from _draw_fact("Checkpoint", f"{checkpoint['oid'][:12]} [temporary]")
    yield from _draw_fact("Session", checkpoint["session_id"])
    yield from _draw_fact("Agent", checkpoint["agent"])
    yield from _draw_fact("Created", when(checkpoint["time"]))
    yield []
    yield from _draw_summary({}, [checkpoint["prompt"]] if checkpoint["prompt"] else [])
    yield from _draw_files(checkpoint["files"])
    yield from _draw_transcript(checkpoint, checkpoint["start"], how)


def _draw_fact(name: str, value: str) -> Iterator[Line]:
    if value:
        yield [(f"{name}: ", "bold"), (value, "")]


def _draw_summary(summary: Record, asked: list[str]) -> Iterator[Line]:
    """The lines of a summary; the last prompt takes the place of a missing intent."""
    intent = summary.get("intent") or (shorten(asked[-1], 200) if asked else "")
    yield from _draw_fact("Intent", str(intent))
    yield from _draw_fact("Outcome", str(summary.get("outcome") or ""))
    learned = ensure_object(summary.get("learnings"))
    items = [x for part in learned.values() if isinstance(part, list) for x in part]
    yield from _draw_items("Learnings", items)
    yield from _draw_items("Friction", summary.get("friction"))
    yield from _draw_items("Open Items", summary.get("open_items"))


def _draw_items(name: str, items: Any) -> Iterator[Line]:
    if isinstance(items, list) and items:
        yield [(f"{name}:", "bold")]
        for item in items:
            words = " ".join(map(str, item.values())) if isinstance(item, dict) else str(item)
            yield [(f"  - {words}", "")]


def _draw_files(files: Record) -> Iterator[Line]:
    yield [(f"Files: ({len(files)})", "bold")]
    yield from ([(f"  {path}", "")] for path in files)


def _draw_transcript(session: Record, start: Any, how: str) -> Iterator[Line]:
    if how == SHORT:
        return
    scope = "full session" if how == FULL else "checkpoint scope"
    lines = draw_excerpt(session["transcript"], start, how == FULL)
    for number, line in enumerate(lines):
        yield [(f"Transcript ({scope}):", "bold")] if not number else line
