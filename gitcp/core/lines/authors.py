"""Read the authors of lines from the checkpoints of the commit that added them.

The record is `lines.json` (gitcp-formats(5)): for each path the committed blobs, with ranges of
lines and their authors.  A line that is not recorded has no author.
"""

from __future__ import annotations

from itertools import groupby

from gitcp.core.lines import line_diff, replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    class Record(TypedDict):
        """The lines and the metadata of a session in a checkpoint; time: orders records."""

        checkpoint_id: str
        session_id: str
        metadata: Mapping[str, Any]
        lines: Mapping[str, Any] | None
        time: str

    class Author(TypedDict):
        """who: "session", "person", "unknown" or "unrecorded".  The other keys are set for a
        session; `agent` also if a commit names one and nothing was recorded."""

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
    Other = Callable[[str, str], Record | None]  # by checkpoint id and session id
    Spread = Callable[[Record, Mapping[str, Any]], dict[int, Author]]  # for an entry


def build_nobody(who: str) -> Author:
    """The author of a line that no session wrote."""
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
    """The authors of the recorded lines of a path in a commit, by 1-based line; oid: its blob.

    records: of all checkpoints of the commit.  blob reads a blob; other reads the record of another
    session that wrote lines, None if it is gone.

    If the recorded blob is another one (a rebase, a conflict), lines that both have, white space
    aside, keep their authors.  If two checkpoints give a line to different sessions, the later one
    counts; if they are of the same time, the author is unknown.
    """

    def spread(record: Record, entry: Mapping[str, Any]) -> dict[int, Author]:
        authors: dict[int, Author] = {}
        for lines, parts in _list_ranges(entry.get("ranges")):
            who, tool = (*parts, None, None)[:2]
            if isinstance(who, str):
                person, teller = who in ("person", "unknown"), _find_turn(record, who, records)
                author = build_nobody(who) if person else build_author(teller, who, _get_name(tool))
                authors |= dict.fromkeys(lines, author)
        return authors

    credited = [
        (record["time"], _credit_lines(record, path, oid, blob, spread)) for record in records
    ]
    moved = _credit_moved_lines(records, path, oid, blob, other)
    return {**moved, **(credited[0][1] if len(credited) == 1 else _choose_authors(credited))}


def _choose_authors(credited: Iterable[tuple[str, dict[int, Author]]]) -> dict[int, Author]:
    """The author of each line by the rule of credit_blob(); credited: (time, the authors by a
    record) of each record."""
    best: dict[int, tuple[tuple[bool, str], Author]] = {}
    for time, authors in credited:
        for line, author in authors.items():
            is_session = author["who"] == "session"
            rank = is_session, time
            old_rank, old = best.get(line, ((False, ""), _UNKNOWN))
            if line not in best or rank > old_rank:
                best[line] = rank, author
            elif rank == old_rank and is_session and _get_turn(author) != _get_turn(old):
                best[line] = rank, _UNKNOWN
    return {line: author for line, (_, author) in best.items()}


def _get_turn(author: Author) -> tuple[str, str]:
    return author["session_id"], author["turn_id"]


def _credit_moved_lines(
    records: Sequence[Record], path: str, oid: str, blob: Blob, other: Other
) -> dict[int, Author]:
    """The lines written by sessions that are not in the checkpoint."""
    lines: dict[int, Author] = {}
    for record in records:
        if any("others" in entry for entry in list_entries(record, path)):
            lines |= _credit_lines(
                record, path, oid, blob, lambda _, entry: _spread_foreign(entry, other)
            )
    return lines


def list_entries(record: Record, path: str) -> list[dict[str, Any]]:
    """The entries of a path in a record, one for each content, oldest first."""
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


def _find_turn(record: Record, turn_id: str, records: Sequence[Record]) -> Record:
    """The record that tells of a turn: this one, else another one of its session.  The commit of
    several checkpoints of a session, when amended, has lines of all in each."""
    for other in (record, *records):
        is_same = other["session_id"] == record["session_id"]
        if is_same and turn_id in _get_mapping(other["metadata"].get("turns")):
            return other
    return record


def _spread_foreign(entry: Mapping[str, Any], other: Other) -> dict[int, Author]:
    authors: dict[int, Author] = {}
    for lines, parts in _list_ranges(entry.get("others")):
        turn_id, tool, session_id, checkpoint_id = (*parts, "", "", "", "")[:4]
        theirs = other(str(checkpoint_id), str(session_id))
        if theirs and isinstance(turn_id, str):
            authors |= dict.fromkeys(lines, build_author(theirs, turn_id, _get_name(tool)))
    return authors


def _list_ranges(ranges: Ranges | None) -> Iterator[tuple[range, Sequence[Any]]]:
    """Yield (lines, author) of the ranges of a content."""
    for first, last, *author in ranges or ():
        yield range(first, last + 1), author


def _get_name(tool: Any) -> str | None:
    return tool if isinstance(tool, str) else None


def build_author(record: Record, turn_id: str, tool_use_id: str | None) -> Author:
    """The author for a turn of a recorded session, and a tool use in it.  A subagent's tool use
    names the subagent as its agent; its model may differ from the turn's."""
    metadata = record["metadata"]
    about = _get_mapping(_get_mapping(metadata.get("turns")).get(turn_id))
    tool = _get_mapping(_get_mapping(metadata.get("tools")).get(tool_use_id or ""))
    sources = (tool,) if tool.get("agent") else (tool, about, metadata)
    number = about.get("number")
    return {
        "who": "session",
        "session_id": record["session_id"],
        "agent": str(metadata.get("agent") or ""),
        "turn_id": turn_id,
        "number": number if isinstance(number, int) else None,
        "prompt": str(about.get("prompt") or ""),
        "model": next((str(source["model"]) for source in sources if source.get("model")), ""),
        "tool_use_id": tool_use_id,
        "checkpoint_id": record["checkpoint_id"],
    }


def _get_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def fill_unknown(authors: dict[int, Author], attested: Mapping[int, Author]) -> dict[int, Author]:
    """The authors of lines; one that is missing or unknown is taken from what another tool
    attests."""
    if not attested:
        return authors
    filled = {n: who for n, who in attested.items() if authors.get(n, _UNKNOWN)["who"] == "unknown"}
    return {**authors, **filled}


def prefer_sessions(
    authors: Mapping[int, Author], recorded: Mapping[int, Author]
) -> dict[int, Author]:
    """The authors of lines; one that is no session is replaced by a recorded session."""
    better = {
        line: author
        for line, author in recorded.items()
        if author["who"] == "session" and authors[line]["who"] != "session"
    }
    return {**authors, **better}


def group_runs(
    authors: Mapping[int, Author], first: int, count: int
) -> Iterator[tuple[Author | None, int]]:
    """Yield (author, number of lines) for the lines from first on; lines of the same edit share an
    Author object."""
    for _, run in groupby(map(authors.get, range(first, first + count)), key=id):
        lines = list(run)
        yield lines[0], len(lines)


def format_label(author: Author) -> str:
    """An author's name for a session: agent, session and number of the prompt."""
    number = f" #{author['number']}" if author["number"] is not None else ""
    return f"{author['agent'] or 'agent'} {author['session_id'][:8]}{number}"


def format_mail(author: Author) -> str:
    """An author's address for a session."""
    return f"<{author['session_id']}>"
