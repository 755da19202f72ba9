"""stats: how much of a range is whose, for a terminal, a program, a pull request."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git
from tests.support.harness import Json, World
from tests.support.paths import BIN

A = "a1b2c3d4e5f6"


def stats(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return warm.run("stats", *argv, cwd=cwd)


@pytest.fixture
def counted(repo: Path) -> Path:
    """Six lines before, then a linked commit: two of a session, one of a person, one unknown."""
    (repo / "src" / "app.py").write_text("one\ntwo\nthree\nfour\n")
    git("commit", "-qam", "count")
    linked(A, "session-1", "src/app.py", [[1, 2, "t1", None], [3, 3, "person", None]])
    return repo


def test_options_choose_the_commits_that_are_counted(counted: Path) -> None:
    def count(*words: str) -> int:
        return int(json.loads(stats("--json", *words).stdout)["commits"])

    every = count()
    assert every > 1
    assert (count("-1"), count("-n", "1"), count("--grep=^count$")) == (1, 1, 1)
    assert (count("--author", "nobody"), count("--since=2038-01-01")) == (0, 0)
    assert count("--until=2037-01-01", "--author=.") == every
    done = stats("--survival", "-n", "1")
    assert done.returncode == 129 and "name revisions" in done.stderr


def test_the_model_is_that_of_the_answers_where_no_event_tells_it(world: World) -> None:
    """Claude Code's hooks do not; its transcript does, for each turn, and not for a subagent."""
    agent = world.agent("11111111-aaaa-4a87-9186-848bdd83d62e", tools=True)
    for model, path in (("opus-5", "a.txt"), ("haiku-5", "b.txt")):
        agent.prompt(f"write {path}")
        agent.write(path, "1\n")
        usage = {"input_tokens": 5, "output_tokens": 7}
        answer = {"id": f"msg_{model}", "role": "assistant", "usage": usage, "model": model}
        agent.say({"type": "assistant", "message": {**answer, "content": []}})
        agent.stop()
    file = {"file_path": str(world.path / "c.txt"), "content": "1\n"}
    tool: Json = {
        "tool_name": "Write",
        "tool_input": file,
        "tool_use_id": "t9",
        "agent_id": "a0fe12",
    }
    agent.prompt("let another write c.txt")
    agent.event("PreToolUse", **tool)
    world.write("c.txt", "1\n")
    agent.event("PostToolUse", **tool, tool_response={})
    agent.stop()
    world.commit("a.txt", "b.txt", "c.txt")
    models = json.loads(stats("--json", "HEAD~1..", cwd=world.path).stdout)["models"]
    assert [(row["agent"], row["model"]) for row in models] == [
        ("Claude Code", ""),
        ("Claude Code", "haiku-5"),
        ("Claude Code", "opus-5"),
    ]


def test_the_sums_are_those_of_git_log_numstat(counted: Path) -> None:
    record = json.loads(stats("--json").stdout)
    rows = [line.split("\t") for line in git("log", "--numstat", "--format=").splitlines()]
    assert sum(record["added"].values()) == sum(int(row[0]) for row in rows if row[0])
    assert sum(record["removed"].values()) == sum(int(row[1]) for row in rows if row[0])
    assert record["added"] == {"agent": 2, "person": 7, "unknown": 1, "unrecorded": 0}
    assert (record["commits"], record["linked"], record["turns"]) == (3, 1, 1)


def test_a_range_and_paths_limit_what_is_counted(counted: Path) -> None:
    assert json.loads(stats("--json", "HEAD~1..").stdout)["added"]["person"] == 1
    below = stats("--json", "--", "app.py", cwd=counted / "src")
    assert [f["path"] for f in json.loads(below.stdout)["files"]] == ["src/app.py"]
    assert json.loads(stats("--json", "--", "README.md").stdout)["commits"] == 1
    git("config", "log.follow", "true")
    followed = stats("--json", "HEAD", "--", "src")
    git("config", "--unset", "log.follow")
    assert followed.stdout == stats("--json", "HEAD", "--", "src").stdout != ""


def test_the_table_has_sums_and_bars(counted: Path) -> None:
    lines = stats().stdout.splitlines()
    assert lines[0] == "3 commits, 1 of them with sessions, 1 Apr 05"
    assert lines[2].split() == ["lines", "added", "10"]
    assert lines[3].startswith("  Claude Code                2  20 %  ████████")
    assert sum(line.count("█") for line in lines) == 40, "the bars add up"
    assert any(line.startswith("  src/app.py") for line in lines)
    assert re.search(r"of all lines are recorded in \d of 3 commits", "\n".join(lines))
    by_model = stats("--by", "model").stdout.splitlines()
    assert len(by_model) == 1 and by_model[0].startswith("  Claude Code opus")
    assert stats("--by", "day").stdout.split() == ["2005-04-01", "10"]


def test_no_name_of_a_file_becomes_markup_or_calls_somebody(counted: Path) -> None:
    cells = {
        "a|b<c>": "`a\\|b<c>`",
        "@types:#1": "`@types:#1`",
        "a`b": "``a`b``",
        "`b``": "``` `b`` ```",
        "odd\nname": "`odd\\nname`",
    }
    for name in cells:
        (counted / name).write_text("x\n")
    git("add", ".")
    git("commit", "-qm", "odd")
    lines = stats("--markdown").stdout.splitlines()
    assert "| people | 12 | 0 | 80 % |" in lines
    assert [f"| {cell} | 0 | 1 | 0 |" in lines for cell in cells.values()] == [True] * 5


def test_a_name_that_is_not_utf_8_keeps_its_columns(counted: Path) -> None:
    (counted / os.fsdecode(b"\xe9.txt")).write_text("x\n")
    git("add", ".")
    git("commit", "-qm", "odd")
    section = stats("--by=file").stdout.splitlines()
    assert any(line.startswith("  \\xe9.txt ") for line in section)
    assert len({len(line) for line in section}) == 1


def test_what_is_no_revision_is_said_in_gits_words(counted: Path) -> None:
    done = stats("nothing")
    assert (done.returncode, done.stdout) == (128, "") and "nothing" in done.stderr


def test_a_renamed_file_counts_what_was_changed_in_it_alone(counted: Path) -> None:
    git("mv", "src/app.py", "src/counter.py")
    (counted / "src" / "counter.py").write_text("one\ntwo\nthree\nfour\nfive\n")
    git("commit", "-qam", "rename")
    record = json.loads(stats("--json", "HEAD~1..").stdout)
    assert (record["added"]["person"], record["removed"]["person"]) == (1, 0)
    assert [f["path"] for f in record["files"]] == ["src/counter.py"]


def test_the_first_commit_counts_whatever_git_log_would_show_of_it(counted: Path) -> None:
    git("config", "log.showRoot", "false")
    git("config", "diff.renames", "copies")
    git("config", "diff.noPrefix", "true")
    git("config", "core.quotePath", "true")
    assert json.loads(stats("--json").stdout)["added"]["person"] == 7


@pytest.mark.parametrize("survival", [(), ("--survival",)])
def test_how_far_it_is_shows_at_a_terminal_and_goes_again(
    counted: Path, survival: tuple[str, ...]
) -> None:
    own, theirs = pty.openpty()
    argv = (sys.executable, str(BIN / "gitcp"), "stats", "--json", *survival)
    env = {**os.environ, "GIT_PROGRESS_DELAY": "0"}
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(own, 1 << 16).decode()
    os.close(own)
    assert "\rreading commits" in shown
    assert shown.endswith("\r\033[K") and json.loads(done.stdout)["commits"] == 3


@pytest.mark.thorough
def test_of_a_long_history_from_before_only_what_was_recorded_is_counted(world: World) -> None:
    who = "A U Thor <author@example.com>"
    commits = [
        f"commit refs/heads/old\ncommitter {who} {1_000_000_000 + n} +0000\ndata 1\nx\n"
        f"M 100644 inline old.txt\ndata {len(str(n))}\n{n}\n"
        for n in range(5001)
    ]
    stream = "".join(commits).encode()
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, input=stream, cwd=world.path, check=True)
    world.git("checkout", "-q", "old")
    now = f"{int(time.time())} +0000"
    world.env |= {"GIT_AUTHOR_DATE": now, "GIT_COMMITTER_DATE": now}
    world.agent("session-a").turn("write", {"new.txt": "1\n2\n"})
    world.commit("new.txt")
    done = stats("--json", cwd=world.path)
    counted = json.loads(done.stdout)
    assert (counted["commits"], counted["added"]["agent"]) == (1, 2)
    assert counted["added"]["unrecorded"] == 0
    (said,) = done.stderr.splitlines()
    assert "are left out: --all" in said
    every = stats("--json", "--all", cwd=world.path)
    assert json.loads(every.stdout)["commits"] == 5002 and every.stderr == ""
    assert json.loads(stats("--json", "HEAD", cwd=world.path).stdout)["commits"] == 5002
