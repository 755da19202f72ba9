"""A history of linked commits, each with its checkpoint, generated once by `git fast-import`."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.repos import CACHE, git
from gitcp import VERSION
from gitcp.agents import transcripts
from gitcp.checkpoints import format

V1 = "refs/heads/entire/checkpoints/v1"
START, STEP = 1_700_000_000, 600  # seconds: of the first commit, from one to the next
FILES, LINES, SESSION = 400, 12, 20  # files; lines a commit changes; commits a session made
LINKED = 10  # of a long history, one commit in so many


def linked(commits: int, files: int = FILES, every: int = 1, step: int = STEP) -> Path:
    """A bare repository in which so many commits, a step of seconds apart, change a dozen lines
    each; of `every` so many the last is linked."""
    sparse = "" if (every, step) == (1, STEP) else f"-{every}-{step}"
    path = CACHE / f"checkpoints-{commits}-{files}{sparse}"
    if not (path / "made").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", "main", "--template=", ".")
        import_stream(path, _stream(commits, files, every, step))
    return path


def long(commits: int) -> Path:
    """A bare repository of so many commits of one tree; each LINKED-th has a trailer."""
    path = CACHE / f"long-{commits}"
    if not (path / "made").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", "main", "--template=", ".")
        import_stream(path, (commit("refs/heads/main", n, _words(n)) for n in range(commits)))
    return path


def _words(n: int) -> str:
    body = f"Change {n}\n\nWhat was not as it should be, and why it is now.\n"
    return body if n % LINKED else f"{body}\nEntire-Checkpoint: {checkpoint_id(n)}\n"


def checkpoint_id(n: int) -> str:
    """The checkpoint that the nth commit names."""
    return hashlib.sha256(b"%d" % n).hexdigest()[:12]


def import_stream(path: Path, stream: Iterable[bytes]) -> None:
    """Feed git piece by piece: all of it would not fit into memory."""
    argv = ["git", "fast-import", "--quiet"]
    with subprocess.Popen(argv, cwd=path, stdin=subprocess.PIPE) as importing:
        assert importing.stdin
        importing.stdin.writelines(stream)
    assert importing.returncode == 0
    (path / "made").touch()


def _stream(commits: int, files: int, every: int, step: int) -> Iterator[bytes]:
    chance = random.Random(1)
    contents: dict[str, list[str]] = {}
    for n in range(commits):
        path = f"dir{n % files // 20:02}/file{n % files:03}.py"
        lines = contents.setdefault(path, [])
        at = chance.randint(0, len(lines))
        mine = [f"line {n} {k} {chance.random()}" for k in range(LINES)]
        lines[at : at + (LINES // 3 if len(lines) > 200 else 2)] = mine
        data = "".join(f"{line}\n" for line in lines).encode()
        checkpoint, is_linked = checkpoint_id(n), n % every == every - 1
        trailer = f"\nEntire-Checkpoint: {checkpoint}\n" if is_linked else ""
        yield commit("refs/heads/main", n, f"Change {n}\n{trailer}", step) + file(path, data)
        if not is_linked:
            continue
        store = f"Checkpoint: {checkpoint}\n\nEntire-Session: {session_id(n)}\n"
        yield commit(V1, n, store, step)
        at_checkpoint = f"{checkpoint[:2]}/{checkpoint[2:]}"
        for name, content in build_checkpoint(n, checkpoint, path, data, at + 1).items():
            yield file(f"{at_checkpoint}/{name}", content)


def commit(ref: str, n: int, message: str, step: int = STEP) -> bytes:
    text, when = message.encode(), START + n * step
    head = f"commit {ref}\ncommitter A U Thor <a@example.com> {when} +0000\ndata {len(text)}\n"
    return head.encode() + text


def file(path: str, data: bytes) -> bytes:
    return f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def build_checkpoint(
    n: int, checkpoint: str, path: str, data: bytes, first: int, more: bytes = b""
) -> dict[str, bytes]:
    """The files of a checkpoint, below its directory, as condensing a session writes them; more:
    lines at the end of the transcript."""
    turn, tool, asked = checkpoint_id(-n), f"toolu_{n}", f"Please do change {n}"
    oid = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    lines = {path: [{"oid": oid, "ranges": [[first, first + LINES - 1, turn, tool]]}]}
    told = [f"Please do change {m}" for m in range(n - n % SESSION, n + 1)]
    transcript = b"\n".join(_said(m) for m in range(n - n % SESSION, n + 1)) + b"\n" + more
    files = {
        format.LINES: format.dump_json(lines),
        format.METADATA: format.dump_json(_metadata(n, checkpoint, path, oid)),
        format.PROMPT: format.SEPARATOR.join(told).encode(),
        format.CONTEXT: f"# Session Context\n\n## User Prompts\n\n{asked}\n".encode(),
        format.HASH: b"sha256:" + hashlib.sha256(transcript).hexdigest().encode(),
        transcripts.NAME: transcript,
    }
    session = format.parse_json(files[format.METADATA]), files
    root = format.dump_json(format.summarize(checkpoint, None, [session]))
    return {format.METADATA: root, **{f"0/{name}": content for name, content in files.items()}}


def _metadata(n: int, checkpoint: str, path: str, oid: str) -> format.Metadata:
    """What is kept of the session that wrote a file, at its checkpoint."""
    session, turn, asked = session_id(n), checkpoint_id(-n), f"Please do change {n}"
    none = {"others": 0, "person": 0, "unknown": 0}
    of_file = {"oid": oid, "mode": "100644", "turn_id": turn, "prompt": asked, "turns": [turn]}
    return {
        "cli_version": VERSION,
        "checkpoint_id": checkpoint,
        "session_id": session,
        "strategy": "manual-commit",
        "created_at": "2023-11-14T22:13:20.857957Z",
        "branch": "main",
        "checkpoints_count": 1,
        "files_touched": [path],
        "agent": "Claude Code",
        "model": "claude-opus-4",
        "turn_id": turn,
        "checkpoint_transcript_start": n % SESSION,
        "transcript_path": f"/home/user/.claude/projects/-home-user-work/{session}.jsonl",
        "files": {path: of_file},
        "turns": {turn: {"number": n % SESSION + 1, "prompt": asked}},
        "tools": {f"toolu_{n}": {"model": "claude-opus-4", "agent": ""}},
        "token_usage_delta": {"input_tokens": 5, "output_tokens": 70, "api_call_count": 2},
        "initial_attribution": {
            "calculated_at": "2023-11-14T22:13:20.858131Z",
            "agent_lines": LINES,
            "total_committed": LINES,
            "agent_percentage": 100.0,
            "lines_added": {"agent": LINES, **none},
            "lines_removed": {"agent": 0, **none},
        },
    }


def session_id(n: int) -> str:
    """The session that wrote the nth commit."""
    return f"{n // SESSION:08x}-1111-4222-8333-444444444444"


def _said(n: int) -> bytes:
    message = {"role": "user", "content": f"Please do change {n}"}
    return json.dumps({"type": "user", "sessionId": session_id(n), "message": message}).encode()
