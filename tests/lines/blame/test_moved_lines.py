"""Lines that went: moved with their files, put away and given back, or typed once more."""

from __future__ import annotations

import json

import pytest

from gitcp.record.journal import cuts
from tests.lines.blame.told_lines import blame_names, text
from tests.record.journal.lines import lengthen
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import sessions, sound
from tests.support.warm import run as run_warm

MINE, HERS = text("session-a", 1, 2, 3), text("session-b", 4, 5, 6)


@pytest.fixture
def b(world: World) -> Agent:
    """The second of two sessions; each has a file of three lines, committed."""
    world.agent("session-a", tools=True).turn("write", {"f.txt": MINE})
    agent = world.agent("session-b", tools=True)
    agent.turn("write", {"g.txt": HERS})
    world.commit()
    return agent


def test_files_that_a_session_lets_change_places_keep_their_authors(world: World, b: Agent) -> None:
    b.prompt("swap them")
    run(b, "mv f.txt h && mv g.txt f.txt && mv h g.txt")
    world.write("f.txt", HERS + text("the person", 7))
    b.stop()
    assert blame_names(world, "g.txt") == ["session-a"] * 3
    assert blame_names(world, "f.txt") == ["session-b"] * 3 + ["person"]
    world.commit()
    assert blame_names(world, "g.txt") == ["session-a"] * 3
    assert blame_names(world, "f.txt") == ["session-b"] * 3 + ["person"]
    row = json.loads(world.gitcp("blame", "--json", "g.txt").splitlines()[0])
    assert (row["number"], row["prompt"], row["agent"]) == (1, "write", "Claude Code")
    sound(world)


def test_a_list_of_ignored_commits_that_is_not_there_changes_no_count(
    world: World, b: Agent
) -> None:
    """Only git blame reads it."""
    world.write("f.txt", MINE.replace("l", "   l", 1))
    world.commit()
    before = world.gitcp("stats", "--json")
    assert json.loads(before)["added"]["agent"] == 7
    world.git("config", "blame.ignoreRevsFile", "nowhere")
    done = run_warm("stats", "--json", cwd=world.path)
    assert (done.returncode, done.stdout, done.stderr) == (0, before, "")


def test_lines_whose_edits_the_journal_has_no_more_keep_their_authors_in_a_moved_file(
    world: World, b: Agent
) -> None:
    """An older edit of the file is open: it was put away."""
    b.prompt("begin")
    edit(b, "f.txt", MINE + text("session-b", 7))
    world.git("stash", "-q")
    world.agent("session-c", tools=True).turn("go on", {"f.txt": MINE + text("session-c", 8)})
    world.commit()
    journal = world.path / ".git/gitcp/journal"
    for number in range(cuts.COMMITS + 1):
        world.write("other.txt", f"{number}\n")
        lengthen(journal)
        world.commit()
    assert b'"session-c"' not in journal.read_bytes()
    run(b, "mv f.txt m.txt")
    [checkpoint] = world.commit()
    metadata = sessions(world, checkpoint)[b.sid]
    counts = metadata["initial_attribution"]["lines_added"]
    assert counts == {"agent": 0, "others": 0, "person": 0, "unknown": 0}, "git counts none"
    assert blame_names(world, "m.txt") == ["session-a"] * 3 + ["session-c"]


def test_lines_of_a_session_outside_the_commit_stay_its_own_when_another_brings_them_back(
    world: World, b: Agent
) -> None:
    world.write("f.txt", text("the person", 7))
    world.commit()
    b.prompt("bring it back")
    run(b, "git checkout -q HEAD~1 -- f.txt && echo 'line 8 that session-b has typed' >>f.txt")
    b.stop()
    world.commit()
    want = ["session-a"] * 3 + ["session-b"]
    assert blame_names(world, "f.txt") == want
    counts = json.loads(world.gitcp("stats", "--json", "HEAD~1.."))["added"]
    assert counts == {"agent": 4, "person": 0, "unknown": 0, "unrecorded": 0}
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.write("f.txt", text("the person", 9) + world.read("f.txt"))
    world.commit()
    world.git("cherry-pick", "-Xtheirs", "HEAD@{2}")
    assert blame_names(world, "f.txt")[-4:] == want
    world.git("gc", "-q", "--prune=now")
    assert blame_names(world, "f.txt")[-4:] == want


def test_a_file_that_a_link_has_taken_the_place_of_keeps_its_authors(
    world: World, b: Agent
) -> None:
    b.prompt("link it")
    run(b, "mv f.txt real.txt && ln -s real.txt f.txt")
    b.stop()
    world.git("add", "-A")
    assert blame_names(world, "real.txt") == ["session-a"] * 3
    world.commit()
    assert blame_names(world, "real.txt") == ["session-a"] * 3


@pytest.mark.parametrize("committed", [False, True])
def test_nobody_is_named_for_a_lost_line_of_a_session_that_the_person_types_again(
    world: World, b: Agent, committed: bool
) -> None:
    b.turn("more", {"g.txt": HERS + text("a session", 8, 9)})
    world.write("g.txt", HERS)
    b.turn("look", {})
    world.write("g.txt", HERS + text("a session", 8, 9) + text("the person", 7))
    if committed:
        world.commit()
    assert blame_names(world, "g.txt") == ["session-b"] * 3 + ["unknown"] * 2 + ["person"]


def test_what_came_back_as_it_was_and_nobody_has_looked_at_is_the_sessions(
    world: World, b: Agent
) -> None:
    b.turn("more", {"g.txt": HERS + text("a session", 8, 9)})
    kept = world.read("g.txt")
    world.write("g.txt", HERS)
    b.turn("look", {})
    world.write("g.txt", kept)
    assert blame_names(world, "g.txt") == ["session-b"] * 5


@pytest.mark.parametrize("before", ["", text("the person", 10)])
def test_what_a_stash_gives_back_beside_the_persons_lines_is_the_sessions(
    world: World, b: Agent, before: str
) -> None:
    b.turn("more", {"g.txt": HERS + text("a session", 8, 9)})
    world.write("g.txt", HERS + text("a session", 8, 9) + before)
    world.git("stash", "-q")
    b.turn("look", {})
    world.git("stash", "pop", "-q")
    world.write("g.txt", HERS + text("a session", 8, 9) + text("the person", 7))
    want = ["session-b"] * 5 + ["person"]
    assert blame_names(world, "g.txt") == want
    world.commit()
    assert blame_names(world, "g.txt") == want


def test_what_a_rebase_stashes_itself_is_the_sessions_beside_the_persons_lines(
    world: World, b: Agent
) -> None:
    world.git("checkout", "-q", "-b", "side")
    world.write("g.txt", text("the person", 10) + HERS)
    world.commit()
    world.git("checkout", "-q", "main")
    world.write("f.txt", MINE + text("the person", 11))
    world.commit()
    b.turn("more", {"g.txt": HERS + text("a session", 8, 9)})
    world.write("g.txt", world.read("g.txt") + text("the person", 7))
    world.env["GIT_SEQUENCE_EDITOR"] = "sed -i 1ibreak"
    world.git("rebase", "-q", "-i", "--autostash", "side")
    b.prompt("what does it wait for")
    world.git("rebase", "--continue")
    want = ["person"] + ["session-b"] * 5 + ["person"]
    assert blame_names(world, "g.txt") == want
    world.commit()
    assert blame_names(world, "g.txt") == want


def test_lines_that_a_session_moves_or_indents_keep_their_authors(world: World, b: Agent) -> None:
    theirs = text("the person", 7, 8)
    world.write("g.txt", HERS + theirs)
    world.commit()
    b.prompt("sort it")
    edit(b, "g.txt", text("session-b", 9) + theirs + HERS)
    run(b, "sed -i 's/^line 5/  line 5/' g.txt")
    b.stop()
    [one] = world.commit()
    assert blame_names(world, "g.txt") == ["session-b", "person", "person"] + ["session-b"] * 3
    counts = sessions(world, one)[b.sid]["initial_attribution"]
    assert counts["lines_added"]["unknown"] == 0 and counts["lines_removed"]["person"] == 0


def test_a_commit_does_not_wait_for_the_history_of_a_file_that_was_edited_in_its_place(
    world: World,
) -> None:
    """Who wrote what was there before the journal is not asked of git for an indented line."""
    world.write("old.txt", text("the person", 7, 8, 9))
    world.git("add", "old.txt")
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "before the journal")
    a = world.agent("session-a", tools=True)
    a.prompt("indent it")
    run(a, "sed -i 's/^line 8/  line 8/' old.txt")
    a.stop()
    trace = world.home / "trace"
    world.env["GITCP_TRACE"] = str(trace)
    world.commit()
    asked = trace.read_text()
    assert " update-ref " in asked and " blame " not in asked
    del world.env["GITCP_TRACE"]
    assert blame_names(world, "old.txt") == ["person"] * 3
    sound(world)


def test_work_that_lay_in_a_stash_while_the_journal_was_cut_is_its_sessions(world: World) -> None:
    theirs = text("the person", 1, 2, 3)
    world.write("f.txt", theirs)
    world.commit()
    a = world.agent("session-a", tools=True)
    a.turn("write four", {"f.txt": text("a session", 4) + theirs})
    world.git("stash", "-q")
    a.turn("look", {})
    b = world.agent("session-b", tools=True)
    journal = world.path / ".git" / "gitcp" / "journal"
    for number in range(20, 25):
        b.turn("write more", {"f.txt": world.read("f.txt") + text("b session", number)})
        world.commit()
        with journal.open("a") as lines:
            lines.write(json.dumps({"commit": "0" * 40, "settled": ["g" * 20_000], "at": 1}) + "\n")
    world.write("f.txt", text("a session", 4) + world.read("f.txt"))
    world.git("stash", "drop", "-q")
    world.commit()
    want = ["session-a"] + ["person"] * 3 + ["session-b"] * 5
    assert blame_names(world, "f.txt") == want
