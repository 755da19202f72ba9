"""A forge on this machine: its interface on loopback, and the jobs that it starts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.support import gits
from tests.support.harness import World
from tests.support.paths import TOP

Json = Any
ACTION = yaml.safe_load((TOP / "contrib" / "github" / "action.yml").read_text())
JOB = yaml.safe_load((TOP / "contrib" / "gitlab" / "gitcp.yml").read_text())["gitcp"]
BOT = {"user": {"type": "Bot"}, "author": {"username": "bot"}}
PERSON = {"user": {"type": "User"}, "author": {"username": "ada"}}


@dataclass
class Forge:
    """comments: of the one change there is.  pulls: commit -> what was merged as it.  refuses:
    as to the token of a fork's job.  checks: GitHub's, of the one change."""

    comments: list[Json] = field(default_factory=list)
    pulls: dict[str, list[Json]] = field(default_factory=dict)
    checks: list[Json] = field(default_factory=list)
    refuses: bool = False
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def answer(self, method: str, path: str, value: Json) -> tuple[int, Json]:
        """(status, body) of what a forge answers, GitHub or GitLab."""
        self.asked.append(f"{method} {path}")
        if path == "user":
            return 200, {"username": "bot"}
        if match := re.search(r"commits/(\w+)/(?:pulls|merge_requests)$", path):
            return 200, self.pulls.get(match[1], [])
        if method != "GET" and self.refuses:
            return 403, {}
        if path.endswith("/check-runs"):
            self.checks.append(value)
            return 201, {}
        if method == "GET":
            return 200, self.comments
        if method == "POST":
            number = max([comment["id"] for comment in self.comments], default=0) + 1
            self.comments.append({"id": number, "body": value["body"], **BOT})
            return 201, self.comments[-1]
        number = int(path.rpartition("/")[2])
        there = [comment for comment in self.comments if comment["id"] == number]
        if not there:
            return 404, {}
        if method == "DELETE":
            self.comments.remove(there[0])
        else:
            there[0]["body"] = value["body"]
        return 200, {}


@contextmanager
def serving(forge: Forge) -> Iterator[Forge]:
    """The forge at its url, until the end."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0].strip("/")
            with forge.lock:
                status, body = forge.answer(self.command, path, json.loads(data or b"{}"))
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forge.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield forge
    server.shutdown()
    thread.join()
    server.server_close()


def merge(world: World, way: str, head: str, target: str = "main") -> str:
    """The commit that a forge's button makes of a branch, in a clone without hooks, the last of
    several."""
    at = world.path.parent / "button"
    if not at.exists():
        world.git("clone", "-q", str(world.path.parent / "origin.git"), str(at))
    silent = gits.SILENT

    def git(*args: str) -> str:
        return world.git(*silent, *args, cwd=at)

    git("fetch", "-q", "origin")
    git("checkout", "-q", "-B", target, f"origin/{target}")
    git("fetch", "-q", "origin", head)
    if way == "squash":
        git("merge", "-q", "--squash", "FETCH_HEAD")
        git("commit", "-q", "-m", "squashed (#1)")
    elif way == "rebase":
        for commit in git("rev-list", "--reverse", f"{target}..FETCH_HEAD").split():
            git("cherry-pick", "-n", commit)
            git("commit", "-q", "-m", "rebased (#1)")
    else:
        git("merge", "-q", "--no-ff", "-m", "merged (#1)", "FETCH_HEAD")
    git("push", "-q", "origin", target)
    return git("rev-parse", "HEAD")


def start_job(world: World, name: str, env: dict[str, str], scripts: list[str]) -> Any:
    """Start scripts in a fresh clone, as a runner does: a process, whose clone is its `at`."""
    at = world.path.parent / name
    world.git("clone", "-q", str(world.path.parent / "origin.git"), str(at))
    tools = world.path.parent / "tools"
    tools.mkdir(exist_ok=True)
    for place in ("gitcp", "venv"):
        if not (tools / place).exists():
            (tools / place).symlink_to(Path(sys.executable).parent.parent)
    return subprocess.Popen(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(scripts)],
        cwd=at,
        env={**os.environ, "RUNNER_TEMP": str(tools), "CI_BUILDS_DIR": str(tools), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def github(forge: Forge, world: World, name: str, kind: str, event: Json, **more: str) -> Any:
    """Start the steps of the action behind its installation, with an event as GitHub gives it."""
    (world.home / f"{name}.json").write_text(json.dumps(event))
    steps = [step for step in ACTION["runs"]["steps"] if "run" in step and step.get("id")]
    inputs = {key: one["default"] for key, one in ACTION["inputs"].items()} | more
    ours = {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m[1]], value)
        for step in steps
        for key, value in step["env"].items()
    }
    env = {
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "acme/shop",
        "GITHUB_EVENT_NAME": kind,
        "GITHUB_EVENT_PATH": str(world.home / f"{name}.json"),
        "GITHUB_ACTION_PATH": str(TOP / "contrib" / "github"),
        "GITHUB_OUTPUT": str(world.home / f"{name}.output"),
        "GITHUB_STEP_SUMMARY": str(world.home / f"{name}.summary"),
        "GITHUB_BASE_REF": "main",
    }
    return start_job(world, name, {**env, **ours}, [step["run"] for step in steps])


def gitlab(forge: Forge, world: World, name: str, **variables: str) -> Any:
    """Start the last line of GitLab's job, with the variables that it gives."""
    source = world.path.parent / "tools"
    source.mkdir(exist_ok=True)
    if not (source / "contrib").exists():
        (source / "contrib").symlink_to(TOP / "contrib")
    env = {
        **{key: str(value) for key, value in JOB["variables"].items()},
        "CI_API_V4_URL": forge.url,
        "CI_PROJECT_ID": "7",
        "GITCP_TOKEN": "secret",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        **variables,
    }
    script = JOB["script"][-1].replace("$CI_BUILDS_DIR/gitcp/", "$CI_BUILDS_DIR/")
    return start_job(world, name, env, [script])


def finish(job: Any, status: int = 0) -> str:
    """What a job printed, where it ends with that status."""
    output = job.communicate(timeout=120)[0]
    assert job.returncode == status, output
    return str(output)
