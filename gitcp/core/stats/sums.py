"""Sum the authors of a range's added and removed lines by model, session, file and day.

A commit without a checkpoint is the person's if work was recorded then, else unrecorded.  The added
lines of a linked commit have the authors in `lines.json`; lines that it lacks are unknown.  Removed
lines are divided by `initial_attribution` (gitcp-formats(5)).
"""

from __future__ import annotations

from collections import defaultdict

from gitcp.core.lines import authors
from gitcp.core.transcript import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gitcp.core.git.patches import Change, Patch
    from gitcp.core.lines.authors import Author, Record
    from gitcp.core.record_types import Usage

    class Commit(Change):
        """linked: it names a checkpoint.  known: path -> line -> author.  unsaid: the author of the
        other lines."""

        linked: bool
        unsaid: Author
        records: Sequence[Record]
        known: Mapping[str, Mapping[int, Author]]

    Counts = dict[str, int]
    # (agent, model, session), or a word of WHO -> lines
    Shares = dict[tuple[str, str, str] | str, int]

WHO = ("agent", "person", "unknown", "unrecorded")


class Sums:
    """The sums of the commits taken so far."""

    def __init__(self) -> None:
        self.commits = self.linked = 0
        self.added, self.removed = _make_counts(), _make_counts()
        self.models: dict[tuple[str, str], int] = {}
        self.attested: dict[str, Counts] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.files: defaultdict[str, Counts] = defaultdict(_make_row)
        self.days: defaultdict[str, Counts] = defaultdict(_make_row)
        self._checkpoints: set[tuple[str, str]] = set()
        self.spent: dict[tuple[str, str], Usage] = {}  # (agent, model) -> tokens

    def take(self, commit: Commit) -> None:
        """Add a commit to the sums."""
        self.commits += 1
        self.linked += commit["linked"]
        attested, removed = self._attest(commit), 0
        for patch in list_patches(commit):
            row, day = self.files[patch["path"] or patch["old"]], self.days[commit["day"]]
            gone = _count_removed_lines(patch)
            removed += gone
            row["removed"] += gone
            day["removed"] += gone
            for who, count in count_added(commit, patch).items():
                name = who if isinstance(who, str) else "agent"
                for sums in (self.added, row, day):
                    sums[name] += count
                if who == "unrecorded":
                    attested["added"] += count
                if not isinstance(who, str):
                    self.models[who[:2]] = self.models.get(who[:2], 0) + count
                    self._get_session(who[2], who[0])["added"] += count
        for name, count in _divide_removed(removed, commit).items():
            self.removed[name] += count
        for record in commit["records"]:
            self._count_checkpoint(record)

    def _attest(self, commit: Commit) -> Counts:
        """The row of the agent that a commit attests; a row that is dropped if it attests none."""
        empty = {"commits": 0, "added": 0}
        agent = commit["unsaid"]["agent"]
        row = self.attested.setdefault(agent, empty) if agent else empty
        row["commits"] += 1
        return row

    def _get_session(self, session_id: str, agent: str) -> dict[str, Any]:
        if session_id not in self.sessions:
            empty = {"agent": agent, "added": 0, "turns": set(), "tokens": tokens.make_usage()}
            self.sessions[session_id] = {**empty, "checkpoints": set()}
        return self.sessions[session_id]

    def _count_checkpoint(self, record: Record) -> None:
        """Add a session of a checkpoint, whose tokens count once if several commits name it."""
        metadata, key = record["metadata"], (record["checkpoint_id"], record["session_id"])
        session = self._get_session(record["session_id"], str(metadata.get("agent") or ""))
        turns = metadata.get("turns")
        session["turns"].update(turns if isinstance(turns, dict) else ())
        session["checkpoints"].add(record["checkpoint_id"])
        if key in self._checkpoints:
            return
        self._checkpoints.add(key)
        used = metadata.get("token_usage_delta")
        if isinstance(used, dict):
            spent = tokens.count_spent(used, session["agent"])
            tokens.add_counts(session["tokens"], spent)
            key = session["agent"], find_model(turns)
            tokens.add_counts(self.spent.setdefault(key, tokens.make_usage()), spent)

    def build_record(self) -> dict[str, Any]:
        """The record `stats` (gitcp-record(5)), with the largest rows first and days in order."""
        models = sorted(self.models.items(), key=lambda item: (-item[1], item[0]))
        sessions = sorted(self.sessions.items(), key=lambda item: (-item[1]["added"], item[0]))
        attested = sorted(self.attested.items(), key=lambda item: (-item[1]["added"], item[0]))
        files = sorted(self.files.items(), key=lambda item: (-_count_lines(item[1]), item[0]))
        return {
            "type": "stats",
            "commits": self.commits,
            "linked": self.linked,
            "checkpoints": len({name for name, _ in self._checkpoints}),
            "turns": sum(len(session["turns"]) for session in self.sessions.values()),
            "added": self.added,
            "removed": self.removed,
            "tokens": tokens.add(*(session["tokens"] for session in self.sessions.values())),
            "models": [{"agent": a, "model": m, "added": n} for (a, m), n in models],
            "attested": [{"agent": agent, **counts} for agent, counts in attested],
            "sessions": [_build_session_record(name, session) for name, session in sessions],
            "files": [{"path": path, **counts} for path, counts in files],
            "days": [{"day": day, **counts} for day, counts in sorted(self.days.items())],
        }


def find_model(turns: object) -> str:
    """The model of the turns; '' if they name none or several."""
    each = turns.values() if isinstance(turns, dict) else ()
    models = {str(turn["model"]) for turn in each if isinstance(turn, dict) and turn.get("model")}
    return models.pop() if len(models) == 1 else ""


def _build_session_record(name: str, session: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: len(session[key]) for key in ("turns", "checkpoints")}
    same = {key: session[key] for key in ("agent", "added", "tokens")}
    return {"session_id": name, **same, **numbers}


def _count_lines(counts: Counts) -> int:
    return sum(counts[who] for who in WHO)


def _make_counts() -> Counts:
    return dict.fromkeys(WHO, 0)


def _make_row() -> Counts:
    return {**_make_counts(), "removed": 0}


def list_patches(commit: Commit) -> Sequence[Patch]:
    """The patches that count: none of a merge, whose lines count in the merged commits."""
    return commit["patches"] if len(commit["parents"]) < 2 else ()


def count_added(commit: Commit, patch: Patch) -> Shares:
    """The number of lines that a patch adds by each author: (agent, model, session), or of WHO."""
    known = commit["known"].get(patch["path"], {})
    shares: Shares = {}
    for _, _, first, count in patch["hunks"]:
        for author, lines in authors.group_runs(known, first, count):
            who = _get_owner(author, commit)
            shares[who] = shares.get(who, 0) + lines
    return shares


def get_default_owner(commit: Commit) -> str:
    """The author, a word of WHO, of a commit's lines without a known one."""
    return commit["unsaid"]["who"]


def _get_owner(author: Author | None, commit: Commit) -> tuple[str, str, str] | str:
    if author is None or author["who"] != "session":
        return author["who"] if author else get_default_owner(commit)
    return author["agent"], author["model"], author["session_id"]


def count_removed(commit: Commit) -> Counts:
    """The number of lines that a commit removes, by who removed them."""
    total = sum([_count_removed_lines(patch) for patch in list_patches(commit)])
    return _divide_removed(total, commit)


def _count_removed_lines(patch: Patch) -> int:
    return sum([hunk[1] for hunk in patch["hunks"]])


def _divide_removed(total: int, commit: Commit) -> Counts:
    counts = _make_counts()
    if not total:
        return counts
    if not commit["linked"]:
        counts[get_default_owner(commit)] = total
        return counts
    persons = []
    for record in commit["records"]:
        attribution = record["metadata"].get("initial_attribution")
        by = attribution.get("lines_removed") if isinstance(attribution, dict) else None
        if isinstance(by, dict):
            counts["agent"] += tokens.parse_count(by.get("agent"))
            persons.append(tokens.parse_count(by.get("person")))
    counts["agent"] = min(counts["agent"], total)
    counts["person"] = min(max(persons, default=0), total - counts["agent"])
    counts["unknown"] = total - counts["agent"] - counts["person"]
    return counts
