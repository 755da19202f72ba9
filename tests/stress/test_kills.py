"""Kill -9 at a random moment: the next hook settles it, nothing recorded before is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stress.test_sessions import content, read_settled
from tests.support.copies import plant
from tests.support.harness import OWN, V1, Agent, World
from tests.support.paths import ENTRY

pytestmark = pytest.mark.linux  # a pidfd names what is killed
ROUNDS = 200 if os.environ.get("LONG") else 6


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    made = World(plant(ground, tmp_path / "repo"), tmp_path / "home")
    yield made
    made.close()


class Killer:
    """Starts what may be killed, and kills it (or its whole process group) after a while."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance, self.kills = world, random.Random(seed), 0
        self.usual = 0.2  # seconds such a process takes

    def run(self, argv: list[str], env: dict[str, str], stdin: str, hook: str = "") -> bool:
        """Run argv; kill it, or the hook of ours that it runs; whether it got to its end."""
        began = time.monotonic()
        process = subprocess.Popen(
            argv,
            cwd=self.world.path,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin
        process.stdin.write(stdin.encode())
        process.stdin.close()
        if self.chance.random() < 0.25:
            process.wait()
            self.usual = time.monotonic() - began
            return True
        victim = self._hook(process, hook) if hook else os.pidfd_open(process.pid)
        try:
            process.wait(self.chance.uniform(0, self.usual))
        except subprocess.TimeoutExpired:
            whole = not hook and self.chance.random() < 0.5
            self._kill(victim, process.pid if whole else 0)
        if victim >= 0:
            os.close(victim)
        process.wait()
        self._quiet(process.pid)
        return process.returncode == 0 and not hook

    def _kill(self, victim: int, group: int) -> None:
        """Kill a process by its descriptor, or a group whose leader is not waited for yet: a
        number alone may be another process's by now."""
        try:
            if group:
                os.killpg(group, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(victim, signal.SIGKILL)
            self.kills += 1
        except ProcessLookupError:
            pass

    def _hook(self, process: subprocess.Popen[bytes], name: str) -> int:
        """A descriptor of our hook's process below a git command, once there is one; or -1."""
        while process.poll() is None:
            for pid in _session(process.pid):
                try:
                    found = os.pidfd_open(pid)
                except OSError:
                    continue
                line = _read(f"/proc/{pid}/cmdline").split("\0")
                if str(ENTRY) in line and name in line and pid in _session(process.pid):
                    return found
                os.close(found)
        return -1

    def _quiet(self, session: int) -> None:
        """Wait for the git processes a killed hook left running, as time would."""
        while any(" Z " not in _read(f"/proc/{pid}/stat") for pid in _session(session)):
            pass


def _session(session: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = _read(f"/proc/{name}/stat").rpartition(")")[2].split()
        if len(fields) > 3 and fields[3] == str(session):
            found.append(int(name))
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def event(killer: Killer, agent: Agent, name: str, **payload: object) -> bool:
    payload |= {
        "session_id": agent.sid,
        "transcript_path": str(agent.transcript),
        "cwd": str(agent.cwd),
        "hook_event_name": name,
    }
    argv = [sys.executable, "-I", "-S", str(ENTRY), "claude-code", name]
    return killer.run(argv, {"CLAUDE_PID": str(agent.pid)}, json.dumps(payload))


def check(world: World, agent: Agent, recorded: dict[str, str]) -> None:
    """Everything recorded is unsettled or settled, with the content it was recorded with."""
    settled = read_settled(world).get(agent.sid, {})
    known = {
        path: file["oid"]
        for stream in reversed(agent.state["streams"])
        for path, file in stream["files"].items()
    }
    for path, oid in recorded.items():
        at = known.get(path) or settled.get(path, {}).get("oid")
        assert at == oid, f"'{path}' was recorded as {oid}, is {at}"


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
@pytest.mark.parametrize("store", ["refs", "branch"])
def test_a_kill_at_any_moment_loses_nothing_recorded(world: World, mode: str, store: str) -> None:
    world.git("config", "gitcp.streams", mode)
    world.git("config", "gitcp.store", store)
    agent, killer = world.agent("session-a"), Killer(world, seed=len(mode))
    agent.turn("begin", {"begin.py": content("begin", 0)})
    recorded = {"begin.py": world.git("hash-object", "begin.py")}
    for n in range(ROUNDS):
        path = f"r{n}.py"
        text = {"prompt": f"round {n}", "prompt_id": f"r{n}"}
        event(killer, agent, "UserPromptSubmit", **text)
        agent.write(path, content("round", n))
        oid = world.git("hash-object", path)
        if event(killer, agent, "Stop", stop_hook_active=False):
            recorded[path] = oid
        if killer.chance.random() < 0.4:
            world.git("add", killer.chance.choice([".", path]))
            hook = killer.chance.choice(["prepare-commit-msg", "post-commit"])
            killer.run(["git", "commit", "-q", "-m", f"round {n}"], {}, "", hook)
        if killer.chance.random() < 0.2:
            world.git("stash", "-u")
        agent.turn(f"after round {n}", {f"after{n}.py": content("after", n)})
        recorded[f"after{n}.py"] = world.git("hash-object", f"after{n}.py")
        check(world, agent, recorded)
        if world.git("stash", "list"):
            world.git("stash", "pop")
    print(killer.kills, "kills")
    agent.turn("the end")
    world.git("add", ".")
    world.git("commit", "-q", "--allow-empty", "-m", "the end")
    agent.turn("the end")
    assert set(recorded) <= read_settled(world)[agent.sid].keys()
    assert bool(world.refs(OWN)) == (store == "refs") != bool(world.refs(V1))
    world.git("fsck", "--connectivity-only", "--no-dangling")
    assert not [*world.path.glob(".git/refs/**/*.lock")]
