"""list-sessions: all sessions, or one by a prefix of its id; listing changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import Error
from gitcp.record.turn import sessions
from gitcp.text.times import parse_time
from tests.support.checkpoints import DATA, git, unbundle
from tests.support.stages import bind_stage
from tests.support.story import ALPHA, BETA, GAMMA, Story, contents
from tests.support.warm import run

Json = dict[str, Any]


def listed(*argv: str) -> list[Json]:
    return list(bind_stage("list-sessions", argv)(()))


def only(*argv: str) -> Json:
    (found,) = listed(*argv)
    return found


def test_every_session_is_listed_the_last_started_first(story: Story) -> None:
    assert [r["session_id"] for r in listed()] == [BETA, GAMMA, ALPHA]


def test_a_session_has_the_fields_of_003(story: Story) -> None:
    found = only(f"--session={ALPHA}")
    assert found["type"] == "session"
    assert found["description"] == "Try something"
    assert found["strategy"] == "manual-commit"
    assert parse_time(found["started_at"]) > 1.7e9
    assert [c["time"] for c in found["checkpoints"]] == sorted(
        c["time"] for c in found["checkpoints"]
    )
    committed = [c for c in found["checkpoints"] if c["checkpoint_id"]]
    assert [c["checkpoint_id"] for c in committed] == [story.checkpoint]
    temporary = [c for c in found["checkpoints"] if not c["checkpoint_id"]]
    assert {c["message"] for c in temporary} == {
        "Try something",
        "carry forward: uncommitted session files",
        "Make it red",
    }


def test_a_session_has_its_state(story: Story) -> None:
    found = only("--session=2026-01-06")
    assert found["session_id"] == GAMMA
    assert found["phase"] == "ended"
    assert found["worktree_path"] == str(story.world.path.parent / "elsewhere")
    assert found["base_commit"] == story.plain
    assert found["files_touched"] == ["w.txt"]
    assert found["checkpoint_count"] == 1
    assert [s["ref"] for s in found["streams"]] == [found["shadow_ref"]]


def test_an_ambiguous_prefix_lists_the_candidates(story: Story) -> None:
    done = run("list-sessions", "--session=8f76")
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == f"fatal: ambiguous session '8f76': {ALPHA} {BETA}\n"


@pytest.mark.parametrize("name", ["", "zzz", "76b0e8", ALPHA + "x"])
def test_nobody_of_that_name_is_an_error(story: Story, name: str) -> None:
    with pytest.raises(Error, match="no such session"):
        listed(f"--session={name}")


def test_a_whole_id_is_meant_where_another_begins_with_it() -> None:
    assert sessions.pick_id("s1", ["s1", "s10", "s11"]) == "s1"


def test_only_those_of_this_worktree(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [r["session_id"] for r in listed("--worktree")] == [BETA, ALPHA]
    monkeypatch.chdir(story.world.path.parent / "elsewhere")
    assert [r["session_id"] for r in listed("--worktree")] == [GAMMA]


def test_only_those_that_are_stored_or_have_a_state(story: Story) -> None:
    assert [r["session_id"] for r in listed("--stored")] == [ALPHA]
    assert len(listed("--states")) == 3
    (found,) = listed("--states", f"--session={ALPHA}")
    assert not any(c["checkpoint_id"] for c in found["checkpoints"])


def test_sessions_that_only_the_store_knows_have_no_phase(repo: Path, tmp_path: Path) -> None:
    unbundle("v1-sample", tmp_path / "v1")
    done = run("list-sessions", cwd=tmp_path / "v1")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    args = "grep", "-h", "-o", '"session_id": .*"', "entire/checkpoints/v1"
    names = {line.split('"')[3] for line in git(*args, cwd=tmp_path / "v1").splitlines()}
    assert {r["session_id"] for r in found} == names
    assert len(found) == len(names) and not any("phase" in r for r in found)
    assert all(r["description"] and r["checkpoints"] for r in found)
    ids = {c["checkpoint_id"] for r in found for c in r["checkpoints"]}
    lines = (DATA / "v1-sample.tsv").read_text().splitlines()[1:]
    assert ids == {line.split("\t")[0] for line in lines}
    twice = next(r for r in found if r["session_id"].startswith("2026-01-28-cc432c40"))
    assert [c["checkpoint_id"] for c in twice["checkpoints"]] == ["bde5096363d6"]


@pytest.mark.parametrize(
    ("spelling", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T11:00:10+11:00", 10),
        ("1970-01-01T00:00:10.535264372Z", 10.535264),
        ("yesterday", 0),
        ("", 0),
        (None, 0),
        ("0001-01-01T00:00:00Z", -62135596800),
    ],
)
def test_times_in_every_spelling_are_read(spelling: object, seconds: float) -> None:
    assert parse_time(spelling) == seconds


@pytest.mark.parametrize("data", ["", "[]", "{", '{"session_id": 3}', "\0" * 40])
def test_a_state_that_cannot_be_read_is_listed_and_left_where_it_is(repo: Path, data: str) -> None:
    folder = repo / ".git" / "entire-sessions"
    folder.mkdir()
    (folder / "s1.json").write_text(data)
    before = contents(repo)
    found = only()
    assert found["session_id"] == "s1" and found["unreadable"]
    assert contents(repo) == before


def test_strange_types_in_a_state_are_no_crash(repo: Path) -> None:
    folder = repo / ".git" / "entire-sessions"
    folder.mkdir()
    strange = {"session_id": "s1", "streams": [3, {"id": 1}], "turns": [], "first_prompt": None}
    (folder / "s1.json").write_text(json.dumps({**strange, "phase": 7, "started_at": {}}))
    assert (only()["phase"], bool(only()["unreadable"])) == ("", True)
    for command in ("status", "show"):
        done = run(command, *(["s1"] if command == "show" else []))
        assert done.returncode == 0, done.stderr


def test_in_a_bare_repository_sessions_are_listed(tmp_path: Path, repo: Path) -> None:
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare"))
    done = run("list-sessions", cwd=tmp_path / "bare")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_two_filters_at_once_are_misuse(repo: Path) -> None:
    assert run("list-sessions", "--states", "--stored").returncode == 129
