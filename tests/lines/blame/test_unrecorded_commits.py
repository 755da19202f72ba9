"""Unrecorded is not the person's: what was committed while nothing recorded is shown as such."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from tests.lines.blame.told_lines import blame_names, text
from tests.support import warm
from tests.support.harness import V1, World

HOUR = 3600
DATE = 1112354055  # when the worlds of the tests are enabled
TRAILER = "Co-Authored-By: Claude <noreply@anthropic.com>"


def commit(world: World, path: str, hours: int, *message: str, author: str = "") -> None:
    """The person commits a line so many hours after gitcp was enabled."""
    world.write(path, f"line of {path} that was committed after {hours} hours\n")
    before = dict(world.env)
    world.env["GIT_AUTHOR_DATE"] = f"{DATE + hours * HOUR} +0000"
    world.env["GIT_AUTHOR_EMAIL"] = author or "author@example.com"
    world.git("add", path)
    world.git("commit", "-q", *(word for part in message or (path,) for word in ("-m", part)))
    world.env.clear()
    world.env.update(before)


def at(world: World, hours: int, name: str, *args: str) -> None:
    """A command of gitcp so many hours after gitcp was enabled."""
    world.env["GIT_AUTHOR_DATE"] = f"{DATE + hours * HOUR} +0000"
    world.gitcp(name, *args)
    del world.env["GIT_AUTHOR_DATE"]


def stats(world: World, *revisions: str) -> dict[str, Any]:
    return dict(json.loads(world.gitcp("stats", "--json", *revisions)))


def of_file(world: World, path: str) -> str:
    """Whose the one line of a file is, as blame, why, stats and the page say."""
    [who] = blame_names(world, path)
    asked = json.loads(world.gitcp("why", "--json", f"{path}:1"))
    counted = {row["path"]: row for row in stats(world)["files"]}[path]
    assert asked["who"] == who
    assert counted[who] == 1 and sum(counted[w] for w in stats(world)["added"]) == 1
    return who


def test_what_was_committed_before_gitcp_was_enabled_is_unrecorded(world: World) -> None:
    commit(world, "before.txt", -1)
    commit(world, "after.txt", 1)
    assert of_file(world, "before.txt") == "unrecorded"
    assert of_file(world, "after.txt") == "person"
    counts = stats(world, "HEAD~2..")["added"]
    assert counts == {"agent": 0, "person": 1, "unknown": 0, "unrecorded": 1}


@pytest.mark.parametrize("is_enabled", [True, False])
def test_an_unrecorded_line_that_a_person_indents_is_shown_as_git_shows_it(
    world: World, is_enabled: bool
) -> None:
    commit(world, "before.txt", -1)
    if not is_enabled:
        world.gitcp("disable", "--uninstall")
    world.write("before.txt", f"  {world.read('before.txt')}a new line, and without an end")
    assert blame_names(world, "before.txt") == ["unrecorded", "person"]
    for options in ((), ("-w",), ("--line-porcelain",)):
        shown, gits = (
            [line.partition("-time ")[0].partition("20")[0] for line in blamed.splitlines()]
            for blamed in (
                world.gitcp("blame", *options, "before.txt"),
                world.git("blame", *options, "before.txt") + "\n",
            )
        )
        assert shown == gits
    world.commit()
    assert blame_names(world, "before.txt")[0] == "unrecorded"


def test_what_was_committed_while_gitcp_was_disabled_is_unrecorded(world: World) -> None:
    at(world, 1, "disable")
    commit(world, "silent.txt", 2)
    at(world, 3, "enable")
    commit(world, "again.txt", 4)
    assert of_file(world, "silent.txt") == "unrecorded"
    assert of_file(world, "again.txt") == "person"


def test_what_was_committed_while_the_hooks_were_silenced_is_unrecorded(world: World) -> None:
    at(world, 1, "enable")
    world.git("config", "core.hooksPath", "/dev/null")
    world.env["GIT_AUTHOR_DATE"] = f"{DATE + 2 * HOUR} +0000"
    assert "git no longer runs gitcp's hooks" in world.agent("session-a").start().stdout
    commit(world, "silent.txt", 3)
    world.git("config", "--unset", "core.hooksPath")
    world.env["GIT_AUTHOR_DATE"] = f"{DATE + 4 * HOUR} +0000"
    world.agent("session-b").start()
    commit(world, "again.txt", 5)
    assert of_file(world, "silent.txt") == "unrecorded"
    assert of_file(world, "again.txt") == "person"


def test_what_a_colleague_commits_without_gitcp_is_unrecorded(world: World) -> None:
    commit(world, "theirs.txt", 1, author="colleague@example.com")
    assert of_file(world, "theirs.txt") == "unrecorded"
    shown = world.gitcp("show")
    assert "by a program it did not see\n" in shown and "no session" not in shown
    line = world.gitcp("blame", "theirs.txt")
    assert "(A U Thor " in line
    assert "(? " in world.gitcp("blame", "--mark-unknown", "theirs.txt")
    commit(world, "mine.txt", 1)
    assert "(A U Thor " in world.gitcp("blame", "--mark-unknown", "mine.txt")
    assert "by a program it did not see" in world.gitcp("why", "theirs.txt:1")


@pytest.mark.parametrize(
    "trailer, agent",
    [
        ("Claude-Session: https://claude.example/code/session_01", "Claude Code"),
        ("Agent-Logs-Url: https://forge.example/o/r/sessions/1", "Copilot CLI"),
    ],
)
def test_a_link_to_a_session_names_its_agent(world: World, trailer: str, agent: str) -> None:
    commit(world, "theirs.txt", 1, "subject", trailer)
    assert of_file(world, "theirs.txt") == "unrecorded"
    assert stats(world, "HEAD~1..")["attested"] == [{"agent": agent, "commits": 1, "added": 1}]


@pytest.mark.parametrize("author", ["author@example.com", "colleague@example.com"])
def test_an_agent_that_a_trailer_names_is_attested(world: World, author: str) -> None:
    commit(world, "theirs.txt", 1, "subject", TRAILER, author=author)
    assert of_file(world, "theirs.txt") == "unrecorded"
    assert "(Claude Code (attested) " in world.gitcp("blame", "--mark-unknown", "theirs.txt")
    assert "the commit names Claude Code" in world.gitcp("why", "theirs.txt:1")
    counts = stats(world, "HEAD~1..")
    assert counts["attested"] == [{"agent": "Claude Code", "commits": 1, "added": 1}]
    assert counts["added"] == {"agent": 0, "person": 0, "unknown": 0, "unrecorded": 1}
    table = world.gitcp("stats", "HEAD~1..")
    assert "of what is not recorded, Claude Code is named in 1 commit with 1 line" in table


@pytest.mark.parametrize(
    "mail, who",
    [
        ("noreply@forge.example", "unrecorded"),
        ("No-Reply@forge.example", "unrecorded"),
        ("1+me@users.noreply.forge.example", "person"),
    ],
)
def test_what_a_forge_commits_without_a_link_is_nobodys(world: World, mail: str, who: str) -> None:
    world.env |= {"GIT_COMMITTER_EMAIL": mail, "GIT_COMMITTER_NAME": "Forge"}
    commit(world, "squash.txt", 1, "Add a file (#7)")
    assert of_file(world, "squash.txt") == who
    assert ("A U Thor" in world.gitcp("why", "squash.txt:1")) is (who == "person")
    assert ", by Forge" in world.gitcp("why", "squash.txt:1")


def test_a_line_of_a_recorded_person_that_a_forge_s_commit_moves_stays_his(world: World) -> None:
    lines = [f"a line of some length, number {number}\n" for number in range(8)]
    world.write("f.txt", "".join(lines))
    world.git("add", "f.txt")
    world.git("commit", "-q", "-m", "mine")
    world.env["GIT_COMMITTER_EMAIL"] = "noreply@forge.example"
    world.write("f.txt", "".join([*lines[4:], "another line\n", *lines[:4]]))
    world.git("commit", "-q", "-am", "Move them (#8)")
    counts = stats(world, "HEAD~1..")["added"]
    assert counts == {"agent": 0, "person": 4, "unknown": 0, "unrecorded": 1}


@pytest.mark.parametrize("files", [2, 12])
def test_a_moved_line_keeps_its_attested_agent_however_many_files_are_asked_about(
    world: World, files: int
) -> None:
    paths = [f"f{number}.txt" for number in range(files)]
    lines = [f"a line of some length, number {number}\n" for number in range(8)]
    theirs = {"GIT_AUTHOR_EMAIL": "colleague@example.com"}
    world.env.update(theirs)
    for content, message in ((lines, TRAILER), ([*lines[4:], *lines[:4]], "mover")):
        for path in paths:
            world.write(path, "".join(content))
        world.git("add", *paths)
        world.git("commit", "-q", "-m", "subject", "-m", message)
    marked = world.gitcp("blame", "--mark-unknown", paths[0])
    assert marked.count("(Claude Code (attested) ") == 8
    repo = Repo.find(str(world.path))
    with Objects(repo):
        evidence = Evidence(repo)
        changes = [*history.read_changes(repo, ["-1"])]
        evidence.prefetch_changes(changes)
        new = {n for _, _, first, count in changes[0]["patches"][0]["hunks"]
               for n in range(first, first + count)}  # fmt: skip
        for path in paths:
            authors = evidence.find_line_authors(changes[0]["oid"], path)
            assert {authors[n]["agent"] for n in new} == {"Claude Code"}


def shuffle(world: World, files: int, commits: int) -> None:
    """The person's files, whose lines commits of a colleague move."""
    lines = [f"a line of some length, number {number}\n" for number in range(8)]
    for number in range(commits + 1):
        shown = [*lines[number % 8 :], *lines[: number % 8]]
        for file in range(files):
            world.write(f"f{file}.txt", "".join(shown))
        world.git("add", ".")
        world.git("commit", "-q", "-m", "subject")
        world.env["GIT_AUTHOR_EMAIL"] = "colleague@example.com"
    del world.env["GIT_AUTHOR_EMAIL"]


def count_gits(world: World, *args: str) -> int:
    """The processes of git that a command starts; none of them is `git blame`."""
    trace = world.home / "trace"
    trace.unlink(missing_ok=True)
    world.env["GIT_TRACE2_EVENT"] = str(trace)
    world.gitcp(*args)
    del world.env["GIT_TRACE2_EVENT"]
    started = [row for row in map(json.loads, trace.open()) if row["event"] == "start"]
    assert not [row["argv"] for row in started if "blame" in row["argv"]]
    return len(started)


def test_stats_asks_git_as_often_for_many_files_and_commits_as_for_few(
    world: World, tmp_path: Path
) -> None:
    shuffle(world, files=12, commits=2)
    few = count_gits(world, "stats", "HEAD~2..")
    world.git("checkout", "-q", "--orphan", "more")
    world.git("rm", "-rqf", ".")
    shuffle(world, files=40, commits=6)
    assert count_gits(world, "stats", "HEAD~6..") <= few


def revert_elsewhere(world: World, files: int) -> None:
    """A commit of many files, and on another branch one that says it reverts it."""
    shuffle(world, files, commits=1)
    world.git("checkout", "-q", "-b", f"side-{files}")
    shuffle(world, files, commits=2)
    side = world.head
    world.git("checkout", "-q", "-")
    for file in range(files):
        world.write(f"f{file}.txt", f"another line of some length, number {file}\n")
    world.git("commit", "-qa", "-m", "subject", "-m", f"This reverts commit {side}.")


def test_a_revert_of_a_commit_elsewhere_asks_git_as_often_for_many_files_as_for_few(
    world: World,
) -> None:
    revert_elsewhere(world, files=12)
    few = count_gits(world, "stats", "HEAD^..")
    world.git("checkout", "-q", "--orphan", "more")
    world.git("rm", "-rqf", ".")
    revert_elsewhere(world, files=40)
    assert count_gits(world, "stats", "HEAD^..") <= few


@pytest.mark.parametrize("files", [1, 12])
def test_blame_and_stats_of_one_commit_and_of_many_give_a_moved_line_to_the_same(
    world: World, files: int
) -> None:
    shuffle(world, files=files, commits=3)
    parts = [stats(world, f"HEAD~{n + 1}..HEAD~{n}")["added"]["person"] for n in range(3)]
    assert parts == [files] * 3
    assert stats(world, "HEAD~3..")["added"] == {
        "agent": 0, "person": 3 * files, "unknown": 0, "unrecorded": 0
    }  # fmt: skip
    assert blame_names(world, "f0.txt") == ["person"] * 8


def test_a_clone_of_an_older_version_recorded_since_its_first_checkpoint(world: World) -> None:
    agent = world.agent("session-a", tools=True)
    agent.turn("write", {"its.txt": text("a session", 1)})
    world.commit()
    since = (int(world.git("log", "-1", "--format=%at", V1)) - DATE) // HOUR
    commit(world, "before.txt", since - 1)
    commit(world, "after.txt", since + 2)
    for path in (world.path / ".git" / "gitcp").glob("recording*"):
        path.unlink()
    world.git("update-ref", "-d", "refs/notes/gitcp")
    world.env["GIT_AUTHOR_DATE"] = f"{DATE + (since + 3) * HOUR} +0000"
    world.agent("session-b").start()
    assert of_file(world, "before.txt") == "unrecorded"
    assert of_file(world, "after.txt") == "person"


def test_whoever_wrote_a_checkpoint_recorded_whichever_remote_has_it(world: World) -> None:
    world.agent("session-a", tools=True).turn("write", {"its.txt": text("a session", 1)})
    world.commit()
    since = (int(world.git("log", "-1", "--format=%at", V1)) - DATE) // HOUR
    world.env["GIT_AUTHOR_EMAIL"] = "colleague@example.com"
    theirs = world.git("commit-tree", "-m", "theirs", f"{V1}^{{tree}}").strip()
    del world.env["GIT_AUTHOR_EMAIL"]
    for remote, oid in ("a", V1), ("b", theirs):
        world.git("update-ref", f"refs/remotes/{remote}/entire/checkpoints/v1", oid)
    for ref in (V1, "refs/notes/gitcp"):
        world.git("update-ref", "-d", ref)
    for path in (world.path / ".git" / "gitcp").glob("recording*"):
        path.unlink()
    commit(world, "mine.txt", since + 2)
    commit(world, "theirs.txt", since + 2, author="colleague@example.com")
    assert [of_file(world, path) for path in ("mine.txt", "theirs.txt")] == ["person", "person"]


def test_a_colleague_s_and_an_unattended_clone_know_when_this_one_recorded(
    world: World, tmp_path: Path
) -> None:
    commit(world, "before.txt", -1)
    agent = world.agent("session-a", tools=True)
    agent.turn("write", {"its.txt": text("a session", 1)})
    world.commit()
    commit(world, "mine.txt", 1)
    at(world, 2, "disable")
    commit(world, "later.txt", 3)
    clone = tmp_path / "clone"
    world.git("clone", "-q", str(world.path), str(clone))
    world.git("fetch", "-q", "origin", f"{V1}:{V1}", "refs/notes/gitcp:refs/notes/gitcp", cwd=clone)
    shutil.rmtree(clone / ".git" / "gitcp", ignore_errors=True)
    want = {"before.txt": "unrecorded", "its.txt": "agent", "mine.txt": "person"}
    done = warm.run("stats", "--json", cwd=clone)
    rows = {row["path"]: row for row in json.loads(done.stdout)["files"]}
    assert {path: rows[path][who] for path, who in want.items()} == dict.fromkeys(want, 1)
    assert rows["later.txt"]["unrecorded"] == 1
