"""Recordings of real clients (tests/data/recordings)."""

from __future__ import annotations

import json
from typing import Any

from tests.support import paths

ROOT = paths.DATA / "recordings"
SCENARIOS = [
    (path.parent.parent.name, path.parent.name) for path in sorted(ROOT.glob("*/*/events.jsonl"))
]


def calls(agent: str, scenario: str) -> list[tuple[str, dict[str, Any]]]:
    """The (event, payload) of each hook call of the agent, in order."""
    with open(ROOT / agent / scenario / "events.jsonl", encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    return [(e["event"], e["payload"]) for e in lines if not e["event"].startswith("git:")]


def transcript(agent: str, scenario: str, name: str = "transcript") -> bytes:
    return (ROOT / agent / scenario / f"{name}.jsonl").read_bytes()
