"""Lines that say who typed them, and whom blame names for each."""

from __future__ import annotations

import json

from tests.support.harness import World


def text(who: str, *numbers: int) -> str:
    return "".join(f"line {n} that {who} has typed\n" for n in numbers)


def blame_names(world: World, path: str, *options: str) -> list[str]:
    """Whom blame names for each line: a session, "person" or "unknown"."""
    rows = world.gitcp("blame", "--json", *options, "--", path).splitlines()
    return [row["session_id"] or row["who"] for row in map(json.loads, rows)]
