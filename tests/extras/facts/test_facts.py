"""export-facts and facts: a dataset that grows by what is new, and what it answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitcp.extras.facts import dataset
from gitcp.extras.facts.tables import QUESTIONS, TABLES, VERSION
from tests.support.copies import plant
from tests.support.harness import World
from tests.support.paths import BIN, TOP
from tests.support.record_schema import list_faults
from tests.support.scenes import Scenes
from tests.support.warm import run

TEAMS = '[teams]\nshop = ["*@example.com"]\n'


def export(world: World, at: Path, *args: str) -> dict[str, Any]:
    done = run("export-facts", "--json", "-o", str(at), *args, cwd=world.path)
    assert done.returncode == 0, done.stderr
    assert not list(list_faults(done.stdout))
    return dict(json.loads(done.stdout))


def ask(at: Path, question: str) -> list[dict[str, Any]]:
    done = run("facts", "--json", "--in", str(at), question)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [{key: value for key, value in row.items() if key != "type"} for row in rows]


def count(at: Path, table: str) -> int:
    return int(ask(at, f"SELECT count(*) AS n FROM {table}")[0]["n"])


def make_history(world: World) -> World:
    """A session's two commits, one of them by a merge; then the person rewrites a line of them."""
    world.write(".gitcp.toml", TEAMS)
    world.commit(".gitcp.toml")
    agent = world.agent("s1", tools=True)
    agent.turn("write one", {"one.py": "1\n2\n3\n"})
    world.commit("one.py")
    world.git("switch", "-q", "-c", "topic")
    agent.turn("write two", {"two.py": "1\n"})
    world.commit("two.py")
    world.git("switch", "-q", "main")
    world.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    world.write("one.py", "1\nmine\n3\n")
    world.commit("one.py")
    return world


@pytest.fixture
def work(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(make_history, monkeypatch)


@pytest.mark.thorough
def test_the_tables_say_what_stats_says(work: World, tmp_path: Path) -> None:
    at = tmp_path / "facts"
    done = export(work, at)
    stats = json.loads(work.gitcp("stats", "--json", "--survival"))
    assert done["commits"] == stats["commits"] == count(at, "commits")
    (month,) = ask(at, "share-by-month")
    assert {who: month[who] for who in stats["added"]} == stats["added"]
    (session,) = ask(at, "SELECT session, sum(output_tokens) AS n FROM sessions GROUP BY session")
    assert session == {"session": "s1", "n": stats["tokens"]["output_tokens"]}
    lines = ask(at, "SELECT who, sum(lines) AS n FROM authored_lines GROUP BY who ORDER BY who")
    assert {row["who"]: row["n"] for row in lines} == {
        "person": stats["added"]["person"],
        "session": stats["added"]["agent"],
    }
    (lived,) = ask(at, "rework")
    assert (lived["lines"], lived["by_people"]) == (4, 1)
    (alive,) = ask(at, "survival")
    assert (alive["agent"], alive["lines"]) == ("Claude Code", stats["survival"]["added"])
    assert ask(at, "busiest-files")[0]["path"] == "one.py"
    assert [row["team"] for row in ask(at, "share-by-team")] == ["shop"]


def test_what_a_question_writes_beside_memory_is_in_the_temporary_directory_and_goes(
    work: World, tmp_path: Path
) -> None:
    export(work, tmp_path / "facts")
    (row,) = ask(tmp_path / "facts", "SELECT current_setting('temp_directory') AS at")
    assert Path(row["at"]).parent == Path(os.environ["TMPDIR"])
    assert not Path(row["at"]).exists()


def test_a_change_is_the_merge_that_brought_its_commits(work: World, tmp_path: Path) -> None:
    export(work, tmp_path / "facts")
    costs = {row["change"]: row for row in ask(tmp_path / "facts", "cost-by-change")}
    merge = work.git("rev-parse", "HEAD~1")
    assert set(costs) == {merge, work.git("rev-parse", "HEAD~2")}
    assert costs[merge]["sessions"] == 1 and costs[merge]["output_tokens"] > 0


@pytest.mark.thorough
def test_turns_and_calls_are_told_without_their_words_unless_text_is_asked_for(
    work: World, tmp_path: Path
) -> None:
    export(work, tmp_path / "a")
    export(work, tmp_path / "b", "--text")
    columns = "number, calls, prompt_length, prompt FROM turns ORDER BY time, number"
    first = {"number": 1, "calls": 1, "prompt_length": 9, "prompt": None}
    assert ask(tmp_path / "a", f"SELECT {columns}")[0] == first
    assert ask(tmp_path / "b", f"SELECT {columns}")[0] == {**first, "prompt": "write one"}
    calls = ask(tmp_path / "a", "SELECT number, tool, failed FROM calls ORDER BY number")
    assert calls == [{"number": n, "tool": "Write", "failed": False} for n in (1, 2)]
    data = b"".join(path.read_bytes() for path in (tmp_path / "a").rglob("*.parquet"))
    assert b"write one" not in data


@pytest.mark.thorough
def test_an_export_adds_what_is_new_and_nothing_twice(work: World, tmp_path: Path) -> None:
    at = tmp_path / "facts"
    assert export(work, at, "HEAD~1")["commits"] > 0
    before = {path: path.read_bytes() for path in at.rglob("*.parquet")}
    assert export(work, at)["commits"] == 1
    assert export(work, at)["commits"] == 0
    assert {path: path.read_bytes() for path in before} == before
    fresh = tmp_path / "fresh"
    export(work, fresh)
    for table in TABLES:
        ordered = f"SELECT * FROM {table} ORDER BY ALL"
        assert ask(at, ordered) == ask(fresh, ordered), table


@pytest.mark.parametrize("moved", ["none", "some", "all"])
def test_an_export_killed_behind_its_list_is_whole_for_who_asks_and_for_the_next(
    work: World, tmp_path: Path, moved: str
) -> None:
    at = tmp_path / "facts"
    export(work, at, "--repository=a/b", "HEAD~1")
    lines = count(at, "authored_lines")
    files = sorted(path for path in at.rglob("*.parquet"))
    for path in {"none": files, "some": files[::2], "all": []}[moved]:
        place = at / "_writing" / "a%2Fb" / path.relative_to(at)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
    assert count(at, "authored_lines") == lines
    assert export(work, at, "--repository=a/b")["commits"] == 1
    assert len(files) < len([*at.glob("*/repository=a%2Fb/*/*.parquet")])
    assert not [*(at / "_writing").rglob("*.parquet")]


def test_an_export_killed_before_its_list_leaves_nothing(work: World, tmp_path: Path) -> None:
    at, other = tmp_path / "facts", tmp_path / "other"
    export(work, at, "HEAD~1")
    export(work, other, "--repository", str(work.path))
    for path in other.glob("*/*/*/*.parquet"):
        place = at / "_writing" / str(work.path).replace("/", "%2F") / path.relative_to(other)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    commits = count(at, "commits")
    assert export(work, at)["commits"] == 1
    assert count(at, "commits") == commits + 1
    assert not [*(at / "_writing").rglob("*.parquet")]


@pytest.mark.thorough
def test_two_exports_at_once_write_each_commit_once(work: World, tmp_path: Path) -> None:
    at = tmp_path / "facts"
    argv = [sys.executable, str(BIN / "gitcp-export-facts"), "-o", str(at)]
    both = [subprocess.Popen(argv, cwd=work.path, stdout=subprocess.DEVNULL) for _ in "ab"]
    assert [one.wait() for one in both] == [0, 0]
    total = int(work.git("rev-list", "--count", "HEAD"))
    assert count(at, "commits") == total
    assert len([*(at / "_batches").rglob("*.json")]) == 1


def test_rows_that_come_in_groups_and_with_few_files_open_are_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_MOST", 2)
    monkeypatch.setattr(dataset, "_OPEN", 1)
    months = ["2026-01", "2026-01", "2026-02", "2026-01", "2026-02", "2026-02", "2026-03"]
    made = [("x", month, f"{n:040}", n) for n, month in enumerate(months)]
    with dataset.Batch(str(tmp_path), "x") as batch:
        for lead in made:
            batch.add(lead, {"checkpoints": [("a", "main", 1), ("b", "main", 2)]})
        batch.finish(["tip"])
    columns = "repository, month, commit, time FROM checkpoints ORDER BY time, checkpoint"
    rows = [tuple(row.values()) for row in ask(tmp_path, f"SELECT {columns}")]
    assert rows == [lead for lead in made for _ in "ab"]


def test_a_light_export_has_sessions_and_no_lines(work: World, tmp_path: Path) -> None:
    done = export(work, tmp_path / "facts", "--light")
    assert done["rows"]["sessions"] == 2 and done["rows"]["turns"] == 2
    assert done["rows"]["files"] == done["rows"]["survival"] == 0
    assert ask(tmp_path / "facts", "SELECT max(added) AS n FROM commits") == [{"n": None}]


@pytest.mark.thorough
def test_every_question_is_answered_where_no_agent_was(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where a path is no UTF-8."""
    at = plant(template, tmp_path / "repo")
    world = World(at, tmp_path / "home")
    (at / "na\udcffme").write_text("1\n")
    world.commit()
    export(world, tmp_path / "facts", "--repository=it's")
    for name in QUESTIONS:
        ask(tmp_path / "facts", name)
    paths = ask(tmp_path / "facts", "SELECT path FROM files WHERE path LIKE 'na%'")
    assert paths == [{"path": "na\\xffme"}]
    done = run("facts", "--in", str(tmp_path / "facts"), "share-by-month")
    assert done.stdout.startswith("month    commits")


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["--in", "nowhere", "rework"], 128, "no dataset in 'nowhere'"),
        (["--in", "facts", "SELEC 1"], 128, "syntax error"),
        (["rework"], 129, "give a question and '--in <directory>'"),
        (["--list"], 0, "busiest-files"),
        (["--list", "--json"], 129, "error: --json: not allowed with argument --list"),
        (["--sql", "--json", "survival"], 129, "error: --json: not allowed with argument --sql"),
        (["--sql", "rework"], 0, "WITH sums AS"),
    ],
)
def test_what_cannot_be_answered_is_said(
    world: World, args: list[str], status: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.path)
    if "facts" in args:
        export(world, world.path / "facts")
    done = run("facts", *args)
    assert done.returncode == status and words in done.stdout + done.stderr, done


def test_a_dataset_of_another_version_is_neither_read_nor_written(
    world: World, tmp_path: Path
) -> None:
    at = tmp_path / "facts"
    export(world, at)
    (file,) = at.rglob("*.json")
    file.write_text(file.read_text().replace('"version": 1', '"version": 0'))
    for argv in (["export-facts", "-o", str(at)], ["facts", "--in", str(at), "rework"]):
        done = run(*argv, cwd=world.path)
        assert done.returncode == 128 and "has facts of version 0" in done.stderr, done


def test_the_schema_is_the_same_in_the_program_the_file_and_the_manual() -> None:
    file = json.loads((TOP / "share" / "gitcp" / "schema" / "facts.json").read_text())
    tables = {
        name: [tuple(column.values()) for column in columns]
        for name, columns in file["tables"].items()
    }
    assert (file["version"], tables) == (
        VERSION,
        {name: list(columns) for name, columns in TABLES.items()},
    )
    page = (TOP / "man" / "gitcp-facts.5").read_text()
    assert f"This is version {VERSION};" in page
    parts = re.split(r"^\.Ss (\w+)$", page.partition(".Sh FILES")[0], flags=re.M)
    written = {
        name: re.findall(r"^\.It Cm (\w+) Pq (\w+)\n(.*)$", part, re.M)
        for name, part in zip(["", *parts[1::2]], parts[::2], strict=True)
    }
    lead = written.pop("")
    assert {name: [*lead, *columns] for name, columns in written.items()} == tables
    questions = re.findall(r"^\.It Cm (\S+)\n(.*)$", (TOP / "man/gitcp-facts.1").read_text(), re.M)
    assert dict(questions) == {name: about for name, (about, _) in QUESTIONS.items()}
