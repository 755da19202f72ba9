"""Sum the authors of a range's added and removed lines by model, session, file and day, their costs
and how long their lines last; judge a range by the rules of `gitcp check`.

A commit without a checkpoint is the person's if work was recorded then, else unrecorded.  The added
lines of a linked commit have the authors in `lines.json`; lines that it lacks are unknown.  Removed
lines are divided by `initial_attribution` (gitcp-formats(5)).
"""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase
from typing import NamedTuple

from gitcp.agents import transcripts
from gitcp.checkpoints.format import line_authors
from gitcp.errors import Error, InputError
from gitcp.lines.tally import WHO, get_word, make_counts
from gitcp.text.times import format_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.objects.patches import Hunk, Resolved
    from gitcp.lines.tally import Counts, SessionTally, Tally
    from gitcp.text.record_types import Record, Usage

    Price = dict[str, float]  # kind of token -> the cost of a million
    Cost = Callable[[str, Usage], float | None]
    Owners = str
    Event = tuple[str, str, str, str, int]  # agent, model, born, who removed them or "", lines
    Files = dict[str, tuple[str, Owners]]  # path -> blob, owners
    Reason = dict[str, str]  # rule, commit ("" for the range), reason


class Sums:
    """The sums of the commits taken so far."""

    def __init__(self) -> None:
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
        if session_id not in self.sessions:
            empty = {"agent": agent, "added": 0, "turns": set(), "tokens": transcripts.make_usage()}
            self.sessions[session_id] = {**empty, "checkpoints": set()}
        return self.sessions[session_id]

    def _count_checkpoint(self, stored: SessionTally) -> None:
        """Add a session of a checkpoint, whose tokens count once if several commits name it."""
        session = self._get_session(stored.session_id, stored.agent)
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
    numbers = {key: len(session[key]) for key in ("turns", "checkpoints")}
    same = {key: session[key] for key in ("agent", "added", "tokens")}
    return {"session_id": name, **same, **numbers}


def share_percent(counts: Mapping[str, int]) -> dict[str, int]:
    """The whole percentages of counts, which add up to 100 by the largest remainders; all 0 if
    every count is."""
    total = sum(counts.values())
    parts = {who: divmod(100 * count, total) if total else (0, 0) for who, count in counts.items()}
    left = (100 if total else 0) - sum(whole for whole, _ in parts.values())
    more = sorted(parts, key=lambda who: -parts[who][1])[:left]
    return {who: whole + (who in more) for who, (whole, _) in parts.items()}


def _count_lines(counts: Counts) -> int:
    return sum(counts[who] for who in WHO)


def _make_row() -> Counts:
    return {**make_counts(), "removed": 0}


# Compute the cost of tokens by a table of prices; without a price the cost is not known.
_KINDS = ("input", "cache-write", "cache-read", "output")
_MILLION = 1_000_000


class PriceTable(NamedTuple):
    """What tokens cost."""

    prices: dict[str, Price]  # by the pattern of the models
    currency: str
    date: str


def read_table(values: Iterable[tuple[str, str]]) -> PriceTable:
    """The table in a file in git's format with the keys `model.<pattern>.<kind>`, `prices.currency`
    and `prices.date`.  Raise InputError for a price that is not a number."""
    table: dict[str, Price] = {}
    settings = {"prices.currency": "USD", "prices.date": ""}
    for key, text in values:
        section, _, name = key.partition(".")
        pattern, _, kind = name.rpartition(".")
        if key in settings:
            settings[key] = text
        elif section == "model" and kind in _KINDS:
            try:
                table.setdefault(pattern, {})[kind] = float(text)
            except ValueError:
                raise InputError(f"'{key}' is not a price: {ascii(text)[:40]}") from None
    return PriceTable(table, settings["prices.currency"], settings["prices.date"])


def build_cost(table: Mapping[str, Price]) -> Cost:
    """A function that computes the cost of a model's tokens, by the first matching pattern; None if
    none matches, or if it has no price for a kind of token that was used."""

    def compute_cost(model: str, used: Usage) -> float | None:
        price = next((p for name, p in table.items() if fnmatchcase(model, name)), None)
        pairs = [
            *zip(_KINDS, transcripts.list_counts(transcripts.flatten_tokens(used)), strict=False)
        ]
        if price is None or any(count and kind not in price for kind, count in pairs):
            return None
        return sum(count * price.get(kind, 0) for kind, count in pairs) / _MILLION

    return compute_cost


def sum_costs(spent: Iterable[tuple[str, Usage]], cost: Cost) -> tuple[float | None, int]:
    """(the total cost, None if nothing has a price; the number of tokens without a price)."""
    total = None
    unpriced = 0
    for model, used in spent:
        amount = cost(model, used) if model else None
        if amount is None:
            unpriced += sum(transcripts.list_counts(transcripts.flatten_tokens(used))[:4])
        else:
            total = (total or 0) + amount
    return total, unpriced


# Count how many of the agents' lines survive, by replaying the changes of a history.
#
# A file is a string with a character for each line: NUL, or one for the author's agent, model and,
# if set, day.  Characters after the last agent's line are left off to save memory.
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
            stop = start - 1 if removed else start
            parts.append(old[position:stop].ljust(stop - position, _NONE))
            position = stop + removed
            runs = list(line_authors.group_runs(writers, first, added))
            parts += (self._add_lines(author, lines) for author, lines in runs)
            if (removed_owners := old[stop:position]).strip(_NONE):
                takers = {_get_taker(author, default) for author, _ in runs}
                self._take(removed_owners, takers.pop() if len(takers) == 1 else taker())
        return "".join([*parts, old[position:]]).rstrip(_NONE)

    def merge(
        self, parents: Sequence[Owners], hunks: Sequence[Resolved], codes: Mapping[int, Author]
    ) -> Owners:
        """The owners of a merged file; codes: the authors of lines that no parent has."""
        joined = ""
        positions = [0] * len(parents)
        for hunk in hunks:
            joined += parents[0][positions[0] : hunk["starts"][0]].ljust(
                hunk["starts"][0] - positions[0], _NONE
            )
            positions = list(hunk["starts"])
            for has, stays in hunk["lines"]:
                owners = [
                    p[n : n + 1]
                    for p, n, c in zip(parents, positions, has, strict=True)
                    if c == "y"
                ]
                positions = [n + (c == "y") for n, c in zip(positions, has, strict=True)]
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
        born = [(*names[ord(code) - 1], "", lines) for code, lines in self._added.items()]
        gone = [
            (*names[ord(code) - 1], by, lines)
            for code, takers in self._gone.items()
            for by, lines in takers.items()
        ]
        self._added = {}
        self._gone = {}
        return [*born, *gone]

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

    def _sum_codes(self, codes: Any) -> dict[str, Any]:
        added, alive = (sum(of.get(c, 0) for c in codes) for of in (self._added, self._alive))
        by = {
            who: sum(self._gone.get(c, {}).get(who, 0) for c in codes)
            for who in ("agent", "person")
        }
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


# Parse the rules of `gitcp check`, and judge a range by them.
_SHARES = {"max-unknown": "unknown", "max-unrecorded": "unrecorded"}
_NEEDS = ("need-checkpoints", "need-signatures", "no-secrets")
RULES = (*_SHARES, *_NEEDS)


def parse_rules(table: object, place: str) -> dict[str, Any]:
    """The rules in the table `check` of a .gitcp.toml: rule -> percentage, or True; without rules
    that are switched off.  place: names the file.  Raise Error for an invalid rule."""
    if not isinstance(table, dict):
        raise Error(f"'check' in {place} must be a table")
    rules: dict[str, Any] = {}
    for name, value in table.items():
        if name not in RULES:
            raise Error(f"'{name}' in {place} is no rule; rules are {', '.join(RULES)}")
        if name in _NEEDS and not isinstance(value, bool):
            raise Error(f"'{name}' in {place} must be true or false")
        if name in _SHARES and not _is_percentage(value):
            raise Error(f"'{name}' in {place} must be a percentage, a number from 0 to 100")
        if value is not False:
            rules[name] = value
    return rules


def _is_percentage(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100


def judge_shares(rules: Mapping[str, Any], added: Mapping[str, int]) -> Iterable[Reason]:
    """A complaint for each rule of shares that the added lines (by author, as in Sums) break."""
    total = sum(added.values())
    for rule, who in _SHARES.items():
        share = 100 * added[who] / total if total else 0
        if rule in rules and share > rules[rule]:
            count = f"{added[who]} of {total} added lines are {who}, {share:.3g} %"
            yield {"rule": rule, "commit": "", "reason": f"{count}: more than {rules[rule]} %"}


def judge_attested(rules: Mapping[str, Any], oid: str, agent: str) -> Iterable[Reason]:
    """The complaint about a commit that names an agent as its author and has no checkpoint."""
    if "need-checkpoints" in rules:
        reason = f"the commit names {agent} and has no checkpoint"
        yield {"rule": "need-checkpoints", "commit": oid, "reason": reason}


def judge_checkpoint(rules: Mapping[str, Any], verified: Record) -> Iterable[Reason]:
    """The complaints about a checkpoint, by its record `verified`."""
    name = verified["checkpoint_id"]
    oid = verified["commit"]
    if "need-checkpoints" in rules:
        for failure in verified["failures"]:
            reason = f"checkpoint {name}: {failure}"
            yield {"rule": "need-checkpoints", "commit": oid, "reason": reason}
    signature = verified.get("signature", "none")
    if "need-signatures" in rules and not signature.startswith("good"):
        reason = f"checkpoint {name}: its signature: {signature}"
        yield {"rule": "need-signatures", "commit": oid, "reason": reason}


def judge_secret(path: str, kind: str) -> Reason:
    """The complaint about a secret in a path; kind: the rule of redaction that found it."""
    reason = f"what looks like a secret ({kind}) is in '{path}'"
    return {"rule": "no-secrets", "commit": "", "reason": reason}
