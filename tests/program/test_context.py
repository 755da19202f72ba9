"""One context a hook: what is asked once, what is written once, and what a failure leaves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gitcp import record
from gitcp.errors import Error
from gitcp.git.files import exclusive
from gitcp.git.repo import Repo
from gitcp.record import session
from tests.git.traced import processes
from tests.support.harness import World
from tests.support.linking import sound

SID = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"


class Trace:
    """What the hooks of one action asked and wrote: a Counter of lines for each process."""

    def __init__(self, world: World) -> None:
        self.file = world.home / "trace"
        world.env["GITCP_TRACE"] = str(self.file)

    def take(self) -> list[Counter[str]]:
        """The processes since the last take(), in the order they began."""
        found: dict[str, Counter[str]] = {}
        for line in self.file.read_text().splitlines() if self.file.exists() else ():
            _, pid, said = line.split(None, 2)
            found.setdefault(pid, Counter())[said] += 1
        self.file.unlink(missing_ok=True)
        return list(found.values())


def count(process: Counter[str], start: str) -> int:
    return sum(n for line, n in process.items() if line.startswith(start))


def asked_once(process: Counter[str], saves: int = 1) -> None:
    """No object twice; the session's state loaded once and saved once at most."""
    again = {line: n for line, n in process.items() if line.startswith("object: ") and n > 1}
    assert not again
    assert count(process, "state: load") <= 1, process
    assert count(process, "state: save") <= saves, process


def looks(process: Counter[str]) -> tuple[int, int]:
    """How often HEAD was asked for, and the tip that was asked for most often."""
    return count(process, "head: "), max(
        [n for line, n in process.items() if line.startswith("tip: ")], default=0
    )


def test_a_prompt_asks_each_thing_once(world: World) -> None:
    agent, trace = world.agent(SID), Trace(world)
    agent.turn("one", {"a.txt": "one\n"})
    trace.take()
    agent.prompt("two")
    (hook,) = trace.take()
    asked_once(hook)
    assert count(hook, "state: load") == count(hook, "state: save") == 1
    assert looks(hook) == (2, 2)  # of HEAD one is the scan's


def test_a_prompt_after_an_interrupted_turn_asks_each_thing_once(world: World) -> None:
    agent, trace = world.agent(SID), Trace(world)
    agent.prompt("one")
    agent.write("a.txt", "one\n")
    trace.take()
    agent.prompt("two")
    (hook,) = trace.take()
    asked_once(hook)
    scans = [n for line, n in hook.items() if " status --porcelain" in line]
    assert scans == [1] and count(hook, "state: save") == 1
    assert agent.state["checkpoint_count"] == 1


def test_a_stop_asks_each_thing_once(world: World) -> None:
    agent, trace = world.agent(SID), Trace(world)
    agent.turn("one", {"a.txt": "one\n"})
    agent.prompt("two")
    agent.write("a.txt", "two\n")
    trace.take()
    agent.stop()
    (hook,) = trace.take()
    asked_once(hook)
    assert count(hook, "state: load") == count(hook, "state: save") == 1
    # Each once more under the stream's lock, where the ref moves; the tip when the state is
    # loaded, and when the worktree is scanned; there HEAD twice, too.
    assert looks(hook) == (4, 3)
    assert agent.state["phase"] == "idle" and agent.state["checkpoint_count"] == 2


def test_a_commit_asks_each_thing_once(world: World) -> None:
    agent, trace = world.agent(SID), Trace(world)
    agent.turn("one", {"a.txt": "one\n", "b.txt": "two\n"})
    trace.take()
    assert world.commit("a.txt")
    prepare, post = trace.take()
    asked_once(prepare, saves=0)
    asked_once(post)
    assert count(prepare, "state: load") == 0
    assert count(post, "state: load") == count(post, "state: save") == 1
    sound(world)


def test_a_prompt_starts_two_processes_at_most_and_a_commit_six(world: World) -> None:
    """In a turn like any other; what git says of the repository is known from before.  The trace
    does not tell of the cat-file that each hook may have: the bounds leave room for it."""
    agent, trace = world.agent(SID), Trace(world)

    def take_gits() -> list[str]:
        gits = processes(trace.file)
        trace.take()
        return gits

    agent.turn("one", {"a.txt": "one\n"})
    assert world.commit()
    take_gits()
    agent.prompt("two")
    assert len(gits := take_gits()) <= 1, gits
    agent.write("a.txt", "two\n")
    agent.stop()
    assert len(gits := take_gits()) <= 2, gits
    assert world.commit()
    assert len(gits := take_gits()) <= 4, gits


def test_the_time_of_the_last_interaction_moves_at_a_commit(world: World) -> None:
    agent = world.agent(SID)
    agent.turn("one", {"a.txt": "one\n"})
    before = agent.state["last_interaction_time"]
    assert world.commit()
    assert agent.state["last_interaction_time"] > before
    assert agent.state["phase"] == "idle"


def test_an_ended_session_stays_ended_at_a_commit(world: World) -> None:
    agent = world.agent(SID)
    agent.turn("one", {"a.txt": "one\n"})
    agent.end()
    ended = agent.state["ended_at"]
    assert world.commit()
    assert (agent.state["phase"], agent.state["ended_at"]) == ("ended", ended)


def test_a_foreign_stage_finds_the_state_written_and_no_lock_held(world: World) -> None:
    agent = world.agent(SID)
    agent.prompt("one")
    agent.write("a.txt", "one\n")
    place, kept = world.path / ".git" / "gitcp" / "lock" / f"session-{SID}", world.home / "seen"
    state = world.path / ".git" / "entire-sessions" / f"{SID}.json"
    script = world.home / "foreign"
    script.write_text(f"#!/bin/sh\nflock -n '{place}' cp '{state}' '{kept}' || exit 1\ncat\n")
    script.chmod(0o755)
    pipe = f"write-checkpoint | !{script} | update-session | finalize"
    world.git("config", "gitcp.turn-end.pipeline", pipe)
    agent.stop()
    assert '"checkpoint_count": 1' in kept.read_text()
    assert '"phase": "active"' in kept.read_text()
    assert agent.state["phase"] == "idle"


@pytest.fixture
def ctx(repo: Path) -> record.Context:
    return record.Context(Repo.find())


def test_what_a_stage_kept_is_written_although_a_later_one_fails(ctx: record.Context) -> None:
    with pytest.raises(Error, match="later"), ctx:
        with ctx:
            ctx.hold(["s"])
            state = session.make_state(ctx.repo, "s", "Claude Code", ctx.head)
            ctx.keep(state)
        with ctx:
            again = ctx.read_state("s")
            assert again is state
            again["phase"] = "half done"
            raise Error("later")
    found = session.load_state(ctx.repo, "s")
    assert found and found["phase"] == "idle" and found["revision"] == 1


def test_nothing_is_written_before_the_outermost_end(ctx: record.Context) -> None:
    with ctx:
        with ctx:
            ctx.hold(["s"])
            ctx.keep(session.make_state(ctx.repo, "s", "Claude Code", ctx.head))
        assert session.load_state(ctx.repo, "s") is None
    assert session.load_state(ctx.repo, "s")


def test_a_session_is_locked_until_the_context_is_left(ctx: record.Context) -> None:
    with ctx:
        ctx.read_state("s")
        with pytest.raises(Error, match="locked"):
            exclusive(ctx.repo, "session-s", timeout=0.0).__enter__()
    with exclusive(ctx.repo, "session-s", timeout=0.0):
        pass


def test_a_session_that_comes_before_one_that_is_held_lets_go_of_it_first(
    ctx: record.Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gitcp.git._FILE", str(tmp_path / "trace"))  # the order is asserted
    with ctx:
        ctx.hold(["m", "b"])
        ctx.keep(session.make_state(ctx.repo, "m", "Claude Code", ctx.head))
        ctx.hold(["z"])
        ctx.hold(["a"])
        assert session.load_state(ctx.repo, "m"), "kept, so written before its lock went"
        with exclusive(ctx.repo, "session-z", timeout=0.0):
            pass


def test_under_trace_locks_taken_in_another_order_are_a_failure(
    ctx: record.Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gitcp.git._FILE", str(tmp_path / "trace"))
    with exclusive(ctx.repo, "stream-e3b0c4"):
        with exclusive(ctx.repo, "v1"), exclusive(ctx.repo, "notes"):
            pass
        for name in ("session-a", "stream-a", "install"):
            with pytest.raises(AssertionError, match=f"'{name}' is taken after 'stream-e3b0c4'"):
                exclusive(ctx.repo, name).__enter__()


def test_a_lock_of_no_known_kind_is_refused(ctx: record.Context) -> None:
    with pytest.raises(ValueError, match="no kind"):
        exclusive(ctx.repo, "other")
