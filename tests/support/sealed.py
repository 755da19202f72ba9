"""The environment of every test: no user's git, the same dates."""

from __future__ import annotations

import os

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
