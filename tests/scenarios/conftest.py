"""The world of a scenario: made once with gitcp enabled, copied for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SEALED
from tests.harness import World, enabled


@pytest.fixture(scope="session")
def ground(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with gitcp enabled."""
    at = tmp_path_factory.mktemp("ground")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SEALED, "HOME": str(at)}.items():
            patch.setenv(name, value)
        return enabled(template, at / "repo")


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    """A repository with gitcp enabled, two commits, nothing changed."""
    path = Path(shutil.copytree(ground, tmp_path / "repo"))
    made = World(path, tmp_path / "home")
    yield made
    made.close()
