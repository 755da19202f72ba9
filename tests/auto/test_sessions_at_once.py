"""Auto-commit by several sessions in one worktree: each turn is its own commit, or says why not."""

from __future__ import annotations

import os
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.auto.hooks_and_checks import hook, sound
from tests.support.harness import Agent, World

LONG = bool(os.environ.get("LONG"))
SESSIONS, TURNS = (6, 20) if LONG else (3, 3)


@pytest.fixture
def auto(world: World) -> World:
    world.git("config", "gitcp.strategy", "auto-commit")
    return world


@pytest.mark.parametrize("number", range(8 if LONG else 2))
def test_two_sessions_that_stop_at_once_make_a_commit_each(auto: World, number: int) -> None:
    hook(auto, "pre-commit", "sleep 0.1")
    pair = [auto.agent(sid, tools=True) for sid in ("session-a", "session-b")]
    for agent in pair:
        agent.prompt(f"work of {agent.sid}")
        agent.write(f"{agent.sid}.txt", f"{agent.sid}\n")
    with ThreadPoolExecutor(2) as pool:
        for call in pool.map(Agent.stop, pair):
            assert call.said == ""
    rows = auto.git("log", "-2", "--format=%s", "--name-only").split("\n\n")
    commits = auto.git("rev-list", "-2", "HEAD").split()
    assert len(rows) >= 2
    for commit in commits:
        name = auto.git("show", "--format=", "--name-only", commit)
        sid = name.removesuffix(".txt")
        assert auto.git("log", "-1", "--format=%s", commit) == f"Work of {sid}"
        [one] = auto.ids(commit)
        assert list(auto.committed(one)) == [sid]
    assert auto.git("status", "--porcelain") == ""
    assert (auto.streams, auto.open()) == ([], [])
    sound(auto)


def test_a_file_that_another_session_works_on_is_not_committed(auto: World) -> None:
    a, b = (auto.agent(sid, tools=True) for sid in ("session-a", "session-b"))
    both = "line one\nline two\nline three\nby a\n"
    a.prompt("a's part")
    b.prompt("b's part")
    a.write("README.md", both)
    b.write("README.md", both + "by b\n")
    before = auto.head
    assert "'README.md' holds changes that are not the session's" in a.stop().said
    assert "'README.md' holds changes that are not the session's" in b.stop().said
    assert auto.head == before
    assert auto.tree(auto.branch()) == {"README.md": both + "by b\n"}
    [one] = auto.commit("README.md")
    assert sorted(auto.committed(one)) == ["session-a", "session-b"]


def test_the_persons_own_lines_in_a_file_keep_it_from_being_committed(auto: World) -> None:
    auto.write("README.md", "the person's line\nline two\nline three\n")
    before, a = auto.head, auto.agent("session-a", tools=True)
    a.prompt("work")
    a.write("README.md", "the person's line\nline two\nline three\nby the agent\n")
    a.write("a.txt", "a\n")
    assert "'README.md' holds changes that are not the session's" in a.stop().said
    assert auto.head == before
    a.turn("more", {"b.txt": "b\n"})
    assert auto.git("show", "--format=", "--name-only", "HEAD").split() == ["a.txt", "b.txt"]
    assert auto.git("status", "--porcelain") == " M README.md"


def test_streams_of_todos_and_compactions_are_settled_by_the_commit(auto: World) -> None:
    a = auto.agent("session-a", tools=True)
    a.prompt("a list")
    for number in range(3):
        a.write(f"{number}.txt", "x\n")
        todos = {"todos": [{"content": "x", "status": "completed"}]}
        call = {"tool_name": "TodoWrite", "tool_use_id": f"toolu_t{number}"}
        a.event("PostToolUse", "", **call, tool_input=todos, tool_response={})
    a.event("PreCompact", trigger="auto", custom_instructions="")
    assert len(auto.streams) == 1
    a.stop()
    assert auto.git("show", "--format=", "--name-only", "HEAD").split() == [
        "0.txt",
        "1.txt",
        "2.txt",
    ]
    assert (auto.streams, auto.open(), auto.archives) == ([], [], [])


class Person:
    """Stages, commits and stashes files of their own while the sessions work."""

    def __init__(self, world: World) -> None:
        self.world, self.chance, self.count = world, random.Random(1), 0
        self.lines: list[str] = []

    def git(self, *args: str) -> bool:
        """As typed: another git may hold the index, then they try again."""
        for _ in range(100):
            argv = ["git", *args]
            env = {**os.environ, "GIT_EDITOR": "true"}
            done = subprocess.run(argv, cwd=self.world.path, env=env, capture_output=True)
            if b"index.lock" not in done.stderr and b"cannot lock ref" not in done.stderr:
                return done.returncode == 0
            time.sleep(0.02)
        return False

    def act(self) -> None:
        self.count += 1
        path = f"person/{self.count % 3}.txt"
        self.lines.append(f"person line {self.count}")
        at = self.world.path / path
        at.parent.mkdir(exist_ok=True)
        with at.open("a") as f:
            f.write(self.lines[-1] + "\n")
        what = self.chance.choice(("nothing", "stage", "commit", "stash"))
        if what == "stage":
            self.git("add", path)
        elif what == "commit" and self.git("add", path):
            self.git("commit", "-q", "--no-verify", "-m", "by hand", "--", path)
        elif what == "stash" and self.git("stash", "push", "-q", "--", path):
            for _ in range(50):  # whatever keeps git from it for a moment, the person tries on
                if self.git("stash", "pop", "-q"):
                    return
                time.sleep(0.1)
            raise AssertionError("what the person stashed does not come back")


def test_sessions_a_person_and_hooks_at_once_lose_nothing(auto: World) -> None:
    """Every line of a session is committed at most once, under its own message and its id; until
    then it is in a temporary checkpoint; index and worktree of the person lose no byte."""
    hook(auto, "pre-commit", FICKLE)
    agents = [auto.agent(f"s{n}", tools=True) for n in range(SESSIONS)]
    person = Person(auto)

    def play(agent: Agent) -> None:
        for turn in range(TURNS):
            agent.prompt(f"{agent.sid} turn {turn}")
            agent.write(f"{agent.sid}/{turn}.py", f"{agent.sid}_{turn} = 1\n")
            agent.stop()

    with ThreadPoolExecutor(SESSIONS) as pool:
        playing = [pool.submit(play, agent) for agent in agents]
        while not all(one.done() for one in playing):
            person.act()
        for one in playing:
            one.result()
    check(auto, agents, person)


FICKLE = """
n=$(($(date +%s%N) / 1000 % 10))
case $n in
0) exit 1 ;;
1 | 2) git diff --cached --name-only --diff-filter=AM | while read -r f; do
	case $f in s*.py) echo '# formatted' >>"$f"; git add "$f" ;; esac; done ;;
3) sleep 0.5 ;;
esac
"""


def check(world: World, agents: list[Agent], person: Person) -> None:
    sound(world)
    for agent in agents:
        for turn in range(TURNS):
            path = f"{agent.sid}/{turn}.py"
            text = (world.path / path).read_text()
            assert text.startswith(f"{agent.sid}_{turn} = 1\n")
            commits = world.git("log", "--format=%H", "--", path).split()
            if commits:
                [commit] = commits
                assert world.git("log", "-1", "--format=%s", commit).startswith(
                    f"{agent.sid} turn".capitalize()
                )
                [one] = world.ids(commit)
                assert list(world.committed(one)) == [agent.sid]
                assert path in world.committed(one)[agent.sid]["files_touched"]
            elif path in agent.state.get("files_touched", ()):
                refs = [*world.streams, *world.archives]
                assert any(path in world.tree(ref) for ref in refs), (path, refs)
    lines = [line for p in (world.path / "person").iterdir() for line in p.read_text().split("\n")]
    assert sorted(filter(None, lines)) == sorted(person.lines)
    ours = [f"{a.sid}/" for a in agents]
    by_hand = world.git("log", "--format=%H", "--grep=by hand").split()
    for commit in by_hand:
        names = world.git("show", "--format=", "--name-only", commit).split()
        assert not [n for n in names if n.startswith(tuple(ours))]
