"""A key of the journal's lines is one row of KEYS: it goes everywhere once it is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp.record.journal import line_kinds
from tests.checkpoints.store.test_one_more_key import Copy
from tests.support.harness import Agent, World
from tests.support.paths import TOP

ROWS = """
    "made_word": (str, "", "a word that is made up"),
    "made_owner": (str, "owner", "a session that is made up"),
    "made_alone": (str, "alone", "what many edits do not share"),
"""
SCHEMA = TOP / "share" / "gitcp" / "schema" / "journal.json"
# Two edits with the made-up keys, which a session's ref holds.
WRITE = """
with journal.Journal(repo) as held:
    for name, more in (("a", {}), ("b", {"made_owner": "s1"})):
        entry = ("100644", repo.objects.write("blob", name.encode()))
        edit = line_kinds.build_edit(name, None, entry, ("s2", "t1", ""), "tool", ord(name))
        held.append([edit.having(made_word="one", **more)])
    journal.hold_edits(repo, held, "s2", "a turn")
"""
MANY = """
from gitcp.record.journal import many_edits
entry = ("100644", repo.objects.write("blob", b"x"))
who = ("s1", "t1", "")
edits = [line_kinds.build_edit(f"f{n}", None, entry, who, "tool", 7) for n in range(300)]
edits = [edit.having(made_word="two", made_alone=edit.path) for edit in edits]
packed = many_edits.pack_many_edits(repo.objects, edits)
expanded = many_edits.expand_lines(repo.objects, packed)
print(json.dumps([[line.keys for line in lines] for lines in (packed, expanded)]))
"""


class Journals(Copy):
    """A repository, and a copy of gitcp with keys more in its journal."""

    def __init__(self, tmp: Path) -> None:
        super().__init__(
            tmp, "gitcp/record/journal/line_kinds.py", {'    "trees": (': f'{ROWS}    "trees": ('}
        )
        self.journal = self.top / ".git/gitcp/journal"

    def python(self, text: str) -> str:
        """What a script in gitcp prints."""
        head = "import json\nfrom gitcp.git.repo import Repo\n"
        head += "from gitcp.record.journal import credit, line_kinds\n"
        head += "from gitcp.record import journal\nfrom gitcp.git.objects import Objects\n"
        body = "\n".join(f"    {line}" for line in text.splitlines())
        text = f"{head}repo = Repo.find()\nwith Objects(repo):\n{body}\n"
        path = f"import sys; sys.path.insert(0, {str(self.lib)!r})\n"
        return self.run(sys.executable, "-c", path + text)

    def list_lines(self) -> list[dict[str, Any]]:
        """The edits of the journal as gitcp reads them."""
        edits = "credit.list_edits(journal.read_journal(repo))"
        text = self.python(f"print(json.dumps([edit.keys for edit in {edits}]))")
        return list(json.loads(text))


@pytest.fixture
def copy(tmp_path: Path) -> Journals:
    return Journals(tmp_path)


def test_a_key_more_is_checked_when_it_is_read(copy: Journals) -> None:
    copy.python(WRITE)
    whole = copy.list_lines()
    assert [line["made_word"] for line in whole] == ["one", "one"]
    with copy.journal.open("a") as f:
        f.write(json.dumps({**whole[0], "made_word": 7}) + "\n")
    assert copy.list_lines() == whole


@pytest.mark.thorough
def test_a_key_more_comes_back_with_lines_that_the_journal_lost(copy: Journals) -> None:
    copy.python(WRITE)
    whole = copy.list_lines()
    for left in ([], whole[:1], whole[1:]):
        script = (
            "from gitcp.record.journal import held_lines\n"
            f"left = [*map(line_kinds.read_line, json.loads({json.dumps(left)!r}))]\n"
            "lines = held_lines.rebuild_journal(repo, repo.worktree_hash, left)"
        )
        script += "\nprint(json.dumps([line.keys for line in lines]))"
        assert json.loads(copy.python(script)) == whole


def test_a_key_more_stays_with_many_edits_unless_each_has_its_own(copy: Journals) -> None:
    packed, edits = json.loads(copy.python(MANY))
    assert [line.keys() & {"made_word", "made_alone"} for line in packed] == [{"made_word"}]
    assert len(edits) == 300 and {edit["made_word"] for edit in edits} == {"two"}


@pytest.mark.thorough
def test_lines_that_a_key_more_gives_to_a_session_are_forgotten_with_it(copy: Journals) -> None:
    copy.python(WRITE)
    copy.write({"turn_id": "0" * 12})  # of session s1
    copy.gitcp("forget", "--yes", "s1")
    assert [line["path"] for line in copy.list_lines()] == ["a"]


@pytest.mark.thorough
def test_a_key_more_is_in_the_schema_and_the_manual(copy: Journals) -> None:
    differ = copy.run(sys.executable, copy.lib / ".ci/generate", "--check", status=1).split()
    assert differ == ["man/gitcp-formats.5", "share/gitcp/schema/journal.json"]
    copy.run(sys.executable, copy.lib / ".ci/generate")
    schema = json.loads((copy.lib / "share/gitcp/schema/journal.json").read_text())
    assert schema["properties"]["made_word"]["type"] == "string"
    page = (copy.lib / "man/gitcp-formats.5").read_text()
    assert ".It Dq made_word\nA word that is made up.\n" in page


def test_the_schema_fits_what_a_turn_and_a_commit_write(world: World, a: Agent, b: Agent) -> None:
    from jsonschema import Draft202012Validator  # not by every worker: it takes a second

    valid = Draft202012Validator(json.loads(SCHEMA.read_text()))
    a.turn("write", {"one.py": "one\n", "two.py": "two\n"})
    a.ran("mv two.py three.py")
    world.commit("one.py")
    b.turn("write", {"one.py": None})
    lines = [json.loads(x) for x in (world.path / ".git/gitcp/journal").read_text().splitlines()]
    assert {"path", "look", "commit", "stream", "held"} <= {key for line in lines for key in line}
    assert not [error.message for line in lines for error in valid.iter_errors(line)]
    assert [*valid.iter_errors({**lines[0], "at": "now"})]


def test_each_kind_of_line_says_what_it_is() -> None:
    assert all(meaning for _, _, meaning in line_kinds.KEYS.values())
    words = {word for _, words, _ in line_kinds.KEYS.values() for word in words.split()}
    assert words == {*"kind lasting staying based owner objects alone cause".split()}
