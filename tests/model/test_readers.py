"""Whatever sessions and a person do, all who read a line name the same author for it: blame of
the worktree and of history, why, the page, stats, the exports and lines.json.

Long runs (`LONG=1`) take STEPS steps of each seed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitcp.extras.page import change, gather
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import blame, blame_options, exports, line_origins, tally
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from gitcp.link import commits
from tests.model.lines import Lines
from tests.support.harness import World
from tests.support.traces import parse_lines

LONG = bool(os.environ.get("LONG"))
SEEDS = range(100, 140) if LONG else range(100, 101)
STEPS, EACH = (50, 10) if LONG else (8, 8)
# (session or who, turn, number, tool use, checkpoint) of a line
Name = tuple[str, str, int | None, str | None, str]
Spot = tuple[str, str, int]  # commit, path, line: where git says that it came


def name(author: Any) -> Name:
    keys = "turn_id", "number", "tool_use_id", "checkpoint_id"
    return (author["session_id"] or author["who"], *(author[key] for key in keys))


class Readers:
    """Each reader asked of a repository as it stands, by itself."""

    def __init__(self, top: Path) -> None:
        self.repo = Repo.find(str(top))

    def blame(self, path: str, *revision: str) -> dict[int, tuple[Spot, Name]]:
        words = blame_options.parse_arguments([*revision, "--", path])
        with Objects(self.repo):
            evidence = Evidence(self.repo)
            rows = blame.build_records(
                self.repo, words, history.start_groups(self.repo.git, words)(), evidence
            )
            return {
                row["line"]: ((row["commit"], row["path"], row["original_line"]), name(row))
                for row in rows
            }

    def why(self, path: str, count: int, *revision: str) -> dict[int, Name]:
        place = line_origins.AskedLines(path, 1, count)
        with Objects(self.repo):
            evidence = Evidence(self.repo)
            about = self.repo, self.repo.git, evidence, place
            rows = line_origins.list_origins(*about, *revision)
        return {n: name(row) for row in rows for n in range(row["first"], row["last"] + 1)}

    def page(self, head: str, paths: list[str]) -> dict[str, list[Name]]:
        with Objects(self.repo):
            evidence, ends = Evidence(self.repo), (self.repo.empty_tree, head)
            records = list(commits.list_commits(self.repo, [head]))
            counts = gather.count_lines(self.repo, records)
            about = self.repo, evidence, ends, counts.steps, counts.credited
            files = change.read_files(*about, lambda _: None)
            return {
                file.path: [name(writer.author) for writer in file.writers.values()]
                for file in files
                if file.path in paths
            }

    def stats(self) -> Iterator[tuple[dict[Spot, Name], Counter[str]]]:
        """(the author of each line that a commit put in, how many stats counts for whom)."""
        with Objects(self.repo):
            for commit in exports.list_commits(self.repo, ["HEAD"], (), exports.WHOLE):
                spots: dict[Spot, Name] = {}
                counts: Counter[str] = Counter()
                for patch in tally.list_patches(commit):
                    known = commit["known"].get(patch["path"], {})
                    for _, _, first, many in patch["hunks"]:
                        for line in range(first, first + many):
                            author = known.get(line, commit["unsaid"])
                            spots[commit["oid"], patch["path"], line] = name(author)
                    for who, lines in tally.count_added(commit, patch).items():
                        counts[who if isinstance(who, str) else who[2]] += lines
                yield spots, counts

    def traces(self) -> dict[Spot, str]:
        """Whom the export names: `<checkpoint>/<session>`."""
        return {
            (record["vcs"]["revision"], path, line): whom
            for record in exports.build_traces(self.repo, ["HEAD"])
            for path, lines in parse_lines(record).items()
            for line, whom in lines.items()
        }

    def recorded(self, spot: Spot) -> Name | None:
        """What lines.json says of a line; None for nothing."""
        with Objects(self.repo):
            author = Evidence(self.repo).get_place(*spot[:2]).recorded.get(spot[2])
        return name(author) if author and author["who"] == "session" else None


def agree(model: Lines, step: str) -> None:
    """Hold all readers against blame of HEAD."""
    readers, head = Readers(model.world.path), model.run("rev-parse", "HEAD").strip()
    paths = model.list_files()
    kept = [path for path in paths if model.run("ls-tree", "--name-only", "HEAD", path)]
    page = readers.page(head, kept)
    named: dict[Spot, Name] = {}
    for path in kept:
        lines = readers.blame(path, "HEAD")
        if not lines:
            continue
        named |= dict(lines.values())
        authors = {line: who for line, (_, who) in lines.items()}
        assert readers.why(path, len(lines), "HEAD") == authors, f"{step}: why {path}"
        assert page[path] == [*authors.values()], f"{step}: page {path}"
        if not model.run("status", "--porcelain", "--", path):
            now = {line: who for line, (_, who) in readers.blame(path).items()}
            assert now == authors, f"{step}: worktree {path}"
    merges = {*model.run("rev-list", "--merges", "HEAD").split()}
    counted: dict[Spot, Name] = {}
    for spots, counts in readers.stats():
        counted |= spots
        assert counts == Counter(who[0] for who in spots.values()), step
    traces = readers.traces()
    for spot, who in named.items():
        if spot[0] not in merges:
            assert counted[spot] == who, f"{step}: stats {spot}"
        assert traces.get(spot) == (f"{who[4]}/{who[0]}" if who[4] else None), f"{step}: {spot}"
        assert readers.recorded(spot) in (None, who), f"{step}: lines.json {spot}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.thorough
def test_all_who_read_a_line_name_the_same_author(world: World, seed: int) -> None:
    model = Lines(world, seed)
    simple = (model.turn, model.turn, model.person, model.commit, model.part, model.amend)
    rare = (model.again, model.stranger, model.rename, model.reformat, model.stash)
    merging = (model.revert, model.pick, model.merge, model.squash, model.rebase)
    for step in (model.turn, model.clean, model.person, model.clean, model.turn, model.clean):
        step()
    for number in range(STEPS):
        step = model.chance.choice(model.chance.choice((simple, rare, merging)))
        step()
        if number % EACH == EACH - 1:
            agree(model, f"seed {seed}, step {number}, {step.__name__}")
    model.clean()
    agree(model, f"seed {seed}, at the end")
