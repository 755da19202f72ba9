"""When work was recorded, by what clones say; and whom a commit names as its maker."""

from __future__ import annotations

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.checkpoints.format.line_authors import BEGUN, ENDED, Recording

ME, YOU = "me@example.com", "you@example.com"


@pytest.mark.parametrize(
    ("events", "want"),
    [
        ([], {}),
        ([("a", BEGUN, 10, ME)], {ME: [(10, None)]}),
        ([("a", ENDED, 20, ME), ("a", BEGUN, 10, ME)], {ME: [(10, 20)]}),
        ([("a", ENDED, 20, ME)], {}),
        ([("a", BEGUN, 10, ME), ("a", BEGUN, 15, ME)], {ME: [(10, None)]}),
        ([("a", BEGUN, 10, ME), ("a", BEGUN, 15, YOU)], {ME: [(10, 15)], YOU: [(15, None)]}),
        (
            [("a", BEGUN, 10, ME), ("b", BEGUN, 12, ME), ("a", ENDED, 14, ME)],
            {ME: [(10, 14), (12, None)]},
        ),
        (
            [("a", BEGUN, 10, ME), ("a", ENDED, 20, ME), ("a", BEGUN, 20, YOU)],
            {ME: [(10, 20)], YOU: [(20, None)]},
        ),
    ],
)
def test_a_clone_records_from_a_line_that_says_so_to_the_next(
    events: list[tuple[str, str, int, str]], want: dict[str, list[tuple[int, int | None]]]
) -> None:
    assert line_authors.build_periods([Recording(*event) for event in events]) == want


@pytest.mark.parametrize(
    ("mail", "seconds", "want"),
    [(ME, 9, False), (ME, 10, True), (ME, 20, True), (ME, 21, False), (YOU, 15, False)],
)
def test_a_moment_is_recorded_within_a_period_of_its_mail(
    mail: str, seconds: int, want: bool
) -> None:
    assert line_authors.covers_range({ME: [(10, 20)]}, mail, seconds) is want


def test_a_line_is_read_as_it_is_written_and_others_are_passed_over() -> None:
    line = Recording("a1b2", BEGUN, 10, ME)
    text = line_authors.format_line(line) + "Entire-Checkpoint: a1b2c3d4e5f6\nodd\n"
    assert line_authors.parse_lines(text) == [line]
    assert line_authors.parse_lines(f"{line_authors.KEY}: a1b2 begun {'9' * 20} {ME}") == []


ANYBODY = "A <a@example.com>"


@pytest.mark.parametrize(
    ("author", "trailer", "agent"),
    [
        (ANYBODY, "Co-Authored-By: Claude Opus <noreply@anthropic.com>", "Claude Code"),
        (ANYBODY, "co-authored-by: Cursor Agent <cursoragent@cursor.com>", "Cursor"),
        (ANYBODY, "Co-authored-by: B <b@example.com>", ""),
        (ANYBODY, "Thanks to Claude <noreply@anthropic.com>", ""),
        ("Claude Martin <claude@example.com>", "", ""),
        ("copilot-swe-agent[bot] <198+Copilot@users.noreply.github.com>", "", "Copilot CLI"),
        ("aider (gpt) <a@example.com>", "", "aider"),
    ],
)
def test_an_agent_is_attested_by_the_author_or_a_trailer(
    author: str, trailer: str, agent: str
) -> None:
    assert line_authors.find_attested_agent(author, f"fix\n\n{trailer}\n".encode()) == agent
