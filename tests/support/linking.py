"""What a linked repository holds, read with git alone, and what must be true of it always."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.harness import V1, Agent, World

NOTES = "refs/notes/gitcp"
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


def ids(world: World, commit: str = "HEAD", cwd: Path | None = None) -> list[str]:
    """The ids that git itself reads as trailers of a commit."""
    form = f"--format=%(trailers:key={KEY},valueonly)"
    return world.git("log", "-1", form, commit, cwd=cwd).split()


def noted(world: World, commit: str = "HEAD") -> list[str]:
    """The ids in the note on a commit."""
    text = world.git("notes", f"--ref={NOTES}", "show", commit, ok=False)
    return [line.split(": ")[1] for line in text.splitlines() if line.startswith(KEY)]


def v1(world: World, ends: str = "") -> dict[str, bytes]:
    """Every file of the permanent store whose path ends so: path -> content; {} without one."""
    if not world.refs(V1):
        return {}
    names = world.git("ls-tree", "-r", "--name-only", V1).splitlines()
    names = [name for name in names if name.endswith(ends)]
    batch = "".join(f"{V1}:{name}\n" for name in names).encode()
    out = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=world.path, input=batch, capture_output=True, check=True
    ).stdout
    found = {}
    for name in names:
        head, _, out = out.partition(b"\n")
        size = int(head.split()[2])
        found[name], out = out[:size], out[size + 1 :]
    return found


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


def commits(world: World) -> list[str]:
    """All commits on the person's branches, newest first."""
    out = world.git("rev-list", "--exclude=entire/*", "--branches", "HEAD")
    return out.splitlines()


def stored(world: World) -> dict[str, set[str]]:
    """The ids of all checkpoints on v1 -> the sessions in each."""
    every: dict[str, set[str]] = {}
    for path, data in v1(world, "metadata.json").items():
        one = every.setdefault(path[:2] + path[3:13], set())
        if path.count("/") == 3:
            one.add(json.loads(data)["session_id"])
    return every


def sound(world: World, lost: bool = False) -> None:
    """What holds whatever happened: no trailer dangles, no checkpoint is without a commit
    (lost: the person threw one away), trailers stand where git would put them, v1 is true,
    states and markers agree."""
    kept = stored(world).keys()
    carried: set[str] = set()
    for commit in commits(world):
        mine = ids(world, commit)
        assert set(mine) <= kept, f"dangling: {mine} in {world.git('log', '-1', commit)}"
        carried |= {*mine, *noted(world, commit)}
        if mine:
            well_formed(world, commit, mine)
    assert lost or kept <= carried, f"no commit has {kept - carried}"
    true_store(world)
    for sid in world.open():
        assert world.state(sid), f"'{sid}' has a marker and no state"


def well_formed(world: World, commit: str, mine: Sequence[str]) -> None:
    """The message is what git interpret-trailers makes of it without our lines."""
    message = world.git("log", "-1", "--format=%B", commit).rstrip("\n") + "\n"
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


def true_store(world: World) -> None:
    """Summaries name what is there, hashes are of the bytes that are there."""
    files = v1(world)
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
            assert data.decode().removeprefix("sha256:") in digest, path


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
    found = []
    for commit in world.git("rev-list", f"{base}..{upto}").splitlines():
        mine = [" ".join(files(world, one)) for one in ids(world, commit)]
        found.append([*mine, *(f"({' '.join(files(world, i))})" for i in noted(world, commit))])
    return found


def files(world: World, checkpoint: str) -> list[str]:
    """files_touched of all sessions of a checkpoint."""
    root = v1(world).get(f"{checkpoint[:2]}/{checkpoint[2:]}/metadata.json", b"{}")
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
