"""Commits that a forge made of a branch, and that are pulled: they get the branch's ids."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gitcp.checkpoints import listing
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.match import Target, holding
from gitcp.record.match.candidates import Search
from tests.git.traced import processes
from tests.support import warm
from tests.support.harness import V1, World
from tests.support.linking import logged, noted, shell, sound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.record.match.change import Change
    from gitcp.record.match.holding import Held
    from gitcp.text.record_types import Recorded

LINES = "def power(a, b):\n    return a ** b\n\n\ndef root(a):\n    return a ** 0.5\n"
CONFLICT = "a merge with a conflict"
MERGED = "a merge after the branch was merged here"


def pull_merge(world: World, tmp_path: Path, how: str, pull: str = "--ff-only") -> list[list[str]]:
    """A forge merges a branch of two linked commits, and it is pulled: the ids that the newest
    commits of origin are to have, of each."""
    hub, forge = tmp_path / "hub.git", tmp_path / "forge"
    world.git("clone", "-q", "--bare", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    world.git("fetch", "-q", "origin")
    world.git("branch", "-q", "-u", "origin/main", "main")
    world.git("switch", "-q", "-c", "feature")
    agent, base = world.agent("session-a"), world.head
    agent.turn("one", {"one.py": LINES})
    [first] = world.commit()
    agent.turn("two", {"one.py": LINES + "\n\ndef third(a):\n    return a ** (1 / 3)\n"})
    [second] = world.commit()
    world.git("push", "-q", "origin", "feature", warns=".*")
    world.git("clone", "-q", str(hub), str(forge))
    bare = "-c core.hooksPath=/dev/null"
    shell(world, "echo o >o; git add o; git commit -qm other; git push -q origin main", cwd=forge)
    if how == "squash":
        run = "export GIT_AUTHOR_NAME=forge GIT_AUTHOR_EMAIL=f@x GIT_AUTHOR_DATE=@1700000000+0000;"
        run += f" git merge -q --squash origin/feature; git {bare} commit -qm 'squash of feature'"
    else:
        run = f"git {bare} cherry-pick {base}..origin/feature; git {bare} commit -q --amend -m two;"
        run += f" git {bare} rebase -q --force-rebase HEAD~2 -x 'git commit -q --amend -m again'"
    shell(world, f"{run}; git push -q origin main", cwd=forge)
    world.git("switch", "-q", "main")
    if pull == MERGED:
        world.git("merge", "-q", "--no-ff", "-m", "feature", "feature")
    elif pull != "--ff-only":
        shell(world, f"echo p >{'o' if pull == CONFLICT else 'p'}; git add .; git commit -qm own")
    how_to = "--no-rebase" if pull in (CONFLICT, MERGED) else pull
    world.git("pull", "-q", "--no-edit", how_to, "origin", "main", ok=pull != CONFLICT, warns=".*")
    if pull == CONFLICT:
        world.agent("session-d").turn("more", {"more.py": "more\n"})  # so hooks see the merge
        shell(world, "echo both >o; git add o; git commit -q --no-edit")
    return [sorted([first, second])] if how == "squash" else [[second], [first]]


def newest(world: World, count: int) -> list[list[str]]:
    """The noted ids of the newest commits of origin."""
    return [sorted(noted(world, one.oid)) for one in logged(world, f"-{count}", "origin/main")]


def start_sessions(world: World, count: int) -> list[int]:
    """How many links of pulled commits each new session is told of: one whose time for the search
    is up settles one commit and leaves the others to the next."""
    said = [world.agent(f"later-{n}").start().said for n in range(count)]
    told = [re.search(r"pulled .* by a note: (\d+)", text) for text in said]
    return [int(match[1]) if match else 0 for match in told]


@pytest.mark.parametrize("pull", ["--ff-only", "--rebase", "--no-rebase", CONFLICT])
@pytest.mark.parametrize("how", ["squash", "rebase"])
def test_a_merge_of_a_forge_that_is_pulled_is_linked_by_a_note_and_told_once(
    world: World, tmp_path: Path, how: str, pull: str
) -> None:
    want = pull_merge(world, tmp_path, how, pull)
    told = start_sessions(world, len(want) + 1)
    assert newest(world, len(want)) == want
    assert sum(told) == sum(map(len, want))
    assert told[-1] == 0
    sound(world)


def test_a_squash_of_commits_that_only_notes_link_is_linked(world: World, tmp_path: Path) -> None:
    hub, forge = tmp_path / "hub.git", tmp_path / "forge"
    world.git("config", "gitcp.link", "note")
    world.git("switch", "-q", "-c", "feature")
    world.agent("session-a").turn("one", {"one.py": LINES})
    shell(world, "git add one.py; git commit -qm one")
    [first] = noted(world)
    world.git("clone", "-q", "--bare", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    world.git("clone", "-q", "-b", "main", str(hub), str(forge))
    made = "-c core.hooksPath=/dev/null -c user.name=f -c user.email=f@x commit -qm squash"
    squash = f"git merge -q --squash origin/feature; git {made}; git push -q origin main"
    shell(world, squash, cwd=forge)
    world.git("switch", "-q", "main")
    world.git("pull", "-q", "--ff-only", "origin", "main")
    world.agent("session-b").start()
    assert noted(world) == [first]
    sound(world)


@pytest.mark.parametrize("others", ["nothing else", "a line more"])
def test_a_squash_of_single_lines_is_linked_if_it_is_the_whole_branch(
    world: World, others: str
) -> None:
    lines = [f"line {n} of the module\n" for n in range(20)]
    world.write("one.py", "".join(lines))
    world.commit()
    world.git("switch", "-q", "-c", "feature")
    lines[3] += "line of the session\n"
    world.agent("session-a").turn("one line", {"one.py": "".join(lines)})
    [first] = world.commit()
    lines[16] += "line of the person\n"
    world.write("one.py", "".join(lines))
    assert world.commit() == []
    if others != "nothing else":
        lines[10] += "line that nobody knows\n"
    world.git("switch", "-q", "main")
    world.write("one.py", "".join(lines))
    forge = "GIT_AUTHOR_NAME=forge GIT_AUTHOR_EMAIL=f@x git -c core.hooksPath=/dev/null"
    shell(world, f"git branch -q -D feature; git add one.py; {forge} commit -q -m '#1'")
    world.agent("session-b").start()
    assert noted(world) == ([first] if others == "nothing else" else [])
    sound(world, lost=others != "nothing else")
    assert "empty-link" not in world.gitcp("fsck")


def test_a_squash_that_is_pulled_with_the_commits_that_it_holds_is_linked(
    world: World, tmp_path: Path
) -> None:
    there = World(tmp_path / "clone", world.home, world.env)
    world.git("clone", "-q", ".", str(there.path))
    there.gitcp("enable", "--agent", "claude-code")
    there.agent("session-b").start()
    world.git("switch", "-q", "-c", "feature")
    agent, links = world.agent("session-a"), []
    for number in range(1, 3):
        agent.turn("write", {"one.py": LINES[: 35 * number]})
        links += world.commit()
    made = "-c core.hooksPath=/dev/null commit -qm squash"
    shell(world, f"git switch -q main; git merge -q --squash feature; git {made}")
    world.git("merge", "-q", "--no-ff", "--no-edit", "feature")
    there.git("fetch", "-q", "origin", f"{V1}:{V1}")
    there.git("pull", "-q", "--ff-only", "origin", "main")
    there.agent("session-c").start()
    assert sorted(noted(there, "HEAD^")) == sorted(links)
    assert noted(there) == noted(there, "HEAD^2") == []
    there.close()


@pytest.mark.parametrize("how", ["squash", "rebase"])
def test_a_merge_of_a_forge_is_linked_where_head_has_the_branch_by_a_merge_as_well(
    world: World, tmp_path: Path, how: str
) -> None:
    want = pull_merge(world, tmp_path, how, MERGED)
    start_sessions(world, len(want))
    assert newest(world, len(want)) == want
    sound(world)


def test_what_is_made_again_on_top_of_a_commit_is_not_linked_by_a_pull(
    world: World, tmp_path: Path
) -> None:
    pull_merge(world, tmp_path, "squash", MERGED)
    world.git("reset", "-q", "--hard", "HEAD^")
    silent = "git -c core.hooksPath=/dev/null"
    text = world.read("one.py")
    for content in ("", text):
        world.write("one.py", content)
        shell(world, f"{silent} commit -qam again")
    again = world.head
    world.git("pull", "-q", "--no-edit", "--no-rebase", "origin", "main", warns=".*")
    world.agent("session-b").start()
    assert len(newest(world, 1)[0]) == 2
    assert noted(world, again) == []


def test_a_search_whose_time_is_up_settles_one_commit_and_leaves_the_others(
    world: World, tmp_path: Path
) -> None:
    want = pull_merge(world, tmp_path, "rebase")
    repo = Repo.find(str(world.path))
    with Objects(repo):
        branch = listing.list_beside(repo, ["HEAD"], 50)
        targets = [Target(repo.objects, one.oid) for one in reversed(logged(world, "-2"))]
        search = Search(repo, branch, 0.0, None)
        found = [(target.oid, [*ids]) for target, ids in search.find_missing(targets)]
    assert found == [(targets[0].oid, want[1])]
    assert search.asked == targets[0].oid


def test_what_has_nothing_of_some_work_is_not_compared_with_it_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    hold = holding.hold

    def count(work: list[Recorded], change: Change, *without: Sequence[Change]) -> Held:
        compared.extend(entry["path"] for entry in work)
        return hold(work, change, *without)

    monkeypatch.setattr(holding, "hold", count)
    shell(world, "echo o >other; git add other; git commit -qm other; git branch side HEAD~")
    other = world.head
    world.git("switch", "-q", "side")
    agent = world.agent("session-a")
    for path in ("one.py", "two.py"):
        agent.turn("write", {path: LINES})
        world.commit()
        repo = Repo.find(str(world.path))
        with Objects(repo):
            for _ in range(2):
                search = Search(repo, listing.list_beside(repo, [other], 50), 10.0, None)
                targets = [Target(repo.objects, other)]
                assert [ids for _, ids in search.find_missing(targets)] == [{}]
        assert compared == [path], "what is new, and once"
        compared.clear()


def test_a_second_prompt_asks_nothing_while_another_session_has_still_to_follow_head(
    world: World, tmp_path: Path
) -> None:
    world.agent("session-b").prompt("a long turn")
    want = pull_merge(world, tmp_path, "squash")
    trace = tmp_path / "trace"
    world.env["GITCP_TRACE"] = str(trace)
    agent, asked = world.agent("session-c"), []
    for _ in range(3):
        agent.prompt("go on")
        asked.append([name for name in processes(trace) if "rev-list" in name or "log" in name])
        trace.unlink()
        agent.stop()
    assert newest(world, 1) == want
    assert asked[0] and asked[1:] == [[], []]


READERS = (["status"], ["log", "-n1"], ["why", "one.py:1"], ["blame", "one.py"])


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_a_command_that_reads_looks_for_what_was_pulled_and_says_so_once(
    world: World, tmp_path: Path, words: list[str]
) -> None:
    want = pull_merge(world, tmp_path, "squash")
    env = {**os.environ, **world.env}
    first, second = (warm.command(words[0], words[1:], world.path, env, b"") for _ in range(2))
    assert newest(world, 1) == want
    assert b"linked again by a note: 2" in first.stderr and second.stderr == b""
    assert first.stdout == second.stdout, "the first one knows it already"
    world.git("pull", "-q", warns=".*")
    sound(world)
