"""Build, format and parse authorship logs of Git AI, `authorship/3.0.0`.

A log is a note under refs/notes/ai: attestations (a path, then keys with ranges of lines), a line
`---`, and a JSON object.
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
        """A parsed log; metadata: its JSON object."""

        attested: Attested
        metadata: dict[str, Any]


VERSION = "authorship/3.0.0"
# The attribute of a session that lists its edits written by gitcp.
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
    """The format's name of an agent; if it has none, the agent's own in lower case."""
    return _TOOLS.get(agent) or agent.lower().replace(" ", "-") or "unknown"


def make_session_key(author: Author) -> str:
    """`s_` and 14 hex digits, for a session of a tool."""
    name = f"{name_tool(author['agent'])}:{author['session_id']}"
    return "s_" + hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:14]


def make_trace_key(author: Author) -> str:
    """`t_` and 14 hex digits, a hash of the edit, or of the turn if the edit is not known."""
    edit = author["tool_use_id"] or author["turn_id"]
    name = f"{author['session_id']}\0{edit}".encode("utf-8", "surrogateescape")
    return "t_" + hashlib.sha256(name).hexdigest()[:14]


def is_utf8(path: str) -> bool:
    """Whether a path is UTF-8, and not empty."""
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


def can_name(path: str) -> bool:
    """Whether the format can name a path: it is UTF-8 without quotes and line endings."""
    return is_utf8(path) and not any(c in path for c in '"\n\r')


def build_log(commit: str, lines: Lines, committer: str = "") -> Log:
    """The log of a commit, which attests only lines of sessions.  committer: `Name <mail>`, the
    person named as human author."""
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
            entry = sessions.setdefault(name, {"agent_id": {**about, "model": ""}})
            entry["agent_id"]["model"] = entry["agent_id"]["model"] or author["model"]
            if committer:
                entry["human_author"] = committer
    for name, entry in sessions.items():
        keys = (key.partition("::") for row in attested.values() for key in row)
        edits = {edit for session, _, edit in keys if session == name}
        entry["custom_attributes"] = {EDITS: " ".join(sorted(edits))}
        entry["agent_id"]["model"] = entry["agent_id"]["model"] or "unknown"
    metadata = {"schema_version": VERSION, "base_commit_sha": commit, "prompts": {}}
    return {"attested": attested, "metadata": {**metadata, "sessions": sessions}}


def format_log(history: Log) -> str:
    """The text of a log, with paths and keys in order; '' if it attests nothing."""
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
    """The parsed log; None for a text that is not a log of this version."""
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
    """Line numbers as text, such as `1,2,19-222`."""
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in line_diff.group_runs(lines))


def parse_ranges(text: str) -> set[int] | None:
    """The line numbers in a text such as `1,2,19-222`; None for another text, or above 2^20
    lines."""
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
    """The authors of the lines of path that a log on commit attests.

    A log that names another commit was copied and attests nothing.  Keys of Git AI before 1.4 are
    in `prompts`; a key without an entry has no author.
    """
    metadata = history["metadata"]
    if metadata.get("base_commit_sha") != commit:
        return {}
    entries = {**ensure_object(metadata.get("prompts")), **ensure_object(metadata.get("sessions"))}
    persons = ensure_object(metadata.get("humans"))
    attested: dict[int, Author] = {}
    for key, lines in history["attested"].get(path, {}).items():
        about = ensure_object(ensure_object(entries.get(key.partition("::")[0])).get("agent_id"))
        if about.get("tool"):
            author = build_nobody("session")
            author["session_id"] = str(about.get("id") or "")
            author["agent"] = _AGENTS.get(str(about["tool"]), str(about["tool"]))
            author["model"] = str(about.get("model") or "").removesuffix("unknown")
            attested |= dict.fromkeys(lines, author)
        elif key in persons:
            attested |= dict.fromkeys(lines, build_nobody("person"))
    return attested
