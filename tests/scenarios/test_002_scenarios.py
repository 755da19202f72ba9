"""doc/scenarios.md "002 Linking": the scenarios 1 to 7, the edge case
of 5, and "Reverted and replaced", each by name."""

from __future__ import annotations

import json

from tests.support.harness import V1, Agent, World
from tests.support.linking import (
    answers,
    editor,
    ids,
    noted,
    own,
    paths,
    sessions,
    settled,
    sound,
    touched,
    v1,
)

README = "line one\nline two\nline three\n"
A = "def add(a, b):\n    return a + b\n"
B = "def multiply(a, b):\n    return a * b\n"
C = "def subtract(a, b):\n    return a - b\n"
D = "def divide(a, b):\n    return a / b\n"
E = "def power(a, b):\n    return a ** b\n"


def test_scenario_1_prompt_changes_prompt_finishes_user_commits(world: World, a: Agent) -> None:
    a.prompt("change three files")
    assert a.state["phase"] == "active" and a.state["turn_id"]
    files = {"README.md": README + "four\n", "src/app.py": A, "src/lib.py": B}
    for path, text in files.items():
        a.write(path, text)
    a.stop()
    assert a.state["phase"] == "idle"
    assert a.state["files_touched"] == sorted(files)
    assert world.streams == [world.branch()]
    assert world.tree(world.branch()) == files

    world.git("commit", "-q", "-a", "-m", "three files")
    [one] = ids(world)
    assert list(v1(world)) == paths(one)
    assert touched(world, one, a.sid) == sorted(files)
    assert v1(world)[f"{one[:2]}/{one[2:]}/0/full.jsonl"] == a.transcript.read_bytes()
    assert world.streams == [] and world.archives == []
    settled(world, a)
    assert a.state["last_checkpoint_id"] == one
    sound(world)


def test_scenario_2_prompt_commits_within_single_turn(world: World, a: Agent) -> None:
    a.prompt("make changes and commit them")
    a.write("a.py", A)
    a.write("b.py", B)
    own(a, "add", "-A")
    own(a, "commit", "-q", "-m", "two files")
    [one] = ids(world)
    assert a.state["phase"] == "active"
    assert a.state["turn_checkpoint_ids"] == [one]
    assert "files_touched" not in a.state
    provisional = sessions(world, one)[a.sid]["transcript"]
    assert "a.py" in provisional and "done" not in provisional

    a.stop()
    assert "done" in sessions(world, one)[a.sid]["transcript"]
    assert "turn_checkpoint_ids" not in a.state
    assert a.state["phase"] == "idle"
    assert world.git("log", "--format=%s", V1).splitlines() == [
        f"Finalize transcript for Checkpoint: {one}",
        f"Checkpoint: {one}",
    ]
    assert list(v1(world)) == paths(one)
    assert world.streams == [] and world.archives == []
    settled(world, a)
    sound(world)


def test_scenario_3_claude_makes_multiple_granular_commits(world: World, a: Agent) -> None:
    a.prompt("implement the feature with granular commits")
    made = []
    for path, text in (("a.py", A), ("b.py", B), ("c.py", C)):
        a.write(path, text)
        own(a, "add", path)
        own(a, "commit", "-q", "-m", f"Add {path}")
        made += ids(world)
        assert a.state["turn_checkpoint_ids"] == made
        assert touched(world, made[-1], a.sid) == [path]
    assert len(set(made)) == 3
    a.stop()
    whole = a.transcript.read_text().rstrip("\n")
    assert [sessions(world, one)[a.sid]["transcript"] for one in made] == [whole] * 3
    assert "turn_checkpoint_ids" not in a.state
    [subject, body] = world.git("log", "-1", "--format=%s%x00%b", V1).split("\0")
    assert subject == f"Finalize transcript for Checkpoint: {made[0]}"
    assert f"Checkpoint: {made[1]}\nCheckpoint: {made[2]}" in body
    assert world.git("rev-list", "--count", V1) == "4", "all three finalized in one commit"
    assert sorted(v1(world)) == paths(*made)
    assert world.streams == [] and world.archives == []
    settled(world, a)
    sound(world)


def test_scenario_4_user_splits_changes_into_multiple_commits(world: World, a: Agent) -> None:
    a.turn("four files", {"a.py": A, "b.py": B, "c.py": C, "d.py": D})
    [one] = world.commit("a.py", "b.py")
    assert touched(world, one, a.sid) == ["a.py", "b.py"]
    assert a.state["files_touched"] == ["c.py", "d.py"]
    assert a.state["checkpoint_count"] == 1
    assert world.streams == [world.branch()], "a new stream on the new commit"
    assert world.tree(world.branch()) == {"c.py": C, "d.py": D}
    assert world.open() == [a.sid]

    [two] = world.commit("c.py", "d.py")
    assert touched(world, two, a.sid) == ["c.py", "d.py"]
    assert one != two
    whole = a.transcript.read_text().rstrip("\n")
    assert [sessions(world, i)[a.sid]["transcript"] for i in (one, two)] == [whole] * 2
    assert sessions(world, two)[a.sid]["checkpoint_transcript_start"] == 0
    assert sorted(v1(world)) == paths(one, two)
    assert world.streams == [] and world.archives == []
    settled(world, a)
    sound(world)


def stashed(world: World, a: Agent) -> str:
    """Scenarios 5 and 6 up to the second prompt's end: a committed, b and c stashed, d and e
    written; the id of the first commit."""
    a.turn("prompt one", {"a.py": A, "b.py": B, "c.py": C})
    [one] = world.commit("a.py")
    assert a.state["files_touched"] == ["b.py", "c.py"]
    world.git("add", "b.py", "c.py")
    world.git("stash", "-q")
    assert a.state["files_touched"] == ["b.py", "c.py"]
    a.turn("prompt two", {"d.py": D, "e.py": E})
    assert a.state["files_touched"] == ["b.py", "c.py", "d.py", "e.py"]
    assert world.tree(world.branch()) == {"d.py": D, "e.py": E}, "no ghosts"
    return one


def test_scenario_5_partial_commit_stash_next_prompt(world: World, a: Agent) -> None:
    one = stashed(world, a)
    [two] = world.commit("d.py", "e.py")
    assert one != two
    found = sessions(world, two)[a.sid]
    assert found["files_touched"] == ["d.py", "e.py"]
    assert "prompt one" in found["transcript"] and "prompt two" in found["transcript"]
    assert {p: f["prompt"] for p, f in found["files"].items()} == {
        "d.py": "prompt two",
        "e.py": "prompt two",
    }
    assert a.state["files_touched"] == ["b.py", "c.py"]
    assert world.streams == []
    sound(world)


def test_scenario_5_edge_case_stashed_files_keep_their_content_and_link_later(
    world: World, a: Agent
) -> None:
    stashed(world, a)
    world.commit("d.py", "e.py")
    kept = {
        world.git("cat-file", "blob", f["oid"]) + "\n"
        for s in a.state["streams"]
        for f in s["files"].values()
    }
    assert kept == {B, C}, "the content of what is stashed"
    reachable = world.git("log", "--format=%H", "--glob=refs/gitcp/archive", "--", "b.py")
    assert reachable
    world.git("stash", "pop", "-q")
    [three] = world.commit("b.py", "c.py")
    found = sessions(world, three)[a.sid]
    assert found["files_touched"] == ["b.py", "c.py"]
    assert {f["prompt"] for f in found["files"].values()} == {"prompt one"}
    settled(world, a)
    sound(world)


def test_scenario_6_stash_second_prompt_unstash_commit_all(world: World, a: Agent) -> None:
    one = stashed(world, a)
    world.git("stash", "pop", "-q")
    [two] = world.commit("b.py", "c.py", "d.py", "e.py")
    found = sessions(world, two)[a.sid]
    assert found["files_touched"] == ["b.py", "c.py", "d.py", "e.py"]
    assert {p: f["prompt"] for p, f in found["files"].items()} == {
        "b.py": "prompt one",
        "c.py": "prompt one",
        "d.py": "prompt two",
        "e.py": "prompt two",
    }
    assert found["transcript"] == a.transcript.read_text().rstrip("\n")
    assert sorted(v1(world)) == paths(one, two)
    assert world.streams == []
    settled(world, a)
    sound(world)


def test_scenario_7_partial_staging_with_git_add_p(world: World, a: Agent) -> None:
    world.write("a.txt", "head\nmiddle\ntail\n")
    world.commit("a.txt")
    first = "".join(f"agent's line {n}\n" for n in range(50))
    last = "".join(f"agent's line {n}\n" for n in range(50, 100))
    whole = f"head\n{first}middle\n{last}tail\n"
    a.turn("a hundred lines", {"a.txt": whole})
    answers(world, "s\ny\nn\n", "add", "-p", "a.txt")
    world.git("commit", "-q", "-m", "the first hunk")
    assert world.git("show", "HEAD:a.txt") + "\n" == f"head\n{first}middle\ntail\n"
    [one] = ids(world)
    assert a.state["files_touched"] == ["a.txt"]
    assert world.tree(world.branch()) == {"a.txt": whole}, "as the worktree has it"

    world.git("add", "a.txt")
    world.git("commit", "-q", "-m", "the rest")
    [two] = ids(world)
    assert one != two
    assert sorted(v1(world)) == paths(one, two)
    assert world.streams == [] and world.archives == []
    settled(world, a)
    sound(world)


def test_scenario_7_with_a_new_file(world: World, a: Agent) -> None:
    text = "".join(f"agent's line {n}\n" for n in range(100))
    a.turn("a hundred lines", {"a.txt": text})
    world.git("add", "-N", "a.txt")
    half = "".join(text.splitlines(True)[:50])
    world.env["GIT_EDITOR"] = editor(world, 'sed -i "/line [5-9][0-9]/d" "$1"')
    answers(world, "e\n", "add", "-p", "a.txt")
    world.git("commit", "-q", "-m", "lines 0 to 49")
    assert world.git("show", "HEAD:a.txt") + "\n" == half
    [one] = ids(world)
    assert world.tree(world.branch()) == {"a.txt": text}
    [two] = world.commit("a.txt")
    assert sorted(v1(world)) == paths(one, two)
    settled(world, a)
    sound(world)


def test_reverted_and_replaced(world: World, a: Agent) -> None:
    a.turn("write x", {"x.txt": "hello from the agent\n"})
    (world.path / "x.txt").unlink()
    world.write("x.txt", "completely different words\n")
    before = world.branch()
    assert world.commit("x.txt") == []
    assert noted(world) == [] and v1(world) == {}
    assert a.state["files_touched"] == ["x.txt"], "nothing was settled"
    assert before not in world.streams and world.streams + world.archives != []
    sound(world)


# "Content-Aware Overlap Detection", the flow chart; the other end of it is the tests of match().


def test_a_modified_file_counts_even_when_the_person_edited_it(world: World, a: Agent) -> None:
    a.turn("change the readme", {"README.md": README + "agent\n"})
    world.write("README.md", README + "something else entirely, by hand\n")
    [one] = world.commit("README.md")
    assert touched(world, one, a.sid) == ["README.md"]
    sound(world)


def test_a_commit_of_other_files_is_not_linked_and_loses_nothing(world: World, a: Agent) -> None:
    a.turn("write a", {"a.py": A})
    world.write("mine.txt", "my own file\n")
    assert world.commit("mine.txt") == []
    assert a.state["files_touched"] == ["a.py"]
    assert world.streams == [world.branch()], "the live ref has the new base's name"
    [one] = world.commit("a.py")
    assert touched(world, one, a.sid) == ["a.py"]
    settled(world, a)
    sound(world)


def test_an_ended_session_links_what_it_wrote_and_nothing_else(world: World, a: Agent) -> None:
    a.turn("write a", {"a.py": A})
    a.end()
    world.write("mine.txt", "my own file\n")
    assert world.commit("mine.txt") == []
    [one] = world.commit("a.py")
    assert touched(world, one, a.sid) == ["a.py"]
    assert a.state["phase"] == "ended"
    world.write("a.py", A + "# mine\n")
    assert world.commit("a.py") == [], "depleted: nothing of it is left"
    sound(world)


def test_two_sessions_of_one_commit_are_one_checkpoint_and_one_commit_on_v1(
    world: World, a: Agent
) -> None:
    b = world.agent("session-b")
    a.turn("write a", {"a.py": A})
    b.turn("write b", {"b.py": B})
    [one] = world.commit("a.py", "b.py")
    found = sessions(world, one)
    assert {sid: told["files_touched"] for sid, told in found.items()} == {
        "session-a": ["a.py"],
        "session-b": ["b.py"],
    }
    assert sorted(v1(world)) == paths(one, sessions=2)
    root = json.loads(v1(world)[f"{one[:2]}/{one[2:]}/metadata.json"])
    assert root["files_touched"] == ["a.py", "b.py"]
    assert world.git("rev-list", "--count", V1) == "1"
    body = world.git("log", "-1", "--format=%B", V1)
    assert body.count("Entire-Session: ") == 2
    settled(world, a)
    settled(world, b)
    sound(world)
