"""Redaction of a transcript of 5 MB: one to read it is the floor, 20 MB/s the budget (250 ms).
A stop of which the transcript is all new, and a commit in the middle of a turn."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.budgets import Budget, table
from bench.session import Session
from gitcp.checkpoints.redact import Redactor

SIZE = 5_000_000
SOURCE = sorted(Path(__file__).parents[1].glob("gitcp/**/*.py"))
GROUP = "redaction of 5 MB"
ROUNDS = max(2, int(os.environ.get("ROUNDS", "30")) // 10)
SIZES = (5, 20)  # MB
STOP, COMMIT = Budget(28), Budget(11.5)  # of 5 MB


def lines() -> Iterator[dict[str, Any]]:
    """What Claude Code writes: prompts, thoughts with signatures, tool calls, files read."""
    rng = random.Random(7)
    session = str(uuid.UUID(int=rng.getrandbits(128)))
    texts = [text for path in SOURCE if len(text := path.read_text()) > 3000]
    while True:
        text = rng.choice(texts)
        at = rng.randrange(len(text))
        call = f"toolu_01{base64.b32encode(rng.randbytes(14)).decode().rstrip('=')}"
        yield from (
            _line(rng, session, "user", [{"type": "text", "text": text[at : at + 400]}]),
            _line(rng, session, "assistant", _called(rng, text[at : at + 700], call)),
            _line(rng, session, "user", [_read(text, call)]),
        )


def _called(rng: random.Random, thought: str, call: str) -> list[dict[str, Any]]:
    path = f"/home/user/projects/shop/src/module{rng.randrange(400)}/component.py"
    signature = base64.b64encode(rng.randbytes(600)).decode()
    return [
        {"type": "thinking", "thinking": thought, "signature": signature},
        {"type": "tool_use", "id": call, "name": "Read", "input": {"path": path}},
    ]


def _read(text: str, call: str) -> dict[str, Any]:
    rows = enumerate(text[:3000].splitlines(), 1)
    shown = "".join(f"{number:6}→{row}\n" for number, row in rows)
    return {"type": "tool_result", "tool_use_id": call, "content": shown}


def _line(rng: random.Random, session: str, role: str, content: object) -> dict[str, Any]:
    return {
        "parentUuid": str(uuid.UUID(int=rng.getrandbits(128))),
        "sessionId": session,
        "cwd": "/home/user/projects/shop",
        "gitBranch": "main",
        "type": role,
        "message": {
            "role": role,
            "content": content,
            "usage": {"input_tokens": rng.randrange(9999), "output_tokens": rng.randrange(999)},
        },
        "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
        "timestamp": "2026-11-21T00:03:38.796Z",
    }


@pytest.fixture(scope="module")
def transcript() -> bytes:
    pieces: list[bytes] = []
    size = 0
    for line in lines():
        pieces.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode())
        size += len(pieces[-1]) + 1
        if size > SIZE:
            return b"\n".join([*pieces, b""])
    raise AssertionError


@pytest.mark.benchmark(group=GROUP)
def test_json_of_each_line(benchmark: Any, transcript: bytes) -> None:
    benchmark(lambda: [json.loads(line) for line in transcript.splitlines()])


@pytest.mark.benchmark(group=GROUP)
def test_redact(benchmark: Any, transcript: bytes) -> None:
    benchmark(lambda: Redactor().redact_jsonl(transcript))
    benchmark.extra_info["MB/s"] = SIZE / 1e6 / benchmark.stats.stats.median


@pytest.mark.benchmark(group=GROUP)
def test_redact_where_one_line_in_ten_has_a_secret(benchmark: Any, transcript: bytes) -> None:
    rows = transcript.splitlines(keepends=True)
    secret = "".join(["gh", "p_", "0aB1" * 9]).encode()
    for n in range(0, len(rows), 10):
        rows[n] = rows[n].replace(b'"cwd":"', b'"cwd":"' + secret + b" ", 1)
    benchmark(lambda: Redactor().redact_jsonl(b"".join(rows)))


@pytest.mark.benchmark(group=GROUP)
def test_redact_with_a_rule_of_the_user(benchmark: Any, transcript: bytes) -> None:
    benchmark(lambda: Redactor(rules=["internal-[0-9]{6}"]).redact_jsonl(transcript))


@pytest.mark.benchmark(group=GROUP)
def test_redact_as_one_document(benchmark: Any, transcript: bytes) -> None:
    document = b"[" + b",".join(transcript.splitlines()) + b"]"
    benchmark(lambda: Redactor().redact_document(document))


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
