"""Addresses of repositories."""

from __future__ import annotations


def is_url(name: str) -> bool:
    """Whether a name that is no remote's is the address of a repository."""
    return any(sign in name for sign in ":/") or name.startswith((".", "~"))
