"""Recordings of real clients (tests/data/recordings)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support import paths

ROOT = paths.DATA / "recordings"
SCENARIOS = [
    (path.parent.parent.name, path.parent.name) for path in sorted(ROOT.glob("*/*/events.jsonl"))
]
SPOKEN = [one for one in SCENARIOS if one != ("claude-code", "no-persistence")]  # with a transcript


def calls(agent: str, scenario: str) -> list[tuple[str, dict[str, Any]]]:
    """The (event, payload) of each hook call of the agent, in order."""
    with open(ROOT / agent / scenario / "events.jsonl", encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    return [(e["event"], e["payload"]) for e in lines if not e["event"].startswith("git:")]


def transcript(agent: str, scenario: str, name: str = "transcript") -> bytes:
    """What a session's transcript holds at its end; of opencode, what its database holds."""
    folder = ROOT / agent / scenario
    if (folder / "database.jsonl").exists():
        return exported(folder / "database.jsonl")
    return next(folder.glob(f"{name}.json*")).read_bytes()


def exported(database: Path) -> bytes:
    """The last session that a person began, in the form in which gitcp keeps it."""
    rows = [json.loads(line) for line in database.open(encoding="utf-8")]
    table: dict[str, list[dict[str, Any]]] = {"session": [], "message": [], "part": []}
    for row in rows:
        table[row["table"]].append(row)
    session = min(  # their ids descend
        (row for row in table["session"] if not row["parent_id"]), key=lambda row: row["id"]
    )
    lines: list[dict[str, Any]] = [{"info": {"id": session["id"]}}]
    for message in table["message"]:
        if message["session_id"] == session["id"]:
            parts = [p for p in table["part"] if p["message_id"] == message["id"]]
            info = {**json.loads(message["data"]), "id": message["id"]}
            lines.append({"info": info, "parts": [json.loads(p["data"]) for p in parts]})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
