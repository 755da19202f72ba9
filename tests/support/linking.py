"""What a linked repository holds, read with git alone, and what must be true of it always."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitcp.checkpoints.transcripts import hash_chunks
from tests.support import gits
from tests.support.harness import V1, Agent, World

NOTES = "refs/notes/gitcp"
BARE = gits.SILENT
KEY = "Entire-Checkpoint"
# The files of one session of a checkpoint, below its number.
FILES = (
    "content_hash.txt",
    "context.md",
    "full.jsonl",
    "lines.json",
    "metadata.json",
    "prompt.txt",
)


class Logged(NamedTuple):
    """A commit as `git log` has it: its name, the ids that git reads as trailers, its message."""

    oid: str
    ids: list[str]
    message: str


def logged(world: World, *revisions: str, cwd: Path | None = None) -> list[Logged]:
    """The commits of a range, newest first."""
    trailers = f"%(trailers:key={KEY},valueonly,separator=%x20)"
    out = world.git("log", "-z", f"--format=%H%n{trailers}%n%B", *revisions, cwd=cwd)
    parts = [one.split("\n", 2) for one in out.split("\0") if one]
    return [Logged(oid, ids.split(), message) for oid, ids, message in parts]


def ids(world: World, commit: str = "HEAD", cwd: Path | None = None) -> list[str]:
    """The ids that git itself reads as trailers of a commit."""
    return logged(world, "-1", commit, cwd=cwd)[0].ids


def noted(world: World, commit: str = "HEAD") -> list[str]:
    """The ids in the note on a commit."""
    oid = world.object(f"{commit}^{{commit}}").oid
    for path in (oid, f"{oid[:2]}/{oid[2:]}"):  # as git spreads them when they are many
        if note := world.reader().read(f"{NOTES}:{path}"):
            lines = note.data.decode().splitlines()
            return [line.split(": ")[1] for line in lines if line.startswith(KEY)]
    return []


def v1(world: World, ends: str = "") -> dict[str, bytes]:
    """Every file of the permanent store whose path ends so: path -> content; {} without one."""
    return {path: data for path, data in world.reader().files(V1) if path.endswith(ends)}


def paths(*checkpoints: str, sessions: int = 1) -> list[str]:
    """The paths that these checkpoints have on v1, each with so many sessions and no tasks."""
    found = []
    for one in checkpoints:
        at = f"{one[:2]}/{one[2:]}"
        found.append(f"{at}/metadata.json")
        found += [f"{at}/{n}/{name}" for n in range(sessions) for name in FILES]
    return sorted(found)


def sessions(world: World, checkpoint: str) -> dict[str, dict[str, Any]]:
    """session id -> its metadata, of a checkpoint on v1."""
    return world.committed(checkpoint)


def touched(world: World, checkpoint: str, sid: str) -> list[str]:
    """files_touched of a session in a checkpoint."""
    return list(sessions(world, checkpoint)[sid]["files_touched"])


def commits(world: World) -> list[Logged]:
    """All commits on the person's branches, newest first."""
    return logged(world, "--exclude=entire/*", "--branches", "HEAD")


def stored(world: World) -> dict[str, set[str]]:
    """The ids of all checkpoints on v1 -> the sessions in each."""
    return sessions_of(v1(world, "metadata.json"))


def sessions_of(files: Mapping[str, bytes]) -> dict[str, set[str]]:
    """As stored(), of the files of v1."""
    every: dict[str, set[str]] = {}
    for path, data in files.items():
        if not path.endswith("metadata.json"):
            continue
        one = every.setdefault(path[:2] + path[3:13], set())
        if path.count("/") == 3:
            one.add(json.loads(data)["session_id"])
    return every


def sound(world: World, lost: bool = False) -> None:
    """What holds whatever happened: no trailer dangles, no checkpoint is without a commit
    (lost: the person threw one away), trailers stand where git would put them, v1 is true,
    states and markers agree."""
    files = v1(world)
    kept = sessions_of(files).keys()
    carried: set[str] = set()
    for commit in commits(world):
        assert set(commit.ids) <= kept, f"dangling: {commit}"
        carried |= {*commit.ids, *noted(world, commit.oid)}
        if commit.ids:
            well_formed(world, commit)
    assert lost or kept <= carried, f"no commit has {kept - carried}"
    true_store(files)
    for sid in world.open():
        assert world.state(sid), f"'{sid}' has a marker and no state"


def well_formed(world: World, commit: Logged) -> None:
    """The message is what git interpret-trailers makes of it without our lines."""
    message, mine = commit.message.rstrip("\n") + "\n", commit.ids
    bare = "".join(
        line for line in message.splitlines(True) if not any(f"{KEY}: {i}" in line for i in mine)
    )
    bare = bare.rstrip("\n") + "\n"
    args = [a for i in mine for a in ("--trailer", f"{KEY}: {i}")]
    made = subprocess.run(
        ["git", "interpret-trailers", "--no-divider", "--if-exists=addIfDifferent", *args],
        input=bare.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=True,
        cwd=world.home if world.home.exists() else world.path,
    ).stdout
    # Ids that were there before may be followed by others; git appends.
    assert sorted(made.splitlines()) == sorted(message.encode().splitlines()), message
    assert message.split("\n\n")[-1].count(KEY) == len(mine), message


def true_store(files: Mapping[str, bytes]) -> None:
    """Summaries name what is there, hashes are of the bytes that are there."""
    for path, data in files.items():
        if path.count("/") == 2 and path.endswith("metadata.json"):
            root, at = json.loads(data), path.removesuffix("metadata.json")
            for number, one in enumerate(root["sessions"]):
                assert one["metadata"] == f"/{at}{number}/metadata.json"
        if path.endswith("content_hash.txt"):
            at = path.removesuffix("content_hash.txt") + "full.jsonl"
            joined = b"\n".join(
                part.removesuffix(b"\n") for name, part in sorted(files.items()) if at in name
            )
            digest = hashlib.sha256(files[at]).hexdigest(), hashlib.sha256(joined).hexdigest()
            if data.startswith(b"chunks:"):
                chunks = [part for name, part in sorted(files.items()) if at in name]
                assert data.decode() == hash_chunks(list(map(hash_blob, chunks))), path
                continue
            assert data.decode().removeprefix("sha256:") in digest, path


def hash_blob(data: bytes) -> str:
    """git's name of a blob, with SHA-1."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def settled(world: World, agent: Agent) -> None:
    """A session that nothing is left of: no stream, no marker, no file."""
    state = agent.state
    assert state["streams"] == [] and "files_touched" not in state
    assert state["checkpoint_count"] == 0
    assert state["base_commit"] == world.head
    assert agent.sid not in world.open()


def editor(world: World, script: str) -> str:
    """An editor that runs a shell script on the file "$1"; goes into GIT_EDITOR."""
    path = world.home / f"editor-{len(list(world.home.glob('editor-*')))}"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def types(world: World, text: str) -> str:
    """An editor that puts text above what is in the file."""
    quoted = text.replace("'", "'\\''")
    return editor(world, f'printf \'%s\' \'{quoted}\' | cat - "$1" >"$1.new" && mv "$1.new" "$1"')


def own(agent: Agent, *args: str, cwd: Path | None = None, ok: bool = True) -> str:
    """git, run by the agent itself: its environment names the session."""
    world, before = agent.world, dict(agent.world.env)
    world.env |= {"CLAUDE_CODE_SESSION_ID": agent.sid, "CLAUDE_PID": str(agent.pid)}
    try:
        return world.git(*args, cwd=cwd or agent.cwd, ok=ok)
    finally:
        world.env.clear()
        world.env.update(before)


def here(agent: Agent) -> None:
    """From now on the agent is this very process, above every git that the test runs."""
    agent.pid = os.getpid()


def answers(world: World, text: str, *args: str) -> None:
    """git in a conversation, such as add -p, with what the person types."""
    subprocess.run(
        ["git", *args],
        cwd=world.path,
        env={**os.environ, **world.env},
        input=text.encode(),
        capture_output=True,
        check=True,
    )


def moved(at: Path, world: World) -> None:
    """A copied repository tells its new path wherever it told the old one."""
    old = json.loads(next((at / ".git" / "entire-sessions").iterdir()).read_text())
    root = old["worktree_path"]
    for folder in ("entire-sessions", "gitcp/open"):
        for path in (at / ".git" / folder).iterdir():
            path.write_text(path.read_text().replace(root, str(at)))


def linked(world: World, base: str, upto: str = "HEAD") -> list[list[str]]:
    """Of each commit since base, newest first: the files of each checkpoint it carries, in
    round brackets where a note carries it."""
    there = v1(world, "/metadata.json")
    found = []
    for commit in logged(world, f"{base}..{upto}"):
        mine = [" ".join(touched_by(there, one)) for one in commit.ids]
        by_note = [f"({' '.join(touched_by(there, one))})" for one in noted(world, commit.oid)]
        found.append([*mine, *by_note])
    return found


def files(world: World, checkpoint: str) -> list[str]:
    """files_touched of all sessions of a checkpoint."""
    return touched_by(v1(world, "/metadata.json"), checkpoint)


def touched_by(there: Mapping[str, bytes], checkpoint: str) -> list[str]:
    """As files(), of the files of v1."""
    root = there.get(f"{checkpoint[:2]}/{checkpoint[2:]}/metadata.json", b"{}")
    return list(json.loads(root).get("files_touched", ["DANGLING"]))


def shell(world: World, script: str, cwd: Path | None = None) -> None:
    """The person types a script; each command must do."""
    done = subprocess.run(
        ["sh", "-ec", script],
        cwd=cwd or world.path,
        env={**os.environ, **world.env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert done.returncode == 0, done
    assert "warning: p" not in done.stderr, done.stderr
