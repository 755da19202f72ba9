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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import edits
from tests.support.paths import TOP

RECORDINGS = TOP / "tests" / "data" / "recordings"
BEFORE = {"PreToolUse", "BeforeTool"}
AFTER = {"PostToolUse", "PostToolUseFailure", "AfterTool"}
NOISE = {"MessageDisplay", "PreCompress", "BeforeModel", "AfterModel", "BeforeToolSelection"}
# Gemini's shell sets an empty core.hooksPath: no git hook runs for its commits.
NO_HOOKS = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": ""}

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

    python and entry: how an installed hook starts gitcp.
    """

    agent: str
    scenario: str
    repo: Path
    home: Path
    python: str = sys.executable
    entry: Path = TOP / "gitcp" / "entry.py"

    def run(self, after: Callable[[Call], None] | None = None) -> list[Call]:
        """Play every event in its order, after(call) following each; return the calls.

        A hook that does not exit 0 raises AssertionError with what it said.
        """
        transcripts = self.transcripts()
        calls = []
        for what, event in plan(self.events()):
            env = edits.environment(event["env"], self.home)
            if what == "call":
                self._flush(event, transcripts)
                calls.append(self._call(event, env))
                if after:
                    after(calls[-1])
            else:
                if self.agent == "gemini-cli":
                    env |= NO_HOOKS
                payload = event["payload"]
                cwd = Path(payload.get("cwd") or self.repo)
                edits.apply(payload["tool_input"], cwd, env, interrupted=what == "cut")
        return calls

    def events(self) -> list[Json]:
        text = (self._folder / "events.jsonl").read_text()
        return [json.loads(self._here(line)) for line in text.splitlines()]

    def transcripts(self) -> dict[str, list[str]]:
        """Path -> the lines it has at the end, of every transcript of the recording."""
        names = json.loads(self._here((self._folder / "meta.json").read_text()))["transcripts"]
        kept = {path: self._folder / name for path, name in names.items() if name}
        texts = {path: self._here(file.read_text()) for path, file in kept.items()}
        return {path: text.splitlines(keepends=True) for path, text in texts.items()}

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
            _write(path, transcripts.get(path, []))
        lines = (event.get("transcript_path_state") or {}).get("lines")
        if lines is not None:
            path = payload["transcript_path"]
            _write(path, transcripts[path][:lines])

    def _call(self, event: Json, env: Mapping[str, str]) -> Call:
        argv = [self.python, "-I", "-S", str(self.entry), self.agent, event["event"]]
        done = subprocess.run(
            argv,
            input=json.dumps(event["payload"]),
            cwd=event["cwd"],
            env=dict(env),
            capture_output=True,
            text=True,
            start_new_session=True,
        )
        assert done.returncode == 0, f"{event['event']}: {done.returncode}: {done.stderr}"
        return Call(event["event"], event["payload"], 0, done.stdout, done.stderr)


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
        if name in AFTER:
            mine = [e for e in started if _key(e) == _key(event)][:1]
            started = [e for e in started if e not in mine]
            if payload["tool_input"].get("run_in_background"):
                later += mine
            else:
                yield from (("tool", e) for e in mine)
        elif name.startswith("git:"):
            mine = [e for e in started if "git " in e["payload"]["tool_input"].get("command", "")][
                :1
            ]
            started = [e for e in started if e not in mine]
            yield from (("tool", e) for e in mine)
            continue
        elif name in ("UserPromptSubmit", "SessionEnd") and not payload.get("agent_id"):
            if last in started:
                yield "cut", last
            yield from (("tool", e) for e in later)
            started, later = [], []
        yield "call", event
        if name in BEFORE:
            started.append(event)
        if name not in NOISE:
            last = event


def _key(event: Json) -> object:
    payload = event["payload"]
    return payload.get("tool_use_id") or (payload["tool_name"], payload["tool_input"])


def _write(path: str, lines: list[str]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text("".join(lines))


def initial(path: Path) -> None:
    """The repository the recordings began in, its first commit made."""
    files = {"README.md": "line one\nline two\nline three\n", "src/app.py": "print('app')\n"}
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "initial"]):
        subprocess.run(["git", *args], cwd=path, check=True)
