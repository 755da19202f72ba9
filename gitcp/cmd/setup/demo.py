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
from gitcp.errors import OK, Error
from gitcp.git import shell
from gitcp.steps.commits.scratch import raising_at_broken_pipe
from gitcp.terminal import cli
from gitcp.text import term
from gitcp.text.console import escape_unprintable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.commands import Rows

OPTIONS: Rows = ()
# A session of Claude Code as the client left it: events.jsonl has a line for each call of a hook,
# transcript.jsonl the conversation at its end, meta.json where that was.  /repo and /home/user in
# them stand for the repository and the home.
_RECORDING = os.path.join(os.path.dirname(os.path.abspath(gitcp.__file__)), "demo")
# The files of the repository's first commit.
_FILES = {"README.md": "line one\nline two\nline three\n", "src/app.py": "print('app')\n"}
# The variables of the person's environment that the demo's programs get.
_PASSED_ON = "PATH LANG LC_ALL LC_CTYPE TZ TERM TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH".split()
_PERSON = {"NAME": "A Person", "EMAIL": "person@example.com"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_RECORDED_PATHS = re.compile(r"(?<![\w./-])/repo(?![\w.-])|/home/user")


def make_scene(scratch: str) -> Scene:
    """Make a repository with one commit, and a home directory, in a temporary directory."""
    repo, home, programs = (os.path.join(scratch, name) for name in ("repo", "home", "bin"))
    for folder in (repo, home, programs):
        os.mkdir(folder)
    with open(os.path.join(programs, "gitcp"), "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\nexec {shlex.join(shell.build_own_command())} "$@"\n')
    os.chmod(script.name, 0o755)
    identity = {}
    for role in ("AUTHOR", "COMMITTER"):
        for k, v in _PERSON.items():
            identity[f"GIT_{role}_{k}"] = v
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    path = programs + os.pathsep + os.environ.get("PATH", os.defpath)
    places = {"HOME": home, "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}
    scene = Scene(repo, home, {**passed_on, **identity, **places})
    for name, text in _FILES.items():
        scene.write(os.path.join(repo, name), text)
    scene.run("git init -q -b main && git add . && git commit -q -m initial")
    return scene


class Scene:
    """A repository and a home directory.  env: for the programs that run there."""

    def __init__(self, repo: str, home: str, env: Mapping[str, str]) -> None:
        self.repo = repo
        self.home = home
        self.env = env

    def write(self, path: str, text: str, mode: str = "w") -> None:
        """Write a text to a file, and make its directories; mode "a" appends."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding="utf-8") as f:
            f.write(text)

    def call(
        self, command: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Run a command line in the repository; return its status and its output, with standard
        error.  If this process is interrupted, all that the command started is killed."""
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
            output, _ = process.communicate(stdin)
        except BaseException:
            with suppress(ProcessLookupError):  # it may have ended meanwhile
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return process.returncode, output

    def run(self, command: str) -> str:
        """The output of a command line in the repository; raise Error if it fails."""
        status, output = self.call(command)
        if status:
            raise Error(f"'{command}' ended with status {status}: {output}")
        return output

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
                payload = event["payload"]
                name = event["event"]
                if name == "UserPromptSubmit":  # so that no two turns have the same second
                    time.sleep(1 - time.time() % 1)
                env = {**event["env"], "CLAUDE_PID": pid, "CLAUDE_PROJECT_DIR": self.repo}
                if name == "PostToolUse":
                    self._use_tool(payload["tool_input"], env)
                    payload["duration_ms"] = int((time.monotonic() - began) * 1000) + 1
                due = event["transcript_path_state"].get("lines", written)
                self.write(path, _TIME.sub(_format_now(), "".join(lines[written:due])), "a")
                written = due
                for command in self._list_hooks(name, payload.get("tool_name", "")):
                    status, output = self.call(command, json.dumps(payload), env)
                    if status:
                        raise Error(f"the hook of {name} ended with status {status}: {output}")
                began = time.monotonic()
                seen = describe_event(name, payload, self.repo)
                if seen:
                    yield seen

    def _read(self, name: str) -> list[str]:
        """The lines of a file of the recording, with the paths of this scene."""
        with open(os.path.join(_RECORDING, name), encoding="utf-8") as f:
            text = f.read()
        paths = {"/repo": self.repo, "/home/user": self.home}
        return _RECORDED_PATHS.sub(lambda m: json.dumps(paths[m[0]])[1:-1], text).splitlines(
            keepends=True
        )

    def _use_tool(self, arguments: Mapping[str, Any], env: Mapping[str, str]) -> None:
        """Do what a call did: write a file, or run a command."""
        if "command" in arguments:
            self.call(arguments["command"], env=env)
        else:
            self.write(arguments["file_path"], arguments["content"])

    def _list_hooks(self, event: str, tool: str) -> list[str]:
        """The command lines that the client runs at an event."""
        with open(os.path.join(self.repo, ".claude", "settings.local.json"), encoding="utf-8") as f:
            groups = json.load(f)["hooks"].get(event, ())
        matching = (g for g in groups if re.fullmatch(g.get("matcher") or ".*", tool))
        found = list[str]()
        for group in matching:
            for hook in group["hooks"]:
                found.append(hook["command"])
        return found


@contextmanager
def _run_client() -> Iterator[str]:
    """Yield the id of a process that stands for the client.  The person's commands are not its
    children, so that gitcp does not take them for the client's."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield str(process.pid)


def _format_now() -> str:
    """The present time in the form that transcripts have."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"


def describe_event(name: str, payload: Mapping[str, Any], repo: str) -> str:
    """What a person sees of an event: a prompt, a call or the last words of a turn; '' for none."""
    if name == "UserPromptSubmit":
        return f"> {payload['prompt']}"
    if name == "PostToolUse":
        arguments = payload["tool_input"]
        what = arguments.get("command") or os.path.relpath(arguments["file_path"], repo)
        return f"  {payload['tool_name']}: {what}"
    if name == "Stop":
        return f"  {payload['last_assistant_message']}"
    return ""


class Story:
    """Runs the person's commands and plays the client's session, and shows both; raises Error if a
    command does not show what it should."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._colours = cli.needs_colour(sys.stdout)

    def _show(self, line: str, colour: str) -> None:
        text = escape_unprintable(line)
        print(term.paint(text, colour) if colour and self._colours else text, flush=True)

    def remark(self, text: str) -> None:
        self._show(f"# {text}", "dim")

    def play(self) -> None:
        """Show the session as its client would."""
        for line in self._scene.play():
            self._show(line, "cyan" if line.startswith(">") else "")
        print()

    def step(self, command: str, *wanted: str) -> str:
        """Run a command as the person does.  wanted: patterns that its output has to match.  Return
        the first group of the first of them, '' without one."""
        self._show(f"$ {command}", "bold")
        status, output = self._scene.call(command)
        cli.show(*([output.rstrip("\n")] if output else []), "")
        found = [re.search(pattern, output, re.M) for pattern in wanted]
        if status or None in found:
            missing = [p for p, match in zip(wanted, found, strict=True) if not match]
            reason = ""
            if missing:
                reason = f"; it does not show {missing}"
            raise Error(f"'{command}' ended with status {status}{reason}")
        return "".join(match[1] for match in found[:1] if match and match.re.groups)

    def tell(self) -> None:
        """Show all steps."""
        self.remark("A repository with one commit.")
        self.step("gitcp enable --agent claude-code")
        self.remark("An agent works: a recorded session of Claude Code, with scripted answers.")
        self.play()
        self.remark("By a shell it deleted what nobody had committed.")
        self.step("git status --short", r"^ D src/app\.py$")
        point = self.step("gitcp rewind --list", r"^([0-9a-f]{8}) .* `rm -rf src tests`$")
        self.step(f"gitcp rewind --to {point}", "^created 3. ")
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
    with raising_at_broken_pipe(), place as scratch:
        Story(make_scene(os.path.realpath(scratch))).tell()
    seconds = time.monotonic() - began
    cli.show(f"That took {seconds:.0f} seconds; the repository of the demo is removed.")
    cli.show("'gitcp enable' in a repository of yours begins; gitcp-tutorial(7) tells more.")
    return OK
