"""Make the rows of a commit for each table (core/facts/schema), without the lead columns."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gitcp.core.lines import authors
from gitcp.core.message import prompts
from gitcp.core.stats import sums
from gitcp.core.transcript import tokens, tool_ends
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.items import Item
    from gitcp.core.lines.authors import Author, Record
    from gitcp.core.stats.sums import Commit
    from gitcp.core.stats.survival import Event

    Row = tuple[Any, ...]
    Rows = dict[str, list[Row]]  # table -> rows
    Teams = Mapping[str, Sequence[str]]  # team -> patterns of addresses

_DAY = 86400  # seconds
_BEFORE, _ERA = 719468, 146097  # days: from March 1st of the year 0 to 1970; of 400 years
_NOBODY = authors.build_nobody("")


def derive_repository_name(url: str) -> str:
    """A repository's name: host and path of its address, or its path, without user and `.git`."""
    _, mark, address = url.partition("://")
    host, slash, path = (address if mark else url).partition("/")
    name = f"{host.rpartition('@')[2]}{slash}{path}" if mark or "@" in host else url
    name = name if name.startswith("/") else name.replace(":", "/", 1)
    return name.rstrip("/").removesuffix("/.git").removesuffix(".git")


def format_month(seconds: int) -> str:
    """YYYY-MM of a time, in UTC, by the Gregorian calendar."""
    era, days = divmod(seconds // _DAY + _BEFORE, _ERA)  # an era is 400 years
    year = (days - days // 1460 + days // 36524 - days // 146096) // 365
    index = (5 * (days - (365 * year + year // 4 - year // 100)) + 2) // 153  # 0 is March
    year += era * 400 + index // 10
    return f"{year:04}-{(index + 2) % 12 + 1:02}"


def parse_teams(table: object, place: str) -> Teams:
    """The table `teams` of a .gitcp.toml; raise Error, which names the place, if it is invalid."""
    if not isinstance(table, dict):
        raise Error(f"'teams' in {place} must be a table")
    for name, patterns in table.items():
        if not isinstance(patterns, list) or not all(isinstance(one, str) for one in patterns):
            raise Error(f"'teams.{name}' in {place} must be a list of addresses")
    return table


def find_team(teams: Teams, mail: str) -> str:
    """The first team with a pattern for an address, "" for none."""
    address = mail.lower()
    fits = (t for t, every in teams.items() if any(fnmatchcase(address, p.lower()) for p in every))
    return next(fits, "")


def make_lead_columns(repository: str, commit: Commit) -> Row:
    """The lead columns of each table."""
    time = int(commit["author"].rpartition(" ")[2])
    return repository, format_month(time), commit["oid"], time


def make_commit_rows(commit: Commit, teams: Teams, change: str, light: bool = False) -> Rows:
    """Rows of commits, checkpoints, sessions, files and authored_lines, without prices; light: the
    commit's patches were not read."""
    name, _, stamp = commit["author"].rpartition("<")
    mail = stamp.partition(">")[0]
    files = [_make_file_row(commit, patch) for patch in sums.list_patches(commit)]
    total = [sum(row[index] for row in files) for index in range(1, 7)]
    removed = sums.count_removed(commit)
    lines = [*total, removed["agent"], removed["person"]]
    row = (
        *(name.strip(), mail, find_team(teams, mail), change),
        *(len(commit["parents"]) > 1, commit["linked"], commit["unsaid"]["agent"]),
        *([None] * len(lines) if light else lines),
    )
    by_id: dict[str, list[Record]] = {}
    for record in commit["records"]:
        by_id.setdefault(record["checkpoint_id"], []).append(record)
    return {
        "commits": [row],
        "checkpoints": [_make_checkpoint_row(key, records) for key, records in by_id.items()],
        "sessions": [_make_session_row(record) for record in commit["records"]],
        "files": files,
        "authored_lines": [
            line for p in sums.list_patches(commit) for line in _make_authored_rows(commit, p)
        ],
    }


def _make_file_row(commit: Commit, patch: Any) -> Row:
    counts = dict.fromkeys(sums.WHO, 0)
    for who, count in sums.count_added(commit, patch).items():
        counts[who if isinstance(who, str) else "agent"] += count
    removed = sum([hunk[1] for hunk in patch["hunks"]])
    shares = counts["agent"], counts["person"], counts["unknown"], counts["unrecorded"]
    return patch["path"] or patch["old"], sum(shares), removed, *shares


def _make_authored_rows(commit: Commit, patch: Any) -> Iterable[Row]:
    known = commit["known"].get(patch["path"], {})
    for _, _, first, count in patch["hunks"]:
        line = first
        for author, lines in authors.group_runs(known, first, count):
            owner: Author = author or {**_NOBODY, "who": sums.get_default_owner(commit)}
            who = owner["agent"], owner["model"], owner["session_id"], owner["turn_id"]
            ids = owner["tool_use_id"] or "", owner["checkpoint_id"]
            yield patch["path"], line, lines, owner["who"], *who, *ids
            line += lines


def _make_checkpoint_row(key: str, records: Sequence[Record]) -> Row:
    branch = next((b for r in records if isinstance(b := r["metadata"].get("branch"), str)), "")
    return key, branch, len(records)


def _make_session_row(record: Record) -> Row:
    metadata = record["metadata"]
    turns = metadata.get("turns")
    turns = turns if isinstance(turns, dict) else {}
    names = record["checkpoint_id"], record["session_id"], str(metadata.get("agent") or "")
    spent = tokens.count_spent(metadata.get("token_usage_delta"), names[2])
    counts = tokens.list_counts(spent)
    return *names, _find_model(metadata, turns), len(turns), *counts, None


def _find_model(metadata: Mapping[str, Any], turns: Mapping[str, Any]) -> str:
    """The model of the last turn; if no turn has one, of the last tool use or the session."""
    tools = metadata.get("tools")
    tool_uses = [*tools.values()] if isinstance(tools, dict) else []
    turns_with_model = filter(_has_model, turns.values())
    last = sorted(turns_with_model, key=lambda turn: tokens.parse_count(turn.get("number")))
    return str([metadata, *filter(_has_model, tool_uses), *last][-1].get("model") or "")


def _has_model(about: Any) -> bool:
    return isinstance(about, dict) and bool(about.get("model"))


def make_spoken_rows(record: Record, items: Iterable[Item], text: bool) -> Rows:
    """Rows of turns and calls from the transcript of a session in a checkpoint; text: include the
    prompts."""
    metadata = record["metadata"]
    start = tokens.parse_count(metadata.get("checkpoint_transcript_start"))
    turn_facts = metadata.get("turns")
    names = record["checkpoint_id"], record["session_id"]
    turns: dict[int, list[Any]] = {}  # number -> its columns from `begun` on
    asked: dict[int, str] = {}
    calls: dict[str | int, list[Any]] = {}
    number, prompt = 0, ""
    for item in items:
        if item["kind"] == "prompt":
            number, prompt = number + 1, item["text"]
            asked[number] = prompt
        if item["line"] < start:
            continue
        begun = _parse_seconds(item["time"])
        turn = turns.setdefault(number, [begun, 0, len(prompt), prompt if text else None])
        if item["kind"] == "call":
            turn[1] += 1
            calls[item["id"] or len(calls)] = [number, item["id"], item["name"], begun, False]
        elif item["kind"] == "result" and item["id"] in calls:
            calls[item["id"]][4] = item["failed"]
    ids = {
        prompts.find_number(asked, about): (key, str(about.get("model") or ""))
        for key, about in (turn_facts.items() if isinstance(turn_facts, dict) else ())
        if isinstance(about, dict)
    }
    return {
        "turns": [(*names, n, *ids.get(n, ("", "")), *columns) for n, columns in turns.items()],
        "calls": [(*names, *columns) for columns in calls.values()],
    }


def _parse_seconds(time: str) -> int | None:
    return (tool_ends.parse_time(time) or 0) // 1_000_000_000 or None if time else None


def make_survival_rows(events: Iterable[Event], time: int) -> list[Row]:
    """Rows of survival for the events of a commit made at time."""
    return [
        (
            *("gone" if by else "born", lines, agent, model),
            *(int(born), format_month(int(born)), max(0, time - int(born)) // _DAY, by),
        )
        for agent, model, born, by, lines in events
    ]


def round_to_day(time: int) -> str:
    """The first second of a time's day, as text."""
    return str(time // _DAY * _DAY)


def find_changes(graph: Sequence[Sequence[str]], tip: str) -> dict[str, str]:
    """commit -> the commit that brought it to the first-parent line of tip, if it is another one.

    graph: commits, each followed by its parents."""
    parents = {row[0]: row[1:] for row in graph}
    line = [tip] if tip in parents else []
    while line and (first := parents[line[-1]][:1]) and first[0] in parents:
        line.append(first[0])
    changes: dict[str, str] = {}
    for commit in reversed(line):
        stack = [commit]
        while stack:
            oid = stack.pop()
            if oid in parents and oid not in changes:
                changes[oid] = commit
                stack += parents[oid]
    return {oid: commit for oid, commit in changes.items() if oid != commit}
