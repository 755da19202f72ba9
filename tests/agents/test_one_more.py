"""An agent is one folder and its name: a made-up one works everywhere once both are there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import paths
from tests.support.clients.matchers import commands
from tests.support.replay import initial
from tests.support.sealed import SEALED

MODULES = {
    "adapter.py": "agents/made_up/__init__.py",
    "reader.py": "agents/made_up/transcript.py",
}


class MadeUp:
    """The client at work in a repository, with a copy of gitcp that has its folder more."""

    def __init__(self, tmp: Path) -> None:
        self.lib, self.top, self.home = tmp / "lib", tmp / "work", tmp / "home"
        kept = shutil.ignore_patterns("patterns.c*")
        shutil.copytree(paths.TOP / "gitcp", self.lib / "gitcp", ignore=kept)
        shutil.copytree(paths.TOP / "bin", self.lib / "bin", symlinks=True)
        (self.lib / "gitcp/agents/made_up").mkdir()
        for name, where in MODULES.items():
            shutil.copy(paths.DATA / "made_up" / name, self.lib / "gitcp" / where)
        table = self.lib / "gitcp/agents/__init__.py"
        table.write_text(table.read_text().replace(" kiro opencode ", " kiro made-up opencode "))
        self.top.mkdir()
        (self.home / ".made-up").mkdir(parents=True)
        self.env = {**os.environ, **SEALED, "HOME": str(self.home)}
        initial(self.top)

    def run(self, *argv: str, stdin: str = "", **env: str) -> str:
        done = subprocess.run(
            argv,
            cwd=self.top,
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
        assert done.returncode == 0, done
        return done.stdout

    def gitcp(self, name: str, *args: str) -> str:
        return self.run(sys.executable, str(self.lib / "bin" / f"gitcp-{name}"), *args)

    def git(self, *args: str, **env: str) -> str:
        return self.run("git", *args, **env)

    @property
    def settings(self) -> Path:
        return self.top / ".made-up" / "settings.json"

    def tell(self, event: str, tool: str | None = None, **more: Any) -> None:
        given = {"session_id": "mu-1", "cwd": str(self.top), "hook_event_name": event, **more}
        given["transcript_path"] = str(self.home / ".made-up" / "talks" / "mu-1.jsonl")
        for command in commands([self.settings], event, tool):
            self.run("sh", "-c", command, stdin=json.dumps(given))

    def talk(self, *lines: dict[str, Any]) -> None:
        path = self.home / ".made-up" / "talks" / "mu-1.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in lines)

    def put(self, call: str, path: str, text: str) -> None:
        tool = {"tool_name": "put", "tool_use_id": call, "tool_input": {"where": path}}
        self.tell("Before", "put", **tool)
        (self.top / path).write_text(text)
        self.talk(
            {"who": "me", "says": f"I put {path}", "id": call, "puts": {"where": path}, "costs": 7}
        )
        self.tell("After", "put", **tool)


@pytest.fixture
def client(tmp_path: Path) -> MadeUp:
    return MadeUp(tmp_path)


@pytest.mark.thorough
def test_a_ninth_agent_is_recorded_linked_shown_and_taken_out_by_its_folder_and_name(
    client: MadeUp,
) -> None:
    assert "found Made Up" in client.gitcp("enable")
    client.talk({"who": "person", "says": "Make two files"})
    client.tell("Ask", prompt="Make two files")
    client.put("c1", "one.txt", "one of a kind\n")
    client.git("add", "one.txt")
    client.git("commit", "-q", "-m", "its own", MADE_UP_SESSION_ID="mu-1")
    client.put("c2", "two.txt", "two of them\n")
    client.tell("Rest")
    assert "found" not in client.gitcp("status")
    session = json.loads((client.top / ".git/entire-sessions/mu-1.json").read_text())
    assert (session["agent_type"], session["files_touched"]) == ("Made Up", ["two.txt"])
    client.git("add", "two.txt")
    client.git("commit", "-q", "-m", "the person's")
    for commit, path in (("HEAD~1", "one.txt"), ("HEAD", "two.txt")):
        assert "Entire-Checkpoint: " in client.git("log", "-1", "--format=%B", commit)
        why = client.gitcp("why", f"{path}:1")
        assert "written by Made Up" in why and "\n> Make two files\n" in why
    text = client.gitcp("show", "--full", "HEAD")
    assert "  > Make two files\n" in text and " one.txt" in text
    assert "14 tokens in, 2 out, 2 requests" in client.gitcp("stats", "HEAD~2..HEAD")
    client.gitcp("page", "-o", "page.html", "HEAD~2..HEAD")
    page = (client.top / "page.html").read_text()
    assert "<span class=pr>Make two files</span><span class=meta>Made Up" in page
    assert "made-up --again mu-1" in client.gitcp("resume", "HEAD")

    client.git("worktree", "add", "-q", "../side")
    assert commands([client.top.parent / "side" / ".made-up" / "settings.json"], "Ask")
    client.gitcp("disable", "--uninstall")
    assert not client.settings.exists()


@pytest.mark.parametrize(  # the first one, and a scan
    "call", ["*", pytest.param("*' status '*", marks=pytest.mark.thorough)]
)
def test_a_hook_that_comes_to_half_of_its_clients_time_hands_over_to_the_next(
    client: MadeUp, call: str
) -> None:
    adapter = client.lib / "gitcp" / MODULES["adapter.py"]
    adapter.write_text(adapter.read_text() + "MadeUp.SECONDS = 2\n")
    client.gitcp("enable")
    client.tell("Ask", prompt="Make a file")
    client.put("c1", "one.txt", "one of a kind\n")
    slow = client.home / "slow"
    slow.mkdir()
    text = f'case " $* " in {call}) exec sleep 60;; esac\nexec {shutil.which("git")} "$@"\n'
    (slow / "git").write_text(f"#!/bin/sh\n{text}")
    (slow / "git").chmod(0o755)
    given = {"session_id": "mu-1", "cwd": str(client.top), "hook_event_name": "Rest"}
    [command] = commands([client.settings], "Rest", None)
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=client.top,
        env={**client.env, "PATH": f"{slow}:{os.environ['PATH']}"},
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "before the time of the whole hook was over" in done.stderr
    client.tell("Rest")
    session = json.loads((client.top / ".git/entire-sessions/mu-1.json").read_text())
    assert (session["phase"], session["files_touched"]) == ("idle", ["one.txt"])
