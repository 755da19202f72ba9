"""gitcp.images: pictures of a transcript are kept in it, dropped, or kept apart."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest

from gitcp.checkpoints.redact.images import DOT, MARK
from tests.support.harness import Agent, World

PICTURE = base64.b64encode(bytes(range(256)) * 40).decode()


def show(world: World, agent: Agent, way: str) -> bytes:
    """A turn with a picture, committed; the transcript that is stored of it."""
    world.git("config", "gitcp.images", way)
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    agent.prompt("look at this")
    agent.say(
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "image", "source": source}]},
        }
    )
    agent.write(f"{way}.py", "seen\n")
    agent.stop()
    (checkpoint,) = world.commit(f"{way}.py")
    place = f"entire/checkpoints/v1:{checkpoint[:2]}/{checkpoint[2:]}/0/full.jsonl"
    return world.git("show", place).encode()


def resumed(world: World, agent: Agent) -> str:
    shutil.rmtree(agent.transcript.parent)
    world.gitcp("resume", agent.sid)
    (path,) = (world.home / ".claude").rglob(f"{agent.sid}.jsonl")
    return Path(path).read_text()


def test_a_picture_stays_in_the_transcript_or_is_a_dot(world: World, a: Agent, b: Agent) -> None:
    assert PICTURE.encode() in show(world, a, "keep")
    stored = show(world, b, "drop")
    assert PICTURE.encode() not in stored and DOT.body in stored
    assert DOT.body.decode() in resumed(world, b)


@pytest.mark.parametrize("gone", [False, True])
def test_a_picture_that_is_kept_apart_comes_back_until_it_is_forgotten(
    world: World, a: Agent, gone: bool
) -> None:
    stored, folder = show(world, a, "apart"), world.path / ".git/gitcp/images"
    assert PICTURE.encode() not in stored and MARK in stored and len(stored) < 4000
    (picture,) = folder.iterdir()
    assert (picture.read_text(), picture.stat().st_mode & 0o777) == (PICTURE, 0o600)
    if gone:
        picture.unlink()
    assert (DOT.body.decode() if gone else PICTURE) in resumed(world, a)
    a.end()
    world.gitcp("forget", "--yes", a.sid)
    assert not list(folder.iterdir())
