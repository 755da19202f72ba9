"""The real clients of agents, each against a scripted model, in a home of its own.

`.ci/get-clients` brings them; a test that needs one skips where it is not.  `CLIENTS=newest` takes
their newest versions in place of those that are recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.model import Model, Step
from tests.support.paths import TOP

CLIENTS = TOP / "build" / "clients" / os.environ.get("CLIENTS", "")
_QUIET = """CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_AUTOUPDATER DISABLE_TELEMETRY
DISABLE_ERROR_REPORTING IS_SANDBOX GEMINI_CLI_TRUST_WORKSPACE GEMINI_CLI_NO_RELAUNCH""".split()


TOOLS = {
    "claude": "Write",
    "codex": "apply_patch",
    "gemini": "write_file",
    "pi": "write",
    "droid": "Create",
}


def write_file(repo: Path, name: str, path: str, text: str) -> Step:
    """A step in which the model of a client writes a new file."""
    at = {"file_path": str(repo / path), "content": text}
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{text}*** End Patch\n"
    tool = TOOLS[name]
    if name == "pi":
        at = {"path": path, "content": text}
    return f"writes {path}", tool, patch if name == "codex" else at


class Client:
    """A client in a repository.  name: its program; home: where it keeps its conversations."""

    def __init__(self, name: str, repo: Path, home: Path, steps: list[Step]) -> None:
        self.program = CLIENTS / name
        if not self.program.exists():
            pytest.skip(f"no {name} here: .ci/get-clients brings it")
        self.name, self.repo, self.home = name, repo, home
        self.model = Model(steps)
        self.options: list[str] = []  # further ones of its command line

    def run(self, prompt: str, resume: str = "") -> list[str]:
        """One run with a prompt, of a new conversation or one to go on with; the texts of the
        history that the model was sent first."""
        self.model.asked.clear()
        argv = getattr(self, f"_{self.name}")(prompt, resume)
        env = {
            **os.environ,
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            **dict.fromkeys(_QUIET, "1"),
        }
        env |= {"ANTHROPIC_API_KEY": "sk-none", "ANTHROPIC_BASE_URL": self.model.url}
        env |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.model.url}
        env |= {
            "PI_OFFLINE": "1",
            "MODEL_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            [str(self.program), *argv, *self.options],
            cwd=self.repo,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            start_new_session=True,
        )
        assert done.returncode == 0, done
        return [text for message in self.model.asked[0] for text in _texts(message)]

    def _claude(self, prompt: str, resume: str) -> list[str]:
        more = ["--resume", resume] if resume else []
        return ["-p", prompt, "--output-format", "json", "--dangerously-skip-permissions", *more]

    def _codex(self, prompt: str, resume: str) -> list[str]:
        settings = self.home / ".codex" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[projects."{self.repo}"]\ntrust_level = "trusted"\n')
        url = f'"{self.model.url}/v1"'
        served = f'{{name="scripted",base_url={url},env_key="MODEL_KEY",wire_api="responses",'
        given = {
            "model_provider": '"scripted"',
            "model": '"gpt-5.5"',
            "check_for_update_on_startup": "false",
            "analytics.enabled": "false",
            "model_providers.scripted": served + "supports_websockets=false}",
        }
        told = [word for key, value in given.items() for word in ("-c", f"{key}={value}")]
        free = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
        return ["exec", *(["resume", resume] if resume else []), *told, "--json", *free, prompt]

    def _pi(self, prompt: str, resume: str) -> list[str]:
        models = self.home / ".pi" / "agent" / "models.json"
        models.parent.mkdir(parents=True, exist_ok=True)
        served = {"baseUrl": self.model.url, "api": "anthropic-messages", "apiKey": "none"}
        told = {"scripted": {**served, "models": [{"id": "scripted-1"}]}}
        models.write_text(json.dumps({"providers": told}))
        more = ["--session", resume] if resume else []
        if CLIENTS.name == "newest":  # where extensions of a repository wait for trust
            more.append("--approve")
        return ["-p", prompt, "--provider", "scripted", "--model", "scripted-1", *more]

    def _droid(self, prompt: str, resume: str) -> list[str]:
        settings = self.home / ".factory" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        served = {"model": "scripted-1", "displayName": "scripted", "provider": "anthropic"}
        served |= {"baseUrl": self.model.url, "apiKey": "none"}
        settings.write_text(json.dumps({"customModels": [served]}))
        more = ["--session-id", resume] if resume else []
        return ["exec", "--auto", "high", "--model", "custom:scripted-0", *more, prompt]

    def _gemini(self, prompt: str, resume: str) -> list[str]:
        settings = self.home / ".gemini" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        key = {"auth": {"selectedType": "gemini-api-key"}}
        general = {"disableAutoUpdate": True}
        told = {"security": key, "general": general, "telemetry": {"enabled": False}}
        settings.write_text(json.dumps(told))
        how = ["--output-format", "json", "--approval-mode", "yolo", "-m", "gemini-2.5-flash"]
        return ["-p", prompt, *how, *(["--resume", resume] if resume else [])]


def _texts(item: Any) -> list[str]:
    """What is said in a message, and the input of its calls."""
    if isinstance(item, str):
        return [item]
    if isinstance(item, list):
        return [text for one in item for text in _texts(one)]
    if not isinstance(item, dict):
        return []
    keys = ("text", "content", "parts", "input", "file_path", "functionCall", "args")
    return [text for key in keys for text in _texts(item.get(key))]
