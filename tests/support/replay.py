"""Play a recording of a real agent again: its hooks, its edits, its commits, its transcript.

A recording is a folder of tests/data/recordings: events.jsonl (a line per hook call),
transcript*.jsonl as left at the end, meta.json.  In it /repo is the repository and
/home/user the person's home.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitcp.agents import get_client
from tests.support.clients import database, edits, spelling
from tests.support.clients.clock import TIMES, Clock, find_last, parse
from tests.support.clients.process import Client, start_sleeper
from tests.support.paths import TOP

RECORDINGS = TOP / "tests" / "data" / "recordings"
NOISE = {"MessageDisplay", "PreCompress", "BeforeModel", "AfterModel", "BeforeToolSelection"}
# Gemini's shell sets an empty core.hooksPath: no git hook runs for its commits.
DISABLING_KEY = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "",
}

Json = dict[str, Any]


@dataclass
class Call:
    """One hook call and what came of it; payload as it was given, its paths the real ones."""

    event: str
    payload: Json
    status: int
    stdout: str
    stderr: str


@dataclass
class Replay:
    """A recording in a repository that has the files of initial() and gitcp enabled.

    python and entry: how an installed hook starts gitcp.  hooks: which command lines the client
    runs at an event, of a tool or of none, by what is installed; without it every hook runs.
    claudes: the same of Claude Code's settings, where Copilot CLI is to run those too.
    """

    agent: str
    scenario: str
    repo: Path
    home: Path
    python: str = sys.executable
    entry: Path = TOP / "gitcp" / "entry.py"
    hooks: Callable[[str, str | None], list[str]] | None = None
    claudes: Callable[[str, str | None], list[str]] | None = None

    def run(
        self, after: Callable[[Call], None] | None = None, without: int | None = None
    ) -> list[Call]:
        """Play every event in its order, after(call) following each; return the calls.

        without: the number of an event that does not reach us.  A hook that does not exit 0
        raises AssertionError with what it said.
        """
        transcripts, self._clock = self.transcripts(), Clock(self._began())
        if made := self.meta.get("worktree"):
            argv = ["git", "worktree", "add", "-q", "-b", made["branch"], made["path"]]
            subprocess.run(argv, cwd=self.repo, check=True)
        for path, text in self.meta.get("files", {}).items():
            _write(path, text)
        calls = []
        began: dict[str, float] = {}
        with Client() as client, ExitStack() as background:
            for number, (what, event) in enumerate(plan(self.events())):
                env = edits.environment(event["env"], self.home, client)
                if what != "call":
                    began[_key(event)] = time.monotonic()
                    self._work(client, event, env, interrupted=what == "cut")
                    background.close()
                    if what == "cut":
                        self._clock.note_event(event["t"])
                    continue
                if event["event"] in spelling.ENDS and spelling.in_background(event["payload"]):
                    background.enter_context(self._going_on(event, env))
                if event["event"] in spelling.ENDS and _key(event) in began:
                    _note_duration(event["payload"], time.monotonic() - began[_key(event)])
                self._flush(event, transcripts)
                if number != without:
                    calls.append(self._call(client, event, env))
                    if after:
                        after(calls[-1])
                self._clock.note_event(event["t"])
        return calls

    def _began(self) -> float:
        """When the recording began, by the times of lines that were on disk at an event, or of a
        document's events; 0 where none tells."""
        texts, times = self.transcripts(), [0.0]
        for event in self.events():
            state = event.get("transcript_path_state") or {}
            path = state.get("path") or event["payload"].get("transcript_path")
            stamp = f'"{event["payload"].get("timestamp")}"'
            if TIMES.match(stamp) and any(path.endswith(".json") for path in texts):
                times.append(parse(stamp) - event["t"])
            elif state.get("lines") and str(path).endswith(".jsonl"):
                last = find_last("".join(texts[path][: state["lines"]]))
                times.append(last - event["t"] if last else 0.0)
        return max(times)

    @contextmanager
    def _going_on(self, event: Json, env: Mapping[str, str]) -> Iterator[None]:
        """A process of the session, as that of a call that goes on after its end."""
        names = get_client(self.agent).SESSION_ENV
        mine = {**env, **dict.fromkeys(names, spelling.session(event["payload"]))}
        with start_sleeper(event["cwd"], mine) as process:
            yield
            process.kill()

    def _work(self, client: Client, event: Json, env: Json, interrupted: bool) -> None:
        if self.agent == "gemini-cli":
            env |= DISABLING_KEY
        cwd = Path(event["payload"].get("cwd") or self.repo)
        edits.apply(spelling.tool_input(event["payload"]), cwd, env, client, interrupted)

    def events(self) -> list[Json]:
        text = (self._folder / "events.jsonl").read_text()
        return [json.loads(self._here(line)) for line in text.splitlines()]

    def transcripts(self) -> dict[str, list[str]]:
        """Path -> the lines it has at the end, of every transcript of the recording."""
        names = self.meta["transcripts"]
        kept = {path: self._folder / name for path, name in names.items() if name}
        texts = {path: self._here(file.read_text()) for path, file in kept.items()}
        return {path: text.splitlines(keepends=True) for path, text in texts.items()}

    @property
    def meta(self) -> Json:
        """What is known of the recording."""
        found: Json = json.loads(self._here((self._folder / "meta.json").read_text()))
        return found

    @property
    def _folder(self) -> Path:
        return RECORDINGS / self.agent / self.scenario

    def _here(self, text: str) -> str:
        text = re.sub(r"(?<![\w./-])/repo(?![\w.-])", str(self.repo), text)
        return text.replace("/home/user", str(self.home))

    def _flush(self, event: Json, transcripts: Mapping[str, list[str]]) -> None:
        """Bring the transcripts to where they were on disk when the event came."""
        payload = event["payload"]
        if path := payload.get("agent_transcript_path"):
            self._write(path, transcripts.get(path, []))
        state = event.get("transcript_path_state") or {}
        if "lines" in state:
            path = state.get("path") or payload["transcript_path"]
            self._write(path, transcripts[path][: state["lines"]])
        rows = self._folder / "database.jsonl"
        if rows.exists():
            database.fill(
                self.meta["database"],
                self._here(rows.read_text()),
                self.home,
                event["t"],
                self._clock,
            )

    def _write(self, path: str, lines: list[str]) -> None:
        # Of a document the last version alone is recorded: it is there, whole, at each event, and
        # the times of what was to come are those of the last event until that is played.
        clock = self._clock if path.endswith(".jsonl") else self._clock.without_memory()
        _write(path, clock.now("".join(lines)))

    def _call(self, client: Client, event: Json, env: Mapping[str, str]) -> Call:
        payload, name = event["payload"], event["event"]
        done = Call(name, payload, 0, "", "")
        runs = [(argv, payload) for argv in self._commands(name, spelling.tool(payload))]
        if self.claudes:
            hers, given = spelling.claudes(name, payload)
            argvs = [["sh", "-c", c] for c in self.claudes(hers, given.get("tool_name"))]
            runs += [(argv, given) for argv in argvs]
        for argv, given in runs:
            status, stdout, stderr = client.run(argv, event["cwd"], env, json.dumps(given))
            assert status == 0, f"{name}: {status}: {stderr}"
            done.stdout, done.stderr = done.stdout + stdout, done.stderr + stderr
        return done

    def _commands(self, event: str, tool: str | None) -> list[list[str]]:
        if self.hooks is None:
            return [[self.python, "-I", "-S", str(self.entry), self.agent, event]]
        return [["sh", "-c", command] for command in self.hooks(event, tool)]


def plan(events: list[Json]) -> Iterator[tuple[str, Json]]:
    """What to do in which order: ("call", event), ("tool", event) or ("cut", event).

    A tool's effect comes where git's hooks show it or before its end event; without an end
    event it was denied (nothing) or, when the person's next act follows, interrupted.
    """
    started: list[Json] = []
    later: list[Json] = []
    last: Json | None = None
    for event in events:
        name, payload = event["event"], event["payload"]
        if name in spelling.ENDS:
            mine = [e for e in started if _key(e) == _key(event)][:1]
            started = [e for e in started if e not in mine]
            if spelling.in_background(payload):
                later += mine
            else:
                yield from (("tool", e) for e in mine)
        elif name.startswith("git:"):
            commands = [(e, spelling.tool_input(e["payload"]).get("command", "")) for e in started]
            mine = [e for e, command in commands if "git " in command][:1]
            started = [e for e in started if e not in mine]
            yield from (("tool", e) for e in mine)
            continue
        elif name in spelling.PROMPTS | spelling.LAST and not spelling.of_subagent(payload):
            if last in started:
                yield "cut", last
            yield from (("tool", e) for e in later)
            started, later = [], []
        yield "call", event
        if name in spelling.STARTS:
            started.append(event)
        if name not in NOISE:
            last = event
    if last in started:
        yield "cut", last


def _key(event: Json) -> str:
    return spelling.call(event["payload"])


def _note_duration(payload: Json, seconds: float) -> None:
    """Have the payload of a call's end tell how long the call took now, if it tells that."""
    for part in (payload, payload.get("tool_result")):
        for key in ("duration_ms", "durationMs"):
            if isinstance(part, dict) and key in part:
                part[key] = int(seconds * 1000) + 1


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text)


def initial(path: Path) -> None:
    """The repository the recordings began in, its first commit made."""
    files = {"README.md": "line one\nline two\nline three\n", "src/app.py": "print('app')\n"}
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "initial"]):
        subprocess.run(["git", *args], cwd=path, check=True)
