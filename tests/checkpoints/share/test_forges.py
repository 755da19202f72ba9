"""What a forge runs of ours: the scripts of its jobs on its events, with its merges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from gitcp.text.short_ids import shorten_id
from tests.checkpoints.share import forge as forges
from tests.checkpoints.share.forge import ACTION, JOB, PERSON, Forge, finish, github, gitlab, merge
from tests.support.harness import World
from tests.support.paths import TOP
from tests.support.scenes import Scenes

pytestmark = pytest.mark.thorough

NONE = "0" * 40
MARK = "<!-- gitcp -->"


@pytest.fixture
def forge() -> Iterator[Forge]:
    with forges.serving(Forge()) as made:
        yield made


def push_topic(world: World) -> World:
    """A branch `topic` with two linked commits of a session; all is at origin, main went on."""
    world.share()
    agent = world.agent("s1", tools=True)
    world.git("switch", "-q", "-c", "topic")
    for name in ("one", "two"):
        agent.turn(f"write {name}", {f"{name}.py": f"{name} 1\n{name} 2\n"})
        world.commit(f"{name}.py")
    world.git("push", "-q", "origin", "topic", "topic:refs/pull/1/head")
    world.git("push", "-q", "origin", "topic:refs/merge-requests/1/head")
    world.git("switch", "-q", "main")
    world.write("mine.txt", "mine\n")
    world.commit("mine.txt")
    world.git("push", "-q", "origin", "main")
    world.git("push", "-q", "origin", ":topic")
    return world


@pytest.fixture
def topic(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(push_topic, monkeypatch)


def pull(world: World, number: int = 1, head: str = "topic", onto: str = "") -> dict[str, Any]:
    """A pull request as GitHub tells of it."""
    ends = {
        key: {"sha": world.git("rev-parse", ref)} for key, ref in (("base", "main"), ("head", head))
    }
    merged = {"merged_at": "2026-11-23T01:00:00Z"} if onto else {"merged_at": None}
    return {"number": number, **ends, "merge_commit_sha": onto or None, **merged}


def linked(world: World, commit: str) -> list[str]:
    """The checkpoints of a commit in a fresh look at origin: its trailer or its note."""
    world.git("fetch", "-q", "origin", "+refs/notes/gitcp:refs/notes/seen", "main")
    show = ("log", "-1", "--format=%B%n%N", "--notes=seen", commit)
    return re.findall(r"Entire-Checkpoint: (\w+)", world.git(*show))


@pytest.mark.parametrize(("way", "counts"), [("squash", [2]), ("rebase", [1, 1])])
def test_after_a_merge_by_a_button_links_and_lines_are_at_the_destination(
    topic: World, forge: Forge, way: str, counts: list[int]
) -> None:
    before = topic.git("rev-parse", "main")
    onto = merge(topic, way, "refs/pull/1/head")
    forge.pulls[onto] = [pull(topic, onto=onto)]
    event = {"before": before, "after": onto, "ref": "refs/heads/main"}
    assert "change 1" in finish(github(forge, topic, "job", "push", event))
    topic.git("fetch", "-q", "origin", "main")
    commits = topic.git("rev-list", "--first-parent", f"{before}..{onto}").split()
    assert [len(linked(topic, commit)) for commit in commits] == counts
    shares = topic.path.parent / "fresh"
    topic.git("clone", "-q", str(topic.path.parent / "origin.git"), str(shares))
    fresh = World(shares, topic.home, topic.env)
    fresh.git("config", "gitcp.remote", "origin")
    fresh.gitcp("fetch")
    assert '"added":{"agent":4,"person":0,"unknown":0' in fresh.gitcp(
        "stats", "--json", f"{before}..{onto}"
    )
    refs = fresh.git("ls-remote", "origin")
    finish(github(forge, topic, "again", "push", event))  # a re-run finds all done
    assert fresh.git("ls-remote", "origin") == refs


def test_a_plain_merge_has_its_links_and_nothing_is_sent(topic: World, forge: Forge) -> None:
    before = topic.git("rev-parse", "main")
    onto = merge(topic, "merge", "refs/pull/1/head")
    forge.pulls[onto] = [pull(topic, onto=onto)]
    refs = topic.git("ls-remote", "origin")
    finish(github(forge, topic, "job", "push", {"before": before, "after": onto}))
    assert topic.git("ls-remote", "origin") == refs


def test_two_merges_whose_jobs_run_at_once_both_keep_their_links(
    topic: World, forge: Forge
) -> None:
    topic.git("switch", "-q", "-c", "other", "topic~2")
    topic.agent("s2", tools=True).turn("write three", {"three.py": "3\n"})
    topic.commit("three.py")
    topic.git("push", "-q", "origin", "other:refs/pull/2/head")
    events, ends = [], [topic.git("rev-parse", "main")]
    for number, head in ((1, "topic"), (2, "other")):
        ends.append(merge(topic, "squash", f"refs/pull/{number}/head"))
        forge.pulls[ends[-1]] = [pull(topic, number, head, ends[-1])]
        events.append({"before": ends[-2], "after": ends[-1]})
    jobs = [github(forge, topic, f"job{n}", "push", event) for n, event in enumerate(events)]
    for job in jobs:
        finish(job)
    assert [len(linked(topic, end)) for end in ends[1:]] == [2, 1]


def test_a_pull_request_has_one_comment_which_is_renewed_and_no_one_elses(
    topic: World, forge: Forge
) -> None:
    forge.comments.append({"id": 1, "body": f"{MARK} as a person quotes it", **PERSON})
    event = {"action": "opened", "pull_request": pull(topic)}
    jobs = [github(forge, topic, f"job{n}", "pull_request", event) for n in (1, 2)]  # at once
    for job in jobs:
        finish(job)
    assert [comment["id"] for comment in forge.comments] in ([1, 2], [1, 3])
    first = forge.comments[1]["body"]
    assert first.startswith(MARK) and "2 commits" in first
    assert "write one" not in first, "numbers only"
    topic.git("switch", "-q", "topic")
    topic.write("four.txt", "4\n")
    topic.commit("four.txt")
    topic.git("push", "-q", "origin", "topic:refs/pull/1/head")
    event = {"action": "synchronize", "pull_request": pull(topic)}
    finish(github(forge, topic, "job3", "pull_request", event))
    assert len(forge.comments) == 2 and "3 commits" in forge.comments[1]["body"]


def test_prompts_and_page_are_shown_only_if_the_repository_holds_the_checkpoints(
    topic: World, forge: Forge
) -> None:
    event = {"action": "opened", "pull_request": pull(topic)}
    finish(github(forge, topic, "job", "pull_request", event, prompts="true"))
    assert "write one" in forge.comments[0]["body"]
    (check,) = forge.checks
    told = check["output"]["annotations"]
    assert (check["head_sha"], check["conclusion"]) == (topic.git("rev-parse", "topic"), "neutral")
    assert [(one["path"], one["start_line"], one["end_line"]) for one in told] == [
        ("one.py", 1, 2),
        ("two.py", 1, 2),
    ]
    title = f"Claude Code, session {shorten_id('s1')}, prompt 2"
    assert (told[1]["title"], told[1]["annotation_level"]) == (title, "notice")
    assert told[1]["message"] == "wrote 2 lines of this file: 1-2\n> write two"
    assert check["output"]["title"] == "4 lines by agents"
    assert (topic.home / "job.output").read_text() == "page=gitcp.html\n"
    assert "write one" in (topic.path.parent / "job" / "gitcp.html").read_text()
    private = topic.path.parent / "private.git"
    topic.git("clone", "-q", "--bare", str(topic.path.parent / "origin.git"), str(private))
    more = {"prompts": "true", "checkpoints": private.as_uri()}
    finish(github(forge, topic, "job2", "pull_request", event, **more))
    assert "2 commits" in forge.comments[0]["body"]
    assert "write one" not in forge.comments[0]["body"]
    assert "write two" not in json.dumps(forge.checks[1]) and len(forge.checks) == 2
    assert not (topic.home / "job2.output").exists()


def test_a_forks_token_that_cannot_write_leaves_the_numbers_in_the_summary(
    topic: World, forge: Forge
) -> None:
    forge.refuses = True
    event = {"action": "opened", "pull_request": pull(topic)}
    said = finish(github(forge, topic, "job", "pull_request", event))
    assert "no comment" in said and "no annotations" in said
    assert "2 commits" in (topic.home / "job.summary").read_text()
    assert forge.comments == []


def test_a_change_that_breaks_a_rule_of_its_target_fails_the_job(
    topic: World, forge: Forge
) -> None:
    topic.write(".gitcp.toml", "[check]\nneed-signatures = true\n")
    topic.commit(".gitcp.toml")
    topic.git("push", "-q", "origin", "main")
    event = {"action": "opened", "pull_request": pull(topic)}
    output = finish(github(forge, topic, "job", "pull_request", event, check="true"), 1)
    assert "fails: 2 commits" in output and "need-signatures" in output
    assert len(forge.comments) == 1


def test_gitlab_has_the_same_comment_and_the_same_links(topic: World, forge: Forge) -> None:
    head, base = topic.git("rev-parse", "topic"), topic.git("merge-base", "main", "topic")
    forge.comments.append({"id": 1, "body": MARK, **PERSON})
    opened = {
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_MERGE_REQUEST_IID": "1",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_COMMIT_SHA": head,
    }
    finish(gitlab(forge, topic, "job", **opened))
    finish(gitlab(forge, topic, "again", **opened))
    assert [comment["id"] for comment in forge.comments] == [1, 2]
    assert "2 commits" in forge.comments[1]["body"]
    report = json.loads((topic.path.parent / "job" / "gl-code-quality-report.json").read_text())
    assert JOB["artifacts"]["reports"] == {"codequality": "gl-code-quality-report.json"}
    places = [(one["location"]["path"], one["location"]["lines"]) for one in report]
    lines = {"begin": 1, "end": 2}
    assert places == [("one.py", lines), ("two.py", lines)]
    assert {one["severity"] for one in report} == {"info"}
    assert len({one["fingerprint"] for one in report}) == 2
    onto = merge(topic, "squash", "refs/merge-requests/1/head")
    merged = {"iid": 1, "state": "merged", "sha": head, "squash_commit_sha": onto}
    forge.pulls[onto] = [{**merged, "merge_commit_sha": None}]
    pushed = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BEFORE_SHA": NONE, "CI_COMMIT_SHA": onto}
    finish(gitlab(forge, topic, "merged", **pushed))
    assert len(linked(topic, onto)) == 2


def test_what_a_job_takes_from_elsewhere_is_pinned() -> None:
    text = (TOP / "contrib" / "github" / "action.yml").read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert all(re.search(r"@([0-9a-f]{40}|<commit>)$", name) for name in used), used
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-\w+", JOB["image"])
    pins = (TOP / "contrib" / "constraints.txt").read_text().splitlines()[1:]
    assert all(re.fullmatch(r"[\w-]+==[\w.]+", pin) for pin in pins)
    installs = [step["run"] for step in ACTION["runs"]["steps"] if "install" in step.get("run", "")]
    assert all("-c" in script for script in [*installs, JOB["script"][4]])


def test_annotations_are_one_a_file_and_prompt_and_the_largest_come_first() -> None:
    from contrib import forge as ours

    def rows(path: str, number: int, *lines: int) -> list[Any]:
        about = {"path": path, "session_id": "s", "number": number, "agent": "Codex"}
        return [{**about, "prompt": "Do it", "line": line} for line in lines]

    one = ours._build_annotation(rows("a.py", 3, 9, 2, 3, 4, 30, 8), True)
    assert (one.first, one.last, one.count) == (2, 4, 6)
    assert one.message == "wrote 6 lines of this file: 2-4, 8-9, 30\n> Do it"
    many = ours._build_annotation(rows("a.py", 3, *range(1, 60, 2)), False)
    assert many.message.endswith("17, 19, …") and many.count == 30
