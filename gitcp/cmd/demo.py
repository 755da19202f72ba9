"""gitcp-demo - show in a repository of its own how gitcp works"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress

import gitcp
from gitcp.console import cli, shell, term
from gitcp.errors import OK, Error
from gitcp.store.back.scratch import cleaned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.console import Rows

OPTIONS: Rows = ()
# A session of Claude Code as the client left it: events.jsonl has a line for each call of a hook,
# transcript.jsonl the conversation at its end, meta.json where that was.  /repo and /home/user in
# them stand for the repository and the home.
_RECORDING = os.path.join(os.path.dirname(os.path.abspath(gitcp.__file__)), "demo")
# What the repository has in its first commit.
_FILES = {"README.md": "line one\nline two\nline three\n", "src/app.py": "print('app')\n"}
# Of the person's environment nothing else is passed on.
_KEPT = "PATH LANG LC_ALL LC_CTYPE TZ TERM TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH".split()
_PERSON = {"NAME": "A Person", "EMAIL": "person@example.com"}
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_PLACES = re.compile(r"(?<![\w./-])/repo(?![\w.-])|/home/user")


class Scene:
    """A repository with one commit and the home of a person, in a directory that is theirs."""

    def __init__(self, scratch: str) -> None:
        self.repo, self.home = os.path.join(scratch, "repo"), os.path.join(scratch, "home")
        programs = os.path.join(scratch, "bin")
        for folder in (self.repo, self.home, programs):
            os.mkdir(folder)
        with open(os.path.join(programs, "gitcp"), "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nexec {shlex.join(shell.build_own_command())} "$@"\n')
        os.chmod(script.name, 0o755)
        who = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in _PERSON.items()}
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = programs + os.pathsep + os.environ.get("PATH", os.defpath)
        own = {"HOME": self.home, "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}
        self.env = {**kept, **who, **own}
        for name, text in _FILES.items():
            self.write(os.path.join(self.repo, name), text)
        self.run("git init -q -b main && git add . && git commit -q -m initial")

    def write(self, path: str, text: str, mode: str = "w") -> None:
        """Write text, with mode "a" at the end of a file, whose directories are made."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding="utf-8") as f:
            f.write(text)

    def call(
        self, command: str, given: str = "", env: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Run a command line in the repository; its status and what it said.  What it started ends
        with this process."""
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=self.repo,
            env={**self.env, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(given)
        except BaseException:
            with suppress(ProcessLookupError):  # it may have ended meanwhile
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return process.returncode, said

    def run(self, command: str) -> str:
        """What a command line in the repository says; raise Error if it fails."""
        status, said = self.call(command)
        if status:
            raise Error(f"'{command}' ended with status {status}: {said}")
        return said

    def play(self) -> Iterator[str]:
        """Play the session through the hooks that 'gitcp enable' installed; yield what a person
        sees of it.  Raise Error if a hook fails."""
        with _run_client() as pid:
            lines = self._read("transcript.jsonl")
            (path,) = json.loads("".join(self._read("meta.json")))["transcripts"]
            written = 0
            began = time.monotonic()
            for line in self._read("events.jsonl"):
                event = json.loads(line)
                payload, name = event["payload"], event["event"]
                if name == "UserPromptSubmit":  # nobody types faster, and checkpoints have seconds
                    time.sleep(1 - time.time() % 1)
                env = {**event["env"], "CLAUDE_PID": pid, "CLAUDE_PROJECT_DIR": self.repo}
                if name == "PostToolUse":
                    self._use_tool(payload["tool_input"], env)
                    payload["duration_ms"] = int((time.monotonic() - began) * 1000) + 1
                here = event["transcript_path_state"].get("lines", written)
                self.write(path, _STAMP.sub(_write_now(), "".join(lines[written:here])), "a")
                written = here
                for command in self._list_hooks(name, payload.get("tool_name", "")):
                    status, said = self.call(command, json.dumps(payload), env)
                    if status:
                        raise Error(f"the hook of {name} ended with status {status}: {said}")
                began = time.monotonic()
                if seen := describe_event(name, payload, self.repo):
                    yield seen

    def _read(self, name: str) -> list[str]:
        """The lines of a file of the recording, as if it had been made here."""
        with open(os.path.join(_RECORDING, name), encoding="utf-8") as f:
            text = f.read()
        here = {"/repo": self.repo, "/home/user": self.home}
        return _PLACES.sub(lambda m: json.dumps(here[m[0]])[1:-1], text).splitlines(keepends=True)

    def _use_tool(self, given: Mapping[str, Any], env: Mapping[str, str]) -> None:
        """Do what a call did: write a file, or run a command."""
        if "command" in given:
            self.call(given["command"], env=env)
        else:
            self.write(given["file_path"], given["content"])

    def _list_hooks(self, event: str, tool: str) -> list[str]:
        """The command lines that the client runs at an event."""
        with open(os.path.join(self.repo, ".claude", "settings.local.json"), encoding="utf-8") as f:
            groups = json.load(f)["hooks"].get(event, ())
        fitting = (g for g in groups if re.fullmatch(g.get("matcher") or ".*", tool))
        return [hook["command"] for group in fitting for hook in group["hooks"]]


@contextmanager
def _run_client() -> Iterator[str]:
    """The id of a process that stands for the client: a person's commands are not below it."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield str(process.pid)


def _write_now() -> str:
    """The time as a transcript has it."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"


def describe_event(name: str, payload: Mapping[str, Any], repo: str) -> str:
    """What a person sees of an event: a prompt, a call or the last words of a turn; '' for none."""
    if name == "UserPromptSubmit":
        return f"> {payload['prompt']}"
    if name == "PostToolUse":
        given = payload["tool_input"]
        what = given.get("command") or os.path.relpath(given["file_path"], repo)
        return f"  {payload['tool_name']}: {what}"
    return f"  {payload['last_assistant_message']}" if name == "Stop" else ""


class Teller:
    """Tells the story; it ends with an Error where a command does not show what it should."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._colours = scene, cli.needs_colour(sys.stdout)

    def _show(self, line: str, colour: str) -> None:
        text = cli.printable(line)
        print(term.paint(text, colour) if colour and self._colours else text, flush=True)

    def remark(self, text: str) -> None:
        self._show(f"# {text}", "dim")

    def play(self) -> None:
        """The session, as the client shows it."""
        for line in self._scene.play():
            self._show(line, "cyan" if line.startswith(">") else "")
        print()

    def step(self, command: str, *wanted: str) -> str:
        """Run a command as the person does; wanted: patterns of what it has to show, of which the
        first's first group is returned."""
        self._show(f"$ {command}", "bold")
        status, said = self._scene.call(command)
        cli.show(*([said.rstrip("\n")] if said else []), "")
        found = [re.search(pattern, said, re.M) for pattern in wanted]
        if status or None in found:
            lacking = [p for p, match in zip(wanted, found, strict=True) if not match]
            told = f"; it does not show {lacking}" if lacking else ""
            raise Error(f"'{command}' ended with status {status}{told}")
        return "".join(match[1] for match in found[:1] if match and match.re.groups)

    def tell(self) -> None:
        """The story."""
        self.remark("A repository with one commit.")
        self.step("gitcp enable --agent claude-code")
        self.remark("An agent works: a recorded session of Claude Code, with scripted answers.")
        self.play()
        self.remark("By a shell it deleted what nobody had committed.")
        self.step("git status --short", r"^ D src/app\.py$")
        point = self.step("gitcp rewind --list", r"^(toolu_\w+) .*\(creates 3\)$")
        self.step(f"gitcp rewind --to {point}", "^rewound: 3 created$")
        self.remark("All is back.  The person commits it; a line of the message names the session.")
        self.step("git add src tests && git commit -q -m 'Count words'")
        self.step("git log -1 --format=%B", "^Entire-Checkpoint: [0-9a-f]{12}$")
        self.step("gitcp log", "Count words", "counts the words")
        self.remark("Which prompt asked for line 13?")
        self.step("gitcp why src/words.py:13", "Claude Code", "Write a program that counts")
        self.step("gitcp disable --uninstall")


def run(argv: Sequence[str]) -> int:
    """Tell the story in a temporary directory, which is removed at the end."""
    cli.parse("demo", OPTIONS, argv)
    began = time.monotonic()
    place = tempfile.TemporaryDirectory(prefix="gitcp-demo-", ignore_cleanup_errors=True)
    with cleaned(), place as scratch:
        Teller(Scene(os.path.realpath(scratch))).tell()
    seconds = time.monotonic() - began
    cli.show(f"That took {seconds:.0f} seconds; the repository of the demo is removed.")
    cli.show("'gitcp enable' in a repository of yours begins; gitcp-tutorial(7) tells more.")
    return OK
