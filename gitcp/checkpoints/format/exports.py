"""The lines that sessions wrote, in formats of others: Agent Trace records, version 0.1.0, and
authorship logs of Git AI."""

from __future__ import annotations

import hashlib
import json
import uuid
from urllib.parse import quote

from gitcp.checkpoints.format.line_authors import build_nobody
from gitcp.text import line_evidence
from gitcp.text.json import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.text.record_types import Record

    # path -> line (1-based) -> author
    Lines = Mapping[str, Mapping[int, Author]]
    Attested = dict[str, dict[str, set[int]]]  # path -> key -> lines
    Talks = dict[tuple[str, str], dict[int, Author]]  # URL of a conversation, model -> by line

    class Log(TypedDict):
        """A parsed log; metadata: its JSON object."""

        attested: Attested
        metadata: dict[str, Any]


TRACE_VERSION = "0.1.0"
VENDOR = "dev.gitcp"  # the key of gitcp's metadata in a record
_PROVIDERS = {
    "anthropic": ("claude", "opus", "sonnet", "haiku"),
    "openai": ("gpt", "o1", "o3", "o4", "codex", "chatgpt"),
    "google": ("gemini", "gemma"),
    "mistral": ("mistral", "codestral", "devstral"),
    "alibaba": ("qwen",),
    "xai": ("grok",),
    "deepseek": ("deepseek",),
    "moonshotai": ("kimi",),
}


def build_record(commit: str, timestamp: str, lines: Lines, version: str) -> Record | None:
    """The record of a commit; None if no session wrote a line of it.

    timestamp: the committer's, RFC 3339 in UTC.  version: gitcp's.  A path that is not UTF-8
    is left out.
    """
    files: list[Record] = []
    edits: list[Record] = []
    for path in sorted(lines):
        if is_utf8(path):
            part = _list_written(lines[path])
            if part:
                files.append(_build_file(path, part))
                edits += _list_edits(path, part)
    if not files:
        return None
    return {
        "version": TRACE_VERSION,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"gitcp:{commit}")),
        "timestamp": timestamp,
        "vcs": {"type": "git", "revision": commit},
        "tool": {"name": "gitcp", "version": version},
        "files": files,
        "metadata": {VENDOR: {"edits": edits}},
    }


def _list_written(authors: Mapping[int, Author]) -> Talks:
    """The lines of a file that sessions wrote, by conversation and model."""
    talks: Talks = {}
    for line in sorted(authors):
        author = authors[line]
        if author["who"] == "session":
            talks.setdefault((format_url(author), author["model"]), {})[line] = author
    return talks


def _build_file(path: str, talks: Talks) -> Record:
    """A file's part of a record."""
    conversations: list[Record] = []
    for (address, model), part in talks.items():
        contributor = {"type": "ai", **find_model_id(model)}
        spans = [
            {"start_line": first, "end_line": last}
            for first, last in line_evidence.group_runs(part)
        ]
        conversations.append({"url": address, "contributor": contributor, "ranges": spans})
    return {"path": path, "conversations": conversations}


def _list_edits(path: str, talks: Talks) -> list[Record]:
    """A file's edits with turn and tool use."""
    edits: list[Record] = []
    for (address, _), part in talks.items():
        by: dict[tuple[str, str | None], list[int]] = {}
        for line, author in part.items():
            by.setdefault((author["turn_id"], author["tool_use_id"]), []).append(line)
        for (turn, tool), lines in by.items():
            edit = {"path": path, "url": address, "turn_id": turn, "tool_use_id": tool}
            edits.append({**edit, "lines": format_ranges(lines)})
    return edits


def format_url(author: Author) -> str:
    """`gitcp:<checkpoint>/<session>`, percent-encoded."""
    name = author["session_id"].encode("utf-8", "surrogateescape")
    return f"gitcp:{quote(author['checkpoint_id'])}/{quote(name, safe='')}"


def find_model_id(model: str) -> dict[str, str]:
    """{"model_id": "provider/model"}; {} if the model's name does not tell its provider."""
    if "/" in model and len(model) <= 250:
        return {"model_id": model}
    for provider, starts in _PROVIDERS.items():
        if model.lower().startswith(starts):
            return {"model_id": f"{provider}/{model}"[:250]}
    return {}


# Build, format and parse authorship logs of Git AI, `authorship/3.0.0`.
#
# A log is a note under refs/notes/ai: attestations (a path, then keys with ranges of lines), a
# line `---`, and a JSON object.
NOTE_VERSION = "authorship/3.0.0"
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
            identity = {"tool": name_tool(author["agent"]), "id": author["session_id"]}
            entry = sessions.setdefault(name, {"agent_id": {**identity, "model": ""}})
            entry["agent_id"]["model"] = entry["agent_id"]["model"] or author["model"]
            if committer:
                entry["human_author"] = committer
    edits: dict[str, set[str]] = {}
    for key in _list_keys(attested):
        name, _, edit = key.partition("::")
        edits.setdefault(name, set()).add(edit)
    for name, entry in sessions.items():
        entry["custom_attributes"] = {EDITS: " ".join(sorted(edits[name]))}
        entry["agent_id"]["model"] = entry["agent_id"]["model"] or "unknown"
    metadata = {"schema_version": NOTE_VERSION, "base_commit_sha": commit, "prompts": {}}
    return {"attested": attested, "metadata": {**metadata, "sessions": sessions}}


def format_log(log: Log) -> str:
    """The text of a log, with paths and keys in order; '' if it attests nothing."""
    rows = []
    for path in sorted(log["attested"]):
        keys = log["attested"][path]
        if " " in path or "\t" in path:
            rows.append(f'"{path}"')
        else:
            rows.append(path)
        rows += [
            f"  {key} {format_ranges(keys[key])}"
            for key in sorted(keys, key=lambda k: min(keys[k]))
        ]
    if not rows:
        return ""
    metadata = json.dumps(log["metadata"], indent=2, sort_keys=True, ensure_ascii=False)
    return "\n".join([*rows, _DIVIDER, metadata]) + "\n"


def parse_log(text: str) -> Log | None:
    """The parsed log; None for a text that is not a log of this version."""
    head, divider, tail = f"\n{text}".partition(f"\n{_DIVIDER}\n")
    if not divider:
        return None
    try:
        metadata = json.loads(tail)
    except (ValueError, RecursionError):
        return None
    if not isinstance(metadata, dict) or metadata.get("schema_version") != NOTE_VERSION:
        return None
    attested: Attested = {}
    path = None
    for row in head.split("\n"):
        if not row.strip():
            continue
        if not row.startswith("  "):
            if len(row) > 1 and row[0] == row[-1] == '"':
                path = row[1:-1]
            else:
                path = row
            continue
        key, _, numbers = row.strip().partition(" ")
        lines = parse_ranges(numbers)
        if path is None or lines is None:
            return None
        attested.setdefault(path, {}).setdefault(key, set()).update(lines)
    return {"attested": attested, "metadata": metadata}


def format_ranges(lines: Iterable[int]) -> str:
    """Line numbers as text, such as `1,2,19-222`."""
    parts: list[str] = []
    for first, last in line_evidence.group_runs(lines):
        if first == last:
            parts.append(str(first))
        else:
            parts.append(f"{first}-{last}")
    return ",".join(parts)


def parse_ranges(text: str) -> set[int] | None:
    """The line numbers in a text such as `1,2,19-222`; None for another text, or above 2^20
    lines."""
    lines: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not dash:
            last = first
        if len(part) > _LONGEST or not first.isdecimal() or not last.isdecimal():
            return None
        start = int(first)
        end = int(last)
        if not 0 < start <= end or end - start + len(lines) > 1 << 20:
            return None
        lines.update(range(start, end + 1))
    return lines


def find_authors(log: Log, commit: str, path: str) -> dict[int, Author]:
    """The authors of the lines of path that a log on commit attests.

    A log that names another commit was copied and attests nothing.  Keys of Git AI before 1.4 are
    in `prompts`; a key without an entry has no author.
    """
    metadata = log["metadata"]
    if metadata.get("base_commit_sha") != commit:
        return {}
    entries = {**ensure_object(metadata.get("prompts")), **ensure_object(metadata.get("sessions"))}
    persons = ensure_object(metadata.get("humans"))
    attested: dict[int, Author] = {}
    for key, lines in log["attested"].get(path, {}).items():
        entry = ensure_object(entries.get(key.partition("::")[0]))
        identity = ensure_object(entry.get("agent_id"))
        if identity.get("tool"):
            author = build_nobody("session")
            author["session_id"] = str(identity.get("id") or "")
            author["agent"] = _AGENTS.get(str(identity["tool"]), str(identity["tool"]))
            author["model"] = str(identity.get("model") or "").removesuffix("unknown")
            attested |= dict.fromkeys(lines, author)
        elif key in persons:
            attested |= dict.fromkeys(lines, build_nobody("person"))
    return attested


# Join authorship logs of Git AI for the same commit.
#
# gitcp's entries are the edits listed in a session's attribute EDITS.  The others are of another
# tool; a line that it attests keeps its attestation.
_PARTS = ("prompts", "sessions", "humans")


def unite_logs(ours: Log, theirs: Log | None) -> Log:
    """gitcp's log of a commit joined with the note's present log, theirs, in which gitcp's earlier
    entries are replaced."""
    if theirs is None:
        return ours
    own_keys = list_own_keys(theirs) | set(_list_keys(ours["attested"]))
    other_tools = _leave_out(theirs, own_keys)
    attested = _add_claims(other_tools, [ours["attested"]])
    sessions = _list_other_sessions(theirs, other_tools)
    for name, session in ours["metadata"]["sessions"].items():
        sessions[name] = {**sessions.get(name, {}), **session}
    parts = {"sessions": sessions, "prompts": ensure_object(theirs["metadata"].get("prompts"))}
    return {"attested": attested, "metadata": {**theirs["metadata"], **ours["metadata"], **parts}}


def merge_notes(a: bytes, b: bytes) -> bytes:
    """The text of one note for two on the same commit; their order does not matter.

    A line that two tools claim goes to the first key in order.  If one text is not a log
    of this version, that text is the result; of two such texts the longer one.
    """
    low, high = sorted((a, b), key=lambda text: (len(text), text))
    logs = [parse_log(text.decode("utf-8", "surrogateescape")) for text in (low, high)]
    if logs[0] is None or logs[1] is None:
        if logs[0] is None and logs[1] is not None:
            return low
        return high
    pair = (logs[0], logs[1])
    other_tools = _add_claims({}, [_leave_out(log, list_own_keys(log)) for log in pair])
    ours = [_leave_out(log, list_foreign_keys(log)) for log in pair]
    metadata = {**pair[0]["metadata"], **pair[1]["metadata"]}
    for part in _PARTS:
        both = [ensure_object(log["metadata"].get(part)) for log in pair]
        if any(both):
            metadata[part] = {**both[0], **both[1]}
    for name in ensure_object(metadata.get("sessions")):
        edits = {*_list_note_edits(pair[0], name), *_list_note_edits(pair[1], name)}
        if edits:
            session = metadata["sessions"][name]
            attributes = {**ensure_object(session.get("custom_attributes"))}
            attributes[EDITS] = " ".join(sorted(edits))
            metadata["sessions"][name] = {**session, "custom_attributes": attributes}
    joined: Log = {"attested": _add_claims(other_tools, ours), "metadata": metadata}
    return format_log(joined).encode("utf-8", "surrogateescape")


def list_own_keys(log: Log) -> set[str]:
    """The keys of a log that gitcp wrote: their edit is listed in the session's attribute."""
    own: set[str] = set()
    for key in _list_keys(log["attested"]):
        name, _, edit = key.partition("::")
        if edit and edit in _list_note_edits(log, name):
            own.add(key)
    return own


def list_foreign_keys(log: Log) -> set[str]:
    """The keys of a log that other tools wrote."""
    return set(_list_keys(log["attested"])) - list_own_keys(log)


def _list_keys(attested: Attested) -> list[str]:
    found: list[str] = []
    for row in attested.values():
        found += row
    return found


def _list_note_edits(log: Log, name: str) -> list[str]:
    session = ensure_object(ensure_object(log["metadata"].get("sessions")).get(name))
    return str(ensure_object(session.get("custom_attributes")).get(EDITS) or "").split()


def _leave_out(log: Log, without: set[str]) -> Attested:
    left: Attested = {}
    for path, row in log["attested"].items():
        other_keys = {key: set(lines) for key, lines in row.items() if key not in without}
        if other_keys:
            left[path] = other_keys
    return left


def _add_claims(first: Attested, attested: Iterable[Attested]) -> Attested:
    """first, with the lines of attested that it does not claim itself.  Of several keys that claim
    a line, the lowest gets it."""
    joined: Attested = {}
    for path, row in first.items():
        joined[path] = dict(row)
    claims: list[tuple[str, str, set[int]]] = []
    for rows in attested:
        for path, row in rows.items():
            claims += [(path, key, lines) for key, lines in row.items()]
    for path, key, lines in sorted(claims, key=lambda claim: claim[:2]):
        row = joined.setdefault(path, {})
        taken: set[int] = set()
        for other, numbers in row.items():
            if other != key:
                taken |= numbers
        row[key] = row.get(key, set()) | (lines - taken)
    full: Attested = {}
    for path, row in joined.items():
        claimed = {key: lines for key, lines in row.items() if lines}
        if claimed:
            full[path] = claimed
    return full


def _list_other_sessions(log: Log, other_tools: Attested) -> dict[str, Any]:
    """The sessions of a log without the entries that gitcp wrote."""
    used = {key.partition("::")[0] for key in _list_keys(other_tools)}
    sessions: dict[str, Any] = {}
    for name, session in ensure_object(log["metadata"].get("sessions")).items():
        if not _list_note_edits(log, name):
            sessions[name] = session
        elif name in used:
            others = {**session}
            attributes = others.pop("custom_attributes")
            left = {key: value for key, value in attributes.items() if key != EDITS}
            if left:
                others["custom_attributes"] = left
            sessions[name] = others
    return sessions
