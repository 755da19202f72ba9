"""write-committed: what it is given is checked, redacted, and then holds every promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import InputError
from gitcp.git.repo import Repo
from gitcp.setup.care import table
from tests.support.checkpoints import V1, git
from tests.support.stages import bind_stage

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
SESSION = {"type": "session", "session_id": "s1"}


def written(*records: dict[str, Any], args: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return list(bind_stage("write-committed", args)(records))


def test_the_example_of_the_page_holds_every_promise(repo: Path) -> None:
    written({**SESSION, "prompts": ["add a test"]})
    assert [f for f in table.check_store(Repo.find()) if f.severity == "error"] == []


def test_everything_is_redacted(repo: Path) -> None:
    told = {
        "prompts": [f"use {TOKEN}"],
        "transcript": json.dumps({"text": TOKEN}) + "\n",
        "metadata": {"summary": {"intent": f"log in with {TOKEN}"}, "mine": [TOKEN]},
        "branch": f"try-{TOKEN}",
    }
    written({**SESSION, **told}, args=("-m", f"with {TOKEN}"))
    assert TOKEN not in git("log", "-p", V1)
    found = table.check_store(Repo.find(), secrets=True)
    assert [f for f in found if f.finding.kind == "secret"] == []


@pytest.mark.parametrize(
    "fields",
    [
        {"checkpoints_count": "3"},
        {"files_touched": [1]},
        {"files_touched": "a"},
        {"metadata": {"created_at": "yesterday"}},
        {"metadata": {"token_usage": []}},
        {"metadata": [1]},
        {"agent": 5},
        {"turn_id": "--x"},
        {"transcript": 5},
        {"transcript_path": ["a"]},
        {"prompts": "a"},
        {"checkpoint_id": 7},
        {"checkpoint_id": "../../../aaaa"},
    ],
    ids=str,
)
def test_wrong_types_are_refused_and_nothing_is_written(repo: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        written(SESSION, {**SESSION, **fields})
    assert git("for-each-ref", V1) == ""
