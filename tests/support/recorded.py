"""A repository in which gitcp is enabled and a recording is played; what it then holds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.clients import spelling
from tests.support.clients.matchers import Installed
from tests.support.harness import TRAILER
from tests.support.replay import Call, Replay, initial, plan

V1 = "entire/checkpoints/v1"
ENDS = {"Stop", "AfterAgent", "agentStop", "session.idle", "TaskComplete"}  # of a turn


@dataclass
class Moment:
    """What there was after a hook call: the session's state, its stream's tip and, where a turn
    ended, the files of that tip and of the worktree."""

    call: Call
    state: dict[str, Any]
    tip: str = ""
    stored: dict[str, str] = field(default_factory=dict)
    there: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


class Played:
    """A recording that was played, with what was seen meanwhile; tests get it again and again."""

    def __init__(self, repo: Recorded) -> None:
        self.repo, self.moments = repo, list[Moment]()
        repo.play(self._see)
        calls = [moment.call for moment in self.moments]
        self.errors = [call.stderr for call in calls if call.stderr]
        self.session = spelling.session(calls[-1].payload)
        shutil.copytree(repo.path, self._copy, symlinks=True)

    @property
    def _copy(self) -> Path:
        return self.repo.path.with_name("as-it-was")

    def restore(self) -> None:
        """Put the repository back to where the recording ended."""
        shutil.rmtree(self.repo.path)
        shutil.copytree(self._copy, self.repo.path, symlinks=True)

    def _see(self, call: Call) -> None:
        session = spelling.session(call.payload)
        moment = Moment(call, self.repo.state(session))
        if call.event in ENDS and (stream := self.repo.stream):
            moment.tip = self.repo.git("rev-parse", stream)
            moment.stored, moment.there = self.repo.files(stream), self.repo.worktree()
            listed = self.repo.git("ls-tree", "--name-only", stream, f".entire/metadata/{session}/")
            moment.kept = [path.rpartition("/")[2] for path in listed.splitlines()]
        self.moments.append(moment)


class Recorded:
    """The repository of one recording; claudes: it is of Copilot CLI, which runs Claude Code's
    hooks as well."""

    def __init__(self, tmp: Path, agent: str, scenario: str, claudes: bool = False) -> None:
        self.path, self.home = tmp / "work", tmp / "home"
        self.path.mkdir()
        initial(self.path)
        self._replay = Replay(agent, scenario, self.path, self.home)
        installed = self._replay.meta.get("installed", agent)
        self.gitcp("enable", f"--agent={installed}")
        self._replay.hooks = Installed(installed, self.path, self.home)
        if claudes:
            self.gitcp("enable", "--agent=claude-code")
            self._replay.claudes = Installed("claude-code", self.path, self.home)

    def play(
        self, after: Callable[[Call], None] | None = None, without: int | None = None
    ) -> list[Call]:
        return self._replay.run(after, without)

    @property
    def place(self) -> Path:
        """The worktree in which the session was at work."""
        return Path(self._replay.meta.get("worktree", {}).get("path", self.path))

    def plan(self) -> list[tuple[str, dict[str, Any]]]:
        """What play() does, in order; `without` counts in this list."""
        return list(plan(self._replay.events()))

    def gitcp(self, name: str, *args: str) -> str:
        done = warm.run(name, *args, cwd=self.path)
        assert done.returncode == 0, done
        return done.stdout

    def git(self, *args: str, **env: str) -> str:
        """What git printed, without the last newline; stderr goes to the test's."""
        return self._run(["git", *args], **env).rstrip("\n")

    def _run(self, argv: list[str], **env: str) -> str:
        done = subprocess.run(
            argv,
            cwd=self.path,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            start_new_session=True,
        )
        return done.stdout

    def state(self, session: str) -> dict[str, Any]:
        """The session's state file, {} when there is none."""
        path = self.path / ".git" / "entire-sessions" / f"{session}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def stream(self) -> str:
        """The shadow branch of HEAD in the main worktree, '' when there is none."""
        name = f"refs/heads/entire/{self.git('rev-parse', 'HEAD')[:7]}-e3b0c4"
        return self.git("for-each-ref", "--format=%(refname)", name)

    def files(self, tree: str) -> dict[str, str]:
        """path -> "mode type oid" of every file of a tree, ours in .entire/ left out."""
        lines = self.git("ls-tree", "-r", tree).splitlines()
        pairs = (line.split("\t") for line in lines)
        return {path: what for what, path in pairs if not path.startswith(".entire/")}

    def worktree(self) -> dict[str, str]:
        """files() of what `git add -A` in an index of its own gives: the oracle."""
        index = str(self.home / "scratch-index")
        self.git("add", "-A", GIT_INDEX_FILE=index)
        tree = self.git("write-tree", GIT_INDEX_FILE=index)
        os.unlink(index)
        return self.files(tree)

    def checkpoint(self, commit: str = "HEAD") -> str:
        """The checkpoint id in the commit's message, '' when there is none."""
        found = TRAILER.search(self.git("log", "-1", "--format=%B", commit))
        return found[1] if found else ""

    def linked(self, commit: str) -> list[str]:
        """The sessions a commit is linked to, by its message or by a note on it."""
        noted = self._run(["git", "notes", "--ref=gitcp", "list"]).split()
        text = self.git("log", "-1", "--format=%B", commit)
        if self.git("rev-parse", commit) in noted:
            text += "\n" + self.git("notes", "--ref=gitcp", "show", commit)
        found = []
        for checkpoint in TRAILER.findall(text):
            root = json.loads(self.stored(checkpoint, "metadata.json"))
            for number in range(len(root["sessions"])):
                one = json.loads(self.stored(checkpoint, f"{number}/metadata.json"))
                found.append(one["session_id"])
        return found

    def stored(self, checkpoint: str, name: str) -> str:
        """A file of a committed checkpoint on v1."""
        return self.git("show", f"{V1}:{checkpoint[:2]}/{checkpoint[2:]}/{name}")
