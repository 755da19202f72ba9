"""Files over the limit are in no checkpoint: the person hears of it at the turn's end, once."""

from __future__ import annotations

import pytest

from tests.support.harness import World


@pytest.mark.parametrize("strategy", ["manual-commit", "auto-commit"])
def test_a_file_over_the_limit_is_told_at_the_turns_end(world: World, strategy: str) -> None:
    world.git("config", "gitcp.strategy", strategy)
    world.git("config", "gitcp.max-file-size", "1k")
    a = world.agent("session-a")
    a.prompt("make them")
    a.write("big.bin", "x" * 2000)
    a.write("small.txt", "x\n")
    told = "gitcp: not kept, being over the limit: 'big.bin' (gitcp.max-file-size)"
    assert a.stop().said == told
    a.prompt("more")
    a.write("small.txt", "y\n")
    assert a.stop().said == "", "known by now"


def test_what_is_over_the_budget_of_all_is_told_too(world: World) -> None:
    world.git("config", "gitcp.max-untracked-size", "1k")
    a = world.agent("session-a")
    a.prompt("make them")
    a.write("one.bin", "x" * 900)
    a.write("two.bin", "x" * 1000)
    assert a.stop().said.endswith("'two.bin' (gitcp.max-untracked-size)")
