"""A clone on a person's machine: git, the client and commands, each a process that is timed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.harness import Agent, Call, World

DAY = 86_400  # seconds
STATE_TIMES = ("last_interaction_time", "ended_at")  # a session is told by its start


class Timing(NamedTuple):
    """What a process took, in seconds of the clock and of a processor, at the machine's pace."""

    kind: str
    wall: float
    cpu: float
    pace: float


def run(
    argv: list[str], cwd: Path, env: Mapping[str, str], stdin: str = ""
) -> tuple[Call, float, float]:
    """Run a process in a session of its own; what came of it, its seconds, its processor's."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=dict(env),
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Call(done.returncode, done.stdout, done.stderr), wall, cpu


@dataclass
class Desk:
    """A person's clone; program: the installation in use, None for a person without gitcp.
    hooks: whether the person's git runs hooks; a graphical client's does not."""

    name: str
    path: Path
    home: Path
    program: Path | None
    clock: Callable[[], str]
    hooks: bool = True
    pace: float = 1.0
    timings: list[Timing] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    sessions: list[Client] = field(default_factory=list)
    _commands: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        date, mail = self.clock(), f"{self.name}@example.com"
        own = {"GIT_AUTHOR_NAME": self.name, "GIT_COMMITTER_NAME": self.name}
        own |= {"GIT_AUTHOR_EMAIL": mail, "GIT_COMMITTER_EMAIL": mail, "HOME": str(self.home)}
        if not self.hooks:
            own |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath"}
            own |= {"GIT_CONFIG_VALUE_0": str(self.home / "no-hooks")}
        own |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_EDITOR": "true"}
        return {**os.environ, **own}

    @property
    def world(self) -> World:
        return World(self.path, self.home, self.env)

    def git(self, *args: str, ok: bool = True, cwd: Path | None = None, **env: str) -> str:
        """The person's git with its hooks; what it printed, without the last newline."""
        trace = self.home / f"trace-{self.name}"
        both = {**self.env, "GIT_TRACE2_EVENT": str(trace), **env}
        done, _, cpu = run(["git", *args], cwd or self.path, both)
        self._read_trace(trace, cpu)
        self._heard(f"git {args[0]}", done)
        assert done.status == 0 or not ok, (self.name, args, done)
        return done.stdout.rstrip("\n")

    def ask(self, *args: str, cwd: Path | None = None) -> str:
        """Git asked about the clone, untimed."""
        return run(["git", *args], cwd or self.path, self.env)[0].stdout.rstrip("\n")

    @property
    def client_env(self) -> dict[str, str]:
        """The environment of the person's shell, in which git runs hooks."""
        return {k: v for k, v in self.env.items() if not k.startswith("GIT_CONFIG_")}

    def gitcp(self, *args: str, kind: str = "") -> Call:
        """A command of the installation that the person has."""
        assert self.program
        argv = [sys.executable, str(self.program / "bin" / "gitcp"), *args]
        done, wall, cpu = run(argv, self.path, self.client_env)
        self.timings.append(Timing(kind or f"gitcp {args[0]}", wall, cpu, self.pace))
        return done

    def enable(self) -> None:
        """Record here, and send what is recorded to where the team shares its commits."""
        done = self.gitcp("enable")
        assert done.status == 0, done
        self.ask("config", "gitcp.remote", "origin")
        self._commands = {}

    def hook(self, event: str, payload: Mapping[str, object], cwd: Path, pid: int) -> Call:
        """An event of the client, by the command that its settings name."""
        if not self._commands:
            text = (self.path / ".claude" / "settings.local.json").read_text()
            entries = json.loads(text)["hooks"].items()
            self._commands = {name: rows[0]["hooks"][0]["command"] for name, rows in entries}
        env = {**self.client_env, "CLAUDE_PID": str(pid)}
        argv = ["sh", "-c", self._commands[event]]
        done, wall, cpu = run(argv, cwd, env, json.dumps(payload))
        self.timings.append(Timing(f"client {event}", wall, cpu, self.pace))
        self._heard(event, done)
        return done

    def start(self, sid: str, cwd: Path | None = None) -> Client:
        """A session of a client that starts now."""
        sleeper = subprocess.Popen(["sleep", "7200"], start_new_session=True)
        client = Client(self.world, sid, cwd or self.path, sleeper.pid, tools=True)
        client.desk, client.process = self, sleeper
        client.start()
        self.sessions.append(client)
        return client

    def settle(self) -> None:
        """A last session: its first event ends those of agents that are gone."""
        client = self.start(f"last-{self.name}")
        client.end()
        self.close(client)

    def close(self, client: Client) -> None:
        """The client's process ends without a word."""
        client.process.kill()
        client.process.wait()
        self.sessions.remove(client)

    def age(self, seconds: int = DAY) -> None:
        """Let a night pass: what states and markers say of times lies so much further back."""
        common = self.path / ".git"
        states = sorted((common / "entire-sessions").glob("*.json"))
        for path in [*states, *sorted((common / "gitcp" / "open").rglob("*"))]:
            if not path.is_file():
                continue
            about = path.stat()
            if path.suffix == ".json" and path.parent.name == "entire-sessions":
                state = json.loads(path.read_text())
                path.write_text(json.dumps(state | _earlier(state, seconds)))
            os.utime(path, (about.st_atime - seconds, about.st_mtime - seconds))

    def measure_pace(self) -> None:
        """How much slower than at rest this machine starts a process at the moment."""
        argv = [sys.executable, "-I", "-S", "-c", "pass"]
        walls = sorted(run(argv, self.path, self.env)[1] for _ in range(3))
        self.pace = max(1.0, walls[1] / 0.0125)

    def _heard(self, kind: str, done: Call) -> None:
        by_git = kind.startswith("git ")  # which warns too
        lines = [line for line in done.stderr.splitlines() if "gitcp" in line or not by_git]
        self.said += [f"{self.name}: {kind}: {line}" for line in lines]
        assert "Traceback" not in done.stderr, (self.name, kind, done)

    def _read_trace(self, trace: Path, cpu: float) -> None:
        """The hooks that git ran, by its own trace; a hook took no more of a processor than cpu."""
        if not trace.exists():
            return
        begun: dict[tuple[str, int], str] = {}
        for line in trace.read_text(errors="replace").splitlines():
            if '"child_' not in line:
                continue
            with suppress(ValueError):
                event: dict[str, Any] = json.loads(line)
                key = (event["sid"], event["child_id"])
                if event.get("child_class") == "hook":
                    begun[key] = event["hook_name"]
                elif event["event"] == "child_exit" and key in begun:
                    wall = event["t_rel"]
                    self.timings.append(Timing(f"git {begun[key]}", wall, cpu, self.pace))
        trace.unlink()


class Client(Agent):
    """A session whose hooks run by the installed commands."""

    desk: Desk
    process: subprocess.Popen[bytes]

    def event(self, name: str, warns: str = "", **payload: object) -> Call:
        about = {
            "session_id": self.sid,
            "transcript_path": str(self.transcript),
            "cwd": str(self.cwd),
            "hook_event_name": name,
        }
        return self.desk.hook(name, {**about, **payload}, self.cwd, self.pid)

    def shell(self, command: str) -> None:
        """A call of the client's shell, whose git finds the session in its environment."""
        self._calls += 1
        call = f"toolu_{self._calls}"
        call_input = {"command": command}
        tool: dict[str, Any] = {"tool_name": "Bash", "tool_input": call_input, "tool_use_id": call}
        self.event("PreToolUse", **tool)
        env = {**self.desk.client_env, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.sid}
        began = time.monotonic()
        run(["sh", "-c", command], self.cwd, env)
        self.answer([{"type": "tool_use", "id": call, "name": "Bash", "input": call_input}])
        spent = int((time.monotonic() - began) * 1000)
        self.event("PostToolUse", **tool, tool_response={}, duration_ms=spent)


def _earlier(state: Mapping[str, Any], seconds: int) -> dict[str, str]:
    """The times of a state, so many seconds earlier."""
    found = {}
    for key in STATE_TIMES:
        text = state.get(key)
        if isinstance(text, str) and text.endswith("Z"):
            seconds_text, _, part = text[:-1].partition(".")
            then = time.mktime(time.strptime(seconds_text, "%Y-%m-%dT%H:%M:%S")) - seconds
            found[key] = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(then)) + f".{part}Z"
    return found
