"""A team at work for eight weeks: links, prompts, speed and sizes are as they should be at the end.

SOAK=short takes a minute, any other value a quarter of an hour.  SEED repeats a run; SOAK_FROM
names a revision that is installed before the upgrade in the middle: its defects stay in the
history that all share.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.soak.figures import closing
from tests.soak.team import Team

SHORT = os.environ.get("SOAK") == "short"
DAYS, ACTIONS = (4, 2) if SHORT else (40, 9)
SEED = int(os.environ.get("SEED", "7"))


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    for name in ("AUTHOR", "COMMITTER"):
        for part in ("NAME", "EMAIL", "DATE"):
            monkeypatch.delenv(f"GIT_{name}_{part}")
    made = Team(tmp_path / "team", SEED, DAYS, ACTIONS)
    yield made
    made.close()


def test_eight_weeks_of_a_team_end_in_order(team: Team) -> None:
    print(f"\nwhat they do: {team.log}")
    team.work()
    figures = closing(team, timed=not SHORT)
    print(f"\nseed {SEED}, {DAYS} days\n" + "\n".join(figures.rows))
    assert not figures.broken, "\n".join(["", *figures.broken])
