"""Whose lines a range of commits added and removed, summed by model, session, file and day.

A commit without a checkpoint is a person's.  In a linked one each added line is whose
`lines.json` says; what it leaves out, or a checkpoint without it, makes lines unknown.  Removed
lines are told apart by `initial_attribution` (gitcp-formats(5)), for a commit as a whole.
"""

from __future__ import annotations

from gitcp.core.blame import authors
from gitcp.core.transcript import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.blame.authors import Author, Record

    class Commit(TypedDict):
        """files: path -> (added, removed), (0, 0) for a binary one.  oids: of the blobs, by
        path.  linked: it carries ids.  attested: path -> line -> author, by other tools' notes."""

        oid: str
        parents: Sequence[str]
        day: str
        files: Mapping[str, tuple[int, int]]
        oids: Mapping[str, str]
        linked: bool
        parts: Sequence[Record]
        attested: Mapping[str, Mapping[int, Author]]

    Blob = Callable[[str], bytes | None]
    Counts = dict[str, int]
    # path -> (agent, model) or "person" or "unknown" -> lines
    Shares = dict[str, dict[Any, int]]

_UNKNOWN = authors.nobody("unknown")
WHO = ("agent", "person", "unknown")


class Sums:
    """The sums of the commits taken so far; their number does not make them larger."""

    def __init__(self) -> None:
        self.commits = self.linked = 0
        self.added, self.removed = _none(), _none()
        self.models: dict[tuple[str, str], int] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.files: dict[str, Counts] = {}
        self.days: dict[str, Counts] = {}
        self._checkpoints: set[tuple[str, str]] = set()

    def take(self, commit: Commit, blob: Blob) -> None:
        """Count one commit in.  blob reads one by its oid, None where it is gone."""
        self.commits += 1
        self.linked += commit["linked"]
        for path, shares in added(commit, blob).items():
            row = self.files.setdefault(path, {**_none(), "removed": 0})
            day = self.days.setdefault(commit["day"], {**_none(), "removed": 0})
            row["removed"] += commit["files"][path][1]
            day["removed"] += commit["files"][path][1]
            for who, count in shares.items():
                name = who if isinstance(who, str) else "agent"
                for sums in (self.added, row, day):
                    sums[name] += count
                if name == "agent":
                    self.models[who[:2]] = self.models.get(who[:2], 0) + count
                    self._session(who[2], who[0])["added"] += count
        for name, count in removed(commit).items():
            self.removed[name] += count
        for part in commit["parts"]:
            self._checkpoint(part)

    def _session(self, session_id: str, agent: str) -> dict[str, Any]:
        empty = {"agent": agent, "added": 0, "turns": set(), "tokens": tokens.usage()}
        return self.sessions.setdefault(session_id, {**empty, "checkpoints": set()})

    def _checkpoint(self, part: Record) -> None:
        """A checkpoint that several commits carry is counted once."""
        metadata, key = part["metadata"], (part["checkpoint_id"], part["session_id"])
        session = self._session(part["session_id"], str(metadata.get("agent") or ""))
        turns = metadata.get("turns")
        session["turns"].update(turns if isinstance(turns, dict) else ())
        session["checkpoints"].add(part["checkpoint_id"])
        if key in self._checkpoints:
            return
        self._checkpoints.add(key)
        used = metadata.get("token_usage_delta")
        if isinstance(used, dict):
            _spend(session["tokens"], used)

    def record(self) -> dict[str, Any]:
        """All of it as a record `stats` (gitcp-record(5)), largest first, days in order."""
        models = sorted(self.models.items(), key=lambda item: (-item[1], item[0]))
        sessions = sorted(self.sessions.items(), key=lambda item: (-item[1]["added"], item[0]))
        files = sorted(self.files.items(), key=lambda item: (-_lines(item[1]), item[0]))
        return {
            "type": "stats",
            "commits": self.commits,
            "linked": self.linked,
            "checkpoints": len({name for name, _ in self._checkpoints}),
            "turns": sum(len(one["turns"]) for one in self.sessions.values()),
            "added": self.added,
            "removed": self.removed,
            "tokens": tokens.add(*(one["tokens"] for one in self.sessions.values())),
            "models": [{"agent": a, "model": m, "added": n} for (a, m), n in models],
            "sessions": [_session_record(name, one) for name, one in sessions],
            "files": [{"path": path, **counts} for path, counts in files],
            "days": [{"day": day, **counts} for day, counts in sorted(self.days.items())],
        }


def _spend(total: Counts, used: Mapping[str, Any]) -> None:
    """Add a usage to total, its subagents' part with it (E§2.5)."""
    for key in total:
        total[key] += tokens.count(used.get(key))
    part = used.get("subagent_tokens")
    if isinstance(part, dict):
        _spend(total, part)


def _session_record(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: len(one[key]) for key in ("turns", "checkpoints")}
    same = {key: one[key] for key in ("agent", "added", "tokens")}
    return {"session_id": name, **same, **numbers}


def _lines(counts: Counts) -> int:
    return sum(counts[who] for who in WHO)


def _none() -> Counts:
    return dict.fromkeys(WHO, 0)


def added(commit: Commit, blob: Blob) -> Shares:
    """path -> whose its added lines are: (agent, model, session), "person" or "unknown".

    blob reads one by its oid, None where it is gone."""
    recorded = [part for part in commit["parts"] if part["lines"] is not None]
    unsaid = "unknown" if commit["linked"] else "person"
    shares: Shares = {}
    for path, (count, _) in commit["files"].items():
        known = authors.of_blob(recorded, path, commit["oids"].get(path, ""), blob)
        attested = commit["attested"].get(path, {})
        left = count
        row = shares[path] = {}
        for who, lines in _counted(completed(known, attested)).items():
            row[who] = min(left, lines)
            left -= row[who]
        row[unsaid] = row.get(unsaid, 0) + left
    return shares


def completed(known: Mapping[int, Author], attested: Mapping[int, Author]) -> dict[int, Author]:
    """The authors of lines, those that are unknown by what another tool attests."""
    unknown = {line for line in attested if known.get(line, _UNKNOWN)["who"] == "unknown"}
    return {**known, **{line: attested[line] for line in unknown}}


def _counted(known: Mapping[int, Author]) -> dict[Any, int]:
    """How many lines are whose, sessions' first."""
    counts: dict[Any, int] = {}
    for author in known.values():
        session = (author["agent"], author["model"], author["session_id"])
        name = session if author["who"] == "session" else author["who"]
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: isinstance(item[0], str)))


def removed(commit: Commit) -> Counts:
    """Who removed the lines that the commit removes."""
    total = sum(count for _, count in commit["files"].values())
    return removed_of(total, commit["linked"], commit["parts"])


def removed_of(total: int, linked: bool, parts: Iterable[Record]) -> Counts:
    """Who removed so many lines in a commit, by what its parts say."""
    counts = _none()
    if not linked:
        counts["person"] = total
        return counts
    persons = []
    for part in parts:
        attribution = part["metadata"].get("initial_attribution")
        by = attribution.get("lines_removed") if isinstance(attribution, dict) else None
        if isinstance(by, dict):
            counts["agent"] += tokens.count(by.get("agent"))
            persons.append(tokens.count(by.get("person")))
    counts["agent"] = min(counts["agent"], total)
    counts["person"] = min(max(persons, default=0), total - counts["agent"])
    counts["unknown"] = total - counts["agent"] - counts["person"]
    return counts
