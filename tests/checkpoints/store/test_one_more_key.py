"""A key of the metadata is one row of checkpoint_keys: it goes everywhere once the row is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints.format import keys
from gitcp.checkpoints.redact import json_values
from tests.support import paths
from tests.support.replay import initial
from tests.support.sealed import SEALED

ID, AT = "a1b2c3d4e5f6", "entire/checkpoints/v1:a1/b2c3d4e5f6"
ROWS = """
    Key("made_list", [NAME], "shown kept union", "a list that is made up"),
    Key("made_object", {"*": NAME}, "keys", "an object that is made up"),
"""
PLACED = '    Key("made_name", NAME, "summary taken shown first", "a name that is made up"),\n'


class Copy:
    """A repository, and a copy of gitcp with keys more."""

    def __init__(self, tmp: Path, table: str, changes: Mapping[str, str]) -> None:
        """table: the file that declares keys.  changes: what is replaced in it once."""
        self.lib, self.top = tmp / "lib", tmp / "work"
        kept = shutil.ignore_patterns("patterns.c*")
        for part in ("gitcp", ".ci", "bin", "contrib", "doc", "man", "share"):
            shutil.copytree(paths.TOP / part, self.lib / part, symlinks=True, ignore=kept)
        (self.lib / "tests").symlink_to(paths.TOP / "tests")  # the recordings that a page tells of
        shutil.copy(paths.TOP / "README.md", self.lib)
        text = (self.lib / table).read_text()
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new, 1)
        (self.lib / table).write_text(text)
        self.top.mkdir()
        self.env = {**os.environ, **SEALED, "HOME": str(tmp)}
        initial(self.top)

    def run(self, *argv: str | Path, stdin: str = "", status: int = 0) -> str:
        done = subprocess.run(
            argv, cwd=self.top, env=self.env, input=stdin, capture_output=True, text=True
        )
        assert done.returncode == status, done
        return done.stdout or done.stderr

    def gitcp(self, name: str, *args: str, stdin: str = "", status: int = 0) -> str:
        program = self.lib / "bin" / f"gitcp-{name}"
        return self.run(sys.executable, program, *args, stdin=stdin, status=status)

    def write(self, metadata: dict[str, Any], status: int = 0) -> str:
        """Write a session of a checkpoint; what it prints."""
        record = {"type": "session", "session_id": "s1", "checkpoint_id": ID, "metadata": metadata}
        return self.gitcp("write-committed", stdin=json.dumps(record), status=status)

    def read(self, path: str) -> dict[str, Any]:
        stored: dict[str, Any] = json.loads(self.run("git", "show", f"{AT}/{path}"))
        return stored


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    changes = {"OWN = (\n": f"OWN = ({ROWS}", '    Key("turn_id"': f'{PLACED}    Key("turn_id"'}
    return Copy(tmp_path, "gitcp/checkpoints/format/keys.py", changes)


def test_a_key_more_goes_through_writing_reading_merging_and_forgetting(copy: Copy) -> None:
    copy.write({"agent": "A", "made_name": "one", "made_list": ["b"], "made_object": {"x": "1"}})
    base = copy.run("git", "rev-parse", "entire/checkpoints/v1").strip()
    copy.write({"turn_id": "0" * 12, "made_name": "two", "made_list": ["a"], "made_object": {}})
    stored = copy.read("0/metadata.json")
    assert (stored["made_name"], stored["made_list"]) == ("one", ["a", "b"])
    assert stored["made_object"] == {"x": "1"}
    order = [*stored]
    assert order.index("agent") + 1 == order.index("made_name") == order.index("turn_id") - 1
    assert [*copy.read("metadata.json")].index("made_name") < order.index("turn_id")

    said = copy.write({"made_name": 7}, status=128)
    assert "'made_name' is not a name" in said
    copy.run("git", "branch", "mine", "entire/checkpoints/v1")
    copy.run("git", "update-ref", "refs/heads/entire/checkpoints/v1", base)
    copy.write({"made_list": ["c"]})
    merged = json.loads(copy.gitcp("merge-checkpoints", "mine", "entire/checkpoints/v1"))["oid"]
    copy.run("git", "update-ref", "refs/heads/entire/checkpoints/v1", merged)
    assert copy.read("0/metadata.json")["made_list"] == ["a", "b", "c"]

    (shown,) = json.loads(copy.gitcp("show", "--json", ID))["contents"]
    assert (shown["made_name"], shown["made_list"]) == ("one", ["a", "b", "c"])
    assert "made_object" not in shown
    copy.gitcp("forget", "--yes", "s1")
    assert copy.read("0/metadata.json").keys() & {"made_name", "made_list"} == {"made_list"}


def test_a_key_more_is_in_the_schema_and_the_manual(copy: Copy) -> None:
    differ = copy.run(sys.executable, copy.lib / ".ci/generate", "--check", status=1).split()
    assert {*differ} >= {"man/gitcp-formats.5", "share/gitcp/schema/record.json"}
    copy.run(sys.executable, copy.lib / ".ci/generate")
    schema = json.loads((copy.lib / "share/gitcp/schema/record.json").read_text())["$defs"]
    made = schema["metadata"]["properties"]["made_object"]
    assert made["additionalProperties"] == {"type": "string"}
    assert {"made_name", "made_list"} <= schema["content"]["properties"].keys()
    assert "made_object" not in schema["content"]["properties"]
    page = (copy.lib / "man/gitcp-formats.5").read_text()
    assert ".It made_list\nA list that is made up (a list of names).\n" in page


MADE = {"type": "array", "items": {"type": "string"}, "description": "what is made up"}
DECLARATIONS = {
    "tool": ("gitcp/text/record_types.py", "    kind: str  #", "made_key: NotRequired[list[str]]"),
    "point": ("gitcp/steps/back/point.py", "    message: str", "made_key: list[str]"),
    "overlap": ("gitcp/steps/commits/division.py", "    first: int", "made_key: list[str]"),
}


@pytest.mark.parametrize("record", DECLARATIONS)
def test_a_key_more_of_a_type_is_in_the_schema_and_the_manual(tmp_path: Path, record: str) -> None:
    table, place, key = DECLARATIONS[record]
    indent = place[: -len(place.lstrip())]
    copy = Copy(tmp_path, table, {place: f"{indent}{key}  # what is made up\n{place}"})
    copy.run(sys.executable, copy.lib / ".ci/generate")
    schema = json.loads((copy.lib / "share/gitcp/schema/record.json").read_text())["$defs"]
    assert schema[record]["properties"]["made_key"] == MADE
    assert find_item(copy, record).count(".Dq made_key\n(what is made up),\n") == 1


def find_item(copy: Copy, record: str) -> str:
    """The item of a record in the manual."""
    page = (copy.lib / "man/gitcp-record.5").read_text()
    return page.partition(f"\n.It {record}\n")[2].partition("\n.It ")[0]


def test_a_key_more_of_a_printed_record_is_in_the_manual(tmp_path: Path) -> None:
    key = f'    "made_key": {json.dumps(MADE)},\n'
    place = '    "snippet": {'
    copy = Copy(tmp_path, "share/gitcp/schema/record.json", {place: f"{key}{place}"})
    differ = copy.run(sys.executable, copy.lib / ".ci/generate", "--check", status=1).split()
    assert differ == ["man/gitcp-record.5"]
    copy.run(sys.executable, copy.lib / ".ci/generate")
    assert ".Dq made_key\n(what is made up),\n.Dq snippet\n" in find_item(copy, "hit")


def test_the_redactor_knows_each_key_whose_values_are_no_secret() -> None:
    rows = (*keys.ORIGINAL, *keys.OWN)
    known = {row.name for row in rows if json_values._OWN.match(f'"{row.name}"'.encode())}
    assert known == {*keys.list_keys("plain")}
