"""What edits of sessions take: counted, given back when that is asked, and limited."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.harness import Agent, World

MIB = 1 << 20
EDITS = "refs/gitcp/edits"


def work(world: World, agent: Agent, turns: int, size: int = MIB) -> None:
    """Turns of an agent beside an untracked file that is another after each; then a commit."""
    for n in range(turns):
        agent.prompt(f"turn {n}")
        agent.write(f"{agent.sid}.py", f"{n}\n")
        (world.path / "big.bin").write_bytes(os.urandom(size))
        agent.stop()
    (world.path / "big.bin").unlink()
    agent.turn("without it", {f"{agent.sid}.py": "done\n"})
    world.commit(f"{agent.sid}.py")


def done(world: World, name: str, turns: int = 3) -> None:
    """A session that has worked, committed and ended, its agent's process too."""
    agent = world.agent(name, tools=True)
    work(world, agent, turns)
    agent.end()
    world.kill(agent)


def usage(world: World, by: str = "kind") -> dict[str, int]:
    key = {"kind": "kind", "session": "session_id"}[by]
    lines = world.gitcp("du", "--json", "--by", by).splitlines()
    return {record[key]: record["bytes"] for record in map(json.loads, lines)}


def pruned(world: World) -> int:
    """Bytes of the packs that are left once git has pruned what it may."""
    subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=world.path, check=True)
    return sum(path.stat().st_size for path in (world.path / ".git/objects/pack").iterdir())


def sound(world: World) -> None:
    world.git("fsck", "--connectivity-only")
    world.gitcp("check-store")


def test_du_counts_what_packs_of_ours_keep_and_no_ref_needs(world: World) -> None:
    done(world, "s-one")
    assert usage(world)["edits"] > 3 * MIB
    for ref, oid in world.refs(EDITS).items():
        world.git("update-ref", "-d", ref, oid)
    assert usage(world)["packs"] > 3 * MIB


def test_du_tells_whose_edits_they_are(world: World) -> None:
    done(world, "s-one")
    done(world, "s-two", turns=5)
    told = usage(world, "session")
    assert told["s-two"] > 5 * MIB > told["s-one"] > 3 * MIB


@pytest.mark.parametrize("args", [["--edits"], ["--older-than", "0"]], ids=" ".join)
def test_clean_gives_back_the_edits_of_settled_sessions(world: World, args: list[str]) -> None:
    done(world, "s-one")
    world.gitcp("clean", *args)
    assert usage(world)["edits"] > 3 * MIB
    world.gitcp("clean", "--force", *args)
    told = usage(world)
    assert sum(told.values()) < MIB, told
    assert pruned(world) < MIB
    sound(world)


def test_clean_leaves_the_edits_of_a_session_with_open_work(world: World) -> None:
    done(world, "s-one")
    there = world.agent("s-open", tools=True)
    there.turn("not committed", {"open.py": "open\n"})
    world.gitcp("clean", "--force", "--edits")
    assert list(world.refs(EDITS)) == [f"{EDITS}/s-open"]
    pruned(world)
    sound(world)
    [checkpoint] = world.commit("open.py")
    assert list(world.committed(checkpoint)) == ["s-open"]


def test_a_session_whose_edits_went_goes_on_as_any(world: World) -> None:
    agent = world.agent("s-one", tools=True)
    work(world, agent, 2)
    world.gitcp("clean", "--force", "--edits")
    pruned(world)
    agent.turn("once more", {"s-one.py": "more\n"})
    [checkpoint] = world.commit("s-one.py")
    assert list(world.committed(checkpoint)) == ["s-one"]
    pruned(world)
    sound(world)


def test_more_edits_than_the_ceiling_cost_the_oldest_settled_sessions_theirs(world: World) -> None:
    world.git("config", "gitcp.max-edits", "4m")
    done(world, "s-one")
    assert set(world.refs(EDITS)) == {f"{EDITS}/s-one"}
    done(world, "s-two")
    assert set(world.refs(EDITS)) == {f"{EDITS}/s-two"}
    assert pruned(world) < 5 * MIB
    sound(world)


def test_the_ceiling_takes_nothing_of_sessions_that_are_not_settled(world: World) -> None:
    world.git("config", "gitcp.max-edits", "1m")
    agent = world.agent("s-open", tools=True)
    for n in range(3):
        agent.turn(f"turn {n}", {"open.py": os.urandom(MIB // 2).hex()})
    agent.end()
    assert set(world.refs(EDITS)) == {f"{EDITS}/s-open"}
    world.commit("open.py")
    world.agent("s-next").start()
    assert not world.refs(EDITS)


def test_below_the_ceiling_nothing_goes(world: World) -> None:
    done(world, "s-one")
    done(world, "s-two")
    assert len(world.refs(EDITS)) == 2


def test_a_repository_that_borrows_objects_gives_them_back_too(
    world: World, tmp_path: Path
) -> None:
    world.git("clone", "-q", "--shared", str(world.path), str(tmp_path / "shared"))
    there = World(tmp_path / "shared", world.home)
    there.gitcp("enable")
    done(there, "s-one")
    there.gitcp("clean", "--force", "--edits")
    there.close()
    assert sum(usage(there).values()) < MIB
    assert pruned(there) < MIB


def test_what_clean_leaves_in_a_pack_stays_kept(world: World, tmp_path: Path) -> None:
    done(world, "s-one")
    there = world.agent("s-open", tools=True)
    there.turn("not committed", {"open.py": "open\n"})
    world.gitcp("clean", "--force", "--edits")
    stored = world.git("rev-parse", f"{world.branch()}:open.py")
    world.git("update-ref", "-d", f"refs/heads/{world.branch()}")
    world.git("update-ref", "-d", f"{EDITS}/s-open")
    pruned(world)
    assert world.git("cat-file", "-t", stored) == "blob"


def copied(world: World) -> dict[str, int]:
    """session -> bytes of the copy of its transcript."""
    folder = world.path / ".git" / "gitcp" / "transcript"
    return {p.stem: p.stat().st_size for p in folder.glob("*.redacted")}


def talk(world: World, name: str, settled: bool = True) -> None:
    """A session with a conversation of 4 MiB, and work of which all, or none, is committed."""
    agent = world.agent(name)
    agent.prompt("talk")
    agent.write(f"{name}.py", "done\n")
    for n in range(8):
        agent.answer([{"type": "text", "text": f"{n} is what I think. " * (MIB // 40)}])
    agent.stop()
    if settled:
        world.commit(f"{name}.py")
    agent.end()
    world.kill(agent)


@pytest.mark.thorough
def test_copies_of_transcripts_take_little_and_one_that_is_gone_is_made_again(
    world: World,
) -> None:
    talk(world, "s-open", settled=False)
    for n in range(2):
        talk(world, f"s-{n}")
    assert sorted(copied(world)) == ["s-0", "s-1", "s-open"]
    assert sum(copied(world).values()) < MIB  # of three conversations of 4 MiB
    for path in (world.path / ".git" / "gitcp" / "transcript").glob("s-0.*"):
        path.unlink()
    again = world.agent("s-0")
    again.start("resume")
    again.turn("once more", {"more.py": "more\n"})
    [checkpoint] = world.commit("more.py")
    asked = world.gitcp("show", "--transcript", checkpoint)
    assert "7 is what I think" in asked and "once more" in asked
    assert len(world.commit("s-open.py")) == 1
    sound(world)
