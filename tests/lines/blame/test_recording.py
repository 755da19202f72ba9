"""When this clone recorded: <common>/gitcp/recording."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines.committed import recorded

NOW = 1_700_000_000
MAIL = "a@example.com"


def test_what_begins_and_ends_within_one_second_has_ended(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_AUTHOR_DATE", raising=False)
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", MAIL)
    monkeypatch.setattr(time, "time", lambda: NOW + 0.5)
    at = Repo.find()
    with Objects(at):
        recorded.begin_recording(at)
        recorded.end_recording(at)
    assert read_periods(repo) == [(NOW, NOW + 1)]
    with Objects(at):
        recorded.begin_recording(at)
    assert read_periods(repo) == [(NOW, NOW + 1), (NOW + 1, None)]


def read_periods(repo: Path) -> list[tuple[int, int | None]]:
    text = (repo / ".git/gitcp/recording").read_text()
    return line_authors.build_periods(line_authors.parse_lines(text))[MAIL]
