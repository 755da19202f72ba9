"""A transcript that is too long for one hook: what it reads is bounded, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.harness import V1, Agent, World
from tests.support.linking import ids, own, sessions, sound

pytestmark = pytest.mark.thorough

MB = 1 << 20
SECRET = "ghp_" + "b7Xk29LmQz4TnV8cRw3Y" + "pJ6hD1sF5gA0eU2i"
A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"
LEFT_OUT = '"gitcp-left-out"'
# Ends this process at a step of reading on, as a kill does.
DIE = """
import os, signal, sys
from gitcp.checkpoints import transcripts, writing
from gitcp.git import files
from gitcp.git.repo import Repo
from gitcp.link import condense, unread
from gitcp.record import session
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def after(work):
    def run(*args, **kwargs):
        work(*args, **kwargs)
        die()
    return run
step = sys.argv[1]
if step == "reading":
    transcripts.Reader._take_lines = after(transcripts.Reader._take_lines)
elif step == "some is read":
    transcripts.Copy.save = after(transcripts.Copy.save)
elif step == "before the checkpoint":
    writing.write_sessions = die
elif step == "after the checkpoint":
    writing.write_sessions = after(writing.write_sessions)
elif step == "after the state":
    session.put_marker = after(session.put_marker)
elif step == "before the flag goes":
    files.remove_private = die
unread.complete(Repo.find())
"""
STEPS = DIE.split('step == "')[1:]


def recall(agent: Agent, size: int) -> None:
    """What the session talked about for so many bytes before gitcp heard of it."""
    written = 0
    agent.transcript.parent.mkdir(parents=True, exist_ok=True)
    with agent.transcript.open("a") as file:
        while written < size:
            written += sum(file.write(json.dumps(entry) + "\n") for entry in exchange(written))


def exchange(number: int) -> Iterator[dict[str, object]]:
    """A prompt, its answer, and much that a tool found."""
    head = {"timestamp": "2025-01-01T10:00:00.000Z", "sessionId": "session-a"}
    yield {**head, "type": "user", "message": {"role": "user", "content": f"old {number}"}}
    usage = {"input_tokens": 1000, "output_tokens": 1000}
    call = {"type": "tool_use", "id": f"old-{number}", "name": "Read", "input": {}}
    message = {"id": f"old-{number}", "role": "assistant", "usage": usage, "content": [call]}
    yield {**head, "type": "assistant", "message": message}
    found = f"{number} {SECRET} " + "what was found there and is of no more use now " * 4000
    result = {"type": "tool_result", "tool_use_id": f"old-{number}", "content": found}
    yield {**head, "type": "user", "message": {"role": "user", "content": [result]}}


def live(agent: Agent) -> str:
    """What is to be stored of the transcript as it is now."""
    return agent.transcript.read_text().replace(SECRET, "REDACTED")


def stored(world: World, checkpoint: str) -> str:
    return world.gitcp("read-checkpoint", "--transcript", checkpoint)


def has_secret(world: World) -> bool:
    """Whether an object or a private file has the secret."""
    found = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"],
        cwd=world.path,
        capture_output=True,
        check=True,
    )
    private = (world.path / ".git/gitcp").rglob("*")
    datas = [found.stdout, *(path.read_bytes() for path in private if path.is_file())]
    return any(SECRET.encode() in data for data in datas)


def same(one: str, other: str) -> bool:
    """Whether they are equal; a test that fails does not print megabytes."""
    return one == other


def is_waiting(agent: Agent) -> bool:
    return bool(agent.state.get("unread"))


def start_committing(agent: Agent, size: int) -> str:
    """A turn after a long conversation, in which the agent commits; the checkpoint."""
    recall(agent, size)
    agent.prompt("write it")
    agent.write("a.py", A)
    own(agent, "add", "a.py")
    own(agent, "commit", "-q", "-m", "Add a.py")
    [made] = ids(agent.world)
    return made


def commit_again(agent: Agent) -> str:
    """The next turn, in which it commits again; the checkpoint."""
    agent.prompt("and this")
    agent.write("b.py", B)
    own(agent, "add", "b.py")
    own(agent, "commit", "-q", "-m", "Add b.py")
    [made] = ids(agent.world)
    return made


def test_each_checkpoint_gets_the_transcript_as_it_was_then(world: World, a: Agent) -> None:
    one = start_committing(a, 12 * MB)
    lines_at_one = len(a.transcript.read_text().splitlines())
    a.stop()
    at_one = live(a)
    provisional = stored(world, one)
    assert same(provisional[:MB], at_one[:MB])
    assert same(provisional[-MB // 2 :], at_one[-MB // 2 :])
    assert provisional.count(LEFT_OUT) == 1
    assert len(provisional) < 10 * MB
    assert not has_secret(world)
    two = commit_again(a)
    a.stop()
    at_two = live(a)
    turns = 0
    while is_waiting(a):
        turns += 1
        assert turns < 4
        a.turn(f"go on {turns}", {"c.py": f"{turns}\n"})
    assert same(stored(world, one), at_one)
    assert same(stored(world, two), at_two)
    first, second = (sessions(world, made)["session-a"] for made in (one, two))
    used = [(part["token_usage"], part["token_usage_delta"]) for part in (first, second)]
    # Each call of a tool and each end of a turn is an answer; what is older does not count.
    counts = [(total["output_tokens"], delta["output_tokens"]) for total, delta in used]
    assert counts == [(14, 14), (28, 14)]
    old = sum('"old ' in line for line in at_one.splitlines())
    numbers = [turn["number"] for part in (first, second) for turn in part["turns"].values()]
    assert numbers == [old + 1, old + 2]
    starts = [part["checkpoint_transcript_start"] for part in (first, second)]
    assert starts == [0, lines_at_one]
    a.turn("the next", {"d.py": "d = 1\n"})
    [three] = world.commit("d.py")
    assert same(stored(world, three), live(a)), "at once: it has caught up"
    assert not has_secret(world)
    sound(world)


@pytest.mark.parametrize("by", ["show", "push", "git push", "the end", "doctor"])
def test_what_a_client_leaves_that_ends_after_its_commit_is_completed(
    world: World, a: Agent, by: str
) -> None:
    world.share()
    one = start_committing(a, 9 * MB)
    assert stored(world, one).count(LEFT_OUT) == 1
    world.kill(a)
    world.git("config", "gitcp.hook-timeout", "60")  # a client waits less for its last hook
    ways: dict[str, Callable[[], object]] = {
        "show": lambda: world.gitcp("show"),
        "push": lambda: world.gitcp("push"),
        "git push": lambda: world.git("push", "-q", "origin", "main"),
        "the end": a.end,
        "doctor": lambda: world.gitcp("doctor", "--fix"),
    }
    ways[by]()
    assert same(stored(world, one), live(a))
    if "push" in by:
        sent = world.path.parent / "origin.git"
        assert world.git("rev-parse", V1, cwd=sent) == world.git("rev-parse", V1)
    sound(world)


def test_a_kill_while_it_is_read_on_loses_nothing(world: World, a: Agent) -> None:
    one = start_committing(a, 9 * MB)
    a.stop()
    at_one = live(a)
    two = commit_again(a)
    for step in (text.partition('"')[0] for text in STEPS):
        argv = [sys.executable, "-c", DIE, step]
        done = subprocess.run(argv, cwd=world.path, env={**os.environ}, check=False)
        assert done.returncode == -signal.SIGKILL, step
        assert not has_secret(world)
    world.gitcp("log")
    assert same(stored(world, one), at_one)
    assert same(stored(world, two), live(a))
    deltas = [sessions(world, made)["session-a"]["token_usage_delta"] for made in (one, two)]
    assert [delta["output_tokens"] for delta in deltas] == [14, 7]
    assert not is_waiting(a)
    assert not [*(world.path / ".git/gitcp/transcript").glob("*.unread")]
    sound(world)


def test_a_transcript_that_is_gone_takes_nothing_from_its_checkpoint(
    world: World, a: Agent
) -> None:
    one = start_committing(a, 9 * MB)
    a.stop()
    before = stored(world, one)
    away = a.transcript.rename(a.transcript.with_suffix(".away"))
    world.gitcp("log")
    a.event("Stop", stop_hook_active=False)
    assert same(stored(world, one), before)
    assert is_waiting(a)
    away.rename(a.transcript)
    world.gitcp("log")
    assert same(stored(world, one), live(a))


def test_a_transcript_that_is_written_anew_completes_what_waits_for_it(
    world: World, a: Agent
) -> None:
    one = start_committing(a, 12 * MB)
    a.stop()
    compacted = a.transcript.read_text().splitlines(keepends=True)[-30:]
    rest = live(a)[-1000:]
    Path(a.transcript).write_text("".join(compacted))
    a.turn("go on")
    world.gitcp("log")
    assert not is_waiting(a)
    whole = stored(world, one)
    assert whole.count(rest) == 1
    assert whole.count('"old 0"') == 1
    sound(world)
