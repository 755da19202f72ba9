"""Who wrote a line, by what checkpoints recorded of the commit that brought it.

The record is `lines.json` (gitcp-formats(5)): for each path the committed blobs with ranges of
lines and their authors.  Only evidence counts: a line that no record knows is nobody's here.
"""

from __future__ import annotations

from itertools import groupby

from gitcp.core.lines import line_diff, replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    class Record(TypedDict):
        """What one session of one checkpoint recorded.  time: when, for the order of records."""

        checkpoint_id: str
        session_id: str
        metadata: Mapping[str, Any]
        lines: Mapping[str, Any] | None
        time: str

    class Author(TypedDict):
        """who: "session", "person", "unknown" or "unrecorded"; the other keys are of a session's
        line, but for the agent that a commit attests where nothing was recorded."""

        who: str
        session_id: str
        agent: str
        turn_id: str
        number: int | None
        prompt: str
        model: str
        tool_use_id: str | None
        checkpoint_id: str

    Ranges = Sequence[Sequence[Any]]
    Blob = Callable[[str], bytes | None]
    Other = Callable[[str, str], Record | None]  # of a checkpoint and a session
    Spread = Callable[[Record, Mapping[str, Any]], dict[int, Author]]  # of an entry

_MOST = 1 << 20  # lines of a range: a damaged one must not fill the memory


def build_nobody(who: str) -> Author:
    """The author of a line that is no session's."""
    return {
        "who": who,
        "session_id": "",
        "agent": "",
        "turn_id": "",
        "number": None,
        "prompt": "",
        "model": "",
        "tool_use_id": None,
        "checkpoint_id": "",
    }


_UNKNOWN = build_nobody("unknown")


def credit_blob(
    records: Sequence[Record], path: str, oid: str, blob: Blob, other: Other
) -> dict[int, Author]:
    """The authors of the lines of path as a commit has it (blob oid), by 1-based line.

    records: of all checkpoints of the commit.  blob reads a blob, other the record of a session
    that wrote what came from elsewhere; None where it is gone.

    A line is missing where nothing is recorded.  Where the recorded blob is another one (a rebase,
    a resolved conflict) only lines that both have, white space aside, keep their author.  A line
    that two checkpoints give to different sessions is the later one's; at the same time, unknown.
    """
    read = [(record["time"], _credit_lines(record, path, oid, blob, _spread)) for record in records]
    parts = [part for part in read if part[1]]
    moved = _credit_moved_lines(records, path, oid, blob, other)
    if len(parts) == 1:
        return {**moved, **parts[0][1]}
    best: dict[int, tuple[str, Author]] = {}
    for time, lines in parts:
        for line, author in lines.items():
            old = best.get(line)
            if old is None or _is_stronger(time, author, old):
                best[line] = time, author
            elif _is_tie(time, author, old):
                best[line] = time, build_nobody("unknown")
    return {**moved, **{line: author for line, (_, author) in best.items()}}


def _credit_moved_lines(
    records: Sequence[Record], path: str, oid: str, blob: Blob, other: Other
) -> dict[int, Author]:
    """The lines that came from elsewhere, of sessions without a part in the checkpoint."""
    lines: dict[int, Author] = {}
    for record in records:
        if any("others" in entry for entry in list_entries(record, path)):
            lines |= _credit_lines(
                record, path, oid, blob, lambda _, entry: _spread_foreign(entry, other)
            )
    return lines


def _is_stronger(time: str, author: Author, old: tuple[str, Author]) -> bool:
    if (author["who"] == "session") != (old[1]["who"] == "session"):
        return author["who"] == "session"
    return time > old[0]


def _is_tie(time: str, author: Author, old: tuple[str, Author]) -> bool:
    one, other = author, old[1]
    same = (one["session_id"], one["turn_id"]) == (other["session_id"], other["turn_id"])
    return time == old[0] and one["who"] == other["who"] == "session" and not same


def list_entries(record: Record, path: str) -> list[dict[str, Any]]:
    """What a record has of a path: its contents with their ranges, oldest first."""
    stored = (record["lines"] or {}).get(path)
    return [e for e in stored if isinstance(e, dict)] if isinstance(stored, list) else []


def _credit_lines(
    record: Record, path: str, oid: str, blob: Blob, spread: Spread
) -> dict[int, Author]:
    stored = list_entries(record, path)
    for entry in stored:
        if entry.get("oid") == oid:
            return spread(record, entry)
    for entry in reversed(stored):
        old, new = blob(str(entry.get("oid"))), blob(oid)
        if old is not None and new is not None:
            authors = spread(record, entry)
            paired = replay.pair_lines(line_diff.split_lines(old), line_diff.split_lines(new))
            return {j + 1: authors[i + 1] for i, j in paired if i + 1 in authors}
    return {}


def _spread(record: Record, entry: Mapping[str, Any]) -> dict[int, Author]:
    authors: dict[int, Author] = {}
    for lines, parts in _list_ranges(entry.get("ranges")):
        who, tool = (*parts, None, None)[:2]
        if isinstance(who, str):
            person = who in ("person", "unknown")
            author = build_nobody(who) if person else build_author(record, who, _get_name(tool))
            authors |= dict.fromkeys(lines, author)
    return authors


def _spread_foreign(entry: Mapping[str, Any], other: Other) -> dict[int, Author]:
    authors: dict[int, Author] = {}
    for lines, parts in _list_ranges(entry.get("others")):
        turn_id, tool, session_id, checkpoint_id = (*parts, "", "", "", "")[:4]
        theirs = other(str(checkpoint_id), str(session_id))
        if theirs and isinstance(turn_id, str):
            authors |= dict.fromkeys(lines, build_author(theirs, turn_id, _get_name(tool)))
    return authors


def _list_ranges(ranges: Ranges | None) -> Iterator[tuple[range, Sequence[Any]]]:
    """(the lines, what follows them) of what has the shape of a range."""
    for item in ranges if isinstance(ranges, list) else ():
        first, last, *rest = item if isinstance(item, list) and len(item) > 1 else (None, None)
        if isinstance(first, int) and isinstance(last, int):
            yield range(first, min(last, first + _MOST) + 1), rest


def _get_name(tool: Any) -> str | None:
    return tool if isinstance(tool, str) else None


def build_author(record: Record, turn_id: str, tool_use_id: str | None) -> Author:
    """The author that a turn (and a tool use) of a recorded session is.  A subagent, whose id the
    tool use has as its agent, may run another model than its turn."""
    metadata = record["metadata"]
    about = _get_mapping(_get_mapping(metadata.get("turns")).get(turn_id))
    tool = _get_mapping(_get_mapping(metadata.get("tools")).get(tool_use_id or ""))
    known = (tool,) if tool.get("agent") else (tool, about, metadata)
    number = about.get("number")
    return {
        "who": "session",
        "session_id": record["session_id"],
        "agent": str(metadata.get("agent") or ""),
        "turn_id": turn_id,
        "number": number if isinstance(number, int) else None,
        "prompt": str(about.get("prompt") or ""),
        "model": next((str(one["model"]) for one in known if one.get("model")), ""),
        "tool_use_id": tool_use_id,
        "checkpoint_id": record["checkpoint_id"],
    }


def _get_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def fill_unknown(authors: dict[int, Author], attested: Mapping[int, Author]) -> dict[int, Author]:
    """The authors of lines, those that are unknown by what another tool attests."""
    if not attested:
        return authors
    rest = {n: who for n, who in attested.items() if authors.get(n, _UNKNOWN)["who"] == "unknown"}
    return {**authors, **rest}


def prefer_sessions(authors: Mapping[int, Author], more: Mapping[int, Author]) -> dict[int, Author]:
    """The authors of lines, those that are no session's by what more knows of sessions."""
    sessions = {n: who for n, who in more.items() if who["who"] == "session"}
    return {**authors, **{n: w for n, w in sessions.items() if authors[n]["who"] != "session"}}


def group_runs(
    authors: Mapping[int, Author], first: int, count: int
) -> Iterator[tuple[Author | None, int]]:
    """(author, how many lines) of the lines from first on; those of one edit have one in common."""
    for _, run in groupby(map(authors.get, range(first, first + count)), key=id):
        lines = list(run)
        yield lines[0], len(lines)


def format_label(author: Author) -> str:
    """A session as an author's name: agent, session and number of the prompt."""
    number = f" #{author['number']}" if author["number"] is not None else ""
    return f"{author['agent'] or 'agent'} {author['session_id'][:8]}{number}"


def format_mail(author: Author) -> str:
    """What stands for a session where git shows an address."""
    return f"<{author['session_id']}>"
