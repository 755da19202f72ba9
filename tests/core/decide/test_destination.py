"""Where the permanent store goes while nobody has named a destination."""

from __future__ import annotations

import pytest

from gitcp.core.decide import destination


@pytest.mark.parametrize(
    ("earlier", "asked", "usual", "chosen"),
    [
        ([], False, "origin", ""),
        (["fork"], False, "origin", "fork"),
        (["fork"], True, "origin", "fork"),
        (["fork", "origin"], False, "origin", ""),
        (["fork", "origin"], True, "origin", "origin"),
        (["fork", "backup"], True, "origin", ""),
        ([], True, "origin", "origin"),
        ([], True, "", ""),
    ],
)
def test_only_what_was_sent_to_before_or_asked_for_is_taken(
    earlier: list[str], asked: bool, usual: str, chosen: str
) -> None:
    assert destination.choose_remote(earlier, asked, usual) == chosen


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("origin", False),
        ("none", False),
        ("my-fork", False),
        ("git@host:a/b.git", True),
        ("https://host/a", True),
        ("/srv/a.git", True),
        ("../a.git", True),
        ("C:/a", True),
        ("..", True),
        ("~a", True),
    ],
)
def test_a_url_is_told_from_the_name_of_a_remote(name: str, url: bool) -> None:
    assert destination.is_url(name) == url
