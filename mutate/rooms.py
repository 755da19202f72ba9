"""Which files hold rules, and which tests name the room a file is in."""

from __future__ import annotations

import re
from pathlib import Path

# Files of decisions are tried whole; of a file of the store every SPARSE-th mutation.
DECISIONS = """commit_message credit credit_cases discards guard_rules holding line_authors
line_replay linking links merge_rules orphan_rules stream_rules v1_format v1_schema""".split()
RULES = """record/stream/__init__ record/stream/writing record/session/__init__ link/condense
link/commit git/refs lines/proven""".split()
SPARSE = 5
# Rules that only whole stories tell apart, beside the tests of their own room.
STORIES = ["tests/scenarios", "tests/link", "tests/record/session", "tests/record/stream"]
TOLD_BY_STORIES = {"stream", "session", "link", "commits"}


def rules(top: Path) -> list[tuple[str, int]]:
    """The files tried when none is named, each with: only every so many-th mutation of it."""
    core, stores = top / "gitcp" / "core", [top / "gitcp" / f"{rule}.py" for rule in RULES]
    decisions = [core / f"{name}.py" for name in DECISIONS]
    every = [*((p, 1) for p in decisions), *((p, SPARSE) for p in stores)]
    return [(str(path.relative_to(top)), number) for path, number in every]


def tests(top: Path, path: Path) -> list[str]:
    """The test files that name the room of a file: by their folder, or by importing from it."""
    _, *rooms = path.relative_to(top).parts[:-1]
    room = rooms[-1] if rooms[1:] else path.stem
    folders = [
        "/".join(["tests", *rooms, path.stem]),
        f"tests/{room}" if rooms else "tests/program",
        f"tests/{path.stem}",
    ]
    if rooms[:1] == ["store"] and room in TOLD_BY_STORIES:
        folders += STORIES
    found = [p for folder in dict.fromkeys(folders) for p in sorted((top / folder).glob("test_*"))]
    package = r"\.".join(["gitcp", *rooms])
    named = re.compile(rf"^from {package}(?:\.{path.stem})? import .*", re.M)
    for other in sorted((top / "tests").rglob("test_*.py")):
        lines = named.findall(other.read_text())
        if any(path.stem in line for line in lines):
            found.append(other)
    return list(dict.fromkeys(str(p.relative_to(top)) for p in found))
