"""A page and stats of the same range say the same numbers."""

from __future__ import annotations

import html
import json
import re

import pytest

from gitcp.lines import sums
from tests.support.harness import World
from tests.support.warm import run

AUTHORS = {"agents": "agent", "people": "person", "unknown": "unknown", "unrecorded": "unrecorded"}


def read_page(world: World, wanted: str) -> tuple[str, dict[str, tuple[str, int]]]:
    """(the counts of the heading, author -> percentage and lines) as the page shows them."""
    text = run("page", "-o", "-", wanted, cwd=world.path).stdout
    (facts,) = re.findall(r'<p class="facts">(.*?)</p>', text)
    (shares,) = re.findall(r'(?s)<ul class="shares".*?</ul>', text)
    row = r'<li><b>(\d+ %)</b> (\w+) <span class="soft">(\d+) lines?</span>'
    counted = {who: (share, int(lines)) for share, who, lines in re.findall(row, shares)}
    return html.unescape(re.sub("<[^>]*>", " ", facts)), counted


def read_stats(world: World, wanted: str) -> tuple[str, dict[str, tuple[str, int]]]:
    """The same as stats shows them."""
    summary, *rows = run("stats", "--markdown", wanted, cwd=world.path).stdout.splitlines()
    row = re.compile(r"\| (\w+) \| (\d+) \| \d+ \| (\d+ %) \|")
    found = [match for match in map(row.fullmatch, rows) if match]
    return summary.strip("*"), {m[1]: (m[3], int(m[2])) for m in found if int(m[2])}


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
    summary, shares = read_stats(world, wanted)
    facts, shown = read_page(world, wanted)
    markdown = run("stats", "--markdown", wanted, cwd=world.path).stdout
    assert shown == shares == {"agents": ("89 %", 8), "people": ("11 %", 1)}
    assert summary in facts and summary == "3 commits, 2 linked, 2 checkpoints, 2 turns"
    (used,) = [line for line in markdown.splitlines() if re.match(r"[\d.]+k? tokens in", line)]
    assert used in facts
    record = json.loads(run("page", "--json", wanted, cwd=world.path).stdout)
    assert record["stats"] == json.loads(run("stats", "--json", wanted, cwd=world.path).stdout)
    lines = {file["path"]: file["lines"] for file in record["files"]}
    assert lines == {"a.txt": {"s1": 6}, "b.txt": {"person": 1}}
    assert [c["added"] for c in record["commits"]] == [{"person": 1}, {"s1": 2}, {"s1": 6}]
    (session,) = record["sessions"]
    assert [t["line"] for t in session["turns"]] == ["Write it", "Write it anew"]
    hidden = json.loads(run("page", "--json", "--no-prompts", wanted, cwd=world.path).stdout)
    assert "Write it" not in json.dumps(hidden)
    said = run("stats", wanted, cwd=world.path).stdout
    assert "lines that each commit added and removed" in said
    assert "Lines that each commit added" in run("page", "-o", "-", wanted, cwd=world.path).stdout


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
