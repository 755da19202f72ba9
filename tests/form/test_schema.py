"""share/gitcp/schema/record.json has every record that commands write, and every key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.form.source import none
from tests.support.harness import World
from tests.support.record_schema import RECORDS, SCHEMA, list_faults, make_validator
from tests.support.story import recorded

# Records that need more than one repository, or more of a story; other tests check some of them.
NOT_SEEN = set(
    "claim exported fact facts finding need overlap part refuse say split version".split()
)
CALL = {"session_id": "s1", "cwd": "/", "tool_name": "Write", "tool_input": {"file_path": "/a"}}
# The commands of one line are a pipeline; <point> is the newest prompt, <id> a checkpoint.
COMMANDS = """
list-orphans --older-than=0
rewind --json --force --to <point>
log --abandoned --json
undo --json
list-changes | write-blobs | write-tree | write-commit -m snap | update-ref refs/heads/snap
list-refs refs/heads/
list-streams
read-stream <stream>
list-sessions
list-claims
list-checkpoints | find-commits
match-commit HEAD
status --json
doctor --json
config --json
du --json
du --by=session --json
log --json
show --json
show --json HEAD
resume --json HEAD
why --json greet.py:1,6
blame --json greet.py
blame --json README.md
stats --json --survival --cost HEAD
verify --json HEAD
check --json HEAD~1..HEAD
page --json HEAD~1..HEAD
diff --json HEAD~1 HEAD
explain --json
explain --json HEAD
enable --json --dry-run --agent=codex
forget --json --dry-run --all
search --json bye
recap --json
import --json --unlinked
sessions --json
adopt --json 8f76
rewind --list --json
rewind --dry-run --json --force --to <point>
rewind --json --force --to <point>
bisect -n --json HEAD~1
undo --list --json
undo --json
redo --list --json
link --json HEAD~1 <id>
unlink --json HEAD~1
clean --json
read-event claude-code PreToolUse
"""


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    made = World(recorded(ground, tmp_path), tmp_path / "home")
    slug = re.sub("[^a-zA-Z0-9]", "-", str(made.path))
    yesterday = tmp_path / "home" / ".claude" / "projects" / slug / "yesterday.jsonl"
    yesterday.parent.mkdir(parents=True)
    yesterday.write_text(json.dumps({"sessionId": "yesterday", "cwd": str(made.path)}) + "\n")
    yield made
    made.close()


def test_the_schema_has_the_records_that_commands_write(world: World) -> None:
    found = [json.loads(line) for line in world.gitcp("rewind", "--list", "--json").splitlines()]
    words = {
        "<point>": next(point["id"] for point in found if point["kind"] == "prompt"),
        "<id>": next(point["condensation_id"] for point in found if point["kind"] == "committed"),
        "<stream>": f"refs/heads/{world.branch()}",
    }
    wrong, seen = [], set()
    for command in COMMANDS.strip().splitlines():
        text = json.dumps(CALL) if command.startswith("read-event") else ""
        for stage in command.split(" | "):
            name, *args = (words.get(word, word) for word in stage.split())
            text = world.gitcp(name, *args, stdin=text)
            wrong += [f"{command}: {problem}" for problem in list_faults(text)]
            seen |= {json.loads(line)["type"] for line in text.splitlines()}
    none(wrong)
    assert RECORDS - seen == NOT_SEEN


def test_the_schema_is_valid() -> None:
    make_validator().check_schema(SCHEMA)
