"""A destination by its name: the address of a repository, or a remote."""

from __future__ import annotations

import pytest

from gitcp.checkpoints.share.places import is_url


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
    assert is_url(name) == url
