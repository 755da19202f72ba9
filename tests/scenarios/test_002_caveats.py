"""The caveats of doc/scenarios.md "002 Linking": each is settled.

tests/link tries the second and fourth (test_attribution) and the sixth (test_finalize).
"""

from __future__ import annotations

import json

from gitcp.link import linking
from gitcp.record.match import remains
from tests.support.harness import Agent, World
from tests.support.linking import sessions, settled, sound, v1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Recorded

A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"


def size(world: World) -> int:
    """Bytes of all objects, as they lie on the disk."""
    found = world.git("count-objects", "-v").splitlines()
    told = dict(line.split(": ") for line in found)
    return int(told["size"]) * 1024


def test_caveats_1_and_5_a_transcript_is_stored_once_however_many_commits_have_it(
    world: World, a: Agent
) -> None:
    a.prompt("a long conversation")
    for number in range(40):
        words = " ".join(f"{number * 997 % 1009}-{n * number % 7919}" for n in range(2000))
        a.answer([{"type": "text", "text": words}])
    for number in range(6):
        a.write(f"{number}.py", A + f"# {number}\n")
    a.stop()
    whole = a.transcript.stat().st_size
    [first] = world.commit("0.py")
    before = size(world)
    made = [first, *(one for n in range(1, 6) for one in world.commit(f"{n}.py"))]
    assert size(world) - before < whole / 2, "five more checkpoints of it"
    for one in made:
        at = f"{one[:2]}/{one[2:]}/0/full.jsonl"
        parts = [d for p, d in sorted(v1(world).items()) if p.startswith(at)]
        assert len(parts) > 2
        assert sum(map(len, parts)) == whole - len(parts) + 1, "each has all of it"
    settled(world, a)


def test_caveat_3_stashed_files_keep_their_content(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": A, "b.py": B})
    world.git("stash", "-q", "-u")
    a.turn("two", {"c.py": "c = 1\n"})
    world.commit("c.py")
    oids = {path: told["oid"] for s in a.state["streams"] for path, told in s["files"].items()}
    assert {p: world.git("cat-file", "blob", oid) + "\n" for p, oid in oids.items()} == {
        "a.py": A,
        "b.py": B,
    }
    world.git("gc", "-q", "--prune=now")
    assert all(world.git("cat-file", "-t", oid) == "blob" for oid in oids.values())
    world.git("stash", "pop", "-q")
    assert len(world.commit("a.py", "b.py")) == 1
    settled(world, a)
    sound(world)


def test_caveat_7_the_two_checks_agree_on_every_content() -> None:
    """What is settled after a commit was linked by it; what was not linked is not settled."""
    texts = {"1": b"one line of it\ntwo lines of it\n", "2": b"one line of it\n", "3": b"other\n"}
    texts["0"] = b"before it all\n"
    for recorded in "123":
        for before in (None, "0"):
            for now in "123":
                entry: Recorded = {
                    "path": "p",
                    "oid": recorded,
                    "mode": "100644",
                    "live": True,
                }
                old = ("100644", before) if before else ("000000", None)
                change = (*old, "100644", now)
                linked = linking.find_overlap(entry, change, texts.get).units
                head = ("100644", now)
                entry["before"] = None
                is_settled = remains.explain_settled(entry, {"p": change}, head, head, texts.get)
                assert linked or not is_settled
                is_there = recorded == now or (recorded, now) == ("2", "1")
                assert bool(is_settled) == is_there


def test_caveat_8_superseded_content_is_compared_with_what_the_tip_has_and_stays_reachable(
    world: World, a: Agent
) -> None:
    hundred = "".join(f"line {n} of the agent\n" for n in range(100))
    a.turn("a hundred lines", {"a.txt": hundred})
    world.write("a.txt", "".join(hundred.splitlines(True)[:50]))
    world.git("add", "a.txt")
    world.write("a.txt", hundred)
    world.git("commit", "-q", "-m", "half of it")
    carried = world.git("hash-object", "a.txt")
    more = hundred + "".join(f"line {n} of the agent\n" for n in range(100, 150))
    a.turn("fifty more", {"a.txt": more})
    assert world.tree(world.branch()) == {"a.txt": more}
    assert carried in world.git("rev-list", "--objects", world.branch())
    [two] = world.commit("a.txt")
    assert sessions(world, two)[a.sid]["files"]["a.txt"]["prompt"] == "fifty more"
    settled(world, a)
    sound(world)


def test_caveat_9_nothing_is_deleted_by_looking(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": A})
    world.commit("a.py")
    before = world.refs("refs")
    for command in ("list-sessions", "list-streams", "list-checkpoints", "status"):
        world.gitcp(command)
    assert a.state["session_id"] == a.sid, "a settled state stays until it is cleaned"
    assert world.open() == [], "it costs a commit nothing"
    assert world.refs("refs") == before
    assert json.loads(world.gitcp("list-sessions").splitlines()[0])["session_id"] == a.sid
