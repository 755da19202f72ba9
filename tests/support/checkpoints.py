"""Checkpoints for tests: data of the original program, and small ones of our own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from gitcp.checkpoints import transcripts
from gitcp.checkpoints.share import places
from gitcp.git.repo import Repo
from tests.support import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.checkpoints.writing import SessionData

DATA = paths.DATA / "entire"
V1 = "refs/heads/entire/checkpoints/v1"


def find_place(repo: Repo, name: str) -> SharedPlace:
    """The only place of a remote."""
    [place] = places.find_places(repo, name)
    return place


class Plain:
    """A redactor that knows one secret."""

    def line(self, data: bytes) -> bytes:
        return data.replace(b"hunter2", b"REDACTED")

    redact_jsonl = redact_document = redact_text = line


def git(*args: str, cwd: Path | str | None = None, stdin: str | None = None) -> str:
    done = subprocess.run(
        ["git", *args],
        cwd=cwd,
        input=stdin,
        check=True,
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    return done.stdout.strip()


def unbundle(name: str, at: Path, refs: str = "refs/*:refs/*") -> Repo:
    """A bare-headed repository with the refs of a bundle made by the original program."""
    git("init", "-q", "-b", "none", "--template=", str(at))
    git("fetch", "-q", str(DATA / f"{name}.bundle"), refs, cwd=at)
    return Repo.find(str(at))


def line(number: int, words: int = 3) -> bytes:
    """A line of a transcript, about six bytes a word."""
    content = " ".join(f"w{number % 1000:04d}" for _ in range(words))
    record = {"type": "assistant", "uuid": f"u{number}", "message": {"content": content}}
    return json.dumps(record).encode() + b"\n"


def keep(
    repo: Repo,
    session_id: str,
    path: Path,
    complete: bool = False,
    check: bool = False,
) -> transcripts.StoredTranscript:
    """transcript.stored, where there is something to store."""
    source = transcripts.LiveTranscript(session_id, str(path), Plain())
    found = transcripts.store_transcript(repo, source, complete, check)
    assert found is not None
    repo.objects.packs.flush()
    return found


def session(
    session_id: str, stored: transcripts.StoredTranscript | None = None, **metadata: object
) -> SessionData:
    """What a session says in a checkpoint."""
    defaults = {"strategy": "manual-commit", "branch": "main", "agent": "Claude Code"}
    return {
        "session_id": session_id,
        "transcript": stored,
        "prompts": [f"do it, {session_id}"],
        "metadata": {**defaults, "checkpoints_count": 1, **metadata},
    }


def tree(ref: str = V1, cwd: Path | str | None = None) -> dict[str, str]:
    """path -> oid of every file of a tree-ish."""
    lines = git("ls-tree", "-r", ref, cwd=cwd).splitlines()
    return {path: head.split()[2] for head, _, path in (line.partition("\t") for line in lines)}


def blob(spec: str, cwd: Path | str | None = None) -> bytes:
    return subprocess.run(
        ["git", "cat-file", "blob", spec], cwd=cwd, check=True, capture_output=True
    ).stdout


def size_of_objects(repo: Repo) -> int:
    """Bytes of all loose objects as they lie on the disk."""
    root = os.path.join(repo.common, "objects")
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(root) for f in fs)


def loosened(git_dir: Path) -> None:
    """Every object in a file of its own: nothing is packed."""
    aside = git_dir / "packs-aside"
    aside.mkdir()
    for file in sorted((git_dir / "objects/pack").iterdir()):
        shutil.move(file, aside / file.name)
    for pack in aside.glob("*.pack"):
        with pack.open("rb") as f:
            argv = ["git", "--git-dir", str(git_dir), "unpack-objects", "-q"]
            subprocess.run(argv, stdin=f, check=True)
    shutil.rmtree(aside)


def forget(git_dir: Path, oid: str) -> None:
    """Delete an object."""
    path = loose(git_dir, oid)
    if not path.exists():
        loosened(git_dir)
    path.unlink()


def loose(git_dir: Path, oid: str) -> Path:
    """The file of an object that is not packed."""
    return git_dir / "objects" / oid[:2] / oid[2:]
