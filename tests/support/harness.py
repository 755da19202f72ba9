"""A small world for scenarios: a repository with gitcp enabled, agents at work, a person.

Everything is real: hooks run as processes, the person runs git, transcripts are written as
Claude Code writes them.  Only the agent's thinking is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitcp.git import private_files
from gitcp.git.repo import Repo
from gitcp.record.journal import edits, line_kinds
from gitcp.record.registered import find_git_dir
from tests.support import warm
from tests.support.paths import BIN, ENTRY
from tests.support.reader import Object, Reader

V1 = "refs/heads/entire/checkpoints/v1"
OWN = "refs/entire/checkpoints"
TRAILER = re.compile(r"^Entire-Checkpoint: ([0-9a-f]{12})$", re.M)
REFUSED = 2
# How a file ends that git, SQLite or a killed process leaves beside one of ours.
BESIDE = re.compile(r"(\.lock|-wal|-shm|-journal|\.damaged-\d+|\.\d+)+$")
Json = dict[str, Any]


@dataclass
class Call:
    """What came of one hook call."""

    status: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """What the person is told through the agent's client, '' for nothing."""
        found = [json.loads(line) for line in self.stdout.splitlines()]
        return "\n".join(str(item["systemMessage"]) for item in found if "systemMessage" in item)


@dataclass
class Agent:
    """A Claude Code session in a worktree: its events, its edits, its transcript."""

    world: World
    sid: str
    cwd: Path
    pid: int
    tools: bool = False
    _prompts: int = 0
    _calls: int = 0

    @property
    def transcript(self) -> Path:
        return self.world.home / ".claude" / "projects" / "repo" / f"{self.sid}.jsonl"

    def event(self, name: str, warns: str = "", **payload: object) -> Call:
        """Run a hook of the agent's client; it may say `warns` on stderr and nothing else."""
        payload = {
            "session_id": self.sid,
            "transcript_path": str(self.transcript),
            "cwd": str(self.cwd),
            "hook_event_name": name,
            **payload,
        }
        env = {**os.environ, "CLAUDE_PID": str(self.pid), **self.world.env}
        given = json.dumps(payload).encode()
        done = self.world.run_hook(["claude-code", name], self.cwd, env, given)
        assert done.status in (0, REFUSED), done
        if done.status == 0:
            assert re.search(warns, done.stderr) if warns else not done.stderr, done
        return done

    def start(self, source: str = "startup") -> Call:
        return self.event("SessionStart", source=source)

    def prompt(self, text: str, again: bool = False, warns: str = "") -> Call:
        """Submit a prompt; again: the same one once more, as when two settings name the hook."""
        self._prompts += not again
        prompt_id = f"{self.sid}-p{self._prompts}"
        done = self.event("UserPromptSubmit", warns, prompt=text, prompt_id=prompt_id)
        if done.status == 0 and not again:
            self.say({"type": "user", "message": {"role": "user", "content": text}})
        return done

    def write(self, path: str, text: str | None) -> None:
        """Write a file (None: delete it) as a tool call; with its hooks when tools is set."""
        self._calls += 1
        given: Json = {"file_path": str(self.cwd / path), "content": text}
        call = f"toolu_{self._calls}"
        if text is None:
            given = {"command": f"rm {path}"}
        name = "Bash" if text is None else "Write"
        tool: Json = {"tool_name": name, "tool_input": given, "tool_use_id": call}
        if self.tools:
            self.event("PreToolUse", **tool)
        if text is None:
            (self.cwd / path).unlink()
        else:
            (self.cwd / path).parent.mkdir(parents=True, exist_ok=True)
            (self.cwd / path).write_text(text)
        use = {"type": "tool_use", "id": call, "name": name, "input": given}
        self.answer([use])
        if self.tools:
            self.event("PostToolUse", **tool, tool_response={})

    def ran(self, command: str) -> None:
        """Tell in the transcript of a shell call whose hooks did not run."""
        self._calls += 1
        given = {"id": f"toolu_{self._calls}", "name": "Bash", "input": {"command": command}}
        self.answer([{"type": "tool_use", **given}])

    def answer(self, content: list[Json]) -> None:
        usage = {"input_tokens": 5, "output_tokens": 7}
        message = {"id": f"msg_{uuid.uuid4().hex[:8]}", "role": "assistant", "usage": usage}
        self.say({"type": "assistant", "message": {**message, "content": content}})

    def say(self, line: Json) -> None:
        """Append a line to the transcript."""
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        now = time.time()
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        head = {"uuid": str(uuid.uuid4()), "sessionId": self.sid, "cwd": str(self.cwd)}
        head["timestamp"] = f"{second}.{int(now % 1 * 1000):03d}Z"
        with self.transcript.open("a") as f:
            f.write(json.dumps({**head, **line}) + "\n")

    def stop(self, warns: str = "") -> Call:
        self.answer([{"type": "text", "text": "done"}])
        return self.event("Stop", warns, stop_hook_active=False)

    def turn(self, prompt: str, files: Mapping[str, str | None] | None = None) -> None:
        """A whole turn: the prompt, the files it writes (None: deletes), its end."""
        self.prompt(prompt)
        for path, text in (files or {}).items():
            self.write(path, text)
        self.stop()

    def end(self, reason: str = "prompt_input_exit") -> Call:
        return self.event("SessionEnd", reason=reason)

    @property
    def state(self) -> Json:
        return self.world.state(self.sid)

    def flag(self) -> bool:
        """Whether the next checkpoint is to reset the stream."""
        return bool(self.state["should_reset_shadow_branch"])

    @property
    def verdict(self) -> str:
        """The word of the last verdict that was taken for this session."""
        return str((self.state.get("last_verdict") or {}).get("verdict"))


@dataclass
class World:
    """A repository with gitcp enabled, and the person at work in it."""

    path: Path
    home: Path
    env: dict[str, str] = field(default_factory=dict)
    via: tuple[str, ...] = ()  # a program that runs git, hooks and commands in another world
    _sleepers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _readers: dict[Path, Reader] = field(default_factory=dict)
    damaged: bool = False  # whether the test puts files of its own where gitcp has private ones

    def agent(self, sid: str, cwd: Path | None = None, tools: bool = False) -> Agent:
        """A session of its own process, which neither runs the person's git nor is ours."""
        sleeper = subprocess.Popen(["sleep", "600"])
        self._sleepers.append(sleeper)
        return Agent(self, sid, cwd or self.path, sleeper.pid, tools)

    def kill(self, agent: Agent) -> None:
        """End an agent's process without a word, as a crash does."""
        for sleeper in self._sleepers:
            if sleeper.pid == agent.pid:
                sleeper.kill()
                sleeper.wait()

    def close(self) -> None:
        for sleeper in self._sleepers:
            sleeper.kill()
            sleeper.wait()
        for reader in self._readers.values():
            reader.close()
        if not self.damaged:
            unknown = list_unknown(self.path, self.home)
            assert not unknown, f"not in git/private_files.py: {unknown}"
            keys = list_unknown_keys(self.path)
            assert not keys, f"not in line_kinds.KEYS: {keys}"

    def git(self, *args: str, cwd: Path | None = None, warns: str = "", ok: bool = True) -> str:
        """The person's git, hooks and all; what it printed, without the last newline."""
        env = {**os.environ, **self.env}
        # git would put a file in the place of the device.
        assert "--global" not in args or env["GIT_CONFIG_GLOBAL"] != os.devnull
        done = _run([*self.via, "git", *args], cwd or self.path, env)
        ours = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
        assert warns or not ours, done
        assert done.status == 0 or not ok, done
        return done.stdout.rstrip("\n")

    def gitcp(self, name: str, *args: str, stdin: str = "") -> str:
        env = {**os.environ, **self.env}
        if self.via:
            argv = [*self.via, sys.executable, str(BIN / f"gitcp-{name}"), *args]
            done = _run(argv, self.path, env, stdin)
        else:
            done = _call(warm.command(name, args, self.path, env, stdin.encode()))
        assert done.status == 0, done
        return done.stdout

    def run_hook(self, args: list[str], cwd: Path, env: Mapping[str, str], payload: bytes) -> Call:
        """Run a hook of a client, given what it is told."""
        if not self.via:
            return _call(warm.hook(args, cwd, env, payload))
        argv = [*self.via, sys.executable, "-I", "-S", str(ENTRY), *args]
        return _run(argv, cwd, env, payload.decode())

    def share(self, name: str = "origin") -> Path:
        """A bare repository beside this one, its remote of that name, to which checkpoints go."""
        bare = self.remote(name)
        self.git("config", "--add", "gitcp.place", str(bare))
        return bare

    def remote(self, name: str) -> Path:
        """A bare repository beside this one, its remote of that name, that has main."""
        bare = self.path.parent / f"{name.replace('/', '-')}.git"
        self.git("clone", "-q", "--bare", "--single-branch", str(self.path), str(bare))
        self.git("remote", "add", name, str(bare))
        return bare

    def write(self, path: str, text: str) -> None:
        """The person writes a file."""
        (self.path / path).parent.mkdir(parents=True, exist_ok=True)
        (self.path / path).write_text(text)

    def read(self, path: str) -> str:
        return (self.path / path).read_text()

    def commit(self, *paths: str, cwd: Path | None = None) -> list[str]:
        """Commit the paths (default: everything); the checkpoint ids of the new commit."""
        self.git("add", "-A", "--", *(paths or ["."]), cwd=cwd)
        self.git("commit", "-q", "-m", f"commit {' '.join(paths)}", cwd=cwd)
        return self.ids("HEAD", cwd=cwd)

    def reader(self, cwd: Path | None = None) -> Reader:
        """Reads objects as they are named in the worktree, or in another directory."""
        at = cwd or self.path
        if at not in self._readers:
            self._readers[at] = Reader(at)
        return self._readers[at]

    def object(self, spec: str, cwd: Path | None = None) -> Object:
        """An object that is there."""
        found = self.reader(cwd).read(spec)
        assert found, spec
        return found

    def ids(self, commit: str, cwd: Path | None = None) -> list[str]:
        message = self.object(f"{commit}^{{commit}}", cwd).data.partition(b"\n\n")[2]
        return TRAILER.findall(message.decode(errors="replace"))

    @property
    def head(self) -> str:
        return self.object("HEAD").oid

    def branch(self, suffix: int | None = None, base: str = "") -> str:
        """The name of the stream of a base, default HEAD, in the main worktree."""
        name = f"entire/{(base or self.head)[:7]}-e3b0c4"
        return name if suffix is None else f"{name}-{suffix}"

    def refs(self, pattern: str) -> dict[str, str]:
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", pattern)
        return dict(line.split(" ") for line in lines.splitlines())

    @property
    def streams(self) -> list[str]:
        """The shadow branches that are there, without refs/heads/."""
        found = self.refs("refs/heads/entire")
        return [ref.removeprefix("refs/heads/") for ref in found if ref != V1]

    @property
    def archives(self) -> list[str]:
        return list(self.refs("refs/gitcp/archive"))

    def tree(self, ref: str) -> dict[str, str]:
        """path -> content of a stream's tip where it differs from HEAD, '' where deleted."""
        args = "diff-tree", "-r", "--name-status", "--no-renames", "HEAD", ref
        rows = [row.split("\t") for row in self.git(*args).splitlines()]
        files = [(kind, path) for kind, path in rows if not path.startswith(".entire/")]
        return {p: "" if kind == "D" else self.show(ref, p) for kind, p in files}

    def show(self, ref: str, path: str) -> str:
        return self.object(f"{ref}:{path}").data.decode().rstrip("\n") + "\n"

    def metadata(self, ref: str) -> list[str]:
        """The sessions whose metadata a stream's tip holds."""
        return self.git("ls-tree", "--name-only", f"{ref}:.entire/metadata").split()

    def trailer(self, ref: str, key: str) -> list[str]:
        """A trailer's value in every commit of a stream, oldest first."""
        form = f"--format=%(trailers:key={key},valueonly,separator=%x00)"
        return self.git("log", "--reverse", form, ref).splitlines()

    def state(self, sid: str) -> Json:
        """The state of a session, its streams with the files that the journal tells of."""
        git_dir = Path(find_git_dir(str(self.path)))
        path = git_dir / "entire-sessions" / f"{sid}.json"
        state = dict(json.loads(path.read_text())) if path.exists() else {}
        if state.get("streams"):
            state["streams"] = edits.list_open_streams(Repo.find(str(self.path)), state)  # type: ignore[arg-type]
        return state

    def open(self) -> list[str]:
        """The sessions that have a marker."""
        folder = self.path / ".git" / "gitcp" / "open"
        return sorted(p.name for p in folder.rglob("*") if p.is_file())

    def checkpoints(self) -> list[str]:
        """The ids of the checkpoints on v1, then of those that have a ref."""
        names = self.git("ls-tree", "-r", "--name-only", V1).splitlines() if self.refs(V1) else []
        roots = [name.split("/") for name in names if name.count("/") == 2]
        on_branch = [shard + name for shard, name, file in roots if file == "metadata.json"]
        return on_branch + [ref.rpartition("/")[2] for ref in self.refs(OWN)]

    def committed(self, checkpoint: str) -> dict[str, Json]:
        """session id -> its metadata with its `transcript`, of a committed checkpoint."""
        own = self.reader().read(f"{OWN}/{checkpoint[-2:]}/{checkpoint}")
        where = f"{own.oid}:" if own else f"{V1}:{checkpoint[:2]}/{checkpoint[2:]}/"
        root = json.loads(self.object(f"{where}metadata.json").data)
        found = {}
        for number in range(len(root["sessions"])):
            one = json.loads(self.object(f"{where}{number}/metadata.json").data)
            if transcript := self.reader().read(f"{where}{number}/full.jsonl"):
                one["transcript"] = transcript.data.decode().rstrip("\n")
            found[one["session_id"]] = one
        return found


def _run(argv: list[str], cwd: Path, env: Mapping[str, str], stdin: str = "") -> Call:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=dict(env),
        input=stdin,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    return Call(done.returncode, done.stdout, done.stderr)


def _call(done: subprocess.CompletedProcess[bytes]) -> Call:
    return Call(done.returncode, done.stdout.decode(), done.stderr.decode())


def list_unknown(top: Path, home: Path) -> list[Path]:
    """The files where gitcp keeps private ones that private_files does not declare, without those
    that a test has put in the place of a directory."""
    common, known = top / ".git", private_files
    folders: dict[Path, tuple[str, ...]] = {common / "entire-sessions": (known.STATES,)}
    folders |= {path / "gitcp": (known.WORKTREE,) for path in common.glob("worktrees/*")}
    folders[common / "gitcp"] = known.COMMON, known.WORKTREE
    folders[home / ".local/state/gitcp"] = (known.PERSON,)
    directories = {file.name.partition("/")[0] for file in known.FILES if "/" in file.name}
    return [
        path
        for folder, places in folders.items()
        for path in folder.rglob("*")
        if not path.is_dir()
        if (name := BESIDE.sub("", str(path.relative_to(folder)))) not in directories
        if not known.find_file(name, *places)
    ]


def list_unknown_keys(top: Path) -> set[str]:
    """The keys of the journals' lines that line_kinds.KEYS does not declare."""
    journals = [top / ".git/gitcp/journal", *top.glob(".git/worktrees/*/gitcp/journal")]
    data = [path.read_bytes() for path in journals if path.is_file()]
    keys = {key for line in line_kinds.parse_lines(b"\n".join(data)) for key in line.keys}
    return keys - line_kinds.KEYS.keys()


def enabled(template: Path, at: Path) -> Path:
    """A copy of the template in which gitcp is enabled, to be copied in its turn."""
    shutil.copytree(template, at)
    warm.command("enable", [], at, os.environ).check_returncode()
    return at
