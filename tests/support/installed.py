"""What a repository has after enable and disable."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from gitcp.setup import hook_texts

HOOKS = list(hook_texts.HOOKS)
ENTIRE = "#!/bin/sh\n# Entire CLI hooks\nentire hooks git post-commit 2>/dev/null || true\n"


def git(*args: str, cwd: Path | None = None) -> str:
    return subprocess.run(
        ["git", *args], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout


def snapshot(top: Path) -> dict[str, tuple[int, bytes]]:
    """Every file but objects and our lock: its mode and bytes."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if path.is_file() and not name.startswith((".git/objects", ".git/gitcp")):
            found[name] = (path.stat().st_mode, path.read_bytes())
    return found


def ours(folder: Path) -> list[str]:
    return [
        h for h in HOOKS if (folder / h).exists() and "# gitcp hook" in (folder / h).read_text()
    ]


def commands(path: Path) -> list[str]:
    events = json.loads(path.read_text())["hooks"].values()
    return [hook["command"] for entries in events for e in entries for hook in e["hooks"]]


def write(path: Path, text: str, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
