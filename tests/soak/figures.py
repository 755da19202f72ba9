"""What a soak came to: figures from a fresh clone and from each desk, each with its limit."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

from tests.soak.desk import Desk, run
from tests.soak.ledger import LOG, Commit, Verdict, author, commits, request
from tests.soak.team import Team
from tests.support.harness import V1

SCREEN = 24  # lines
SLOWER = 1.3  # times what a fresh clone needs
ROUNDS = 7
IDLE = "empty commit, no session at work"
PARTS = ("gitcp", "entire-sessions", "objects", "refs")


class Figures:
    """Rows of a table, and what of them is over its limit."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.broken: list[str] = []

    def say(self, name: str, value: object, good: bool = True) -> None:
        row = f"{name:<52} {value}"
        self.rows.append(row if good else f"{row}   <-- not as it should be")
        if not good:
            self.broken.append(row)

    def expect_none(self, name: str, offenders: list[str]) -> None:
        """A list that should be empty: its length, and the first ones of it."""
        self.say(name, len(offenders), not offenders)
        self.rows += [f"    {line}" for line in offenders[:25]]


def closing(team: Team, timed: bool = True) -> Figures:
    """Everything that must be true in the end; timed: also how long it takes."""
    figures = Figures()
    fresh = team.desk("fay")
    fresh.program = team.after
    fresh.enable()
    fresh.gitcp("fetch")
    _links(team, fresh, figures)
    _lines(fresh, figures)
    _store(team, fresh, figures)
    if timed:
        _times(team, figures)
        _growth(team, fresh, figures)
    _sizes(team, fresh, figures)
    return figures


def sessions(desk: Desk) -> dict[str, set[str]]:
    """checkpoint id -> the sessions in it, as the permanent store has them."""
    stored: dict[str, set[str]] = defaultdict(set)
    grep = ("grep", "-h", "-A1", "-E", '"(checkpoint_id|session_id)":')
    out = desk.ask(*grep, V1.removeprefix("refs/heads/"), "--", "*/[0-9]*/metadata.json")
    for name, sid in re.findall(r'"checkpoint_id": ?"(\w+)",?\s+"session_id": ?"([^"]+)"', out):
        stored[name].add(sid)
    return stored


def history(desk: Desk) -> list[Commit]:
    """The commits of every branch that the team shares."""
    return list(commits(desk.ask(*LOG, "--exclude=*/entire/*", "--remotes=origin")))


def _links(team: Team, fresh: Desk, figures: Figures) -> None:
    shared, stored = history(fresh), sessions(fresh)
    verdicts = team.ledger.judge(shared, stored)
    pairs = sum(len(v.expected) for v in verdicts)
    missing = sum(len(v.missing) for v in verdicts)
    wrong = sum(len(v.wrong) for v in verdicts)
    right = pairs - missing
    precision, recall = right / max(1, right + wrong) * 100, right / max(1, pairs) * 100
    by_sessions = sum(bool(v.expected) for v in verdicts)
    figures.say(
        "commits that all share, those with sessions' lines", f"{len(shared)}, {by_sessions}"
    )
    figures.say("links: expected, missing, wrong", f"{pairs}, {missing}, {wrong}")
    good = precision >= 99.5 and recall >= 99.5
    figures.say("links: precision, recall (99.5)", f"{precision:.2f}, {recall:.2f}", good)
    figures.expect_none("a person's commits with a session's id", _describe(verdicts, persons=True))
    figures.expect_none(
        "other commits with a wrong id or without one", _describe(verdicts, persons=False)
    )
    dangling = {name for c in shared for name in c.ids if name not in stored}
    figures.expect_none("ids that no checkpoint has", sorted(dangling))
    _prompts(shared, fresh, figures)


def _describe(verdicts: list[Verdict], persons: bool) -> list[str]:
    """The commits that are judged wrong, with what is wrong."""
    return [
        f"{v.commit.oid[:9]} {v.commit.subject[:50]!r}: "
        f"missing {sorted(v.missing)}, wrong {sorted(v.wrong)[:4]} of {len(v.commit.ids)}"
        for v in verdicts
        if (v.wrong or v.missing) and (v.by_person and bool(v.wrong)) == persons
    ]


def _prompts(shared: list[Commit], fresh: Desk, figures: Figures) -> None:
    """Every prompt behind a committed row is in a transcript that one of its commits names."""
    out = fresh.ask("grep", "-o", "-E", "request [0-9]{5} wants", V1[11:], "--", "*/full.jsonl*")
    said: dict[str, set[str]] = defaultdict(set)
    for row in out.splitlines():
        _, path, text = row.split(":", 2)
        said["".join(path.split("/")[:2])].add(text.split()[1])
    behind: dict[str, set[str]] = defaultdict(set)
    for commit in shared:
        for row in commit.added:
            if author(row):
                behind[request(row)] |= set(commit.ids)
    lost = [n for n, ids in sorted(behind.items()) if not any(n in said[name] for name in ids)]
    figures.say("prompts behind committed lines", len(behind))
    figures.expect_none("committed prompts that a fresh clone does not find", lost)


def _lines(fresh: Desk, figures: Figures) -> None:
    """What blame says of each line, beside who typed it."""
    count, wrong, foreign = 0, [], []
    for name in fresh.ask("ls-files").splitlines():
        for record in map(json.loads, fresh.gitcp("blame", "--json", name).stdout.splitlines()):
            row = record["content"].strip()
            asked = f"request {request(row)} " if author(row) else ""
            count += 1
            if record["session_id"] != author(row) or not record["prompt"].startswith(asked):
                said = record["session_id"] or record["who"], record["prompt"][:13]
                wrong.append(f"{name}: {row!r} is {said} in {record['commit'][:9]}")
                if record["session_id"] not in ("", author(row)):
                    foreign.append(wrong[-1])
    share = (count - len(wrong)) / max(1, count) * 100
    figures.say("lines; of 100, blame names right (99.5)", f"{count}, {share:.2f}", share >= 99.5)
    figures.rows += [f"    {line}" for line in wrong[:25]]
    figures.expect_none("lines that were given to a wrong session", foreign)


def _store(team: Team, fresh: Desk, figures: Figures) -> None:
    """What commands say of each clone."""
    for desk in [*(person.desk for person in team.people), fresh]:
        for name in ("fsck", "doctor"):
            done = desk.gitcp(name)
            lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
            quiet = done.status == 0 and (not lines or lines[0].startswith("✓ all is well"))
            if desk is fresh and name == "doctor":  # no client has run there yet
                quiet = all("have not run yet" in x or x.startswith("✓ ") for x in lines)
            figures.expect_none(
                f"{desk.name}: {name} says (status {done.status})", [] if quiet else lines
            )
        done = desk.gitcp("status")
        count = len(done.stdout.splitlines())
        figures.say(f"{desk.name}: lines of status ({SCREEN})", count, count <= SCREEN)
        if count > SCREEN:
            figures.rows += [f"    {line}" for line in done.stdout.splitlines()[:SCREEN]]
    counted = Counter(
        re.sub(r"\b[0-9a-f]{7,}\b|\d+", "#", line)
        for person in team.people
        for line in person.desk.said
    )
    figures.say("warnings of hooks", sum(counted.values()))
    figures.rows += [f"    {count} x {line}" for line, count in counted.most_common(12)]


def _times(team: Team, figures: Figures) -> None:
    """What hooks took while the team worked; scaled: as if the machine had been at rest."""
    by_kind = defaultdict(list)
    for person in team.people:
        for t in person.desk.timings:
            if t.kind.startswith(("client", "git")) and not t.kind.startswith("gitcp"):
                by_kind[t.kind].append(t)
    for kind, timings in sorted(by_kind.items()):
        walls = [t.wall for t in timings]
        scaled = max(min(t.wall / t.pace, t.cpu) for t in timings)
        figures.say(
            f"{kind}: calls, median, longest, longest at rest",
            f"{len(walls)}, {median(walls) * 1000:.0f}, {max(walls) * 1000:.0f}, "
            f"{scaled * 1000:.0f} ms (1000)",
            scaled <= 1.0,
        )


def _growth(team: Team, fresh: Desk, figures: Figures) -> None:
    """The same work in each clone and in a fresh one, in turns; seconds of a processor."""
    desks = [*(person.desk for person in team.people), fresh]
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    for desk in desks:
        desk.git("add", "-A")
        desk.git("stash", "push", "-q", "-u", ok=False)
    for number in range(ROUNDS + 1):
        for desk in desks:
            before = len(desk.timings)
            walls = _round(desk, team, number)
            if number:
                for t in desk.timings[before:]:
                    walls.append((t.kind, t.cpu))
                for kind, cpu in walls:
                    took[desk.name, kind].append(cpu)
    for kind in sorted({kind for name, kind in took if name == fresh.name}):
        base = median(took[fresh.name, kind])
        for person in team.people:
            own = median(took[person.desk.name, kind])
            ratio = own / base
            value = f"{own * 1000:.0f} ms / {base * 1000:.0f} ms = {ratio:.2f} ({SLOWER})"
            # Stashed work starts Python at each commit; a fresh clone has none.
            figures.say(f"{person.desk.name}: {kind}", value, ratio <= SLOWER or kind == IDLE)


def _round(desk: Desk, team: Team, number: int) -> list[tuple[str, float]]:
    """A turn with one file and three commits: the commits' processor seconds."""
    client = desk.start(f"growth-{desk.name}-{number}")
    client.prompt("write a file")
    client.write(f"{desk.name}/growth-{number}.py", team.ledger.row("nobody") + "\n")
    client.stop()
    took = [_commit(desk, "empty commit beside open work", "--allow-empty")]
    desk.ask("add", "-A")
    took.append(_commit(desk, "commit of a session's work"))
    client.end()
    desk.close(client)
    return [*took, _commit(desk, IDLE, "--allow-empty")]


def _commit(desk: Desk, kind: str, *args: str) -> tuple[str, float]:
    return kind, run(["git", "commit", "-q", "-m", kind, *args], desk.path, desk.env)[2]


def _bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(p.lstat().st_size for p in path.rglob("*") if p.is_file())


def _sizes(team: Team, fresh: Desk, figures: Figures) -> None:
    header = "".join(f"{part:>18}" for part in PARTS)
    figures.rows.append(f"{'KiB in .git':<52} {header}")
    for desk in [*(person.desk for person in team.people), team.colleague.desk, fresh]:
        sizes = [_bytes(desk.path / ".git" / part) // 1024 for part in PARTS]
        figures.rows.append(f"    {desk.name:<48} {''.join(f'{size:>18}' for size in sizes)}")
    for person in team.people:
        done = person.desk.gitcp("du")
        figures.rows += [
            f"    {person.desk.name}: {line}" for line in done.stdout.splitlines()[:12]
        ]
