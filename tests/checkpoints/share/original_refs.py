"""A checkpoint with a ref of its own, as the original program writes it in autumn 2026."""

from __future__ import annotations

import json
import os
import subprocess

from tests.support.harness import OWN, World

ULID = "01JZX0K3M4N5P6Q7R8S9TVWXYZ"
_LINES = (
    ("user", "2026-09-01T10:00:00Z", "make a parrot"),
    ("assistant", "2026-09-01T10:00:05Z", "the parrot is there"),
)
_BOTH = {
    "strategy": "manual-commit",
    "checkpoints_count": 1,
    "files_touched": ["parrot.py"],
    "cli_version": "0.10.5",
}
_SESSION = {
    "session_id": "their-session",
    "created_at": "2026-09-01T10:00:00Z",
    "agent": "Claude Code",
    "compact_transcript_start": 0,
}


def own_ref(checkpoint_id: str) -> str:
    return f"{OWN}/{checkpoint_id[-2:]}/{checkpoint_id}"


def files(checkpoint_id: str) -> dict[str, str]:
    """path -> content of the checkpoint's tree: a compact transcript, and a task without one."""
    head = {"checkpoint_id": checkpoint_id, **_BOTH}
    listed = {"metadata": "/0/metadata.json", "compact_transcript": "/0/transcript.jsonl"}
    lines = [
        {"v": 1, "agent": "claude-code", "type": kind, "ts": at, "content": _text(words)}
        for kind, at, words in _LINES
    ]
    return {
        "metadata.json": json.dumps({**head, "sessions": [listed]}),
        "0/metadata.json": json.dumps({**head, **_SESSION}),
        "0/prompt.txt": "make a parrot",
        "0/transcript.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "tasks/toolu_1/task.json": json.dumps({"transcript_unavailable_reason": "killed"}),
    }


def _text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def stored_by_the_original(world: World, checkpoint_id: str = ULID) -> None:
    """Store the checkpoint, and make a commit that names it."""
    index = {**os.environ, "GIT_INDEX_FILE": str(world.path / ".git/their-index")}

    def git(*args: str, content: str = "") -> str:
        command = ["git", *args]
        given = content.encode()
        out = subprocess.check_output(command, input=given, cwd=world.path, env=index)
        return out.decode().strip()

    for path, content in files(checkpoint_id).items():
        blob = git("hash-object", "-w", "--stdin", content=content)
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    commit = git("commit-tree", "-m", f"Checkpoint: {checkpoint_id}", git("write-tree"))
    git("update-ref", own_ref(checkpoint_id), commit)
    world.write("parrot.py", "parrot\n")
    world.git("add", "parrot.py")
    world.git("commit", "-q", "-m", f"Add a parrot\n\nEntire-Checkpoint: {checkpoint_id}\n")
