"""match-commit, write-trailer, check-message, condense, carry-forward, finalize, relink as
commands: each stage by itself, on standard input."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gitcp import record
from gitcp.cmd import (
    carry_forward,
    check_message,
    condense,
    finalize,
    match_commit,
    relink,
    write_trailer,
)
from gitcp.errors import Error, UsageError
from tests.support.checkpoints import git

Json = dict[str, Any]
Stage = Callable[[Iterable[Json]], Iterable[Json]]
ID, OTHER = "0123456789ab", "ba9876543210"
STAGES = [match_commit, write_trailer, check_message, condense, carry_forward, finalize]


def through(stage: Stage, *records: Json) -> list[Json]:
    return list(stage(iter(records)))


@pytest.mark.parametrize("module", [*STAGES, relink], ids=lambda m: m.__name__)
@pytest.mark.parametrize(
    "given", [{"type": "blob"}, {"type": "new"}, {"type": "event", "event": "x"}]
)
def test_what_is_not_for_a_stage_passes_through(module: Any, given: Json, repo: Path) -> None:
    assert through(module.bind([]), given) == [given]


@pytest.mark.parametrize("module", STAGES, ids=lambda m: m.__name__)
def test_a_stage_takes_no_unknown_option(module: Any) -> None:
    with pytest.raises(UsageError, match="--nonsense"):
        module.bind(["--nonsense"])


def test_a_commit_without_sessions_matches_none(repo: Path) -> None:
    assert list(match_commit.bind(["HEAD"])(())) == []


def test_an_unknown_commit_is_an_error(repo: Path) -> None:
    with pytest.raises(Error, match="nonsense"):
        list(match_commit.bind(["nonsense"])(()))


def test_a_commit_by_nobody_changes_nothing(repo: Path) -> None:
    before = git("for-each-ref")
    event = {"type": "event", "event": "post-commit", "args": [], "stdin": []}
    records: Iterable[Json] = [event]
    for module in (match_commit, condense, carry_forward):
        records = list(module.bind([])(iter(records)))
    [told] = records
    assert (told["type"], told["commit"], told["id"]) == ("match", git("rev-parse", "HEAD"), "")
    assert git("for-each-ref") == before


def test_prepare_names_no_id_where_no_session_is(repo: Path) -> None:
    (repo / "README.md").write_text("changed\n")
    git("add", ".")
    event = {"type": "event", "event": "prepare-commit-msg", "args": ["m", "message"]}
    [told] = through(match_commit.bind([]), event)
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
    assert through(write_trailer.bind([]), told) == [told]
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
    through(check_message.bind([]), {"type": "event", "event": "commit-msg", "args": ["m"]})
    assert Path("m").read_text().strip() == want.strip()


def test_an_unknown_session_has_nothing_to_finalize(repo: Path) -> None:
    event = {"type": "event", "event": "turn-end", "session_id": "nobody"}
    assert through(finalize.bind([]), event) == [event]


def test_nothing_is_lost_where_nothing_was_linked(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("sys.argv", ["gitcp-relink", "--dry-run"])
    assert relink.main() == 0
    assert capfdbinary.readouterr().out == b""


def test_relink_in_a_pipe_reads_events(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    event = {"type": "event", "event": "post-rewrite", "args": ["amend"], "stdin": []}
    monkeypatch.setattr("sys.argv", ["gitcp-relink", "--hook"])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
    assert relink.main() == 0
    assert list(record.read(io.BytesIO(capfdbinary.readouterr().out))) == [event]
