"""What is declared of records about lines is what they have, and nothing besides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git
from tests.support.record_schema import SCHEMA


def declared(name: str) -> set[str]:
    """The keys that the schema has of a record and of its parts, without those of tokens."""
    properties = SCHEMA["$defs"][name].get("properties", {})
    parts = set(re.findall(r"#/\$defs/(\w+)", json.dumps(properties))) - {name, "token_usage"}
    return set(properties).union(*map(declared, parts))


def keys(value: Any, but: str = "") -> set[str]:
    """The keys of a record at any depth, those of the one named but left out."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = set(value) if isinstance(value, dict) else set()
    skipped = value.get(but) if isinstance(value, dict) else None
    return own.union(*(keys(one, but) for one in inner if one is not skipped))


def records(*argv: str) -> list[Any]:
    return [json.loads(line) for line in warm.run(*argv).stdout.splitlines()]


@pytest.fixture
def worked(repo: Path) -> Path:
    """A file of which a session wrote two lines, and a person took one of them away."""
    (repo / "f.txt").write_text("one\ntwo\nthree\n")
    git("add", ".")
    git("commit", "-qm", "count")
    linked("a1b2c3d4e5f6", "session-a", "f.txt", [[1, 2, "t1", "toolu_1"]])
    (repo / "f.txt").write_text("one\nthree\n")
    git("commit", "-qam", "less")
    return repo


def test_the_sums_have_the_keys_that_are_declared(worked: Path) -> None:
    [stats] = records("stats", "--json", "--survival", "--cost")
    assert keys(stats, but="tokens") == declared("stats")
    [few] = records("stats", "--json")
    assert set(few) == set(stats) - {"survival", "cost"}


def test_a_line_has_the_keys_that_are_declared(worked: Path) -> None:
    lines = records("blame", "--json", "--coarse", "f.txt")
    rare = {"guess", "by_neighbours"}
    assert [keys(line) | rare for line in lines] == [declared("line")] * 2
    assert keys(lines[1]["guess"]) < declared("line")


def test_where_a_line_came_from_has_the_keys_that_are_declared(worked: Path) -> None:
    [origin] = records("why", "--json", "f.txt:1")
    of_a_call = {"name", "given", "before", "after", "task"}
    assert keys(origin) == declared("origin") - of_a_call - {"by_neighbours"}
