"""Which files hold rules, and which tests name the room a file is in."""

from __future__ import annotations

import re
from pathlib import Path

# Files of decisions are tried whole; of a file with effects every SPARSE-th mutation.
DECISIONS = """git/commit_message record/journal/credit record/looks/credit_cases
agents/transcripts/shell_words guard/words guard/guard_rules record/match/holding
record/match/open_edits record/match/units checkpoints/format/line_authors text/line_credit
text/line_evidence text/line_replay text/pairing link/linking checkpoints/links
checkpoints/format/merge_rules checkpoints/format/orphan_rules record/session/stream_choice
checkpoints/format/__init__ checkpoints/format/schema""".split()
RULES = """record/stream/__init__ record/stream/writing record/session/__init__ link/condense
link/commit git/refs lines/proven""".split()
SPARSE = 5
# Rules that only whole stories tell apart, beside the tests of their own room.
STORIES = ["tests/scenarios", "tests/link", "tests/record/session", "tests/record/stream"]
TOLD_BY_STORIES = {"record", "link", "steps"}


def rules(top: Path) -> list[tuple[str, int]]:
    """The files tried when none is named, each with: only every so many-th mutation of it."""
    tried = [(rule, 1) for rule in DECISIONS] + [(rule, SPARSE) for rule in RULES]
    return [(f"gitcp/{rule}.py", number) for rule, number in tried]


def tests(top: Path, path: Path) -> list[str]:
    """The test files that name the room of a file: by their folder, or by importing from it."""
    _, *rooms = path.relative_to(top).parts[:-1]
    folders = [f"tests/{path.stem}"]
    if rooms:
        package = rooms[0]
        folders += [f"tests/{package}", f"tests/{package}/rules", f"tests/{package}/{path.stem}"]
        folders.append("/".join(["tests", *rooms]))
        if package in TOLD_BY_STORIES:
            folders += STORIES
    else:
        folders.append("tests/program")
    found = [p for folder in dict.fromkeys(folders) for p in sorted((top / folder).glob("test_*"))]
    package_name = r"\.".join(["gitcp", *rooms])
    named = re.compile(rf"^from {package_name}(?:\.{path.stem})? import .*", re.M)
    for other in sorted((top / "tests").rglob("test_*.py")):
        lines = named.findall(other.read_text())
        if any(path.stem in line for line in lines):
            found.append(other)
    return list(dict.fromkeys(str(p.relative_to(top)) for p in found))
