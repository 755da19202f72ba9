"""The tables of a dataset of facts: columns, types and units, and the questions about them in SQL.

Any change needs a new VERSION.

gitcp-facts(5) and share/gitcp/schema/facts.json describe them as well.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts
from gitcp.checkpoints.format import line_authors
from gitcp.errors import Error
from gitcp.lines import tally
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Author, LineRecord
    from gitcp.lines.survival import Event
    from gitcp.lines.tally import CommitCounts
    from gitcp.text.record_types import Item

    Column = tuple[str, str, str]  # name, type, meaning
    Row = tuple[Any, ...]
    Rows = dict[str, list[Row]]  # table -> rows
    Teams = Mapping[str, Sequence[str]]  # team -> patterns of addresses

VERSION = 1
TEXT = "text"
INTEGER = "integer"
NUMBER = "number"
FLAG = "flag"
_COMMIT: tuple[Column, ...] = (
    ("repository", TEXT, "the name under which the repository was exported"),
    ("month", TEXT, "the month of time, YYYY-MM in UTC"),
    ("commit", TEXT, "the full object name of the commit"),
    ("time", INTEGER, "the author date, in seconds since 1970-01-01 UTC"),
)
_SESSION: tuple[Column, ...] = (
    ("checkpoint", TEXT, "the id of the checkpoint"),
    ("session", TEXT, "the id of the session"),
)
_WHO: tuple[Column, ...] = (
    ("agent", INTEGER, "added lines that sessions wrote"),
    ("person", INTEGER, "added lines that the person wrote"),
    ("unknown", INTEGER, "added lines whose author the checkpoint does not know"),
    ("unrecorded", INTEGER, "added lines from a time when nothing was recorded"),
)
TABLES: dict[str, tuple[Column, ...]] = {
    "commits": (
        *_COMMIT,
        ("author", TEXT, "the name of the author"),
        ("mail", TEXT, "the mail address of the author"),
        ("team", TEXT, "the team of that address in .gitcp.toml, or empty"),
        ("change", TEXT, "the merge that brought it to the main line, or the commit itself"),
        ("merge", FLAG, "the commit has several parents; the merged commits count its lines"),
        ("linked", FLAG, "the commit names a checkpoint"),
        ("attested", TEXT, "the agent that a commit without a checkpoint names, or empty"),
        ("added", INTEGER, "lines that the commit adds; null with --light, as all that follow"),
        ("removed", INTEGER, "lines that the commit removes"),
        *_WHO,
        ("removed_agent", INTEGER, "removed lines that sessions removed"),
        ("removed_person", INTEGER, "removed lines that the person removed"),
    ),
    "checkpoints": (
        *_COMMIT,
        ("checkpoint", TEXT, "the id of a checkpoint that the commit names"),
        ("branch", TEXT, "the branch on which it was made, or empty"),
        ("sessions", INTEGER, "the number of its sessions"),
    ),
    "sessions": (
        *_COMMIT,
        *_SESSION,
        ("agent", TEXT, "the name of the agent"),
        ("model", TEXT, "the model of its last turn in the checkpoint, or empty"),
        ("turns", INTEGER, "the number of its turns in the checkpoint"),
        (
            "input_tokens",
            INTEGER,
            "input outside the cache, since the session's previous checkpoint",
        ),
        ("cache_creation_tokens", INTEGER, "input that was written to the cache"),
        ("cache_read_tokens", INTEGER, "input that was read from the cache"),
        ("output_tokens", INTEGER, "output"),
        ("api_calls", INTEGER, "requests to the model"),
        ("usd", NUMBER, "the price in US dollars by that day's price list, null if unknown"),
    ),
    "turns": (
        *_COMMIT,
        *_SESSION,
        ("number", INTEGER, "the number of the prompt in the session, from 1"),
        ("turn", TEXT, "the id of the turn, or empty if no line has it"),
        ("model", TEXT, "the model, or empty"),
        ("begun", INTEGER, "its beginning, in seconds since 1970-01-01 UTC, null if unknown"),
        ("calls", INTEGER, "the number of its tool calls"),
        ("prompt_length", INTEGER, "the length of its prompt in characters"),
        ("prompt", TEXT, "the redacted prompt; null without --text"),
    ),
    "calls": (
        *_COMMIT,
        *_SESSION,
        ("number", INTEGER, "the number of the prompt in the session, from 1"),
        ("call", TEXT, "the client's id of the call, or empty"),
        ("tool", TEXT, "the name of the tool"),
        ("begun", INTEGER, "its beginning, in seconds since 1970-01-01 UTC, null if unknown"),
        ("failed", FLAG, "the client reported a failure"),
    ),
    "files": (
        *_COMMIT,
        ("path", TEXT, "the path of the file; of a deleted file the former path"),
        ("added", INTEGER, "lines that the commit adds to it"),
        ("removed", INTEGER, "lines that the commit removes from it"),
        *_WHO,
    ),
    "authored_lines": (
        *_COMMIT,
        ("path", TEXT, "the file"),
        ("first", INTEGER, "the first line of the run in the commit's version, from 1"),
        ("lines", INTEGER, "the number of lines in the run"),
        ("who", TEXT, "session, person, unknown or unrecorded"),
        ("agent", TEXT, "of a session's line: the agent"),
        ("model", TEXT, "of a session's line: the model"),
        ("session", TEXT, "of a session's line: the session"),
        ("turn", TEXT, "of a session's line: the id of the turn"),
        ("call", TEXT, "of a session's line: the id of the tool call, or empty"),
        ("checkpoint", TEXT, "of a session's line: the checkpoint that says so"),
    ),
    "survival": (
        *_COMMIT,
        ("event", TEXT, "born: the commit adds lines of an agent; gone: it removes such lines"),
        ("lines", INTEGER, "the number of lines"),
        ("agent", TEXT, "the agent that wrote them"),
        ("model", TEXT, "its model"),
        ("born", INTEGER, "the day on which they were added, in seconds since 1970-01-01 UTC"),
        ("born_month", TEXT, "the month of that day, YYYY-MM"),
        ("age", INTEGER, "the days from born to the commit, at least 0"),
        ("taker", TEXT, "of lines that are gone: who removed them, agent, person or unknown"),
    ),
}
# Make the rows of a commit for each table, without the lead columns.
_DAY = 86400  # seconds
# days: from March 1st of the year 0 to 1970; of 400 years
_BEFORE = 719468
_ERA = 146097
_NOBODY = line_authors.build_nobody("")


def derive_repository_name(url: str) -> str:
    """A repository's name: host and path of its address, or its path, without user and `.git`."""
    _, mark, address = url.partition("://")
    host, slash, path = (address if mark else url).partition("/")
    if mark or "@" in host:
        name = f"{host.rpartition('@')[2]}{slash}{path}"
    else:
        name = url
    if not name.startswith("/"):
        name = name.replace(":", "/", 1)
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


def make_lead_columns(repository: str, commit: CommitCounts) -> Row:
    """The lead columns of each table."""
    time = int(commit["author"].rpartition(" ")[2])
    return repository, format_month(time), commit["oid"], time


def make_commit_rows(commit: CommitCounts, teams: Teams, change: str, light: bool = False) -> Rows:
    """Rows of commits, checkpoints, sessions, files and authored_lines, without prices; light: the
    commit's patches were not read."""
    name, _, stamp = commit["author"].rpartition("<")
    mail = stamp.partition(">")[0]
    files = [_make_file_row(commit, patch) for patch in tally.list_patches(commit)]
    total = [sum(row[index] for row in files) for index in range(1, 7)]
    removed = tally.count_commit(commit).sum_removed()
    lines = [*total, removed["agent"], removed["person"]]
    row = (
        *(name.strip(), mail, find_team(teams, mail), change),
        *(len(commit["parents"]) > 1, commit["linked"], commit["unsaid"]["agent"]),
        *([None] * len(lines) if light else lines),
    )
    by_id: dict[str, list[LineRecord]] = {}
    for record in commit["records"]:
        by_id.setdefault(record["checkpoint_id"], []).append(record)
    return {
        "commits": [row],
        "checkpoints": [_make_checkpoint_row(key, records) for key, records in by_id.items()],
        "sessions": [_make_session_row(record) for record in commit["records"]],
        "files": files,
        "authored_lines": [
            line for p in tally.list_patches(commit) for line in _make_authored_rows(commit, p)
        ],
    }


def _make_file_row(commit: CommitCounts, patch: Any) -> Row:
    counts = dict.fromkeys(tally.WHO, 0)
    for who, count in tally.count_added(commit, patch).items():
        counts[tally.get_word(who)] += count
    removed = sum([hunk[1] for hunk in patch["hunks"]])
    shares = counts["agent"], counts["person"], counts["unknown"], counts["unrecorded"]
    return patch["path"] or patch["old"], sum(shares), removed, *shares


def _make_authored_rows(commit: CommitCounts, patch: Any) -> Iterable[Row]:
    known = commit["known"].get(patch["path"], {})
    for _, _, first, count in patch["hunks"]:
        line = first
        for author, lines in line_authors.group_runs(known, first, count):
            owner: Author = author or {**_NOBODY, "who": tally.get_default_owner(commit)}
            who = owner["agent"], owner["model"], owner["session_id"], owner["turn_id"]
            ids = owner["tool_use_id"] or "", owner["checkpoint_id"]
            yield patch["path"], line, lines, owner["who"], *who, *ids
            line += lines


def _make_checkpoint_row(key: str, records: Sequence[LineRecord]) -> Row:
    branch = next((b for r in records if isinstance(b := r["metadata"].get("branch"), str)), "")
    return key, branch, len(records)


def _make_session_row(record: LineRecord) -> Row:
    metadata = record["metadata"]
    turns = metadata.get("turns")
    turns = turns if isinstance(turns, dict) else {}
    names = record["checkpoint_id"], record["session_id"], str(metadata.get("agent") or "")
    spent = transcripts.count_spent(metadata.get("token_usage_delta"), names[2])
    counts = transcripts.list_counts(spent)
    return *names, _find_model(metadata, turns), len(turns), *counts, None


def _find_model(metadata: Mapping[str, Any], turns: Mapping[str, Any]) -> str:
    """The model of the last turn; if no turn has one, of the last tool use or the session."""
    tools = metadata.get("tools")
    if isinstance(tools, dict):
        tool_uses = [*tools.values()]
    else:
        tool_uses = []
    turns_with_model = filter(_has_model, turns.values())
    last = sorted(turns_with_model, key=lambda turn: transcripts.parse_count(turn.get("number")))
    return str([metadata, *filter(_has_model, tool_uses), *last][-1].get("model") or "")


def _has_model(about: Any) -> bool:
    return isinstance(about, dict) and bool(about.get("model"))


def make_transcript_rows(record: LineRecord, items: Iterable[Item], text: bool) -> Rows:
    """Rows of turns and calls from the transcript of a session in a checkpoint; text: include the
    prompts."""
    metadata = record["metadata"]
    start = transcripts.parse_count(metadata.get("checkpoint_transcript_start"))
    turn_facts = metadata.get("turns")
    names = record["checkpoint_id"], record["session_id"]
    turns: dict[int, list[Any]] = {}  # number -> its columns from `begun` on
    asked: dict[int, str] = {}
    calls: dict[str | int, list[Any]] = {}
    number = 0
    prompt = ""
    for item in items:
        if item["kind"] == "prompt":
            number = number + 1
            prompt = item["text"]
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
        prompt_text.find_number(asked, about): (key, str(about.get("model") or ""))
        for key, about in (turn_facts.items() if isinstance(turn_facts, dict) else ())
        if isinstance(about, dict)
    }
    return {
        "turns": [(*names, n, *ids.get(n, ("", "")), *columns) for n, columns in turns.items()],
        "calls": [(*names, *columns) for columns in calls.values()],
    }


def _parse_seconds(time: str) -> int | None:
    if time:
        return (transcript_facts.parse_time(time) or 0) // 1_000_000_000 or None
    return None


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


# Named questions, in SQL for both DuckDB and Spark.
_SOON = 21  # days: a line removed within them is rework
_SHARES = """count(*) AS commits, CAST(sum(added) AS bigint) AS added,
  CAST(sum(agent) AS bigint) AS agent, CAST(sum(person) AS bigint) AS person,
  CAST(sum(unknown) AS bigint) AS unknown, CAST(sum(unrecorded) AS bigint) AS unrecorded,
  round(100 * CAST(sum(agent) AS double) / nullif(sum(added), 0), 1) AS agent_percent"""


def _select_survived(days: int) -> str:
    """Columns: lines added at least so many days ago, and those of them removed within the days."""
    old = f"latest - born >= {days * _DAY}"
    born = f"event = 'born' AND {old}"
    gone = f"event = 'gone' AND {old} AND age <= {days}"
    return f"""sum(CASE WHEN {born} THEN lines ELSE 0 END) AS born_{days},
    sum(CASE WHEN {gone} THEN lines ELSE 0 END) AS gone_{days}"""


def _select_percent(days: int) -> str:
    alive = f"greatest(born_{days} - gone_{days}, 0)"
    share = f"round(100 * CAST({alive} AS double) / nullif(born_{days}, 0), 1)"
    return f"{share} AS alive_after_{days}_days_percent"


def _select_rework(who: str) -> str:
    gone = f"event = 'gone' AND age <= {_SOON} AND taker = '{who}'"
    return f"sum(CASE WHEN {gone} THEN lines ELSE 0 END)"


# name -> (what it answers, SQL)
QUESTIONS: dict[str, tuple[str, str]] = {
    "share-by-month": (
        "whose lines were added in each month",
        f"SELECT month, {_SHARES} FROM commits WHERE NOT merge GROUP BY month ORDER BY month",
    ),
    "share-by-team": (
        "whose lines each team added",
        f"SELECT team, {_SHARES} FROM commits WHERE NOT merge GROUP BY team ORDER BY team",
    ),
    "cost-by-change": (
        "tokens and cost of each merged change, the most costly first",
        """WITH used AS (
  SELECT DISTINCT c.repository, c.change, s.checkpoint, s.session, s.input_tokens,
    s.cache_creation_tokens, s.cache_read_tokens, s.output_tokens, s.usd
  FROM commits c JOIN sessions s ON c.repository = s.repository AND c.commit = s.commit)
SELECT repository, change, count(DISTINCT session) AS sessions,
  CAST(sum(input_tokens + cache_creation_tokens + cache_read_tokens) AS bigint) AS input_tokens,
  CAST(sum(output_tokens) AS bigint) AS output_tokens, round(sum(usd), 2) AS usd
FROM used GROUP BY repository, change
ORDER BY usd DESC NULLS LAST, output_tokens DESC, repository, change""",
    ),
    "survival": (
        "how many of each model's lines are alive after 30 and 90 days",
        f"""WITH ends AS (SELECT repository, max(time) AS latest FROM commits GROUP BY repository),
sums AS (
  SELECT agent, model, sum(CASE WHEN event = 'born' THEN lines ELSE 0 END) AS born,
    {_select_survived(30)},
    {_select_survived(90)}
  FROM survival s JOIN ends ON s.repository = ends.repository GROUP BY agent, model)
SELECT agent, model, CAST(born AS bigint) AS lines, {_select_percent(30)}, {_select_percent(90)}
FROM sums ORDER BY lines DESC, agent, model""",
    ),
    "rework": (
        f"how many of the agents' lines of a month were rewritten within {_SOON} days",
        f"""WITH sums AS (
  SELECT born_month AS month, sum(CASE WHEN event = 'born' THEN lines ELSE 0 END) AS born,
    {_select_rework("agent")} AS agents, {_select_rework("person")} AS persons,
    {_select_rework("unknown")} AS others
  FROM survival GROUP BY born_month)
SELECT month, CAST(born AS bigint) AS lines, CAST(agents AS bigint) AS by_agents,
  CAST(persons AS bigint) AS by_people, CAST(others AS bigint) AS by_unknown,
  round(100 * CAST(agents + persons + others AS double) / nullif(born, 0), 1) AS percent
FROM sums ORDER BY month""",
    ),
    "busiest-files": (
        "the twenty files that most commits change, with the agents' share",
        """SELECT repository, path, count(*) AS commits, CAST(sum(added) AS bigint) AS added,
  CAST(sum(removed) AS bigint) AS removed,
  round(100 * CAST(sum(agent) AS double) / nullif(sum(added), 0), 1) AS agent_percent
FROM files GROUP BY repository, path ORDER BY commits DESC, repository, path LIMIT 20""",
    ),
}
