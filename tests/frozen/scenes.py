"""Scenes of a day's work, played through the installed hooks of any version of gitcp.

Nothing of gitcp is imported: the programs of a checkout are run as clients and a person run them.
`python -m tests.frozen.make <commit>` plays the scenes with a commit's programs and keeps what they
leave; test_frozen.py goes on from there with the programs of today.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = "1112354055 +0200"
ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "c@example.com",
    "GIT_AUTHOR_DATE": SECONDS,
    "GIT_COMMITTER_DATE": SECONDS,
    "GIT_EDITOR": "true",
    "LC_ALL": "C",
    "TZ": "UTC",
}
PLAIN = {"app.py": "one\ntwo\nthree\n", "notes.md": "# Notes\n"}


class Day:
    """A repository below a folder, the programs that are run there, and what hooks answered."""

    def __init__(self, top: Path, programs: Path) -> None:
        self.top, self.programs = top, programs
        self.repo, self.home = top / "repo", top / "home"
        self.answers: list[str] = []
        jj = Path(__file__).resolve().parents[2] / "build" / "jj"
        path = os.pathsep.join([str(programs / "bin"), str(jj), os.environ["PATH"]])
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "CLAUDE"))}
        self.env = {**kept, **ENV, "HOME": str(self.home), "PATH": path, "JJ_CONFIG": os.devnull}
        self.env |= {"PYTHON_COLORS": "0", "JJ_USER": "A U Thor", "JJ_EMAIL": "author@example.com"}
        self._agents: list[subprocess.Popen[bytes]] = []
        self.calls = 0
        self.names = {str(top.resolve()): "/top", str(top): "/top", str(programs): "/programs"}

    def run(self, *argv: str, cwd: Path | None = None, given: str = "") -> tuple[int, str, str]:
        """(status, output, messages) of a program."""
        done = subprocess.run(
            argv, cwd=cwd or self.repo, env=self.env, input=given, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    def git(self, *args: str, cwd: Path | None = None, ok: bool = True) -> str:
        """The person's git."""
        status, out, said = self.run("git", *args, cwd=cwd)
        assert status == 0 or not ok, (args, out, said)
        return out

    def gitcp(self, *args: str) -> tuple[int, str, str]:
        """A command of the person's."""
        return self.run(sys.executable, str(self.programs / "bin" / "gitcp"), *args)

    def write(self, path: str, text: str, cwd: Path | None = None) -> None:
        file = (cwd or self.repo) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, *paths: str, cwd: Path | None = None) -> None:
        self.git("add", "-A", "--", *(paths or ["."]), cwd=cwd)
        self.git("commit", "-q", "-m", f"Change {' '.join(paths) or 'all'}", cwd=cwd)

    def begin(self, files: dict[str, str] = PLAIN) -> None:
        """A repository with one commit, in which gitcp is enabled."""
        self.repo.mkdir(parents=True)
        self.home.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        for path, text in files.items():
            self.write(path, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")
        self.enable()

    def enable(self) -> None:
        status, out, said = self.gitcp("enable")
        assert status == 0, (out, said)
        for key in ("state-expire", "archive-expire"):  # a test may run much later
            self.git("config", f"gitcp.{key}", "9999")

    def agent(self, sid: str, cwd: Path | None = None) -> Session:
        sleeper = subprocess.Popen(["sleep", "900"])
        self._agents.append(sleeper)
        return Session(self, sid, cwd or self.repo, sleeper.pid)

    def close(self) -> None:
        """End the agents' processes."""
        for sleeper in self._agents:
            sleeper.kill()
            sleeper.wait()

    def call(self) -> str:
        self.calls += 1
        return f"toolu_{self.calls}"


class Session:
    """A session of Claude Code: its events, its edits, its transcript."""

    def __init__(self, day: Day, sid: str, cwd: Path, pid: int) -> None:
        self.day, self.sid, self.cwd = day, sid, cwd
        self._env = {**day.env, "CLAUDE_PID": str(pid)}
        self.transcript = day.home / ".claude" / "projects" / "repo" / f"{sid}.jsonl"

    def event(self, name: str, **payload: object) -> None:
        """Run the client's hook, and keep what it answers."""
        given = {
            "session_id": self.sid,
            "transcript_path": str(self.transcript),
            "cwd": str(self.cwd),
            "hook_event_name": name,
            **payload,
        }
        argv = [sys.executable, str(self.day.programs / "gitcp" / "entry.py"), "claude-code", name]
        done = subprocess.run(
            argv, cwd=self.cwd, env=self._env, input=json.dumps(given), text=True,
            capture_output=True,
        )  # fmt: skip
        answer = [name, done.returncode, done.stdout, done.stderr]
        self.day.answers.append(json.dumps(answer))

    def say(self, line: dict[str, Any]) -> None:
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        now = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        head = {"uuid": str(uuid.uuid4()), "sessionId": self.sid, "timestamp": at}
        with self.transcript.open("a") as file:
            file.write(json.dumps({**head, "cwd": str(self.cwd), **line}) + "\n")

    def answer(self, content: list[dict[str, Any]]) -> None:
        message = {"id": f"msg_{uuid.uuid4().hex[:8]}", "role": "assistant", "content": content}
        usage = {"input_tokens": 5, "output_tokens": 7}
        self.say({"type": "assistant", "message": {**message, "usage": usage}})

    def start(self) -> None:
        self.event("SessionStart", source="startup")

    def prompt(self, text: str) -> None:
        self.event("UserPromptSubmit", prompt=text)
        self.say({"type": "user", "message": {"role": "user", "content": text}})

    def write(self, path: str, text: str, ends: bool = True) -> None:
        """Write a file with a tool; ends: False leaves the call open."""
        tool: dict[str, Any] = {"tool_name": "Write", "tool_use_id": self.day.call()}
        tool["tool_input"] = {"file_path": str(self.cwd / path), "content": text}
        self.event("PreToolUse", **tool)
        self.day.write(path, text, self.cwd)
        use = {"type": "tool_use", "id": tool["tool_use_id"], "name": "Write"}
        self.answer([{**use, "input": tool["tool_input"]}])
        if ends:
            self.event("PostToolUse", **tool, tool_response={})

    def shell(self, command: str) -> None:
        """Run a command with a tool."""
        tool: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": self.day.call()}
        tool["tool_input"] = {"command": command}
        self.event("PreToolUse", **tool)
        self.day.run("sh", "-c", command, cwd=self.cwd)
        self.answer(
            [{"type": "tool_use", "id": tool["tool_use_id"], "name": "Bash",
              "input": tool["tool_input"]}]
        )  # fmt: skip
        self.event("PostToolUse", **tool, tool_response={})

    def stop(self) -> None:
        self.answer([{"type": "text", "text": "done"}])
        self.event("Stop", stop_hook_active=False)

    def turn(self, prompt: str, files: dict[str, str]) -> None:
        self.prompt(prompt)
        for path, text in files.items():
            self.write(path, text)
        self.stop()


def _work(day: Day) -> None:
    """Linked, open and half committed work of two sessions, with all that they leave behind."""
    a, b = day.agent("session-a"), day.agent("session-b")
    a.start()
    a.turn("Add a greeting", {"greet.py": "print('hello')\n", "app.py": "zero\none\ntwo\nthree\n"})
    day.commit()
    b.start()
    b.turn("Write a test", {"test_app.py": "def test():\n    assert 1\n"})
    a.turn("Say good bye", {"greet.py": "print('hello')\nprint('bye')\n"})
    day.commit("greet.py")
    day.write("app.py", "zero\none\ntwo\nthree\nby hand\n")
    a.prompt("Name the two")
    a.write("app.py", "zero\none\nTWO\nthree\nby hand\n")
    a.shell("printf 'made\\n' > made.txt")
    a.stop()
    b.prompt("Test more")
    b.write("test_app.py", "def test():\n    assert 2\n", ends=False)


def plain(day: Day) -> None:
    day.begin()
    _work(day)


def refs(day: Day) -> None:
    """A ref for each checkpoint, streams with suffixes beside the branches, links in notes."""
    day.begin()
    day.git("config", "gitcp.store", "refs")
    day.git("config", "gitcp.streams", "suffix")
    day.git("config", "gitcp.streams-hidden", "true")
    day.git("config", "gitcp.link", "note")
    _work(day)


def auto(day: Day) -> None:
    day.begin()
    day.git("config", "gitcp.strategy", "auto-commit")
    a = day.agent("session-a")
    a.start()
    a.turn("Add a greeting", {"greet.py": "print('hello')\n"})
    day.write("notes.md", "# Notes\nby hand\n")
    a.turn("Say good bye", {"greet.py": "print('bye')\n", "notes.md": "# Notes\nby hand\nmore\n"})


def going_back(day: Day) -> None:
    """A rewind, its undo, a stash, and a dismissed link."""
    day.begin()
    a = day.agent("session-a")
    a.start()
    a.turn("First", {"app.py": "1\n"})
    a.turn("Second", {"app.py": "2\n", "new.py": "x\n"})
    a.turn("Third", {"app.py": "3\n"})
    points = [json.loads(line) for line in day.gitcp("rewind", "--list", "--json")[1].splitlines()]
    ids = [point["id"] for point in points if point["kind"] == "temporary"]
    assert day.gitcp("rewind", "--to", ids[-1], "--force")[0] == 0
    assert day.gitcp("undo")[0] == 0
    assert day.gitcp("rewind", "--to", ids[0], "--force")[0] == 0
    day.commit()
    a.turn("Fourth", {"notes.md": "# Four\n"})
    day.git("stash", "-q")
    a.turn("Fifth", {"app.py": "5\n"})


def rebase(day: Day) -> None:
    """A rebase of linked commits that stands at a conflict."""
    day.begin()
    a = day.agent("session-a")
    a.start()
    day.git("switch", "-q", "-c", "topic")
    a.turn("Change two", {"app.py": "one\n2\nthree\n"})
    day.commit()
    a.turn("Add more", {"more.py": "more\n"})
    day.commit()
    day.git("switch", "-q", "main")
    day.write("app.py", "one\nTWO\nthree\n")
    day.commit()
    day.git("switch", "-q", "topic")
    day.git("rebase", "-q", "main", ok=False)


def worktrees(day: Day) -> None:
    """A session in a linked worktree, which wrote into the main one as well."""
    day.begin()
    other = day.top / "other"
    day.git("worktree", "add", "-q", str(other))
    a, b = day.agent("session-a"), day.agent("session-b", other)
    a.start()
    b.start()
    a.turn("Here", {"app.py": "here\n"})
    b.turn("There", {"app.py": "there\n"})
    b.prompt("And here")
    b.shell(f"printf 'from there\\n' > {day.repo}/visit.txt")
    b.stop()
    day.commit("app.py", cwd=other)


def jujutsu(day: Day) -> None:
    day.begin()
    day.run("jj", "git", "init", "--colocate")
    day.gitcp("enable")
    a = day.agent("session-a")
    a.start()
    a.turn("Add a greeting", {"greet.py": "print('hello')\n"})
    day.run("jj", "commit", "-m", "Greet")
    a.turn("Say good bye", {"greet.py": "print('bye')\n"})


def original(day: Day) -> None:
    """A repository of the original program, which gitcp has taken over."""
    data = Path(__file__).resolve().parents[1] / "data" / "entire"
    day.repo.mkdir(parents=True)
    day.home.mkdir(parents=True)
    day.git("init", "-q", "-b", "main")
    day.git("fetch", "-q", str(data / "phases.bundle"), "refs/*:refs/*", "--update-head-ok")
    day.git("reset", "-q", "--hard")
    states = day.repo / ".git" / "entire-sessions"
    states.mkdir()
    base = day.git("rev-parse", "HEAD").strip()
    for n, phase in enumerate(("ended", "idle", "active")):
        state: dict[str, Any] = {
            "session_id": f"old-{n}",
            "cli_version": "0.5",
            "base_commit": base,
        }
        state |= {"started_at": "2026-10-01T10:00:00Z", "phase": phase, "checkpoint_count": n}
        state |= {"worktree_path": "/home/dev/repo", "agent_type": "Claude Code", "unknown_key": n}
        (states / f"old-{n}.json").write_text(json.dumps(state, indent=2))
    day.enable()
    a = day.agent("session-a")
    a.start()
    a.turn("Go on", {"more.txt": "more\n"})


SCENES: dict[str, Callable[[Day], None]] = {
    scene.__name__: scene
    for scene in (plain, refs, auto, going_back, rebase, worktrees, jujutsu, original)
}


def go_on(day: Day) -> None:
    """A prompt, an edit, its end and a commit, by a session that was there and by a new one."""
    day.calls = 100
    day.git("rebase", "--abort", ok=False)
    for name in ("session-a", "session-n"):
        agent = day.agent(name)
        agent.start()
        agent.turn(f"Go on, {name}", {f"{name}.py": f"{name}\n", "app.py": f"{name}\n"})
        day.git("add", "-A")
        day.git("commit", "-q", "-m", f"Take {name}'s", ok=False)  # auto-commit has done it
    agent.event("SessionEnd", reason="prompt_input_exit")


def leave_out(top: Path) -> None:
    """Remove what git alone left and nobody reads."""
    for folder in top.rglob(".git"):
        for name in ("hooks", "logs/refs/remotes", "COMMIT_EDITMSG", "description"):
            path = folder / name
            if name == "hooks":
                for sample in path.glob("*.sample") if path.is_dir() else ():
                    sample.unlink()
            elif path.is_dir():
                shutil.rmtree(path)
            elif path.exists():
                path.unlink()
