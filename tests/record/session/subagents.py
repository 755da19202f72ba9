"""Subagents as Claude Code runs them, and what is stored of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.harness import Agent, World
from tests.support.linking import v1


class Task:
    """A subagent that a session runs; inside: the subagent that started it."""

    def __init__(self, a: Agent, name: str, tool: str = "Agent", inside: str = "") -> None:
        self.a, self.name, self.id = a, name, f"toolu_{name}"
        self.agent = f"agent{name}"
        given = {"description": f"do {name}", "subagent_type": "dev", "prompt": "go"}
        self.call: dict[str, Any] = {"tool_name": tool, "tool_input": given}
        self.call["tool_use_id"] = self.id
        if inside:
            self.call["agent_id"] = inside

    def start(self) -> Task:
        self.a.event("PreToolUse", **self.call)
        self.a.event("SubagentStart", agent_id=self.agent, agent_type="dev")
        return self

    def write(self, path: str, text: str) -> None:
        tool: dict[str, Any] = {
            "tool_name": "Write",
            "tool_input": {"file_path": str(self.a.cwd / path), "content": text},
            "tool_use_id": f"toolu_w{path[:4]}",
            "agent_id": self.agent,
        }
        self.a.event("PreToolUse", **tool)
        (self.a.cwd / path).write_text(text)
        self.a.event("PostToolUse", **tool, tool_response={})

    def todos(self, *done: str, left: str = "") -> None:
        todos(self.a, *done, left=left, agent_id=self.agent)

    def end(self) -> None:
        self.a.event("SubagentStop", agent_id=self.agent, agent_type="dev")
        self.a.event("PostToolUse", **self.call, tool_response={"agentId": self.agent})

    @property
    def transcript(self) -> Path:
        folder = self.a.transcript.with_suffix("") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"agent-{self.agent}.jsonl"


def todos(a: Agent, *done: str, left: str = "", **more: str) -> None:
    listed = [{"content": c, "activeForm": c, "status": "completed"} for c in done]
    if left:
        listed.append({"content": left, "activeForm": left, "status": "pending"})
    a._calls += 1
    a.event(
        "PostToolUse",
        tool_name="TodoWrite",
        tool_input={"todos": listed},
        tool_use_id=f"toolu_todo{a._calls}",
        tool_response={},
        **more,
    )


def committed(world: World, checkpoint: str) -> dict[str, bytes]:
    """The same of a checkpoint on v1, below any tasks/ of it."""
    at = f"{checkpoint[:2]}/{checkpoint[2:]}/"
    found = {p: d for p, d in v1(world).items() if p.startswith(at) and "/tasks/" in p}
    return {path.partition("/tasks/")[2]: data for path, data in found.items()}
