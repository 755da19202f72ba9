"""match-commit, write-trailer, check-message, condense, carry-forward, finalize, relink as
commands: each stage by itself, on standard input."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gitcp.cmd.stages import run
from gitcp.errors import Error, UsageError
from gitcp.git.records import read_records
from tests.support.checkpoints import git
from tests.support.stages import bind_stage

Json = dict[str, Any]
Stage = Callable[[Iterable[Json]], Iterable[Json]]
ID, OTHER = "0123456789ab", "ba9876543210"
STAGES = "match-commit write-trailer check-message condense carry-forward finalize".split()


def through(stage: Stage, *records: Json) -> list[Json]:
    return list(stage(iter(records)))


@pytest.mark.parametrize("stage", [*STAGES, "relink"])
@pytest.mark.parametrize(
    "passing", [{"type": "blob"}, {"type": "new"}, {"type": "event", "event": "x"}]
)
def test_what_is_not_for_a_stage_passes_through(stage: str, passing: Json, repo: Path) -> None:
    assert through(bind_stage(stage, []), passing) == [passing]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_takes_no_unknown_option(stage: str) -> None:
    with pytest.raises(UsageError, match="--nonsense"):
        bind_stage(stage, ["--nonsense"])


def test_a_commit_without_sessions_matches_none(repo: Path) -> None:
    assert list(bind_stage("match-commit", ["HEAD"])(())) == []


def test_an_unknown_commit_is_an_error(repo: Path) -> None:
    with pytest.raises(Error, match="nonsense"):
        list(bind_stage("match-commit", ["nonsense"])(()))


def test_a_commit_by_nobody_changes_nothing(repo: Path) -> None:
    before = git("for-each-ref")
    event = {"type": "event", "event": "post-commit", "args": [], "stdin": []}
    records: Iterable[Json] = [event]
    for stage in ("match-commit", "condense", "carry-forward"):
        records = list(bind_stage(stage, [])(iter(records)))
    [told] = records
    assert (told["type"], told["commit"], told["id"]) == ("match", git("rev-parse", "HEAD"), "")
    assert git("for-each-ref") == before


def test_prepare_names_no_id_where_no_session_is(repo: Path) -> None:
    (repo / "README.md").write_text("changed\n")
    git("add", ".")
    event = {"type": "event", "event": "prepare-commit-msg", "args": ["m", "message"]}
    [told] = through(bind_stage("match-commit", []), event)
    assert (told["ids"], told["sessions"], told["args"]) == ([], {}, ["m", "message"])


@pytest.mark.parametrize(
    ("text", "ids", "gather", "want"),
    [
        pytest.param("subject\n", [ID], False, f"subject\n\nEntire-Checkpoint: {ID}\n", id="one"),
        pytest.param("a: b\n", [ID], False, f"a: b\n\nEntire-Checkpoint: {ID}\n", id="a colon"),
        pytest.param("subject\n", [], False, "subject\n", id="none"),
        pytest.param(
            f"subject\n\nEntire-Checkpoint: {ID}\n",
            [ID],
            False,
            f"subject\n\nEntire-Checkpoint: {ID}\n",
            id="known",
        ),
        pytest.param(
            f"one\n\nEntire-Checkpoint: {ID}\n\ntwo\n\nEntire-Checkpoint: {OTHER}\n",
            [],
            True,
            f"one\n\ntwo\n\nEntire-Checkpoint: {ID}\nEntire-Checkpoint: {OTHER}\n",
            id="gathered",
        ),
    ],
)
def test_the_line_is_written_into_the_file(
    repo: Path, text: str, ids: list[str], gather: bool, want: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_EDITOR", ":")
    Path("m").write_text(text)
    told = {"type": "match", "args": ["m"], "ids": ids, "gather": gather, "sessions": {}}
    assert through(bind_stage("write-trailer", []), told) == [told]
    assert Path("m").read_text() == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (f"\n\nEntire-Checkpoint: {ID}\n", ""),
        (f"subject\n\nEntire-Checkpoint: {ID}\n", f"subject\n\nEntire-Checkpoint: {ID}\n"),
        ("subject\n", "subject\n"),
        ("", ""),
    ],
)
def test_a_message_of_nothing_but_the_line_is_emptied(repo: Path, text: str, want: str) -> None:
    Path("m").write_text(text)
    through(
        bind_stage("check-message", []), {"type": "event", "event": "commit-msg", "args": ["m"]}
    )
    assert Path("m").read_text().strip() == want.strip()


def test_an_unknown_session_has_nothing_to_finalize(repo: Path) -> None:
    event = {"type": "event", "event": "turn-end", "session_id": "nobody"}
    assert through(bind_stage("finalize", []), event) == [event]


def test_nothing_is_lost_where_nothing_was_linked(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("relink", ["--dry-run"]) == 0
    assert capfdbinary.readouterr().out == b""


def test_relink_in_a_pipe_reads_events(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    event = {"type": "event", "event": "post-rewrite", "args": ["amend"], "stdin": []}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
    assert run("relink", ["--hook"]) == 0
    assert list(read_records(io.BytesIO(capfdbinary.readouterr().out))) == [event]
