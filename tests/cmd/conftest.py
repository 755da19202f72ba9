"""The story that reading commands tell, happened once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.harness import World, enabled
from tests.support.sealed import environment
from tests.support.story import Story, contents, tell


@pytest.fixture(scope="session")
def _story(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    at = tmp_path_factory.mktemp("story").resolve()
    with environment(HOME=str(at)):
        world = World(enabled(template, at / "repo"), at / "home")
        told = tell(world)
        world.gitcp("status")  # notes which conversations rest, once
        yield told
        world.close()


@pytest.fixture
def story(_story: Story, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    """The story, its main worktree the current directory; a test that changes it fails."""
    monkeypatch.chdir(_story.world.path)
    monkeypatch.setenv("HOME", str(_story.world.path.parent))
    before = contents(_story.world.path)
    yield _story
    assert contents(_story.world.path) == before


# A real editor takes minutes to install: `make test-vscode` does it.
_BUILD = Path(__file__).resolve().parents[2] / "build"
_HAS_EDITOR = (_BUILD / "code-server" / "versions").exists() and (_BUILD / "vscode").exists()
collect_ignore = [] if _HAS_EDITOR else ["test_vscode.py"]
