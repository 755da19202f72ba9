"""The parts of a commit message file: which line begins a comment, where git's own stand."""

from __future__ import annotations

import pytest

from gitcp.git.commit_message import choose_comment_char, find_own_block, split_lines
from tests.git.rules.test_trailers import BELOW, EDITOR


@pytest.mark.parametrize(
    ("message", "configured", "want"),
    [
        (b"subject\n", None, b"#"),
        (b"subject\n", ";", b";"),
        (b"subject\n", "auto", b"#"),
        (b"#12 fix\n\n; Please enter\n; x\n", "auto", b";"),
        (b"#12\n\n" + BELOW.replace(b"# ", b"! ") + b"diff\n", "auto", b"!"),
        (b"subject\n\n- a list\n", "auto", b"#"),
        (b"", "auto", b"#"),
    ],
)
def test_the_comment_character_is_configured_or_taken_from_the_file(
    message: bytes, configured: str | None, want: bytes
) -> None:
    assert choose_comment_char(message, configured) == want


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (b"s\n" + EDITOR, 2),
        (EDITOR, 1),
        (b"# t\n" + EDITOR, 2),
        (b"#12\n", None),
        (b"s\n# glued\n", None),
        (b"s\n\n# kept by git\n\n" + BELOW, None),
        (b"s\n" + EDITOR + BELOW, 2),
        (b"s\n\n# x\nmore\n", None),
        (b"", None),
    ],
)
def test_the_comments_of_git_are_the_last_run_after_an_empty_line(
    message: bytes, line: int | None
) -> None:
    assert find_own_block(split_lines(message), b"#") == line
