"""Git AI's authorship logs of one commit joined into one; by the format, never line by line.

Ours are the edits that a session's attribute names (git_ai.EDITS); all others are another tool's,
and a line that another tool attests stays its.
"""

from __future__ import annotations

from gitcp.core.exports import git_ai
from gitcp.core.exports.git_ai import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.exports.git_ai import Attested, Log

    Row = dict[str, set[int]]  # key -> lines, of one path

_PARTS = ("prompts", "sessions", "humans")


def united(ours: Log, theirs: Log | None) -> Log:
    """What we have to say of a commit now, and what another tool has attested.

    theirs: what the note has, our own earlier entries among it: those are joined anew.
    """
    if theirs is None:
        return ours
    now = {key for row in ours["attested"].values() for key in row}
    foreign = _but(theirs, own(theirs) | now)
    attested = _with(foreign, [ours["attested"]])
    sessions = _sessions_of(theirs, foreign)
    for name, about in ours["metadata"]["sessions"].items():
        sessions[name] = {**sessions.get(name, {}), **about}
    parts = {"sessions": sessions, "prompts": mapping(theirs["metadata"].get("prompts"))}
    return {"attested": attested, "metadata": {**theirs["metadata"], **ours["metadata"], **parts}}


def merged(a: bytes, b: bytes) -> bytes:
    """The text of one note for two on the same commit; the same whichever comes first.

    A line that two tools claim stays that of the key that is first in order.  A text that is no
    log of this version is its author's: it stays as it is, the longer one of two.
    """
    low, high = sorted((a, b), key=lambda text: (len(text), text))
    logs = [git_ai.load(text.decode("utf-8", "surrogateescape")) for text in (low, high)]
    if logs[0] is None or logs[1] is None:
        return low if logs[0] is None and logs[1] is not None else high
    one, other = logs[0], logs[1]
    foreign = _with({}, [_but(log, own(log)) for log in (one, other)])
    ours = [_but(log, set(_keys(log)) - own(log)) for log in (one, other)]
    metadata = {**one["metadata"], **other["metadata"]}
    for part in _PARTS:
        both = [mapping(log["metadata"].get(part)) for log in (one, other)]
        if any(both):
            metadata[part] = {**both[0], **both[1]}
    for name in mapping(metadata.get("sessions")):
        edits = {edit for log in (one, other) for edit in _edits(log, name)}
        if edits:
            _mark(metadata["sessions"], name, edits)
    joined: Log = {"attested": _with(foreign, ours), "metadata": metadata}
    return git_ai.dump(joined).encode("utf-8", "surrogateescape")


def own(log: Log) -> set[str]:
    """The keys of a log that we wrote: an edit of a session that its attribute names."""
    pairs = ((key, key.partition("::")) for key in _keys(log))
    return {key for key, (name, _, edit) in pairs if edit and edit in _edits(log, name)}


def _keys(log: Log) -> Iterable[str]:
    return (key for row in log["attested"].values() for key in row)


def _edits(log: Log, name: str) -> list[str]:
    about = mapping(mapping(log["metadata"].get("sessions")).get(name))
    return str(mapping(about.get("custom_attributes")).get(git_ai.EDITS) or "").split()


def _mark(sessions: dict[str, Any], name: str, edits: Iterable[str]) -> None:
    attributes = {**mapping(sessions[name].get("custom_attributes"))}
    attributes[git_ai.EDITS] = " ".join(sorted(edits))
    sessions[name] = {**sessions[name], "custom_attributes": attributes}


def _but(log: Log, without: set[str]) -> Attested:
    rows = {
        path: {key: set(lines) for key, lines in row.items() if key not in without}
        for path, row in log["attested"].items()
    }
    return {path: row for path, row in rows.items() if row}


def _with(first: Attested, attested: Iterable[Attested]) -> Attested:
    """All of first; of each of the rest what is not taken yet, by the order of the keys."""
    joined: Attested = {path: {k: set(n) for k, n in row.items()} for path, row in first.items()}
    claims = [
        (path, key, lines)
        for one in attested
        for path, row in one.items()
        for key, lines in row.items()
    ]
    for path, key, lines in sorted(claims, key=lambda claim: claim[:2]):
        row = joined.setdefault(path, {})
        taken = {line for other, numbers in row.items() if other != key for line in numbers}
        row[key] = row.get(key, set()) | (lines - taken)
    full = {path: {k: n for k, n in row.items() if n} for path, row in joined.items()}
    return {path: row for path, row in full.items() if row}


def _sessions_of(log: Log, foreign: Attested) -> dict[str, Any]:
    """The sessions of a log without what we said of them before."""
    used = {key.partition("::")[0] for row in foreign.values() for key in row}
    sessions: dict[str, Any] = {}
    for name, about in mapping(log["metadata"].get("sessions")).items():
        if not _edits(log, name):
            sessions[name] = about
        elif name in used:
            attributes = {**about["custom_attributes"]}
            del attributes[git_ai.EDITS]
            rest = {k: v for k, v in about.items() if k != "custom_attributes"}
            sessions[name] = {**rest, **({"custom_attributes": attributes} if attributes else {})}
    return sessions
