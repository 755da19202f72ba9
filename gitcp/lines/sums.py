"""Sum the authors of a range's added and removed lines by model, session, file and day.

A commit without a checkpoint is the person's if work was recorded then, else unrecorded.  The added
lines of a linked commit have the authors in `lines.json`; lines that it lacks are unknown.  Removed
lines are divided by `initial_attribution` (gitcp-formats(5)).
"""

from __future__ import annotations

from collections import defaultdict

from gitcp.agents import transcripts
from gitcp.lines.tally import WHO, get_word, make_counts
from gitcp.text.times import format_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.lines.tally import Counts, SessionTally, Tally
    from gitcp.text.record_types import Usage


class Sums:
    """The sums of the commits taken so far.

    roots: the id of a task's session -> that of the conversation that gave it, in whose row the
    task counts."""

    def __init__(self, roots: Mapping[str, str] | None = None) -> None:
        self._roots = roots or {}
        self.commits = self.linked = 0
        self._with_lines = 0  # commits that add lines
        self._recorded = 0  # those of them of whose lines each has a known author
        self.added = make_counts()
        self.removed = make_counts()
        self.by_neighbours = 0  # of those added
        self.models: dict[tuple[str, str], int] = {}
        self.attested: dict[str, Counts] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.files: defaultdict[str, Counts] = defaultdict(_make_row)
        self.days: defaultdict[str, Counts] = defaultdict(_make_row)
        self._checkpoints: set[tuple[str, str]] = set()
        self.spent: dict[tuple[str, str], Usage] = {}  # (agent, model) -> tokens

    def take(self, tally: Tally) -> None:
        """Add a commit to the sums."""
        self.commits += 1
        self.linked += tally.linked
        attested = self._attest(tally)
        for file in tally.files:
            row = self.files[file.path]
            day = self.days[format_day(tally.time)]
            self.by_neighbours += file.by_neighbours
            row["removed"] += file.removed
            day["removed"] += file.removed
            for who, count in file.added.items():
                name = get_word(who)
                for sums in (self.added, row, day):
                    sums[name] += count
                if who == "unrecorded":
                    attested["added"] += count
                if not isinstance(who, str):
                    self.models[who[:2]] = self.models.get(who[:2], 0) + count
                    self._get_session(who[2], who[0])["added"] += count
        counts = tally.sum_added()
        if sum(counts.values()):
            self._with_lines += 1
            self._recorded += not (counts["unknown"] or counts["unrecorded"])
        for name, count in tally.sum_removed().items():
            self.removed[name] += count
        for session in tally.sessions:
            self._count_checkpoint(session)

    def _attest(self, tally: Tally) -> Counts:
        """The row of the agent that a commit attests; a row that is dropped if it attests none."""
        row = {"commits": 0, "added": 0}
        if tally.attested:
            row = self.attested.setdefault(tally.attested, row)
        row["commits"] += 1
        return row

    def _get_session(self, session_id: str, agent: str) -> dict[str, Any]:
        """The row of a conversation; session_id: its own, or that of one of its tasks."""
        name = self._roots.get(session_id, session_id)
        if name not in self.sessions:
            self.sessions[name] = {
                "agent": agent,
                "added": 0,
                "turns": set(),
                "tokens": transcripts.make_usage(),
                "checkpoints": set(),
                "tasks": set(),
            }
        session = self.sessions[name]
        if name != session_id:
            session["tasks"].add(session_id)
        return session

    def _count_checkpoint(self, stored: SessionTally) -> None:
        """Add a session of a checkpoint, whose tokens count once if several commits name it."""
        session = self._get_session(stored.session_id, stored.agent)
        if stored.session_id not in self._roots:
            session["turns"].update(stored.turns)
        session["checkpoints"].add(stored.checkpoint_id)
        if (stored.checkpoint_id, stored.session_id) in self._checkpoints:
            return
        self._checkpoints.add((stored.checkpoint_id, stored.session_id))
        if stored.spent is not None:
            spent = transcripts.count_spent(stored.spent, session["agent"])
            transcripts.add_counts(session["tokens"], spent)
            key = session["agent"], stored.model
            transcripts.add_counts(self.spent.setdefault(key, transcripts.make_usage()), spent)

    def list_stored(self) -> set[str]:
        """The sessions that the checkpoints of the commits have."""
        return {session for _, session in self._checkpoints}

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
            "by_neighbours": self.by_neighbours,
            "coverage": {"commits": self._with_lines, "recorded": self._recorded},
            "tokens": transcripts.add_tokens(
                *(session["tokens"] for session in self.sessions.values())
            ),
            "models": [{"agent": a, "model": m, "added": n} for (a, m), n in models],
            "attested": [{"agent": agent, **counts} for agent, counts in attested],
            "sessions": [_build_session_record(name, session) for name, session in sessions],
            "files": [{"path": path, **counts} for path, counts in files],
            "days": [{"day": day, **counts} for day, counts in sorted(self.days.items())],
        }


def _build_session_record(name: str, session: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: len(session[key]) for key in ("turns", "checkpoints", "tasks")}
    same = {key: session[key] for key in ("agent", "added", "tokens")}
    return {"session_id": name, **same, **numbers}


def share_percent(counts: Mapping[str, int]) -> dict[str, int]:
    """The whole percentages of counts, which add up to 100 by the largest remainders; all 0 if
    every count is."""
    total = sum(counts.values())
    if not total:
        return dict.fromkeys(counts, 0)
    whole = {who: 100 * count // total for who, count in counts.items()}
    rest = {who: 100 * count % total for who, count in counts.items()}
    left = 100 - sum(whole.values())
    for who in sorted(rest, key=lambda who: -rest[who])[:left]:
        whole[who] += 1
    return whole


def _count_lines(counts: Counts) -> int:
    return sum(counts[who] for who in WHO)


def _make_row() -> Counts:
    return {**make_counts(), "removed": 0}
