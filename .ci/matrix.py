"""The table of clients and what works with each: by the classes of gitcp/agents, the recordings in
tests/data, and doc/clients.toml for what neither tells."""

import json
import re
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from gitcp import agents

TOP = Path(__file__).resolve().parent.parent
RECORDINGS = TOP / "tests" / "data" / "recordings"
COLUMNS = ("prompts", "edits", "shells", "subagents", "resume", "tokens")
YES, PARTLY, NO, UNKNOWN = "Yes", "Partly", "No", "Not tried"
ANSWERS = (YES, PARTLY, NO, UNKNOWN)
DOCUMENTED = "known by its documentation"


@dataclass(slots=True)
class Cell:
    """Whether something works with a client, and why."""

    answer: str
    reason: str


@dataclass(slots=True)
class Row:
    """A client.  tried: how, with its version, "" if never; note: what else to know, or ""."""

    name: str
    title: str
    tried: str
    note: str
    cells: dict[str, Cell]


def build_rows() -> list[Row]:
    """A row for each client that gitcp knows, in the order of their names."""
    told = tomllib.loads((TOP / "doc" / "clients.toml").read_text(encoding="utf-8"))
    unknown = set(told) - set(agents.CLIENTS)
    if unknown:
        raise SystemExit(f"fatal: doc/clients.toml: no such client: {' '.join(unknown)}")
    live = list_live()
    return [build_row(name, told.get(name, {}), live.get(name, "")) for name in agents.CLIENTS]


def list_live() -> dict[str, str]:
    """Client -> the version that tests run live, by .ci/get-clients."""
    names = {agents.get_client(name).PROGRAM: name for name in agents.CLIENTS}
    text = (TOP / ".ci" / "get-clients").read_text(encoding="utf-8")
    rows = re.findall(r'^  "(\w+) \S+ (\d[\w.]*)', text, re.M)
    return {names[program]: version for program, version in rows if program in names}


def build_row(name: str, told: dict[str, str], live: str) -> Row:
    """The row of a client.  told: its table in doc/clients.toml; live: the version that tests
    run."""
    client = agents.get_client(name)
    recorded = read_version(name)
    tried = told.get("tried", "")
    if recorded:
        tried = f"{recorded}, recorded" + (" and run by tests" if live == recorded else "")
    if bool(tried) == client.UNTRIED:
        raise SystemExit(f"fatal: {name}: UNTRIED of its class and what was tried do not agree")
    cells = {}
    for column in COLUMNS:
        if column in told:
            answer, _, reason = told[column].partition(": ")
            cells[column] = Cell(answer, reason)
        else:
            cells[column] = judge(client, column, bool(recorded))
    return Row(name, client.AGENT_TYPE, tried, told.get("note", ""), cells)


def read_version(name: str) -> str:
    """The version that was recorded, "" for none."""
    versions = set()
    for path in sorted((RECORDINGS / name).glob("*/meta.json")):
        version = json.loads(path.read_text(encoding="utf-8")).get("version", "")
        versions |= set(re.findall(r"\d+(?:\.\d+)+", version)[:1])
    return max(versions, key=lambda version: [int(n) for n in version.split(".")], default="")


def judge(client: agents.Client, column: str, is_recorded: bool) -> Cell:
    """What the class and the recordings of a client tell of a column."""
    events = set(client.EVENTS.values())
    kinds = set(client.KINDS.values())
    if column == "prompts":
        lacks = "" if "turn-start" in events else "its hooks do not tell of prompts"
    elif column in ("edits", "shells"):
        kind = "write" if column == "edits" else "shell"
        is_told = kind in kinds and "tool-end" in events
        lacks = "" if is_told else "its hooks do not tell of them"
    elif column == "subagents":
        is_told = bool(events & {"subagent-start", "subagent-end"}) or "task" in kinds
        lacks = "" if is_told else "its hooks do not tell of them"
    elif column == "resume":
        lacks = "" if client.RESUME else "gitcp knows no command of it that goes on"
    else:
        lacks = "" if client.PARTS else "gitcp reads no transcript of it"
    if lacks:
        return Cell(NO, lacks)
    if client.UNTRIED:
        return Cell(UNKNOWN, DOCUMENTED)
    if column == "resume":
        return judge_resume(client)
    if column == "subagents" and not (RECORDINGS / client.NAME / "subagent").exists():
        return Cell(UNKNOWN, "its hooks tell of them, and none was recorded")
    if column == "tokens" and is_recorded and not tells_tokens(client):
        return Cell(NO, "its transcript tells none")
    return Cell(YES, "as recorded" if is_recorded else "as run")


def judge_resume(client: agents.Client) -> Cell:
    """Whether a conversation comes back in a new clone."""
    if "cut" in client.PARTS:
        return Cell(YES, "also in a new clone, and to an earlier prompt")
    return Cell(PARTLY, "while the client still has the conversation; elsewhere by --with")


def tells_tokens(client: agents.Client) -> bool:
    """Whether a recorded transcript, or the database of a client, has tokens."""
    folder = RECORDINGS / client.NAME
    if any(folder.glob("*/database.jsonl")):
        texts = (path.read_text(encoding="utf-8") for path in folder.glob("*/database.jsonl"))
        return any('\\"tokens\\"' in text or '"tokens"' in text for text in texts)
    for path in folder.glob("*/transcript*"):
        if path.is_file() and client.scan(path.read_bytes()).get("usage"):
            return True
    return False


def build_page(rows: list[Row]) -> list[str]:
    """The lines of the table and of the list with reasons, for a manual page."""
    widest = max((row.title for row in rows), key=len)
    lines = [f'.Bl -column "{widest}"' + ' "Not tried"' * len(COLUMNS)]
    lines.append(".It Sy client " + " ".join(f"Ta Sy {name}" for name in COLUMNS))
    for row in rows:
        # \& keeps mandoc from reading "No" as one of its words
        answers = " ".join(rf"Ta \&{row.cells[name].answer}" for name in COLUMNS)
        lines.append(f".It {row.title} {answers}")
    lines += [".El", ".Ss Why", ".Bl -tag -width Ds"]
    for row in rows:
        lines.append(f".It {row.title} Pq Cm {row.name}")
        lines.append(f"Tried with {row.tried}." if row.tried else f"Never tried: {DOCUMENTED}.")
        lines += [row.note] if row.note else []
        lines += list_reasons(row)
    return [*lines, ".El"]


def list_reasons(row: Row) -> list[str]:
    """A sentence for each reason, with the columns that have it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for column, cell in row.cells.items():
        if cell.reason != DOCUMENTED:
            groups.setdefault((cell.answer, cell.reason), []).append(column)
    lines = []
    for (answer, reason), columns in groups.items():
        names = ", ".join(columns)
        lines.append(f"{names[0].upper()}{names[1:]}: {answer.lower()}, {reason}.")
    return lines


def build_sentence(rows: list[Row]) -> str:
    """Which clients were tried, for the README."""
    tried = [row.title for row in rows if row.tried]
    last = tried.pop()
    text = (
        f"Tried with the real client: {', '.join(tried)} and {last}; the others are known by their"
    )
    rest = "documentation (gitcp-clients(7) has what works with each)."
    return "\n".join(textwrap.wrap(f"{text} {rest}", 100))
