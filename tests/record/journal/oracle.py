"""What must be true of random work: whose each line is, how many, and what it has cost.

Every line there ever is is unlike all others, so that its author is who wrote it first.
"""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any

from tests.support.harness import V1, Agent, World
from tests.support.linking import ids, noted, sessions

BEFORE = "person"


class Oracle:
    """Who wrote each line there ever was, held against what commits and the store say."""

    def __init__(self, world: World, agents: list[Agent], seed: int) -> None:
        self.world, self.agents = world, agents
        self.random = random.Random(seed)
        self.authors: dict[str, str] = {}
        self.busy: set[str] = set()
        self.committed: set[str] = set()
        self.told: set[str] = set()  # sessions of which a commit of their running turn tells
        self.made = 0
        self.head = world.head
        self._deltas: dict[str, tuple[str, int]] = {}
        for path in world.git("ls-files").splitlines():
            self.authors |= dict.fromkeys(world.read(path).splitlines(), BEFORE)

    def fresh(self, who: str) -> str:
        self.made += 1
        line = f"line number {self.made} by {who}"
        self.authors[line] = who
        return line

    def changed(self, path: str, who: str) -> str:
        """A content of path with most of the lines of before and some new ones of who's."""
        full = self.world.path / path
        lines = full.read_text().splitlines() if full.exists() else []
        lines = [line for line in lines if self.random.random() > 0.2]
        for _ in range(self.random.randint(1, 4)):
            lines.insert(self.random.randint(0, len(lines)), self.fresh(who))
        return "".join(f"{line}\n" for line in lines)

    def check(self, amended: bool = False) -> None:
        """Hold a commit that was made against what is known, once.  amended: its checkpoint
        may be older than the last calls of a session, which only a commit of its work takes."""
        if self.world.head == self.head:
            return
        self.head = self.world.head
        made = ids(self.world) or noted(self.world)
        stored = sessions(self.world, made[-1]) if made else {}
        self._sums(stored)
        self._lines_of(made[-1], stored) if made else None
        for sid in () if amended else stored:
            self.cost(sid)
        if not amended:
            self.told |= self.busy & set(stored)
        self.committed |= set(self.world.git("grep", "-h", "^line", "HEAD", ok=False).splitlines())

    def _sums(self, stored: dict[str, dict[str, Any]]) -> None:
        """Lines per session, of the person and of before add up, and are right each."""
        added, removed = self._diff("+"), self._diff("-")
        for sid in {who for who in added if who.startswith("session")} - set(stored):
            assert not self._linked(sid), f"{sid} wrote what is in a file of the commit"
        told = {sid: m["initial_attribution"] for sid, m in stored.items()}
        for sid, one in told.items():
            others = sum(n for who, n in added.items() if who.startswith("session") and who != sid)
            expected = {"agent": added.get(sid, 0), "others": others}
            expected |= {who: added.get(who, 0) for who in ("person", "unknown")}
            assert one["lines_added"] == expected, (sid, added, one)
            assert sum(one["lines_removed"].values()) == sum(removed.values()), (sid, one)

    def _lines_of(self, checkpoint: str, stored: dict[str, dict[str, Any]]) -> None:
        """Every line the commit adds stands in lines.json, with its author."""
        at = f"{V1}:{checkpoint[:2]}/{checkpoint[2:]}"
        named: dict[tuple[str, str], str] = {}
        for number, sid in enumerate(stored):
            told = self.world.git("show", f"{at}/{number}/lines.json", ok=False)
            for path, versions in json.loads(told or "{}").items():
                now = self.world.git("rev-parse", "--verify", "-q", f"HEAD:{path}", ok=False)
                for one in (one for one in versions if one["oid"] == now):
                    lines = self.world.git("show", f"HEAD:{path}").splitlines()
                    for first, last, turn, _ in one["ranges"]:
                        who = turn if turn in ("person", "unknown") else sid
                        named |= {(path, lines[n - 1]): who for n in range(first, last + 1)}
        wrong = {key: who for key, who in named.items() if self.authors[key[1]] != who}
        assert not wrong
        added = self._diff("+")  # a line of a session that has no part in the commit only moved
        theirs = sum(added[who] for who in added if who.startswith("session") and who not in stored)
        assert len(named) == sum(added.values()) - theirs

    def cost(self, sid: str) -> None:
        """What the checkpoints of a session cost adds up to what it has spent until now."""
        names = [
            line.split() for line in self.world.git("ls-tree", "-r", V1).splitlines()
            if line.endswith("/metadata.json") and line.count("/") == 3
        ]  # fmt: skip
        unread = [oid for _, _, oid, _ in names if oid not in self._deltas]
        for oid in unread:
            one = json.loads(self.world.git("cat-file", "blob", oid))
            calls = one.get("token_usage_delta", {}).get("api_call_count", 0)
            self._deltas[oid] = one["session_id"], calls
        deltas = [self._deltas[oid] for _, _, oid, _ in names]
        agent = next(a for a in self.agents if a.sid == sid)
        spent = agent.transcript.read_text().count('"usage"')
        assert sum(calls for who, calls in deltas if who == sid) == spent, sid

    def shared(self, path: str) -> bool:
        """Whether the last edit of a path reads that nobody can tell whose it is."""
        journal = (self.world.path / ".git/gitcp/journal").read_text().splitlines()
        edits = [edit for line in journal if (edit := json.loads(line)).get("path") == path]
        return bool(edits[-1].get("shared"))

    def _linked(self, sid: str) -> bool:
        """Whether a session has lines that no commit had before in a path that the parent has:
        those link, of whatever number.  A line or two, or few of many, of a new file are no
        evidence, and lines that only move to another path are nobody's new work."""
        args = ("show", "--format=", "--unified=0", "--no-renames", "--diff-filter=M", "HEAD")
        added = [x[1:] for x in self.world.git(*args).splitlines() if x.startswith("+line")]
        return sid in {self.authors[line] for line in added if line not in self.committed}

    def _diff(self, sign: str) -> dict[str, int]:
        """Whose lines HEAD adds or removes, counted by git's own diff."""
        args = ("show", "--format=", "--unified=0", "--no-renames", "HEAD")
        counts: dict[str, int] = {}
        for line in self.world.git(*args).splitlines():
            if line.startswith(sign) and not line.startswith(sign * 3):
                who = self.authors[line[1:]]
                counts[who] = counts.get(who, 0) + 1
        return counts


def staged(world: World, path: str, text: str) -> None:
    """Put another content of a path than the worktree has into the index."""
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin", "--path", path],
        cwd=world.path, input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    world.git("update-index", "--add", "--cacheinfo", f"100644,{done.stdout.strip()},{path}")
