"""What a commit's checkpoint says of its lines, held against git."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitcp.record.journal import LARGEST
from tests.support.harness import V1, World
from tests.support.linking import ids, sessions

LINES = [f"line {n} of the file" for n in range(1, 20)]


def text(*numbers: int) -> str:
    return "".join(f"{LINES[n]}\n" for n in numbers)


def lengthen(journal: Path) -> None:
    """Make a journal so long that the next commit cuts it back."""
    journal.write_bytes(b'{"look":1}\n' * (LARGEST // 10) + journal.read_bytes())
    journal.with_name("journal-checked").unlink(missing_ok=True)  # it would have lost lines


def shares(world: World, commit: str = "HEAD") -> dict[str, int]:
    """The lines a commit adds: session id, person or unknown -> how many, and that they add
    up to what git counts."""
    [one] = ids(world, commit)
    told = {sid: m["initial_attribution"] for sid, m in sessions(world, one).items()}
    counts = {sid: m["lines_added"]["agent"] for sid, m in told.items()}
    first = next(iter(told.values()))["lines_added"]
    counts |= {"person": first["person"], "unknown": first["unknown"]}
    args = ("diff-tree", "-r", "--root", "--no-commit-id", "--numstat", commit)
    rows = world.git(*args).splitlines()
    assert sum(counts.values()) == sum(int(row.split("\t")[0]) for row in rows)
    return {name: n for name, n in counts.items() if n}


def ranges(world: World, path: str, sid: str = "session-a") -> list[list[Any]]:
    """What lines.json tells of a path of HEAD's checkpoint."""
    [one] = ids(world)
    at = f"{V1}:{one[:2]}/{one[2:]}"
    for number in range(len(sessions(world, one))):
        metadata = json.loads(world.git("show", f"{at}/{number}/metadata.json"))
        if metadata["session_id"] == sid:
            lines = json.loads(world.git("show", f"{at}/{number}/lines.json"))
            assert lines[path][-1]["oid"] == world.git("rev-parse", f"HEAD:{path}")
            return list(lines[path][-1]["ranges"])
    raise AssertionError(sid)
