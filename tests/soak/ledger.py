"""Which session wrote which line, by the line's own text, and what follows for links.

Nothing here reads what gitcp recorded but the links themselves.  A line is typed once and says who
typed it, so a commit's own patch tells which sessions it must be linked to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

ROW = re.compile(r"row \d{5} by (\S+) for (\d{5})$")
TOKEN = re.compile(r"\bc\d{4}\b")
LINK = re.compile(r"^\s*(?:\* )?Entire-Checkpoint: ([0-9a-f]{12})$", re.M)
UNLINK = re.compile(r"^Entire-Checkpoint-Removed: ([0-9a-f]{12})", re.M)
# What `git log` is asked for, so that commits() can read it; -c: a merge shows its own lines.
LOG = (
    *("log", "--topo-order", "--reverse", "--notes=gitcp", "-p", "-c", "--no-renames"),
    "--format=%x00%H%x01%P%x01%B%x01%N%x01",
)
SESSION = "s-"


def author(row: str) -> str:
    """The session that typed a row, '' for a person's."""
    found = ROW.search(row)
    return found[1] if found and found[1].startswith(SESSION) else ""


def request(row: str) -> str:
    """The number of the prompt behind a session's row."""
    found = ROW.search(row)
    return found[2] if found else ""


class Commit(NamedTuple):
    """A commit as it counts here: the rows it adds and removes, and the checkpoints it names."""

    oid: str
    parents: list[str]
    message: str
    ids: list[str]
    added: set[str]
    removed: set[str]

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]


class Verdict(NamedTuple):
    """What is wrong with a commit's links: sessions without one, checkpoints without a reason."""

    commit: Commit
    expected: set[str]
    missing: set[str]
    wrong: set[str]
    by_person: bool


def commits(log: str) -> Iterator[Commit]:
    """The commits of the output of `git` LOG, parents before children."""
    for item in log.split("\0")[1:]:
        oid, parents, message, note, patch = item.split("\x01", 4)
        ids = dict.fromkeys(LINK.findall(message) + LINK.findall(note))
        gone = set(UNLINK.findall(note)) - set(LINK.findall(note))
        width = max(1, len(parents.split()))
        rows = [(line[:width], line) for line in patch.splitlines() if ROW.search(line)]
        yield Commit(
            oid,
            parents.split(),
            message,
            [name for name in ids if name not in gone],
            {line[width:].strip() for sign, line in rows if sign == "+" * width},
            {line[width:].strip() for sign, line in rows if sign == "-" * width},
        )


@dataclass
class Ledger:
    """What was typed and committed, in all clones."""

    count: int = 0
    requests: int = 0
    # Sessions with open work in a path of a commit: to link them is right, not to link is right.
    possible: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    born: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    made: int = 0

    def row(self, who: str, number: str = "00000") -> str:
        """A line that nobody has typed before."""
        self.count += 1
        return f"row {self.count:05d} by {who} for {number}"

    def prompt(self) -> str:
        """The number of a prompt that nobody has typed before."""
        self.requests += 1
        return f"{self.requests:05d}"

    def token(self) -> str:
        """A word for a commit's message, by which it is known after a rewrite."""
        self.made += 1
        return f"c{self.made:04d}"

    def record(self, commit: Commit, amended: bool = False) -> None:
        """A commit was made just now: a checkpoint that is new holds its rows, no other has."""
        for name in commit.ids:
            if amended or name not in self.born:
                self.born[name] |= {row for row in commit.added if author(row)}

    def judge(self, history: list[Commit], sessions: Mapping[str, set[str]]) -> list[Verdict]:
        """A verdict on each commit; sessions: those of each checkpoint that is stored."""
        restored = _restored(history)
        named = {name for commit in history for name in commit.ids}
        return [self._judged(c, restored[c.oid], sessions, named) for c in history]

    def _judged(
        self,
        commit: Commit,
        restored: set[str],
        sessions: Mapping[str, set[str]],
        named: set[str],
    ) -> Verdict:
        expected = _authors(commit.added - restored)
        allowed = expected | _authors(commit.added & restored)
        for token in TOKEN.findall(commit.message):
            allowed |= self.possible.get(token, set())
        linked = {sid for name in commit.ids for sid in sessions.get(name, ())}
        rows = commit.added - restored
        unheld = {row for row in rows if self._unheld(row, commit)}
        # Where a conflict divided work, the commit that names its checkpoint has the rest of it.
        lost = {row for row in unheld if not self._holders(row) & named}
        linked -= _authors(lost) | (_authors(unheld) - _authors(rows - unheld))
        wrong = {
            name
            for name in commit.ids
            if not sessions.get(name, set()) & allowed or self._elsewhere(name, commit, restored)
        }
        return Verdict(commit, expected, expected - linked, wrong, not allowed)

    def _unheld(self, row: str, commit: Commit) -> bool:
        """Whether checkpoints were made of a row, and the commit names others alone."""
        holders = self._holders(row)
        return bool(holders) and {*commit.ids} <= self.born.keys() - holders

    def _holders(self, row: str) -> set[str]:
        """The checkpoints that were made of a row."""
        return {name for name, rows in self.born.items() if row in rows}

    def _elsewhere(self, name: str, commit: Commit, restored: set[str]) -> bool:
        """Whether a checkpoint was made of other rows than this commit's."""
        if name not in self.born or restored or len(commit.parents) > 1:
            return False
        if any(self.possible.get(token) for token in TOKEN.findall(commit.message)):
            return False
        return not self.born[name] & commit.added


def _authors(rows: Iterable[str]) -> set[str]:
    return {author(row) for row in rows} - {""}


def _restored(history: list[Commit]) -> dict[str, set[str]]:
    """The rows of each commit that an ancestor had added already: they came back."""
    place = {commit.oid: number for number, commit in enumerate(history)}
    before: list[int] = []  # bit n: commit n is an ancestor
    adders: dict[str, int] = defaultdict(int)
    found = {}
    for number, commit in enumerate(history):
        seen = 0
        for parent in commit.parents:
            if parent in place:
                seen |= before[place[parent]] | 1 << place[parent]
        before.append(seen)
        found[commit.oid] = {row for row in commit.added if adders[row] & seen}
        for row in commit.added:
            adders[row] |= 1 << number
    return found
