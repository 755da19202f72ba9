"""What was given up, shared by request: `gitcp.share-abandoned`."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints.share import summaries
from gitcp.checkpoints.share.summaries import join
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.steps.rewind.going import done, run
from tests.support import gits
from tests.support.harness import Agent, World

A = "11111111-0000-4000-8000-000000000001"
B = "22222222-0000-4000-8000-000000000002"
REF = "refs/gitcp/abandoned"
KEY = "gitcp.share-abandoned"
TEXTS = ("session_id", "turn", "agent", "prompt", "how", "next_prompt")


@pytest.fixture
def a(world: World) -> Agent:
    world.write("f.txt", "one\ntwo\n")
    world.commit()
    world.git("config", KEY, "true")
    return world.agent(A, tools=True)


def clone(world: World, bare: Path, name: str = "there") -> World:
    at = world.path.parent / name
    world.git("clone", "-q", str(bare), str(at))
    there = World(at, world.home, world.env)
    there.git("config", "gitcp.remote", "origin")
    there.git("config", KEY, "true")
    done(there, "enable")
    return there


def give_up(world: World, agent: Agent, prompt: str, line: str) -> None:
    """A turn whose work is discarded, and one that is committed."""
    agent.turn(prompt, {"f.txt": f"one\ntwo\n{line}\n"})
    world.git("checkout", "-q", "--", "f.txt")


def listed(world: World, *args: str) -> list[dict[str, Any]]:
    out = done(world, "log", "--abandoned", "--json", *args)
    return [json.loads(line) for line in out.splitlines()]


def prompts(world: World, *args: str) -> set[str]:
    return {record["prompt"] for record in listed(world, *args)}


def has_ref(path: Path) -> bool:
    return (path / REF).exists() or REF in (path / "packed-refs").read_text()


def test_what_two_clones_gave_up_is_known_in_both(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    give_up(there, there.agent(B, tools=True), "add four", "four")
    done(world, "push")
    done(there, "push")
    done(world, "fetch")
    assert prompts(world) == prompts(there) == {"add three", "add four"}
    assert prompts(world, "--grep", "FOUR", "f.txt") == {"add four"}
    assert prompts(world, "g.txt") == set()
    [record] = [r for r in listed(there) if r["session_id"] == A]
    assert record["files"] == {"f.txt": {"added": 1, "removed": 0, "how": "discarded"}}
    assert (record["worktree"], record["restore"]) == ("", "")
    tips = {w.git("rev-parse", f"{REF}^{{tree}}") for w in (world, there)}
    assert len(tips) == 1


def test_without_the_setting_nothing_is_sent_or_fetched(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    world.git("config", KEY, "false")
    done(world, "push")
    assert not has_ref(bare)
    world.git("config", KEY, "true")
    done(world, "push")
    there.git("config", KEY, "false")
    done(there, "fetch")
    assert prompts(there) == set()


def test_what_is_fetched_stops_when_the_setting_is_taken_back(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    done(world, "push")
    done(there, "fetch")
    there.git("config", KEY, "false")
    give_up(world, a, "add four", "four")
    done(world, "push")
    done(there, "fetch")
    assert prompts(there) == {"add three"}


@pytest.mark.parametrize("consent", [True, False])
def test_a_push_of_git_sends_them_with_the_consent_for_checkpoints(
    world: World, a: Agent, consent: bool
) -> None:
    bare = world.share() if consent else world.remote("origin")
    give_up(world, a, "add three", "three")
    a.turn("add five", {"g.txt": "five\n"})
    world.commit("g.txt")
    world.git("push", "-q", "origin", "main")
    assert has_ref(bare) is consent


def test_a_prompt_is_redacted_by_the_rules_of_the_push(world: World, a: Agent) -> None:
    world.share()
    give_up(world, a, "add three, pin 4711", "three")
    a.end()
    done(world, "clean", "--older-than", "0", "--edits", "-f")
    world.git("config", "gitcp.redact", r"pin \d+")
    done(world, "push")
    path = world.git("ls-tree", "-r", "--name-only", REF)
    assert "pin" not in world.git("show", f"{REF}:{path}")


def test_a_summary_with_a_secret_is_held_back_alone(world: World, a: Agent) -> None:
    bare = world.share()
    give_up(world, a, "add three", "three")
    name = "ghp_" + "x7Kq2Lm9" * 4 + "Ab3d"
    a.turn("add a file", {f"{name}.txt": "four\n"})
    (world.path / f"{name}.txt").unlink()
    pushed = run(world, "push")
    assert pushed.returncode == 128 and f"'{REF}' has what looks like a secret" in pushed.stderr
    there = clone(world, bare)
    done(there, "fetch")
    assert prompts(there) == {"add three"}


def test_a_path_that_a_rule_names_is_held_back_in_any_script(world: World, a: Agent) -> None:
    bare = world.share()
    give_up(world, a, "add three", "three")
    world.git("config", "gitcp.redact", "müller")
    for name in ("müller.txt", "möller.txt"):
        a.turn("add four", {name: "four\n"})
        (world.path / name).unlink()
    pushed = run(world, "push")
    assert pushed.returncode == 128 and f"'{REF}' has what looks like" in pushed.stderr
    there = clone(world, bare)
    done(there, "fetch")
    paths = sorted(path for record in listed(there) for path in record["files"])
    assert paths == ["f.txt", "möller.txt"]


def test_what_is_forgotten_is_forgotten_where_it_was_sent_and_in_other_clones(
    world: World, a: Agent
) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    a.end()
    give_up(there, there.agent(B, tools=True), "add four", "four")
    done(world, "push")
    done(there, "push")
    assert len(listed(there)) == 2
    said = done(world, "forget", A, "-y", "--remote")
    assert "1 abandoned turn" in said
    assert prompts(world) == {"add four"}
    objects = world.git("rev-list", "--objects", REF, cwd=bare)
    texts = [world.git("cat-file", "-p", line[:40], cwd=bare) for line in objects.splitlines()]
    assert not [text for text in texts if "add three" in text]
    give_up(there, there.agent(B, tools=True), "add five", "five")
    done(there, "push")
    done(world, "fetch")
    assert prompts(world) == prompts(there) == {"add four", "add five"}
    assert "add three" not in there.git("log", "-p", REF)


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_git_that_reads_the_history_that_it_replaces_forgets_it_there(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setenv("PATH", gits.find_newer())
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    a.end()
    give_up(there, there.agent(B, tools=True), "add four", "four")
    for where, command in ((world, "push"), (there, "push"), (world, "fetch")):
        done(where, command)
    if when == "later":
        done(world, "forget", A, "-y")
    assert "does not have it any more" in done(world, "forget", A, "-y", "--remote")
    done(there, "fetch")
    assert prompts(world) == prompts(there) == {"add four"}
    assert "add three" not in world.git("log", "-p", REF, cwd=bare)


def test_a_clone_that_shares_none_forgets_them_where_they_were_sent(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    there.git("config", KEY, "false")
    give_up(world, a, "add three", "three")
    a.turn("add five", {"g.txt": "five\n"})
    world.commit("g.txt")
    done(world, "push")
    done(there, "fetch")
    done(there, "forget", A, "-y", "--remote")
    assert "add three" not in world.git("log", "-p", REF, cwd=bare)


def test_a_turn_of_another_clone_can_be_forgotten_here(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    done(world, "push")
    done(there, "fetch")
    assert prompts(there) == {"add three"}
    done(there, "forget", A, "-y", "--remote")
    done(world, "fetch")
    done(world, "push")
    done(there, "fetch")
    assert prompts(there) == set()


def test_what_was_forgotten_here_alone_can_be_taken_out_where_it_was_sent_later(
    world: World, a: Agent
) -> None:
    bare = world.share()
    give_up(world, a, "add three", "three")
    a.end()
    done(world, "push")
    done(world, "forget", A, "-y")
    pushed = run(world, "push")
    assert pushed.returncode == 128 and "'gitcp forget --remote'" in pushed.stderr
    assert "does not have it any more" in done(world, "forget", A, "-y", "--remote")
    done(world, "push")
    there = clone(world, bare)
    done(there, "fetch")
    assert prompts(there) == set()


def test_forgotten_turns_count_among_those_that_are_shared(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.share()
    give_up(world, a, "add three", "three")
    a.end()
    done(world, "push")
    done(world, "forget", A, "-y", "--remote")
    repo = Repo.find(str(world.path))
    turn = dict.fromkeys(("agent", "prompt", "how", "next_prompt", "by"), "x")
    files = {"f.txt": {"how": "discarded", "added": 1, "removed": 0}}
    now = int(time.time())
    later = [
        {**turn, "session_id": B, "turn": str(n), "time": now + n, "files": files} for n in (1, 2)
    ]
    monkeypatch.setattr(summaries, "_MOST_SHARED", 2)
    for records in (later[:1], later):
        with Objects(repo):
            summaries.write_shared(repo, records, ())
    left = world.git("ls-tree", "-r", "--name-only", REF).splitlines()
    assert len(left) == 2
    assert {r["turn"] for r in summaries.read_shared(repo)} == {"1", "2"}


def test_work_that_came_back_is_given_up_nowhere(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    done(world, "push")
    world.write("f.txt", "one\ntwo\nthree\n")
    done(world, "push")
    done(there, "fetch")
    assert prompts(there) == set()
    world.git("checkout", "-q", "--", "f.txt")
    done(world, "push")
    done(there, "fetch")
    assert prompts(there) == {"add three"}


def send(world: World, bare: Path, blobs: list[bytes]) -> None:
    """Add files to the ref where it was sent."""
    tree = world.git("ls-tree", REF) + "\n"
    for number, data in enumerate(blobs):
        (world.path / "blob").write_bytes(data)
        oid = world.git("hash-object", "-w", "blob")
        tree += f"100644 blob {oid}\t{number:040x}\n"
    (world.path / "blob").unlink()
    argv = ["git", "mktree"]
    made = subprocess.check_output(argv, cwd=world.path, input=tree, text=True).strip()
    commit = world.git("commit-tree", "-p", REF, "-m", "x", made)
    world.git("push", "-q", str(bare), f"{commit}:{REF}")


def test_files_that_are_no_summaries_are_passed_over(world: World, a: Agent) -> None:
    bare = world.share()
    give_up(world, a, "add three", "three")
    done(world, "push")
    blobs = [b"{}", b"[" * 9999, b'{"session_id": 3}', b"\xff\xfe", b"x" * (1 << 19)]
    strange: dict[str, Any] = dict.fromkeys(TEXTS, "a\x1b[2J\nb\ud800")
    strange |= {"time": -(10**30), "files": {"/\x1b]0;x\x07\n..": {"added": [1], "how": {}}}}
    blobs += [json.dumps({**strange, "time": at}).encode() for at in (10**40, -(10**40), 1)]
    send(world, bare, blobs)
    there = clone(world, bare)
    done(there, "fetch")
    assert "add three" in prompts(there)
    assert "\x1b" not in done(there, "log", "--abandoned", "-p")
    give_up(there, there.agent(B, tools=True), "add four", "four")
    done(there, "push")


def test_a_page_is_made_whatever_a_summary_of_its_session_says(world: World, a: Agent) -> None:
    bare = world.share()
    give_up(world, a, "add three", "three")
    a.turn("add five", {"g.txt": "five\n"})
    world.commit("g.txt")
    done(world, "push")
    whole: dict[str, Any] = {**dict.fromkeys(TEXTS, "<b>"), "session_id": A, "time": 1}
    strange = [("time", 10**18), ("time", -(10**18)), ("files", {"f.txt": {"added": "<b>"}})]
    send(world, bare, [json.dumps({**whole, "files": {}, k: v}).encode() for k, v in strange])
    done(world, "fetch")
    page = done(world, "page", "-o", "-", "--abandoned", "HEAD")
    section = page[page.index('<section id="abandoned"') :].partition("</section>")[0]
    assert section.count("<article") == 1 and "add three" in section


def test_the_join_of_two_summaries_has_one_result_in_any_order() -> None:
    whole = {**dict.fromkeys(TEXTS, ""), "time": 1, "files": {}}
    texts = [json.dumps({**whole, "written": n}).encode() for n in (1, 2)]
    texts += [json.dumps({"forgotten": n, "session_id": ""}).encode() for n in (3, 4)]
    texts += [json.dumps({**whole, "written": 2, "x": 1}).encode(), b"", b"no", b"[]"]
    for x in texts:
        assert join(x, x) == x
        for y in texts:
            assert join(x, y) == join(y, x)
            for z in texts:
                assert join(join(x, y), z) == join(x, join(y, z))
    assert join(texts[0], texts[2]) == texts[2] and join(texts[0], texts[1]) == texts[1]


def test_an_agents_prompt_is_told_only_of_this_clone(world: World, a: Agent) -> None:
    bare = world.share()
    there = clone(world, bare)
    give_up(world, a, "add three", "three")
    done(world, "push")
    done(there, "fetch")
    there.git("config", "gitcp.tell-abandoned", "true")
    assert "given up" not in there.agent(B, tools=True).prompt("look at f.txt").stdout


def test_the_shared_summaries_take_space_as_notes_do(world: World, a: Agent) -> None:
    world.share()
    give_up(world, a, "add three", "three")
    done(world, "push")
    kinds = [json.loads(line)["kind"] for line in done(world, "du", "--json").splitlines()]
    assert "notes" in kinds
