"""`make test-plain` is about git alone: its hooks and commands leave git's formats to git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitcp.git import is_alone
from tests.git.traced import processes

if TYPE_CHECKING:
    import pytest

    from tests.support.harness import Agent, World

# As pytest was started; a test has an environment of its own.
IS_ASKED = is_alone(os.environ)


def test_hooks_read_gits_formats_in_the_way_that_the_run_was_asked_for(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = world.home / "trace"
    monkeypatch.setenv("GITCP_TRACE", str(trace))
    a.prompt("Write")
    asked = [line for line in processes(trace) if "for-each-ref" in line]
    assert bool(asked) == IS_ASKED
