"""facts-spark without Spark: the repositories that a list names, and what a task does of one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from gitcp import memory
from gitcp.errors import Error
from gitcp.extras.facts import dataset
from gitcp.git import Git, allow_fetch
from tests.support.harness import World

ROWS = {"repository": ["a", "b", "a"], "checkpoints": ["", "c", ""]}
SOURCES = [("a", ""), ("b", "c")]


def write(at: Path, columns: dict[str, list[str]]) -> str:
    """A list of that name; with the columns where it is a table."""
    if at.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), at)
    elif at.suffix == ".csv":
        pyarrow.csv.write_csv(pyarrow.table(columns), at)
    else:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        lines = ["# all", "a", "", "b\tc", "a"]
        at.write_text("\n".join(map(json.dumps, rows) if at.suffix == ".json" else lines) + "\n")
    return str(at)


@pytest.mark.parametrize("name", ["list.txt", "list.parquet", "list.csv", "list.json"])
def test_a_list_names_each_repository_once(tmp_path: Path, name: str) -> None:
    assert dataset.read_sources(write(tmp_path / name, ROWS)) == SOURCES


@pytest.mark.parametrize("name", ["list.parquet", "list.csv", "list.json"])
def test_a_table_needs_no_more_than_repositories(tmp_path: Path, name: str) -> None:
    place = write(tmp_path / name, {"repository": ["a", "b"]})
    assert dataset.read_sources(place) == [("a", ""), ("b", "")]
    other = write(tmp_path / f"other-{name}", {"url": ["a"]})
    with pytest.raises(Error, match="is not a table with a column 'repository'"):
        dataset.read_sources(other)


@pytest.mark.parametrize("name", ["list.txt", "list.parquet"])
def test_a_list_that_is_not_there_is_an_error_of_the_system(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        dataset.read_sources(str(tmp_path / name))


@pytest.fixture
def forgetting() -> Iterator[None]:
    """What a task remembers is forgotten: that it may fetch, too."""
    yield
    memory.forget()


def test_a_light_task_clones_no_file_and_has_the_sessions(
    world: World, tmp_path: Path, forgetting: None
) -> None:
    world.agent("s1", tools=True).turn("write one", {"one.py": "1\n2\n"})
    world.commit("one.py")
    world.git("config", "uploadpack.allowFilter", "true")
    source, at = (world.path.as_uri(), ""), tmp_path / "clone"
    at.mkdir()
    allow_fetch()
    dataset._clone(Git(str(at), dict(os.environ)), source, light=True)
    missing = world.git("rev-list", "--objects", "--missing=print", "HEAD", cwd=at).splitlines()
    assert f"?{world.git('rev-parse', 'HEAD:one.py')}" in missing
    done = dataset.export_one(source, str(tmp_path / "facts"), light=True)
    assert (done["state"], done["commits"]) == (
        "exported",
        len(world.git("rev-list", "HEAD").split()),
    )
    tables = {
        name: len(files) for name, files in dataset.list_files(str(tmp_path / "facts")).items()
    }
    assert tables["sessions"] == 1 and tables["files"] == tables["survival"] == 0
    assert dataset.export_one(source, str(tmp_path / "facts"), light=True)["state"] == "same"
