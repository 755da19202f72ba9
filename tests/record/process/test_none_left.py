"""No process of gitcp is left for others to wait for, as some containers have nobody who does."""

from __future__ import annotations

import sys

import pytest

from tests.support.harness import World

# Runs a program as the parent of what it leaves behind, and fails if there is any.
PARENT = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
status = subprocess.run(sys.argv[1:]).returncode
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    sys.exit(status)
sys.exit("a process was left")
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="there is no other parent for what is left")
def test_a_turn_and_its_commit_leave_no_process(world: World) -> None:
    world.via, world.env["COLD"] = (sys.executable, "-c", PARENT), "1"
    agent = world.agent("s", tools=True)
    for n in range(2):
        agent.turn("write", {"a.txt": f"{n}\n"})
        assert world.commit("a.txt")
