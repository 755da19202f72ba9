"""How many of the agents' lines survive, by replaying the changes of a history.

A file is a string with a character for each line: NUL, or one for the author's agent, model and,
if set, day.  Characters after the last agent's line are left off to save memory.
"""

from __future__ import annotations

from gitcp.checkpoints.format import line_authors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.objects.patches import Hunk, Resolved

    Owners = str
    Event = tuple[str, str, str, str, int]  # agent, model, born, who removed them or "", lines
    Files = dict[str, tuple[str, Owners]]  # path -> blob, owners

_NONE = "\0"
_MOST = 0x10FFFF  # authors with a character; further ones count as the last


class Survival:
    """The sums, and the authors by character.  born: the day of the lines added from now on, if
    days are counted separately."""

    def __init__(self) -> None:
        self.born = ""
        self._names: dict[tuple[str, str, str], str] = {}
        self._order: list[tuple[str, str, str]] = []  # by their characters, from 1
        self._added: dict[str, int] = {}
        self._gone: dict[str, dict[str, int]] = {}
        self._alive: dict[str, int] = {}

    def _add_lines(self, author: Author | None, lines: int) -> Owners:
        code = self._get_code(author)
        if code != _NONE:
            self._added[code] = self._added.get(code, 0) + lines
        return code * lines

    def _get_code(self, author: Author | None) -> str:
        """The character of a line by its author."""
        if author is None or author["who"] != "session":
            return _NONE
        name = author["agent"], author["model"], self.born
        if name not in self._names:
            if len(self._order) < _MOST:
                self._order.append(name)
            self._names[name] = chr(len(self._order))
        return self._names[name]

    def replay_change(
        self,
        old: Owners,
        hunks: Sequence[Hunk],
        writers: Mapping[int, Author],
        default: str,
        taker: Callable[[], str],
    ) -> Owners:
        """The owners of a file after a commit.

        writers: the authors of its new lines.  default: "person" or "unknown", for the others.
        taker: returns who removed the lines of a hunk that adds none, or lines of several authors.
        """
        parts = []
        position = 0
        for start, removed, first, added in hunks:
            stop = start
            if removed:
                stop -= 1
            parts.append(old[position:stop].ljust(stop - position, _NONE))
            position = stop + removed
            runs = list(line_authors.group_runs(writers, first, added))
            parts += (self._add_lines(author, lines) for author, lines in runs)
            gone = old[stop:position]
            if gone.strip(_NONE):
                takers = {_get_taker(author, default) for author, _ in runs}
                if len(takers) == 1:
                    self._take(gone, takers.pop())
                else:
                    self._take(gone, taker())
        return "".join([*parts, old[position:]]).rstrip(_NONE)

    def merge(
        self, parents: Sequence[Owners], hunks: Sequence[Resolved], codes: Mapping[int, Author]
    ) -> Owners:
        """The owners of a merged file; codes: the authors of lines that no parent has."""
        joined = ""
        positions = [0] * len(parents)
        for hunk in hunks:
            start = hunk["starts"][0]
            joined += parents[0][positions[0] : start].ljust(start - positions[0], _NONE)
            positions = list(hunk["starts"])
            for has, stays in hunk["lines"]:
                owners = []
                for number, sign in enumerate(has):
                    if sign == "y":
                        at = positions[number]
                        owners.append(parents[number][at : at + 1])
                        positions[number] += 1
                if not stays:
                    continue
                if owners:
                    joined += max(owners) or _NONE
                else:
                    joined += self._add_lines(codes.get(len(joined) + 1), 1)
        return (joined + parents[0][positions[0] :]).rstrip(_NONE)

    def finish(self, files: Files) -> None:
        """Count the lines of the last commit as alive."""
        for _, owners in files.values():
            for code in set(owners) - {_NONE}:
                self._alive[code] = self._alive.get(code, 0) + owners.count(code)

    def take_events(self) -> list[Event]:
        """Return and reset the added and removed lines, which build_record() no longer counts."""
        names = self._order
        events: list[Event] = []
        for code, lines in self._added.items():
            events.append((*names[ord(code) - 1], "", lines))
        for code, takers in self._gone.items():
            for by, lines in takers.items():
                events.append((*names[ord(code) - 1], by, lines))
        self._added = {}
        self._gone = {}
        return events

    def _take(self, gone: str, taker: str) -> None:
        for code in set(gone) - {_NONE}:
            row = self._gone.setdefault(code, {})
            row[taker] = row.get(taker, 0) + gone.count(code)

    def build_record(self) -> dict[str, Any]:
        """The key `survival` of a record `stats` (gitcp-record(5)), most lines first."""
        rows = [
            {"agent": agent, "model": model, **self._sum_codes([code])}
            for (agent, model, _), code in self._names.items()
        ]
        rows.sort(key=lambda row: (-row["added"], row["agent"], row["model"]))
        return {**self._sum_codes(set(self._names.values())), "models": rows}

    def _sum_codes(self, codes: Iterable[str]) -> dict[str, Any]:
        added = 0
        alive = 0
        by = {"agent": 0, "person": 0}
        for code in codes:
            added += self._added.get(code, 0)
            alive += self._alive.get(code, 0)
            for who in by:
                by[who] += self._gone.get(code, {}).get(who, 0)
        # A branch that was merged otherwise may have removed what is alive: never more than all.
        gone = max(0, added - alive)
        by["agent"] = min(by["agent"], gone)
        by["person"] = min(by["person"], gone - by["agent"])
        rewritten = {**by, "unknown": gone - sum(by.values())}
        return {"added": added, "alive": alive, "rewritten": rewritten}


def _get_taker(author: Author | None, default: str) -> str:
    if author is None:
        return default
    if author["who"] == "session":
        return "agent"
    return author["who"]
