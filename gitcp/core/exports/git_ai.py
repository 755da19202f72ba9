"""Git AI's authorship logs, `authorship/3.0.0`: made of what is recorded, read, and united.

A log is the text of a note under refs/notes/ai: attestations (a path, below it keys with ranges
of lines), a line `---`, and one JSON object (the Git AI standard, version 3.0.0).
"""

from __future__ import annotations

import hashlib
import json

from gitcp.core.lines import line_diff
from gitcp.core.lines.authors import build_nobody
from gitcp.core.transcript.facts import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    from gitcp.core.lines.authors import Author

    # path -> line (1-based) -> author
    Lines = Mapping[str, Mapping[int, Author]]
    Attested = dict[str, dict[str, set[int]]]  # path -> key -> lines

    class Log(TypedDict):
        """A log taken apart; metadata is its JSON as it is."""

        attested: Attested
        metadata: dict[str, Any]


VERSION = "authorship/3.0.0"
# The attribute of a session that names those of its edits that are in a note by us.
EDITS = "gitcp.edits"
_DIVIDER = "---"
_LONGEST = 40  # characters of a range of lines
_TOOLS = {
    "Claude Code": "claude",
    "Codex": "codex",
    "Gemini CLI": "gemini",
    "Cursor": "cursor",
    "Copilot CLI": "copilot",
    "GitHub Copilot": "copilot",
    "opencode": "opencode",
}
_AGENTS = {tool: agent for agent, tool in reversed(_TOOLS.items())}


def name_tool(agent: str) -> str:
    """The format's name of an agent; its own in lower case where the format has none."""
    return _TOOLS.get(agent) or agent.lower().replace(" ", "-") or "unknown"


def make_session_key(author: Author) -> str:
    """`s_` and 14 hex digits: one session of one tool."""
    name = f"{name_tool(author['agent'])}:{author['session_id']}"
    return "s_" + hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:14]


def make_trace_key(author: Author) -> str:
    """`t_` and 14 hex digits: one edit, or where only the turn is known, one turn.

    Made of what it names, so that exporting again gives the same bytes.
    """
    edit = author["tool_use_id"] or author["turn_id"]
    name = f"{author['session_id']}\0{edit}".encode("utf-8", "surrogateescape")
    return "t_" + hashlib.sha256(name).hexdigest()[:14]


def can_name(path: str) -> bool:
    """Whether the format can carry a path: no quotes, no line ends, UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return bool(path) and not any(c in path for c in '"\n\r')


def build_log(commit: str, lines: Lines, committer: str = "") -> Log:
    """The log of a commit; it attests the lines of sessions alone.  committer: `Name <mail>`, the
    person whom it names for them."""
    attested: Attested = {}
    sessions: dict[str, Any] = {}
    for path, authors in lines.items():
        for line, author in authors.items():
            if author["who"] != "session" or not can_name(path):
                continue
            name = make_session_key(author)
            key = f"{name}::{make_trace_key(author)}"
            attested.setdefault(path, {}).setdefault(key, set()).add(line)
            about = {"tool": name_tool(author["agent"]), "id": author["session_id"]}
            known = sessions.setdefault(name, {"agent_id": {**about, "model": ""}})
            known["agent_id"]["model"] = known["agent_id"]["model"] or author["model"]
            if committer:
                known["human_author"] = committer
    for name, known in sessions.items():
        keys = (key.partition("::") for row in attested.values() for key in row)
        edits = {edit for session, _, edit in keys if session == name}
        known["custom_attributes"] = {EDITS: " ".join(sorted(edits))}
        known["agent_id"]["model"] = known["agent_id"]["model"] or "unknown"
    metadata = {"schema_version": VERSION, "base_commit_sha": commit, "prompts": {}}
    return {"attested": attested, "metadata": {**metadata, "sessions": sessions}}


def format_log(history: Log) -> str:
    """The text of a log, paths and keys in order; '' where it attests nothing."""
    rows = []
    for path in sorted(history["attested"]):
        keys = history["attested"][path]
        rows.append(f'"{path}"' if any(c in path for c in " \t") else path)
        rows += [
            f"  {key} {format_ranges(keys[key])}"
            for key in sorted(keys, key=lambda k: min(keys[k]))
        ]
    if not rows:
        return ""
    metadata = json.dumps(history["metadata"], indent=2, sort_keys=True, ensure_ascii=False)
    return "\n".join([*rows, _DIVIDER, metadata]) + "\n"


def parse_log(text: str) -> Log | None:
    """A log taken apart; None for a text that is no log of version 3."""
    head, divider, tail = f"\n{text}".partition(f"\n{_DIVIDER}\n")
    try:
        metadata = json.loads(tail) if divider else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(metadata, dict) or metadata.get("schema_version") != VERSION:
        return None
    attested: Attested = {}
    path = None
    for row in head.split("\n"):
        if not row.strip():
            continue
        if not row.startswith("  "):
            path = row[1:-1] if len(row) > 1 and row[0] == row[-1] == '"' else row
            continue
        key, _, numbers = row.strip().partition(" ")
        lines = parse_ranges(numbers)
        if path is None or lines is None:
            return None
        attested.setdefault(path, {}).setdefault(key, set()).update(lines)
    return {"attested": attested, "metadata": metadata}


def format_ranges(lines: Iterable[int]) -> str:
    """`1,2,19-222` of line numbers."""
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in line_diff.group_runs(lines))


def parse_ranges(text: str) -> set[int] | None:
    """The line numbers of `1,2,19-222`; None for anything else, or more than a million."""
    lines: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > _LONGEST:
            return None
        start, end = int(first), int(last or first)
        if not 0 < start <= end or end - start + len(lines) > 1 << 20:
            return None
        lines.update(range(start, end + 1))
    return lines


def find_authors(history: Log, commit: str, path: str) -> dict[int, Author]:
    """The authors of the lines of path that a log on commit attests to sessions and to persons.

    A log that names another commit was copied: none.  Keys of versions before 1.4 are in
    `prompts`; a key without an entry names no author.
    """
    metadata = history["metadata"]
    if metadata.get("base_commit_sha") != commit:
        return {}
    known = {**ensure_object(metadata.get("prompts")), **ensure_object(metadata.get("sessions"))}
    persons = ensure_object(metadata.get("humans"))
    attested: dict[int, Author] = {}
    for key, lines in history["attested"].get(path, {}).items():
        about = ensure_object(ensure_object(known.get(key.partition("::")[0])).get("agent_id"))
        if about.get("tool"):
            author = build_nobody("session")
            author["session_id"] = str(about.get("id") or "")
            author["agent"] = _AGENTS.get(str(about["tool"]), str(about["tool"]))
            author["model"] = str(about.get("model") or "").removesuffix("unknown")
            attested |= dict.fromkeys(lines, author)
        elif key in persons:
            attested |= dict.fromkeys(lines, build_nobody("person"))
    return attested
