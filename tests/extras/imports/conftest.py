"""A world whose agents leave behind what Claude Code leaves behind, at the times it happened."""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.extras.imports.truth import git
from tests.support import warm
from tests.support.harness import Agent, Json, World

TALE = "def tale():\n    return 'once upon a time'\n"


@pytest.fixture(autouse=True)
def times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are made when they are made."""
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.delenv(name)


@dataclass
class Coder(Agent):
    """A session whose transcript tells what came of each call, where the client puts it."""

    @property
    def transcript(self) -> Path:
        slug = re.sub("[^a-zA-Z0-9]", "-", str(self.cwd))
        return self.world.home / ".claude" / "projects" / slug / f"{self.sid}.jsonl"

    def write(self, path: str, text: str | None) -> None:
        """Write a whole file, with the tool for that."""
        assert text is not None
        self._use("Write", path, {"content": text}, text)

    def edit(self, path: str, old: str, new: str) -> None:
        """Put a text in the place of another, once."""
        before = (self.cwd / path).read_text()
        given = {"old_string": old, "new_string": new}
        self._use("Edit", path, given, before.replace(old, new, 1))

    def shell(self, path: str, text: str, diffed: bool) -> None:
        """Write a file anew by a command with its text; diffed: the client says what changed."""
        self._run(path, f"cat > {path} <<'END'\n{text}END\n", text, diffed, diffed)

    def replace(self, path: str, old: str, new: str) -> None:
        """Put a text in the place of another by a command, its first place in each line.  The hooks
        are told what changed, the transcript is not."""
        lines = (self.cwd / path).read_text().split("\n")
        text = "\n".join(line.replace(old, new, 1) for line in lines)
        self._run(path, f"sed -i 's/{old}/{new}/' {path}", text, True, False)

    def _run(self, path: str, command: str, text: str, hooks: bool, diffed: bool) -> None:
        """Have a command write a file; hooks, diffed: whether those and the transcript are told
        what changed."""
        self._calls += 1
        file, call = self.cwd / path, f"toolu_{self.sid}_{self._calls}"
        before = file.read_text() if file.exists() else None
        tool: Json = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
        self.event("PreToolUse", **tool)
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": tool["tool_input"]}
        self.answer([use])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        result: Json = {"stdout": "", "stderr": "", "interrupted": False}
        lines = list(difflib.ndiff((before or "").splitlines(), text.splitlines()))
        hunk = {"lines": [line[:1] + line[2:] for line in lines if line[:1] != "?"]}
        changed = {"filePath": str(file), "hunks": [hunk], "created": before is None}
        seen = {**result, "bashEditDiff": {"files": [changed] if before != text else []}}
        self.event("PostToolUse", **tool, tool_response=seen if hooks else result)
        block = {"type": "tool_result", "tool_use_id": call, "content": ""}
        told = seen if diffed else result
        self.say({"type": "user", "toolUseResult": told, "message": {"content": [block]}})

    def look(self, path: str) -> None:
        """Read a whole file, with the tool for that."""
        self._calls += 1
        file, call = self.cwd / path, f"toolu_{self.sid}_{self._calls}"
        if file.exists():
            given = {"file_path": str(file)}
            self.answer([{"type": "tool_use", "id": call, "name": "Read", "input": given}])
            block = {"type": "tool_result", "tool_use_id": call, "content": "as it stands"}
            message = {"content": [block]}
            self.say({"type": "user", "toolUseResult": show(file), "message": message})

    def _use(self, name: str, path: str, arguments: Json, after: str) -> None:
        self._calls += 1
        file, call = self.cwd / path, f"toolu_{self.sid}_{self._calls}"
        before = file.read_text() if file.exists() else None
        arguments = {"file_path": str(file), **arguments}
        tool: Json = {"tool_name": name, "tool_input": arguments, "tool_use_id": call}
        self.event("PreToolUse", **tool)
        self.answer([{"type": "tool_use", "id": call, "name": name, "input": arguments}])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(after)
        kind = "create" if before is None else "update"
        result = {"type": kind, "filePath": str(file), "originalFile": before}
        self.event("PostToolUse", **tool, tool_response=result)
        block = {"type": "tool_result", "tool_use_id": call, "content": "done"}
        self.say({"type": "user", "toolUseResult": result, "message": {"content": [block]}})


def show(file: Path) -> Json:
    """What Claude Code says of a file that it read whole."""
    text = file.read_text()
    count = len(text.split("\n"))
    about = {"filePath": str(file), "content": text, "numLines": count, "totalLines": count}
    return {"type": "text", "file": {**about, "startLine": 1}}


@pytest.fixture
def coded(world: World) -> World:
    """A world whose links are notes, so that a clone of its branch has none of them."""
    world.git("config", "gitcp.link", "note")
    return world


def coder(world: World, name: str) -> Coder:
    """A session of Claude Code in a world."""
    return Coder(world, name, world.path, world.agent(name).pid, tools=True)


class Yesterday:
    """A repository without gitcp, an agent that was at work in it, and a person."""

    def __init__(self, repo: Path, home: Path) -> None:
        self.repo, self.home = repo, home
        self._lines: list[Json] = []

    def git(self, *args: str) -> str:
        """What git printed."""
        return git(self.repo, *args)

    def prompt(self, text: str) -> None:
        self._say({"type": "user", "message": {"role": "user", "content": text}})

    def write(self, path: str, text: str, with_result: bool = True) -> None:
        """A call of Write; with_result: its result says what stood there before."""
        file = self.repo / path
        before = file.read_text() if file.exists() else None
        file.write_text(text)
        kind = "create" if before is None else "update"
        result = {"type": kind, "originalFile": before} if with_result else {}
        self._call("Write", {"file_path": str(file), "content": text}, result)

    def shell(self, command: str, result: Json | None = None) -> None:
        """A call of Bash, carried out; result: what the client says of it."""
        argv = ["sh", "-c", command]
        done = subprocess.run(argv, cwd=self.repo, check=True, stdout=subprocess.PIPE, text=True)
        self._call("Bash", {"command": command}, result or {}, done.stdout.rstrip("\n"))

    def look(self, path: str) -> None:
        """A call of Read, of a whole file."""
        file = self.repo / path
        self._call("Read", {"file_path": str(file)}, show(file), "as it stands")

    def _call(self, name: str, arguments: Json, result: Json, text: str = "done") -> None:
        call = f"toolu_{len(self._lines)}"
        use = {"type": "tool_use", "id": call, "name": name, "input": arguments}
        usage = {"input_tokens": 5, "output_tokens": 7}
        message = {"id": f"msg_{call}", "usage": usage, "content": [use]}
        self._say({"type": "assistant", "message": message})
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        self._say({"type": "user", "toolUseResult": result, "message": {"content": [block]}})

    def say(self, sid: str = "yesterday") -> Path:
        """Put the transcript where the client keeps it."""
        slug = re.sub("[^a-zA-Z0-9]", "-", str(self.repo))
        path = self.home / ".claude" / "projects" / slug / f"{sid}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"sessionId": sid, "cwd": str(self.repo), "isSidechain": False}
        path.write_text("".join(json.dumps({**head, **line}) + "\n" for line in self._lines))
        return path

    def _say(self, line: Json) -> None:
        second = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        self._lines.append({"timestamp": second, "uuid": str(len(self._lines)), **line})

    def commit(self, **env: str) -> str:
        """Commit everything; the commit."""
        self.git("add", "-A")
        subprocess.run(
            ["git", "commit", "-q", "-m", "work"],
            cwd=self.repo,
            env={**os.environ, **env},
            check=True,
        )
        return self.git("rev-parse", "HEAD")

    def run(self, *args: str) -> str:
        """What `gitcp` prints for these words; it may fail in no way."""
        done = warm.run(*args, cwd=self.repo)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def imported(self, *args: str) -> list[Json]:
        """The records of an import."""
        return [json.loads(line) for line in self.run("import", "--json", *args).splitlines()]


@pytest.fixture
def past(repo: Path, tmp_path: Path) -> Yesterday:
    return Yesterday(repo, tmp_path / "home")


@pytest.fixture
def worked(past: Yesterday) -> Yesterday:
    past.prompt("Write a tale")
    past.write("tale.py", TALE)
    past.say()
    past.commit()
    return past
