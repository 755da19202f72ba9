"""The three kinds of working copy that the guard stands before, as one World each.

git: a worktree.  colocated: jj and git in one directory.  non-colocated: jj alone, its store
inside `.jj`.  What a person does there has one name in all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitcp.git.jj import add_workspace
from tests.support import warm
from tests.support.harness import Agent, Call, World, enabled
from tests.support.paths import TOP

KINDS = ("git", "colocated", "non-colocated")
OURS = "made for the tests"


def jj_folder() -> str | None:
    """The directory of a jj: on PATH, else the one that `.ci/get-jj` has put into build/."""
    on_path = shutil.which("jj")
    own = TOP / "build" / "jj"
    return os.path.dirname(on_path) if on_path else str(own) if (own / "jj").exists() else None


A, B = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


@dataclass
class Copy(World):
    """A working copy of a kind, gitcp enabled, `gitcp.guard` = deny, nobody waits.

    Sessions A and B are in a turn each; pids are those of their agents, which all copies share.
    """

    kind: str = "git"
    pids: tuple[int, ...] = ()
    made: int = 0

    def pair(self) -> tuple[Agent, Agent]:
        """Sessions A and B, in their first turn."""
        a, b = (
            Agent(self, sid, self.path, pid, tools=True, _prompts=1)
            for sid, pid in zip((A, B), self.pids, strict=True)
        )
        return a, b

    def restarted(self, agent: Agent) -> Agent:
        """The same session with a process of its own, which may be killed, at its next prompt."""
        again = self.agent(agent.sid, tools=True)
        again._prompts = agent._prompts
        again.prompt("go on")
        return again

    @property
    def uses_jj(self) -> bool:
        return self.kind != "git"

    @property
    def store(self) -> Path:
        """The git directory that holds refs, objects and configuration."""
        plain = self.path / ".git"
        return plain if plain.exists() else self.path / ".jj" / "repo" / "store" / "git"

    @property
    def own(self) -> Path:
        """Where gitcp keeps what belongs to this working copy alone."""
        plain = self.path / ".git"
        return (plain if plain.exists() else self.path / ".jj" / "gitcp.git") / "gitcp"

    def register(self) -> None:
        """What enable did where this is a copy of: the workspace may be followed here too."""
        if self.uses_jj:
            root, store = os.path.realpath(self.path), os.path.realpath(self.store)
            jj = os.path.join(jj_folder() or "", "jj")
            add_workspace({"root": root, "jj": jj, "store": store, "name": ""})

    def jj(self, *args: str) -> str:
        return run(["jj", "--quiet", *args], self.path)

    def set(self, key: str, value: str) -> None:
        run(["git", f"--git-dir={self.store}", "config", key, value], self.path)

    def ref(self, name: str) -> str:
        """The oid of a ref of the store, '' without one."""
        argv = ["git", f"--git-dir={self.store}", "for-each-ref", "--format=%(objectname)", name]
        return run(argv, self.path).strip()

    def every_ref(self) -> str:
        """All refs but those that jj keeps for itself."""
        argv = ["git", f"--git-dir={self.store}", "for-each-ref", "refs/heads", "refs/gitcp"]
        return run(argv, self.path)

    def describe(self, message: str) -> None:
        """Give the change at `@`, or the commit at HEAD, another description."""
        if self.uses_jj:
            self.jj("describe", "-m", message)
        else:
            self.git("commit", "-q", "--amend", "--allow-empty", "--no-verify", "-m", message)

    def go_to_new(self, message: str) -> None:
        """Make a change (git: a commit on a branch) with this description, and be on it."""
        self.made += 1
        if self.uses_jj:
            self.jj("new", "-m", message)
        else:
            self.git("switch", "-q", "-c", f"tmp-{self.made}")
            self.git("commit", "-q", "--allow-empty", "--no-verify", "-m", message)

    def go_back(self) -> None:
        """Return to the person's work."""
        if self.uses_jj:
            self.jj("edit", f"description(substring:'{OURS}')")
        else:
            self.git("switch", "-q", "main")

    def place(self) -> str:
        """Where HEAD or `@` is, as `jj edit` or `git switch` would change it."""
        if self.uses_jj:
            template = 'change_id ++ "\\n"'
            return self.jj("--ignore-working-copy", "log", "--no-graph", "-r", "@", "-T", template)
        return self.git("symbolic-ref", "HEAD") + " " + self.head

    def claims(self) -> list[dict[str, Any]]:
        """The claims that lie here."""
        folder = self.own / "claims"
        files = sorted(folder.iterdir()) if folder.exists() else []
        return [json.loads(file.read_text()) for file in files]

    def state(self, sid: str) -> dict[str, Any]:
        path = self.store / "entire-sessions" / f"{sid}.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def read_records(self) -> dict[str, bytes]:
        """Every file of gitcp's own but locks and what only spares work, and every object."""
        folders = [self.own, self.store / "gitcp", self.store / "entire-sessions"]
        files = {p for f in folders if f.exists() for p in f.rglob("*") if p.is_file()}
        spares = {p for p in files if p.name in ("asked",) or "guard-" in p.name}
        files = {p for p in files - spares if p.parent.name not in ("lock", "tmp")}
        objects = {p for p in (self.store / "objects").rglob("*") if p.is_file()}
        return {str(p): p.read_bytes() for p in files | objects}


def run(argv: list[str], cwd: Path) -> str:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout


def made(kind: str, template: Path, at: Path, pids: tuple[int, ...]) -> Path:
    """A working copy of a kind, to be copied: see Copy."""
    if kind == "git":
        enabled(template, at)
    else:
        _make_jj(kind, template, at)
    copy = Copy(at, at.parent, kind=kind, pids=pids)
    copy.set("gitcp.guard", "deny")
    copy.set("gitcp.guard-wait", "0")
    for agent in copy.pair():
        agent._prompts = 0
        agent.prompt("work")
    return at


def _make_jj(kind: str, template: Path, at: Path) -> None:
    (at / "src").mkdir(parents=True)
    form = "--colocate" if kind == "colocated" else "--no-colocate"
    run(["jj", "--quiet", "git", "init", form], at)
    shutil.copy(template / "README.md", at)
    shutil.copy(template / "src" / "app.py", at / "src")
    run(["jj", "--quiet", "commit", "-m", "initial"], at)
    run(["jj", "--quiet", "describe", "-m", OURS], at)
    warm.run("enable", cwd=at).check_returncode()


def call(
    agent: Agent, name: str, path: str, use: str = "toolu_x", tool: str = "Write", **more: Any
) -> Call:
    """One tool event of an agent that writes a path of its directory."""
    given = {"file_path": str(agent.cwd / path), "content": "x"}
    if tool == "Bash":
        given = {"command": path}
    return agent.event(name, tool_name=tool, tool_input=given, tool_use_id=use, **more)


def pre(agent: Agent, path: str = "a.txt", use: str = "toolu_x", **more: Any) -> Call:
    return call(agent, "PreToolUse", path, use, **more)


def post(agent: Agent, path: str = "a.txt", use: str = "toolu_x", **more: Any) -> Call:
    return call(agent, "PostToolUse", path, use, tool_response={}, **more)


def reason(done: Call) -> str:
    """Why a client that was answered so does not run the tool; '' when it runs it."""
    if done.status == 0:
        return ""
    assert done.status == 2
    (answer,) = [json.loads(line) for line in done.stdout.splitlines()]
    decision = answer["hookSpecificOutput"]
    assert decision["hookEventName"] == "PreToolUse"
    assert decision["permissionDecision"] == "deny"
    assert done.stderr.rstrip("\n") == decision["permissionDecisionReason"]
    return str(decision["permissionDecisionReason"])
