"""An agent's session in a benched repository: hook calls as the client makes them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from functools import partial
from pathlib import Path

from bench.budgets import Cost, run

TOP = Path(__file__).parents[1]
GITCP = (sys.executable, str(TOP / "bin" / "gitcp"))
ENTRY = TOP / "gitcp" / "entry.py"
SID = "0b5e2c1e-1111-4222-8333-444444444444"


def quietly(*argv: str, cwd: Path, stdin: str = "") -> None:
    subprocess.run(
        argv,
        cwd=cwd,
        input=stdin,
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


class Session:
    """One session of Claude Code in a copy of template with gitcp enabled.

    top: the checkout of gitcp that records it."""

    def __init__(
        self, template: Path, tmp: Path, transcript_lines: int = 40, top: Path = TOP
    ) -> None:
        tmp.mkdir(exist_ok=True)
        self._top = top
        self.repo = Path(shutil.copytree(template, tmp / "repo"))
        self.transcript = tmp / "project" / f"{SID}.jsonl"
        self.transcript.parent.mkdir()
        # What a transcript mostly is: results of tools, a kilobyte each, after one prompt.
        head = {"parentUuid": None, "isSidechain": False, "type": "user"}  # by which it is known
        prompt = json.dumps({**head, "message": {"role": "user", "content": "Do it"}})
        words = "def index(path: str) -> list[str]: return sorted(glob(path))\\n" * 14
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": words}
        message = {"role": "user", "content": [result]}
        self._text = json.dumps({"type": "user", "message": message})
        self.transcript.write_text(f"{prompt}\n" + f"{self._text}\n" * transcript_lines)
        self.turn = self._calls = 0
        if (self.repo / ".git").exists():
            quietly("git", "config", "gc.auto", "0", cwd=self.repo)
        quietly(sys.executable, str(top / "bin" / "gitcp-enable"), cwd=self.repo)

    def hook(self, event: str, **payload: object) -> Cost:
        """One hook call, from start to exit."""
        given = {
            "session_id": SID,
            "transcript_path": str(self.transcript),
            "cwd": str(self.repo),
            "hook_event_name": event,
            "prompt_id": f"prompt-{self.turn}",
            **payload,
        }
        entry = self._top / "gitcp" / "entry.py"
        argv = (sys.executable, "-I", "-S", str(entry), "claude-code", event)
        return run(argv, self.repo, json.dumps(given).encode())

    def ask(self, *argv: str) -> Cost:
        """A command that reads."""
        return run((sys.executable, str(self._top / "bin" / "gitcp"), *argv), self.repo)

    def prompt(self) -> Cost:
        """The next turn begins."""
        self.turn += 1
        return self.hook("UserPromptSubmit", prompt=f"Do part {self.turn}")

    def file_tool(self, path: Path) -> Cost:
        """The two hooks around a file tool that appends to path."""
        call = self._call("Edit", {"file_path": str(path), "old_string": "", "new_string": "x"})
        start = self.hook("PreToolUse", **call)
        with path.open("a") as f:
            f.write(f"turn {self.turn}\n")
        return start + self.hook("PostToolUse", **call, tool_response={"filePath": str(path)})

    def shell(self, path: Path) -> Cost:
        """The two hooks around a command that appends to path."""
        call = self._call("Bash", {"command": f"echo turn {self.turn} >>{path.name}"})
        start = self.hook("PreToolUse", **call)
        with path.open("a") as f:
            f.write(f"turn {self.turn}\n")
        return start + self.hook("PostToolUse", **call, tool_response={"stdout": "", "stderr": ""})

    def _call(self, tool: str, arguments: dict[str, str]) -> dict[str, object]:
        self._calls += 1
        return {"tool_name": tool, "tool_use_id": f"toolu_{self._calls}", "tool_input": arguments}

    def talk(self, lines: int = 50) -> None:
        """The transcript grows: an answer, and results of tools."""
        said = [{"type": "text", "text": f"That is part {self.turn}."}]
        answer = {"type": "assistant", "message": {"role": "assistant", "content": said}}
        with self.transcript.open("a") as f:
            f.write(json.dumps(answer) + "\n" + f"{self._text}\n" * lines)

    def tell(self, words: str) -> None:
        """The transcript grows by results of tools that have these words, a kilobyte each."""
        with self.transcript.open("a") as f:
            for start in range(0, len(words), 1_000):
                result = {"type": "tool_result", "tool_use_id": "toolu_1"}
                content = [{**result, "content": words[start : start + 1_000]}]
                message = {"role": "user", "content": content}
                head = {"parentUuid": str(uuid.uuid4()), "isSidechain": False}
                f.write(json.dumps({**head, "type": "user", "message": message}) + "\n")

    def stop(self) -> Cost:
        """The turn is over."""
        return self.hook("Stop", stop_hook_active=False, last_assistant_message="done")

    def commit(self) -> Cost:
        """Commit what the turn wrote; the commit must be linked, or it was not ours."""
        quietly("git", "add", "-A", ":!other*", ":!data", cwd=self.repo)
        cost = run(("git", "commit", "-q", "-m", "work"), self.repo)
        last = subprocess.check_output(["git", "log", "-1", "--format=%B"], cwd=self.repo)
        assert b"Entire-Checkpoint: " in last
        return cost

    def attributes(self) -> None:
        """Attributes for all files, as most repositories have them."""
        (self.repo / ".gitattributes").write_text("* text=auto\n")
        quietly("git", "add", ".gitattributes", cwd=self.repo)
        quietly("git", "commit", "-q", "-m", "attributes", cwd=self.repo)

    def untracked(self, count: int) -> None:
        """count files that the person has, and git does not."""
        (self.repo / "data").mkdir()
        for n in range(count):
            (self.repo / "data" / f"part{n:05}.txt").write_text(f"{n}\n")

    def dirty(self, count: int) -> None:
        """count files that git has, and that the person has changed since."""
        (self.repo / "data").mkdir()
        for n in range(count):
            (self.repo / "data" / f"part{n:05}.txt").write_text(f"{n}\n")
        quietly("git", "add", "data", cwd=self.repo)
        quietly("git", "commit", "-q", "-m", "data", cwd=self.repo)
        for n in range(count):
            (self.repo / "data" / f"part{n:05}.txt").write_text(f"{n} changed\n")

    def refs(self, count: int) -> None:
        """count branches, each in a file of its own."""
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.repo)
        folder = self.repo / ".git" / "refs" / "heads" / "topic"
        folder.mkdir()
        for n in range(count):
            (folder / f"{n:05}").write_bytes(head)

    def others(self, count: int) -> None:
        """count sessions that are open, each with a turn in a file of its own."""
        for n in range(count):
            sid = f"{n:08x}-4444-4222-8333-444444444444"
            path = self.repo / f"other{n}.py"
            words = {"file_path": str(path), "content": "one = 1\n"}
            call = {"tool_name": "Write", "tool_use_id": f"toolu_{sid}", "tool_input": words}
            self.hook("UserPromptSubmit", session_id=sid, prompt="Do it")
            self.hook("PreToolUse", session_id=sid, **call)
            path.write_text("one = 1\n")
            self.hook("PostToolUse", session_id=sid, **call, tool_response={})
            self.hook("Stop", session_id=sid, stop_hook_active=False)

    def leftover(self, count: int) -> None:
        """count sessions that left work of their own behind, which no commit has taken."""
        shared = self.repo / ".git" / "gitcp" / "open"
        states = self.repo / ".git" / "entire-sessions"
        states.mkdir(exist_ok=True)
        shared.mkdir(parents=True, exist_ok=True)
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.repo, text=True)
        for n in range(count):
            sid = f"{n:08x}-2222-4222-8333-444444444444"
            common = {"session_id": sid, "phase": "idle", "base_commit": head.strip()}
            common |= {"agent_type": "Claude Code", "worktree_path": str(self.repo)}
            path, oid, ref = f"left{n}.py", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", ""
            stream = {"id": f"{n:012x}", "ref": ref, "files": {path: ["100644", oid]}}
            marker = {**common, "worktree_id": "", "count": 1, "streams": [stream]}
            (shared / sid).write_text(json.dumps(marker))
            file = {"oid": oid, "mode": "100644", "turn_id": ""}
            state = {
                **common,
                "checkpoint_count": 1,
                "streams": [{**stream, "files": {path: file}}],
            }
            (states / f"{sid}.json").write_text(json.dumps(state))

    def stored(self, count: int, with_states: bool = True) -> None:
        """count sessions of the past: ended, committed, their states and checkpoints kept."""
        folder = self.repo / ".git" / "entire-sessions"
        folder.mkdir(exist_ok=True)
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.repo, text=True)
        for n in range(count if with_states else 0):
            sid = f"{n:08x}-1111-4222-8333-444444444444"
            state = {
                "session_id": sid,
                "phase": "ended",
                "base_commit": head.strip(),
                "worktree_path": str(self.repo),
                "agent_type": "Claude Code",
                "checkpoint_count": 0,
                "started_at": "2026-11-20T10:00:00Z",
                "ended_at": "2026-11-20T11:00:00Z",
            }
            (folder / f"{sid}.json").write_text(json.dumps(state))
        if count:
            quietly("git", "fast-import", "--quiet", cwd=self.repo, stdin=_branch(count))

    def originals(self, count: int) -> None:
        """count sessions as the original program leaves them: idle, each with a list of all files
        that it found at its start."""
        folder = self.repo / ".git" / "entire-sessions"
        read = partial(subprocess.check_output, cwd=self.repo, text=True)
        head, names = read(["git", "rev-parse", "HEAD"]).strip(), read(["git", "ls-files"]).split()
        for n in range(count):
            sid = f"{n:08x}-3333-4222-8333-444444444444"
            state = {
                "session_id": sid,
                "base_commit": head,
                "attribution_base_commit": head,
                "worktree_path": str(self.repo),
                "started_at": "2026-11-20T10:00:00Z",
                "last_interaction_time": "2026-11-20T11:00:00Z",
                "phase": "idle",
                "checkpoint_count": 1,
                "untracked_files_at_start": names,
                "files_touched": names[n : n + 3],
                "agent_type": "Claude Code",
                "transcript_path": f"{self.transcript.parent}/{sid}.jsonl",
            }
            (folder / f"{sid}.json").write_text(json.dumps(state, indent=2))


def _branch(count: int) -> str:
    """The permanent store with count checkpoints of one session each, for git fast-import."""
    lines = ["commit refs/heads/entire/checkpoints/v1", "committer x <x@example.com> 1 +0000"]
    lines += ["data 7", "history"]
    for n in range(count):
        cid = f"{n * 2654435761 % 2**32:08x}{n:04x}"
        place = f"{cid[:2]}/{cid[2:]}"
        sid = f"{n:08x}-1111-4222-8333-444444444444"
        summary = {"checkpoint_id": cid, "sessions": [{"metadata": f"/{place}/0/metadata.json"}]}
        files: dict[str, object] = {
            "metadata.json": summary,
            "0/metadata.json": {"checkpoint_id": cid, "session_id": sid},
        }
        for name, content in files.items():
            text = json.dumps(content)
            lines += [f"M 100644 inline {place}/{name}", f"data {len(text)}", text]
    return "\n".join([*lines, ""])
