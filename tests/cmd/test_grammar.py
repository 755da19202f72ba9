"""One grammar of all screens: ids, names, times, words, and how long they are.

Each measure is taken in a store of the original program and, where it has more to show, in the
repository of the manual's examples.
"""

from __future__ import annotations

import re

from gitcp.errors import OK
from gitcp.text.short_ids import shorten_id
from tests.support import frozen
from tests.support.frozen import Frozen
from tests.support.warm import run


def show(store: Frozen, *argv: str) -> str:
    done = run(*argv, cwd=store.path)
    assert done.returncode == OK, done
    return done.stdout


def test_the_store_is_the_same_each_time_and_log_folds_its_tasks(frozen_store: Frozen) -> None:
    assert frozen_store.commits["Begin"].startswith("fa3bc12d")
    logged = show(frozen_store, "log")
    assert f"and {frozen.TASKS} tasks" in logged and f"and {frozen.LATER_TASKS} tasks" in logged
    named = set(re.findall(r"^  ([0-9a-f]{8}) ", logged, re.M))
    assert named == {shorten_id(name) for name in frozen_store.sessions}
