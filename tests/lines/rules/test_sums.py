"""Sums of a range of commits; every number in this file was counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitcp.agents import transcripts
from gitcp.checkpoints.format import line_authors
from gitcp.extras.facts import tables
from gitcp.lines import sums, tally

if TYPE_CHECKING:
    from gitcp.checkpoints.format.line_authors import LineRecord
    from gitcp.git.objects.patches import Patch
    from gitcp.lines.tally import CommitCounts


def part(session: str = "s1", ranges: Any = None, **metadata: Any) -> LineRecord:
    lines = None if ranges is None else {"f": [{"oid": "0", "ranges": ranges}]}
    about = {"agent": "Codex", "model": "big", **metadata}
    return {
        "checkpoint_id": "a1b2c3d4e5f6",
        "session_id": session,
        "metadata": about,
        "lines": lines,
        "time": "",
    }


def commit(
    *records: LineRecord, linked: bool = True, added: int = 10, parents: int = 1
) -> CommitCounts:
    """A commit that puts so many lines into f in place of four."""
    patch: Patch = {
        "path": "f",
        "old": "f",
        "was": "1",
        "oid": "0",
        "hunks": [(1, 4, 1, added)],
        "resolved": [],
    }
    return {
        "oid": "0",
        "parents": ["1"] * parents,
        "author": "A U Thor <author@example.com> 1112354055",
        "committer": "A U Thor <author@example.com> 1767355200",
        "message": b"",
        "patches": [patch],
        "linked": linked,
        "unsaid": line_authors.build_nobody("unknown" if linked else "person"),
        "records": records,
        "known": {
            "f": line_authors.credit_blob(records, "f", "0", lambda _: None, lambda *_: None)
        },
    }


def summed(*commits: CommitCounts) -> dict[str, Any]:
    made = sums.Sums()
    for one in commits:
        made.take(tally.count_commit(one))
    return made.build_record()


def test_a_commit_without_a_checkpoint_is_a_persons() -> None:
    record = summed(commit(linked=False))
    assert record["added"] == {"agent": 0, "person": 10, "unknown": 0, "unrecorded": 0}
    assert record["removed"] == {"agent": 0, "person": 4, "unknown": 0, "unrecorded": 0}


def test_every_line_is_whose_the_record_says_and_the_rest_unknown() -> None:
    record = summed(commit(part(ranges=[[1, 5, "t1", None], [6, 7, "person", None]])))
    assert record["added"] == {"agent": 5, "person": 2, "unknown": 3, "unrecorded": 0}
    assert record["models"] == [{"agent": "Codex", "model": "big", "added": 5}]
    [row] = record["files"]
    assert row == {"path": "f", **record["added"], "removed": 4}
    assert record["days"][0]["day"] == "2026-01-02" and record["days"][0]["agent"] == 5


def test_lines_of_two_sessions_of_a_checkpoint_add_up() -> None:
    one = part("s1", [[1, 6, "t1", None], [10, 10, "person", None]])
    two = part("s2", [[7, 9, "t1", None], [10, 10, "person", None]], agent="Gemini CLI", model="")
    record = summed(commit(one, two))
    assert record["added"] == {"agent": 9, "person": 1, "unknown": 0, "unrecorded": 0}
    assert [(s["session_id"], s["added"]) for s in record["sessions"]] == [("s1", 6), ("s2", 3)]
    assert [m["added"] for m in record["models"]] == [6, 3]


def test_a_checkpoint_without_lines_makes_lines_unknown() -> None:
    assert summed(commit(part()))["added"] == {
        "agent": 0,
        "person": 0,
        "unknown": 10,
        "unrecorded": 0,
    }
    assert summed(commit())["added"]["unknown"] == 10  # not stored here


def test_the_model_of_a_line_is_its_tools_before_its_turns_before_the_sessions() -> None:
    ranges = [[1, 1, "t1", "u1"], [2, 2, "t1", None], [3, 3, "t2", None]]
    about: dict[str, Any] = {
        "tools": {"u1": {"model": "small"}},
        "turns": {"t1": {"model": "middle"}},
    }
    models = summed(commit(part(ranges=ranges, **about)))["models"]
    assert [(m["model"], m["added"]) for m in models] == [("big", 1), ("middle", 1), ("small", 1)]


def test_a_subagents_line_is_its_clients_and_of_no_model_that_nobody_told() -> None:
    about: dict[str, Any] = {"tools": {"u1": {"agent": "a0fe12"}}, "turns": {"t1": {"model": "x"}}}
    (row,) = summed(commit(part(ranges=[[1, 1, "t1", "u1"]], **about)))["models"]
    assert (row["agent"], row["model"]) == ("Codex", "")


def test_removed_lines_are_told_apart_by_the_attribution_of_the_commit() -> None:
    by = {"lines_removed": {"agent": 2, "others": 0, "person": 1, "unknown": 1}}
    record = summed(commit(part(ranges=[], initial_attribution=by)))
    assert record["removed"] == {"agent": 2, "person": 1, "unknown": 1, "unrecorded": 0}


def test_more_lines_than_the_commit_adds_are_not_counted() -> None:
    record = summed(commit(part(ranges=[[1, 99, "t1", None]]), added=3))
    assert record["added"] == {"agent": 3, "person": 0, "unknown": 0, "unrecorded": 0}


def test_a_merge_counts_as_a_commit_and_nothing_else() -> None:
    record = summed(commit(part(ranges=[[1, 9, "t1", None]]), parents=2))
    assert (record["commits"], record["files"], record["days"]) == (1, [], [])
    assert (
        record["added"]
        == record["removed"]
        == {"agent": 0, "person": 0, "unknown": 0, "unrecorded": 0}
    )


def test_a_checkpoint_on_two_commits_gives_its_tokens_once() -> None:
    used = transcripts.make_usage(fresh=10, cache_read=100, output=5, calls=2)
    one = part(ranges=[[1, 1, "t1", None]], token_usage_delta=used, turns={"t1": {}, "t2": {}})
    record = summed(commit(one), commit(one))
    assert record["tokens"] == used
    assert (record["checkpoints"], record["turns"], record["commits"]) == (1, 2, 2)
    assert record["sessions"][0]["turns"] == 2


def test_what_gemini_cli_read_from_its_cache_is_no_input_in_any_sum() -> None:
    stored = transcripts.make_usage(fresh=110, cache_read=100, output=5, calls=2)
    one = part(agent="Gemini CLI", token_usage_delta=stored)
    spent = transcripts.make_usage(fresh=10, cache_read=100, output=5, calls=2)
    assert summed(commit(one))["tokens"] == spent
    [row] = tables.make_commit_rows(commit(one), {}, "")["sessions"]
    assert row[5:10] == transcripts.list_counts(spent)


def test_damaged_metadata_counts_as_nothing() -> None:
    odd: list[Any] = [7, "x", None, [1], {"f": 7}, {"f": [[1]]}]
    for value in odd:
        broken = part(ranges=[[1, 1, "t1", None]], turns=value, tools=value)
        broken["metadata"] = {**broken["metadata"], "initial_attribution": value}
        broken["lines"] = value if isinstance(value, dict) else {"f": value}
        assert sum(summed(commit(broken))["added"].values()) == 10
