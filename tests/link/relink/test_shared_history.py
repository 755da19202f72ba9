"""Histories as teams make them: several sessions and a person, rewritten together."""

from __future__ import annotations

import pytest

from gitcp.text.short_ids import shorten_id
from tests.setup import hook_tools
from tests.support.harness import World
from tests.support.linking import BARE, ids, logged, noted, own, shell, sound

BODY = "".join(f"def function_{n}():\n    return {n}\n\n\n" for n in range(8))
TODO = 'GIT_EDITOR=true GIT_SEQUENCE_EDITOR="sed -i 2,99s/^pick/squash/" git rebase -q -i'


def added(who: str, number: int) -> str:
    return f"def {who}_{number}(argument):\n    return '{who} wrote number {number}'\n\n\n"


def test_two_interleaved_sessions_squashed_by_a_rebase_have_each_link(world: World) -> None:
    base, agents = world.head, [world.agent("session-a"), world.agent("session-b")]
    links = []
    for number in range(4):
        agent = agents[number % 2]
        text = world.read("src/lib.py") + added(agent.sid[-1], number)
        agent.turn(f"turn {number}", {"src/lib.py": text})
        links += world.commit()
    shell(world, f"{TODO} {base}")
    assert sorted(ids(world)) == sorted(links) and len(logged(world, f"{base}..")) == 1
    sound(world)


def test_a_rebase_conflict_with_both_sides_kept_keeps_its_link_and_gives_none(world: World) -> None:
    world.write("src/lib.py", BODY)
    world.git(*BARE, "commit", "-q", "-a", "-m", "body")
    world.git("switch", "-q", "-c", "feature")
    world.agent("session-a").turn("one", {"src/lib.py": BODY + added("agent", 1)})
    [one] = world.commit()
    world.git("switch", "-q", "main")
    world.write("src/lib.py", BODY + added("person", 1))
    world.git("commit", "-q", "-a", "-m", "own")
    world.git("switch", "-q", "feature")
    shell(
        world,
        "! git rebase -q main 2>/dev/null; sed -i '/^[<=>]\\{7\\}/d' src/lib.py;"
        "git add src/lib.py; GIT_EDITOR=true git rebase --continue >/dev/null",
    )
    world.agent("session-b").start()
    assert all(added(who, 1).strip() in world.read("src/lib.py") for who in ("person", "agent"))
    assert [one.ids for one in logged(world, "-2")] == [[one], []]
    assert noted(world) == noted(world, "main") == []
    sound(world)


def test_mixed_authorship_rebased_onto_a_main_that_changed_the_file_keeps_each_its_own(
    world: World,
) -> None:
    world.write("src/lib.py", BODY)
    world.git(*BARE, "commit", "-q", "-a", "-m", "body")
    world.git("switch", "-q", "-c", "feature")
    world.agent("session-a").turn("one", {"src/lib.py": BODY + added("agent", 1)})
    world.write("src/lib.py", BODY + added("agent", 1) + added("person", 2))
    [one] = world.commit()
    world.git("switch", "-q", "main")
    world.agent("session-b").turn("two", {"src/lib.py": added("other", 3) + BODY})
    [two] = world.commit()
    world.write("src/lib.py", added("person", 4) + world.read("src/lib.py"))
    world.git("commit", "-q", "-a", "-m", "own")
    shell(world, "git switch -q feature; git rebase -q main")
    world.agent("session-c").start()
    commits = logged(world, "-3")
    assert [each.ids for each in commits] == [[one], [], [two]]
    assert [noted(world, each.oid) for each in commits] == [[], [], []]
    blamed = world.gitcp("blame", "src/lib.py").splitlines()
    for who, session in (("agent", "session-a"), ("other", "session-b")):
        lines = [line for line in blamed if f"'{who} wrote" in line]
        assert lines and all(shorten_id(session) in line for line in lines)
    assert not any("session" in line for line in blamed if "'person wrote" in line)
    sound(world)


WAYS = {
    "rebase -i": f"{TODO} main",
    "merge --squash": "git switch -q -c again main; git merge -q --squash feature;"
    "git commit -q --no-edit",
}


@pytest.mark.parametrize("name", WAYS)
def test_the_commits_of_two_sessions_and_a_person_squashed_have_the_two_links(
    world: World, name: str
) -> None:
    world.git("switch", "-q", "-c", "feature")
    links = []
    for sid in ("session-a", "session-b"):
        world.agent(sid).turn("write", {f"{sid}.py": added(sid[-1], 1)})
        links += world.commit()
        world.write("person.py", added("person", len(links)))
        assert world.commit() == []
    shell(world, WAYS[name])
    assert sorted(ids(world)) == sorted(links)
    world.agent("session-c").start()
    assert sorted(ids(world)) == sorted(links) and noted(world) == []
    sound(world)


def test_three_commits_in_one_turn_under_huskys_hooks_path_have_each_its_link(world: World) -> None:
    hook_tools.husky_alone(world.path)
    assert world.git("config", "core.hooksPath") == ".husky/_"
    world.gitcp("enable", "--agent", "claude-code")
    agent = world.agent("session-a")
    agent.prompt("three commits")
    made = []
    for number in range(3):
        agent.write(f"{number}.py", added("a", number))
        own(agent, "add", f"{number}.py")
        own(agent, "commit", "-q", "-m", f"add {number}")
        made += ids(world)
    agent.stop()
    assert len(set(made)) == 3
    assert [sorted(world.committed(one)[agent.sid]["files_touched"]) for one in made] == [
        [f"{number}.py"] for number in range(3)
    ]
