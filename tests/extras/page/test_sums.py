"""A page and stats of the same range say the same numbers."""

from __future__ import annotations

import json
import re

import pytest

from gitcp.lines import sums
from tests.support import frozen
from tests.support.frozen import Frozen
from tests.support.harness import World
from tests.support.warm import run


def read_head(world: World, wanted: str) -> str:
    """The sums in the head of a page."""
    text = run("page", "-o", "-", wanted, cwd=world.path).stdout
    sums: list[str] = re.findall(r"<span title=[^>]*>(\d+ lines? by agents, [^<]*)</span>", text)
    return sums[0]


def test_a_page_and_stats_of_a_range_agree_in_every_number(world: World) -> None:
    agent = world.agent("s1")
    start = world.git("rev-parse", "HEAD")
    agent.turn("Write it", {"a.txt": "1\n2\n3\n4\n5\n6\n"})
    world.commit("a.txt")
    agent.turn("Write it anew", {"a.txt": "1\n2\nthree\n4\nfive\n6\n"})
    world.commit("a.txt")  # a line that two commits wrote is in the change once
    world.write("b.txt", "mine\n")
    world.commit("b.txt")
    agent.end()
    wanted = f"{start}..HEAD"
    record = json.loads(run("page", "--json", wanted, cwd=world.path).stdout)
    assert record["stats"] == json.loads(run("stats", "--json", wanted, cwd=world.path).stdout)
    lines = {file["path"]: file["lines"] for file in record["files"]}
    assert lines == {"a.txt": {"s1": 6}, "b.txt": {"person": 1}}
    assert [c["added"] for c in record["commits"]] == [{"person": 1}, {"s1": 2}, {"s1": 6}]
    (session,) = record["sessions"]
    assert [t["line"] for t in session["turns"]] == ["Write it", "Write it anew"]
    hidden = json.loads(run("page", "--json", "--no-prompts", wanted, cwd=world.path).stdout)
    assert "Write it" not in json.dumps(hidden)
    assert read_head(world, wanted) == "6 lines by agents, 0 not recorded, 1 by people"
    text = run("page", "-o", "-", wanted, cwd=world.path).stdout
    assert "Each commit by itself: 8 lines by agents, 0 not recorded, 1 by people" in text


@pytest.mark.thorough
def test_each_commit_of_a_store_has_one_sum_and_a_task_is_its_sessions(
    frozen_store: Frozen,
) -> None:
    for subject, oid in frozen_store.commits.items():
        done = run("page", "-o", "-", oid, cwd=frozen_store.path)
        stats = json.loads(run("stats", "--json", "-n1", oid, cwd=frozen_store.path).stdout)
        added = stats["added"]
        unknown = added["unknown"] + added["unrecorded"]
        (agents,) = re.findall(r"<span title=[^>]*>(\d+) lines? by agents, ", done.stdout)
        assert int(agents) == added["agent"], subject
        assert f"by agents, {unknown} not recorded, {added['person']} by people" in done.stdout
        assert frozen.REVIEW_NAME not in done.stdout or subject == "Add plain"
        assert f"<title>{subject}</title>" in done.stdout
        is_whole = subject not in ("Lose its words", "Elsewhere")
        assert done.returncode == (0 if is_whole else 1), subject
        assert ("gitcp fetch --all" in done.stdout) is not is_whole, "the page says it, too"
    shown = run("page", "-o", "-", frozen_store.commits["Cap requests"], cwd=frozen_store.path)
    assert "<span class=pr>Cap requests by their size</span>" in shown.stdout
    assert "prompt 2" in shown.stdout and "I write cap.py." in shown.stdout


@pytest.mark.parametrize(
    ("counts", "percent"),
    [
        ({"a": 1, "b": 1, "c": 1}, {"a": 34, "b": 33, "c": 33}),
        ({"a": 995, "b": 4, "c": 1}, {"a": 100, "b": 0, "c": 0}),
        ({"a": 2, "b": 2, "c": 2, "d": 1}, {"a": 29, "b": 29, "c": 28, "d": 14}),
        ({"a": 7, "b": 0}, {"a": 100, "b": 0}),
        ({"a": 0, "b": 0}, {"a": 0, "b": 0}),
    ],
)
def test_percentages_add_up_to_100(counts: dict[str, int], percent: dict[str, int]) -> None:
    assert sums.share_percent(counts) == percent
