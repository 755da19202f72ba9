"""A transcript of which all is new at a stop, or at a commit in the middle of a turn."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from bench.budgets import Budget, table
from bench.session import Session
from bench.test_redact import lines

ROUNDS = max(2, int(os.environ.get("ROUNDS", "30")) // 10)
SIZES = (5, 20)  # MB
STOP, COMMIT = Budget(28), Budget(11.5)  # of 5 MB


def said(size: int) -> str:
    """Thoughts, calls and files read, of so many MB: what follows one prompt."""
    pieces, left = list[str](), size * 1_000_000
    for entry in lines():
        if entry["message"]["content"][0]["type"] != "text":
            pieces.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
            left -= len(pieces[-1].encode())
            if left < 0:
                break
    return "".join(pieces)


def test_a_transcript_all_of_it_new(template: Path, tmp_path: Path) -> None:
    rows = table("a transcript, all of it new")
    for size in SIZES:
        text = said(size)
        for count in range(ROUNDS + 1):
            for middle in (False, True):
                at = tmp_path / f"{size}-{count}-{middle}"
                session = begin(template, at, text)
                costs = {}
                if not middle:
                    costs["stop"] = session.stop()
                costs["commit in the turn" if middle else "commit"] = session.commit()
                for name, cost in costs.items() if count else ():
                    rows.add(f"{name}, {size} MB", cost, budget(name, size))
                shutil.rmtree(at)
            rows.starts(tmp_path)


def begin(template: Path, at: Path, text: str) -> Session:
    """A session whose second turn has said text, and edited a file."""
    session = Session(template, at)
    session.prompt()
    session.stop()
    session.prompt()
    session.file_tool(session.repo / "dir01" / "file015.py")
    with session.transcript.open("a") as f:
        f.write(text)
    return session


def budget(name: str, size: int) -> Budget | None:
    """Of the first size in P, of the others by the first: linear."""
    if name == "commit in the turn":
        return None  # it redacts what the turn's stop would
    if size == SIZES[0]:
        return STOP if name == "stop" else COMMIT
    return Budget(times=size / SIZES[0], floor=f"{name}, {SIZES[0]} MB")
