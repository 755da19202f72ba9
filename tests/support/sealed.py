"""The environment of every test: no user's git, the same dates."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

DATE = "1112354055 +0200"  # git's own test date: object names come out the same
SEALED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "c@example.com",
    "GIT_AUTHOR_DATE": DATE,
    "GIT_COMMITTER_DATE": DATE,
    "GIT_EDITOR": "false",
    "LC_ALL": "C",
    "TZ": "UTC",
}


@contextmanager
def environment(**more: str) -> Iterator[pytest.MonkeyPatch]:
    """That environment with more in it, for what is made once for many tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SEALED, **more}.items():
            patch.setenv(name, value)
        yield patch
