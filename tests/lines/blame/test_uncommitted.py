"""Lines that are not committed yet: blame names for them whom a commit of them would name."""

from __future__ import annotations

import json
import os

import pytest

from gitcp.text.short_ids import shorten_id
from tests.lines.blame.told_lines import blame_names, text
from tests.support import warm
from tests.support.clients.calls import begin, end
from tests.support.harness import Agent, World

BASE = text("the person", *range(1, 9))


@pytest.fixture
def agent(world: World) -> Agent:
    """A session whose two lines stand behind the person's eight in g.txt, committed."""
    world.write("g.txt", BASE)
    world.commit()
    agent = world.agent("session-b", tools=True)
    agent.turn("write", {"g.txt": BASE + text("a session", 1, 2)})
    world.commit()
    return agent


@pytest.mark.parametrize("index", ["none", "staged", "emptied"])
def test_before_the_first_commit_each_line_has_its_author(world: World, index: str) -> None:
    world.git("switch", "-q", "--orphan", "new")
    (world.path / ".git" / "index").unlink()
    agent = world.agent("session-b", tools=True)
    path = 'a folder/it\'s "é"\n.txt'
    agent.turn("write", {path: text("a session", 1, 2)})
    world.write(path, world.read(path) + text("the person", 3))
    if index != "none":
        world.git("add", ".")
    if index == "emptied":
        world.git("rm", "-rq", "--cached", ".")
    objects = sorted((world.path / ".git" / "objects").rglob("*"))
    assert blame_names(world, path) == ["session-b", "session-b", "person"]
    shown = [line.partition(" 20")[0].rstrip() for line in world.gitcp("blame", path).splitlines()]
    author = f"00000000 (Claude Code {shorten_id('session-b')} #1"
    assert shown == [author, author, "00000000 (Not Committed Yet"]
    why = world.gitcp("why", f"{path}:2")
    assert f"session {shorten_id('session-b')}, prompt 1\nnot committed, written" in why
    assert world.gitcp("blame", "-s", "-L3", path).endswith(f"3) {text('the person', 3)}")
    refused = warm.command("blame", ["nosuch"], world.path, os.environ)
    said = refused.returncode, refused.stderr
    assert said == (128, b"fatal: no such path 'nosuch' in HEAD\n")
    assert sorted((world.path / ".git" / "objects").rglob("*")) == objects
    world.commit()
    assert blame_names(world, path) == ["session-b", "session-b", "person"]


def test_what_a_filter_converts_keeps_its_authors_beside_the_persons_lines(
    world: World, agent: Agent
) -> None:
    world.write(".gitattributes", "*.txt filter=next\n")
    world.git("config", "filter.next.clean", "tr a-y b-z")
    world.git("config", "filter.next.smudge", "tr b-z a-y")
    world.write("f.txt", "")
    world.commit()
    agent.turn("more", {"f.txt": text("a session", 3, 4)})
    world.write("f.txt", text("a session", 3, 4) + text("the person", 9))
    assert blame_names(world, "f.txt") == ["session-b", "session-b", "person"]


def test_what_a_text_conversion_shows_elsewhere_is_nobodys(world: World, agent: Agent) -> None:
    world.write(".gitattributes", "*.txt diff=tac\n")
    world.git("config", "diff.tac.textconv", "tac")
    world.commit()
    agent.turn("more", {"g.txt": world.read("g.txt") + text("a session", 3)})
    world.write("g.txt", text("the person", 9) + world.read("g.txt"))
    assert blame_names(world, "g.txt")[0] == blame_names(world, "g.txt")[-1] == "unknown"
    assert blame_names(world, "g.txt", "--no-textconv")[::11] == ["person", "session-b"]


def test_a_file_that_was_renamed_and_edited_before_anybody_looked_keeps_its_authors(
    world: World, agent: Agent
) -> None:
    agent.turn("more", {"g.txt": world.read("g.txt") + text("a session", 3, 4)})
    world.git("mv", "g.txt", "h.txt")
    world.write("h.txt", world.read("h.txt") + text("the person", 9))
    want = ["person"] * 8 + ["session-b"] * 4 + ["person"]
    assert blame_names(world, "h.txt") == want
    world.git("add", "-A")
    world.git("stash", "-q")
    world.git("stash", "pop", "-q", "--index")
    assert blame_names(world, "h.txt") == want
    world.commit()
    assert blame_names(world, "h.txt") == want


@pytest.mark.parametrize("brought", ["merge -q --squash side", "cherry-pick -n side"])
def test_what_is_brought_in_without_a_commit_keeps_its_authors(
    world: World, agent: Agent, brought: str
) -> None:
    world.git("checkout", "-q", "-b", "side")
    agent.turn("more", {"g.txt": world.read("g.txt") + text("a session", 3)})
    world.commit()
    world.git("checkout", "-q", "main")
    world.write("g.txt", text("the person", 9) + world.read("g.txt"))
    world.commit()
    for name in ("journal", "look"):  # as where others made the branch
        (world.path / ".git" / "gitcp" / name).unlink()
    world.git(*brought.split())
    world.write("g.txt", text("the person", 10) + world.read("g.txt"))
    assert blame_names(world, "g.txt") == ["person"] * 10 + ["session-b"] * 3


def test_what_a_call_has_just_written_is_its_sessions_before_its_end(
    world: World, agent: Agent
) -> None:
    agent.prompt("build")
    call = begin(agent, "Bash", command="make")
    world.write("g.txt", world.read("g.txt") + text("a session", 3))
    journal = (world.path / ".git" / "gitcp" / "journal").read_bytes()
    assert blame_names(world, "g.txt")[-1] == "session-b"
    assert (world.path / ".git" / "gitcp" / "journal").read_bytes() == journal
    end(agent, call)


def test_lines_of_a_large_file_are_named_after_who_alone_has_written_them(
    world: World, agent: Agent
) -> None:
    long = f"{'x' * (1 << 20)}\n"
    world.write("large.txt", 2 * long)
    world.commit()
    world.write("large.txt", 2 * long + text("the person", 1))
    assert blame_names(world, "large.txt")[-1] == "person"
    assert blame_names(world, "large.txt", "-w", "-M")[-1] == "person"
    world.git("checkout", "-q", "large.txt")
    agent.turn("more", {"large.txt": 2 * long + text("a session", 1)})
    assert blame_names(world, "large.txt")[-1] == "session-b"
    world.write("large.txt", 2 * long + text("the person", 1) + text("a session", 1))
    assert blame_names(world, "large.txt")[-2:] == ["unknown", "unknown"]


def test_an_uncommitted_line_has_the_time_of_its_edit(world: World, agent: Agent) -> None:
    agent.turn("more", {"g.txt": world.read("g.txt") + text("a session", 3)})
    journal = world.path / ".git" / "gitcp" / "journal"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    edit = [line for line in lines if line.get("path") == "g.txt" and "after" in line][-1]
    earlier = edit["at"] // 10**9 - 86400  # a time that is not now
    journal.write_text(journal.read_text().replace(str(edit["at"]), str(earlier * 10**9)))
    row = json.loads(world.gitcp("blame", "--json", "g.txt").splitlines()[-1])
    assert row["time"] == earlier
    for option, want in (("-t", f"{earlier} +0000"), ("--date=unix", str(earlier))):
        assert f" {want} " in world.gitcp("blame", option, "g.txt").splitlines()[-1]
    assert f"\nauthor-time {earlier}\n" in world.gitcp("blame", "--line-porcelain", "g.txt")
    committed = json.loads(world.gitcp("blame", "--json", "HEAD", "--", "g.txt").splitlines()[-1])
    assert committed["time"] == int(world.git("log", "-1", "--format=%ct"))
