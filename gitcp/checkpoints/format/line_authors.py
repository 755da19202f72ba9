"""The authors of lines: by checkpoints, and when work was recorded.

Of several equal lines git's diff decides which one a commit added.  The record is made by gitcp's
own diff.  Where a block repeats the lines beside it (a brace, an empty line), two diffs may each
take another one of the equal lines for the new one.  What is shown beside git's diff follows
git's.
"""

from __future__ import annotations

import re
from itertools import groupby

from gitcp.text import line_evidence, value_class
from gitcp.text.carry import origins
from gitcp.text.carry.text import Text
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, NotRequired, TypedDict

    from gitcp.git.objects.patches import Hunk

    class LineRecord(TypedDict):
        """The lines and the metadata of a session in a checkpoint; time: orders records."""

        checkpoint_id: str
        session_id: str
        metadata: Mapping[str, Any]
        lines: Mapping[str, Any] | None
        time: str

    class Author(TypedDict):
        """who: "session", "person", "unknown" or "unrecorded".  The other keys are set for a
        session; `agent` also if a commit names one and nothing was recorded, and if a conversation
        of it may have written the line of which no hook has heard.  by_neighbours: no edit proves
        the line itself, but the lines around it."""

        who: str
        session_id: str
        agent: str
        turn_id: str
        number: int | None
        prompt: str
        model: str
        tool_use_id: str | None
        checkpoint_id: str
        by_neighbours: NotRequired[bool]

    Ranges = Sequence[Sequence[Any]]
    Blob = Callable[[str], bytes | None]
    Other = Callable[[str, str], LineRecord | None]  # by checkpoint id and session id
    Spread = Callable[[LineRecord, Mapping[str, Any]], dict[int, Author]]  # for an entry
    Period = tuple[int, int | None]  # first and last second; None: it has not ended
    Periods = Mapping[str, Sequence[Period]]  # by mail


def select_added(authors: Mapping[int, Author], hunks: Iterable[Hunk]) -> dict[int, Author]:
    """The authors of those of the lines (1-based) that hunks put in."""
    return {line: authors[line] for line in list_new_lines(hunks) if line in authors}


def align_authors(
    decided: dict[int, Author], hunks: Iterable[Hunk], content: Callable[[], Sequence[bytes]]
) -> dict[int, Author]:
    """The authors of lines (1-based) in decided, and of new lines without one by their equals.

    hunks: of git's diff of the commit.  content reads the lines of the file.  A line that hunks put
    in and that decided lacks takes the author of an equal line that hunks did not put in, each in
    its order; it takes none where the equal lines are of several sessions.
    """
    new = list_new_lines(hunks)
    lacking = [line for line in new if line not in decided]
    spare = sorted(decided.keys() - set(new))
    if not lacking or not spare:
        return decided
    lines = content()
    equals: dict[bytes, list[Author]] = {}
    for line in spare:
        if line <= len(lines):
            equals.setdefault(lines[line - 1], []).append(decided[line])
    donors: dict[bytes, Iterator[Author]] = {}
    for text, authors in equals.items():
        sessions = {(author["who"], author["session_id"]) for author in authors}
        if len(sessions) == 1:
            donors[text] = iter(authors)
    aligned = dict(decided)
    for line in lacking:
        if line <= len(lines) and lines[line - 1] in donors:
            author = next(donors[lines[line - 1]], None)
            if author:
                aligned[line] = author
    return aligned


def list_new_lines(hunks: Iterable[Hunk]) -> list[int]:
    """The lines that hunks put in."""
    found: list[int] = []
    for _, _, first, count in hunks:
        found += range(first, first + count)
    return found


# Read the authors of lines from the checkpoints of the commit that added them.
#
# The record is `lines.json` (gitcp-formats(5)): for each path the committed blobs, with ranges of
# lines and their authors.  A line that is not recorded has no author.


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
    records: Sequence[LineRecord], path: str, oid: str, blob: Blob, other: Other
) -> dict[int, Author]:
    """The authors of the recorded lines of a path in a commit, by 1-based line; oid: its blob.

    records: of all checkpoints of the commit.  blob reads a blob; other reads the record of another
    session that wrote lines, None if it is gone.

    If the recorded blob is another one (a rebase, a conflict), lines that it carries on keep their
    authors.  If two checkpoints give a line to different sessions, the later one
    counts; if they are of the same time, the author is unknown.
    """

    def spread(record: LineRecord, entry: Mapping[str, Any]) -> dict[int, Author]:
        authors: dict[int, Author] = {}
        for lines, parts in _list_ranges(entry.get("ranges")):
            who, tool = (*parts, None, None)[:2]
            if isinstance(who, str):
                person = who in ("person", "unknown")
                teller = _find_turn(record, who, records)
                if person:
                    author = build_nobody(who)
                else:
                    author = build_author(teller, who, _get_name(tool))
                authors |= dict.fromkeys(lines, author)
        return authors

    moved = _credit_moved_lines(records, path, oid, blob, other)
    credited = [
        (record["time"], _credit_lines(record, path, oid, blob, spread)) for record in records
    ]
    if len(credited) == 1:
        _, authors = credited[0]
        return {**moved, **authors}
    return {**moved, **_choose_authors(credited)}


def credit_beside(records: Sequence[LineRecord], path: str, oid: str) -> dict[int, Author]:
    """The authors of the lines that transcripts prove by the lines beside them: in the range that
    one edit wrote, though they occur elsewhere, too (`beside` of proven lines)."""
    authors: dict[int, Author] = {}
    for record in records:
        for entry in list_entries(record, path):
            if entry.get("oid") != oid:
                continue
            for lines, (turn, tool) in _list_ranges(entry.get("beside")):
                author = build_author(record, str(turn), _get_name(tool))
                authors |= dict.fromkeys(lines, author)
    return authors


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
    records: Sequence[LineRecord], path: str, oid: str, blob: Blob, other: Other
) -> dict[int, Author]:
    """The lines written by sessions that are not in the checkpoint."""
    lines: dict[int, Author] = {}
    for record in records:
        if any("others" in entry for entry in list_entries(record, path, oid)):
            lines |= _credit_lines(
                record, path, oid, blob, lambda _, entry: _spread_foreign(entry, other)
            )
    return lines


def list_entries(record: LineRecord, path: str, oid: str = "") -> list[dict[str, Any]]:
    """The entries of a path in a record, one for each content, oldest first.

    If the record has no such path, those of the blob oid at others: a rewrite may have moved all
    paths of its commit."""
    lines = record["lines"] or {}
    if path in lines:
        return _select_entries(lines[path])
    found = []
    for stored in lines.values():
        found += [entry for entry in _select_entries(stored) if entry.get("oid") == oid]
    return found


def _select_entries(stored: object) -> list[dict[str, Any]]:
    """The entries in a stored value, which may have any shape."""
    if isinstance(stored, list):
        return [e for e in stored if isinstance(e, dict)]
    return []


def _credit_lines(
    record: LineRecord, path: str, oid: str, blob: Blob, spread: Spread
) -> dict[int, Author]:
    stored = list_entries(record, path, oid)
    for entry in stored:
        if entry.get("oid") == oid:
            return spread(record, entry)
    for entry in reversed(stored):
        old = blob(str(entry.get("oid")))
        new = blob(oid)
        if old is not None and new is not None:
            authors = spread(record, entry)
            before = Text(line_evidence.split_lines(old))
            after = Text(line_evidence.split_lines(new))
            credited = {}
            for line, origin in enumerate(origins.carry(before, after).origins, 1):
                if origin + 1 in authors:
                    credited[line] = authors[origin + 1]
            return credited
    return {}


def _find_turn(record: LineRecord, turn_id: str, records: Sequence[LineRecord]) -> LineRecord:
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
    if isinstance(tool, str):
        return tool
    return None


def build_author(record: LineRecord, turn_id: str, tool_use_id: str | None) -> Author:
    """The author for a turn of a recorded session, and a tool use in it.  A subagent's tool use
    names the subagent as its agent; its model may differ from the turn's."""
    metadata = record["metadata"]
    turn = _get_mapping(_get_mapping(metadata.get("turns")).get(turn_id))
    tool = _get_mapping(_get_mapping(metadata.get("tools")).get(tool_use_id or ""))
    models = [tool.get("model")]
    if not tool.get("agent"):
        models += [turn.get("model"), metadata.get("model")]
    number = turn.get("number")
    return {
        "who": "session",
        "session_id": record["session_id"],
        "agent": str(metadata.get("agent") or ""),
        "turn_id": turn_id,
        "number": number if isinstance(number, int) else None,
        "prompt": str(turn.get("prompt") or ""),
        "model": next((str(model) for model in models if model), ""),
        "tool_use_id": tool_use_id,
        "checkpoint_id": record["checkpoint_id"],
    }


def _get_mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    return {}


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
    preferred = dict(authors)
    for line, author in recorded.items():
        is_session = line in authors and authors[line]["who"] == "session"
        if line in authors and not is_session and author["who"] == "session":
            preferred[line] = author
    return preferred


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
    number = ""
    if author["number"] is not None:
        number = f" #{author['number']}"
    return f"{author['agent'] or 'agent'} {shorten_id(author['session_id'])}{number}"


def format_mail(author: Author) -> str:
    """An author's address for a session."""
    return f"<{author['session_id']}>"


# Read when work was recorded, and which agent a commit names as its author.
#
# A clone writes a line when it begins and when it ends to record the work of its person:
# `Gitcp-Recording: <clone> begun|ended <seconds> <mail>`.  Lines of clones may come in any order.
KEY = "Gitcp-Recording"
BEGUN = "begun"
ENDED = "ended"
_LINE = rf"{KEY}: ([0-9a-f]+) ({BEGUN}|{ENDED}) (\d{{1,12}}) (\S.*)"
_TRAILER = rb"(?mi)^Co-authored-by:[ \t]*(.+)$"
_LINK = rb"(?mi)^(Claude-Session|Agent-Logs-Url):[ \t]*https?://\S+[ \t]*$"
_LINKS = {b"claude-session": "Claude Code", b"agent-logs-url": "Copilot CLI"}
_FORGE = r"(?i)<no-?reply@[^<>]*>"  # a person's mail there has his name before it
# Substrings of an agent's `Name <mail>` in lower case; its name alone may be a person's.
_AGENTS = {
    "<noreply@anthropic.com>": "Claude Code",
    "claude[bot]": "Claude Code",
    "<noreply@openai.com>": "Codex",
    "<codex@openai.com>": "Codex",
    "chatgpt-codex-connector[bot]": "Codex",
    "gemini-cli": "Gemini CLI",
    "gemini-code-assist": "Gemini CLI",
    "copilot@users.noreply.github.com>": "Copilot CLI",
    "copilot-swe-agent[bot]": "Copilot CLI",
    "<cursoragent@cursor.com>": "Cursor",
    "<noreply@opencode.ai>": "opencode",
    "@aider.chat>": "aider",
    "aider (": "aider",
    "devin-ai-integration[bot]": "Devin",
    "google-labs-jules[bot]": "Jules",
    "<amp@ampcode.com>": "Amp",
    "factory-droid[bot]": "Droid",
}


@value_class
class Recording:
    """A line of a clone: from when on the work of its person is recorded, or no more."""

    clone: str
    word: str  # BEGUN or ENDED
    seconds: int
    mail: str


def format_line(line: Recording) -> str:
    """The text of a line."""
    return f"{KEY}: {line.clone} {line.word} {line.seconds} {line.mail}\n"


def parse_lines(text: str) -> list[Recording]:
    """The lines in a text that format_line() wrote."""
    matches = [re.fullmatch(_LINE, line) for line in text.splitlines()]
    return [Recording(m[1], m[2], int(m[3]), m[4]) for m in matches if m]


def build_periods(lines: Iterable[Recording]) -> dict[str, list[Period]]:
    """The recorded periods of each mail; lines: of all clones."""
    periods: dict[str, list[Period]] = {}
    begun: dict[str, tuple[int, str]] = {}
    for line in sorted(lines, key=lambda line: (line.seconds, line.word == BEGUN)):
        if line.clone in begun and (line.word == ENDED or begun[line.clone][1] != line.mail):
            start, mail_before = begun.pop(line.clone)
            periods.setdefault(mail_before, []).append((start, line.seconds))
        if line.word == BEGUN:
            begun.setdefault(line.clone, (line.seconds, line.mail))
    for start, mail in begun.values():
        periods.setdefault(mail, []).append((start, None))
    return periods


def covers_range(recorded: Periods, mail: str, seconds: int) -> bool:
    """Whether the work of a mail's person was recorded at that time."""
    for first, last in recorded.get(mail, ()):
        if first <= seconds and (last is None or seconds <= last):
            return True
    return False


def is_forge(committer: str) -> bool:
    """Whether a forge's program, which nobody can write to, made a commit: a squash, a merge or an
    edit in a browser.  committer: begins with `Name <mail>`."""
    return bool(re.search(_FORGE, committer))


def find_attested_agent(author: str, message: bytes) -> str:
    """The agent that a commit's author or a trailer in its message names; '' for none."""
    names = [author, *(m.decode("utf-8", "replace") for m in re.findall(_TRAILER, message))]
    for name in names:
        for sign, agent in _AGENTS.items():
            if sign in name.lower():
                return agent
    for key in re.findall(_LINK, message):
        return _LINKS[key.lower()]
    return ""
