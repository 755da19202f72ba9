"""Join authorship logs of Git AI for the same commit.

gitcp's entries are the edits listed in a session's attribute git_ai.EDITS.  The others are of
another tool; a line that it attests keeps its attestation.
"""

from __future__ import annotations

from gitcp.core.exports import git_ai
from gitcp.core.transcript.facts import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.exports.git_ai import Attested, Log


_PARTS = ("prompts", "sessions", "humans")


def unite_logs(ours: Log, theirs: Log | None) -> Log:
    """gitcp's log of a commit joined with the note's present log, theirs, in which gitcp's earlier
    entries are replaced."""
    if theirs is None:
        return ours
    own_keys = {key for row in ours["attested"].values() for key in row}
    foreign = _leave_out(theirs, list_own_keys(theirs) | own_keys)
    attested = _add_claims(foreign, [ours["attested"]])
    sessions = _list_foreign_sessions(theirs, foreign)
    for name, about in ours["metadata"]["sessions"].items():
        sessions[name] = {**sessions.get(name, {}), **about}
    parts = {"sessions": sessions, "prompts": ensure_object(theirs["metadata"].get("prompts"))}
    return {"attested": attested, "metadata": {**theirs["metadata"], **ours["metadata"], **parts}}


def merge_notes(a: bytes, b: bytes) -> bytes:
    """The text of one note for two on the same commit; their order does not matter.

    A line that two tools claim goes to the first key in order.  A log comes after a text that is
    not one of this version; of two such texts the longer one is the result.
    """
    low, high = sorted((a, b), key=lambda text: (len(text), text))
    logs = [git_ai.parse_log(text.decode("utf-8", "surrogateescape")) for text in (low, high)]
    if logs[0] is None or logs[1] is None:
        return low if logs[0] is None and logs[1] is not None else high
    pair = (logs[0], logs[1])
    foreign = _add_claims({}, [_leave_out(log, list_own_keys(log)) for log in pair])
    ours = [_leave_out(log, set(_list_keys(log)) - list_own_keys(log)) for log in pair]
    metadata = {**pair[0]["metadata"], **pair[1]["metadata"]}
    for part in _PARTS:
        both = [ensure_object(log["metadata"].get(part)) for log in pair]
        if any(both):
            metadata[part] = {**both[0], **both[1]}
    for name in ensure_object(metadata.get("sessions")):
        edits = {edit for log in pair for edit in _list_edits(log, name)}
        if edits:
            about = metadata["sessions"][name]
            attributes = {**ensure_object(about.get("custom_attributes"))}
            attributes[git_ai.EDITS] = " ".join(sorted(edits))
            metadata["sessions"][name] = {**about, "custom_attributes": attributes}
    joined: Log = {"attested": _add_claims(foreign, ours), "metadata": metadata}
    return git_ai.format_log(joined).encode("utf-8", "surrogateescape")


def list_own_keys(log: Log) -> set[str]:
    """The keys of a log that gitcp wrote: their edit is listed in the session's attribute."""
    pairs = ((key, key.partition("::")) for key in _list_keys(log))
    return {key for key, (name, _, edit) in pairs if edit and edit in _list_edits(log, name)}


def _list_keys(log: Log) -> Iterable[str]:
    return (key for row in log["attested"].values() for key in row)


def _list_edits(log: Log, name: str) -> list[str]:
    about = ensure_object(ensure_object(log["metadata"].get("sessions")).get(name))
    return str(ensure_object(about.get("custom_attributes")).get(git_ai.EDITS) or "").split()


def _leave_out(log: Log, without: set[str]) -> Attested:
    rows = {
        path: {key: set(lines) for key, lines in row.items() if key not in without}
        for path, row in log["attested"].items()
    }
    return {path: row for path, row in rows.items() if row}


def _add_claims(first: Attested, attested: Iterable[Attested]) -> Attested:
    """first with the lines of attested that it does not claim; the first key in order takes a
    line."""
    joined: Attested = {path: {k: set(n) for k, n in row.items()} for path, row in first.items()}
    claims = [
        (path, key, lines)
        for rows in attested
        for path, row in rows.items()
        for key, lines in row.items()
    ]
    for path, key, lines in sorted(claims, key=lambda claim: claim[:2]):
        row = joined.setdefault(path, {})
        taken = {line for other, numbers in row.items() if other != key for line in numbers}
        row[key] = row.get(key, set()) | (lines - taken)
    full = {path: {k: n for k, n in row.items() if n} for path, row in joined.items()}
    return {path: row for path, row in full.items() if row}


def _list_foreign_sessions(log: Log, foreign: Attested) -> dict[str, Any]:
    """The sessions of a log without the entries that gitcp wrote."""
    used = {key.partition("::")[0] for row in foreign.values() for key in row}
    sessions: dict[str, Any] = {}
    for name, about in ensure_object(log["metadata"].get("sessions")).items():
        if not _list_edits(log, name):
            sessions[name] = about
        elif name in used:
            attributes = {**about["custom_attributes"]}
            del attributes[git_ai.EDITS]
            kept = {k: v for k, v in about.items() if k != "custom_attributes"}
            own = {"custom_attributes": attributes} if attributes else {}
            sessions[name] = {**kept, **own}
    return sessions
