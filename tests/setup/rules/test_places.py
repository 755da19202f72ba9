"""A place is a URL without a password or a token."""

from __future__ import annotations

import pytest

from gitcp.git.places import clean_url, name_place


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://host/x.git", "https://host/x.git"),
        ("https://person@host/x.git", "https://host/x.git"),
        ("https://person:pass@host:8443/x.git", "https://host:8443/x.git"),
        ("https://ghp_token@host/x.git", "https://host/x.git"),
        ("https://a:b@c@host/d@e", "https://host/d@e"),
        ("https://a:b@host?x@y", "https://host?x@y"),
        ("https://a:b@host#x@y", "https://host#x@y"),
        ("ssh://git@host/x.git", "ssh://git@host/x.git"),
        ("ssh://git:pass@host:22/~x", "ssh://git@host:22/~x"),
        ("git+ssh://git:pass@host/x", "git+ssh://git@host/x"),
        ("SSH://git:pass@host/x", "SSH://git@host/x"),
        ("https://host/x.git?private_token=abc", "https://host/x.git"),
        ("https://a:b@host/x?Access-Token=abc&repo=y#z", "https://host/x?repo=y#z"),
        ("https://host/x?repo=y&X-Amz-Signature=abc", "https://host/x?repo=y"),
        ("https://host/x?", "https://host/x?"),
        ("https://host/x?tokens=2&page", "https://host/x?tokens=2&page"),
        ("helper::https://a:b@host/x", "helper::https://host/x"),
        ("helper::ssh://a:b@host/x", "helper::ssh://a@host/x"),
        ("git@host:a/b.git", "git@host:a/b.git"),
        ("../else@where/x.git", "../else@where/x.git"),
        ("file:///srv/a@b.git", "file:///srv/a@b.git"),
        ("https://", "https://"),
        ("", ""),
    ],
)
def test_a_place_has_no_password_and_no_token(url: str, place: str) -> None:
    assert clean_url(url) == place
    assert clean_url(place) == place


@pytest.mark.parametrize("other", ["http://host/x", "https://host/x/", "https://HOST/x"])
def test_other_bytes_are_another_place(other: str) -> None:
    assert clean_url(other) != clean_url("https://host/x")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("../b.git", "/top/a/../b.git"),
        ("b", "/top/a/b"),
        ("./c:d", "/top/a/./c:d"),
        ("/b.git", "/b.git"),
        ("host:b.git", "host:b.git"),
        ("https://me@host/b", "https://host/b"),
        ("", ""),
    ],
)
def test_a_relative_path_is_a_place_of_its_own_in_each_worktree(url: str, place: str) -> None:
    assert name_place(url, "/top/a") == place
