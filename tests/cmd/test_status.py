"""status: what a person sees of what goes on here."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.record import session
from gitcp.text.short_ids import shorten_id
from tests.support.checkpoints import git
from tests.support.harness import World
from tests.support.paths import BIN
from tests.support.story import ALPHA, BETA, GAMMA, Story
from tests.support.warm import run

SCREEN = 24  # lines


def test_a_repository_without_gitcp_says_how_to_begin(repo: Path) -> None:
    done = run("status")
    assert done.returncode == 0
    assert done.stdout.startswith("on main at ")
    assert done.stdout.endswith(", not recording: 'gitcp enable' begins\n")


def test_status_shows_the_sessions_of_this_worktree(story: Story) -> None:
    text = run("status").stdout
    first = text.splitlines()[0]
    assert first == f"on main at {story.plain[:8]}, recording Claude Code"
    here = text[: text.index("in other worktrees\n")].splitlines()
    rows = {line.split()[0]: n for n, line in enumerate(here) if line}
    assert shorten_id(GAMMA) not in rows
    alpha, beta = rows[shorten_id(ALPHA)], rows[shorten_id(BETA)]
    assert here[alpha].split()[3:6] == ["Claude", "Code", ">"]  # after `just now`, `2m ago`
    assert here[alpha + 1].strip() == "waiting  README.md  a b.txt"
    assert here[beta].endswith("> Review the tests") and here[beta + 1].strip() == "working"
    assert here.index("not committed") < alpha < here.index("at work") < beta
    verbose = run("status", "-v").stdout
    assert f"2 uncommitted files on {story.world.branch()}\n" in verbose


def test_decisions_about_streams_are_shown_to_who_asks(story: Story) -> None:
    decision = "continue: file overlap detected at prompt start"
    assert decision not in run("status").stdout and decision in run("status", "-v").stdout


def test_status_tells_of_other_worktrees_briefly(story: Story) -> None:
    text = run("status").stdout
    assert f"  {story.world.path.parent / 'elsewhere'}  1 session\n" in text


def test_each_worktree_counts_the_work_that_lies_in_it(world: World) -> None:
    here, there = world.path, world.path.parent / "there"
    world.git("worktree", "add", "-q", str(there))
    agent = world.agent("s1", tools=True)
    agent.turn("write here, and there by path", {"a.py": "a\n", str(there / "b.py"): "b\n"})

    def show(place: Path) -> str:
        shown = World(place, world.home).gitcp("status", "-v")
        return "".join(f"{line.strip()}\n" for line in shown.splitlines())

    stream = f"1 uncommitted file on {world.branch()}\n"
    assert f"waiting  a.py\n1 more in another worktree\n{stream}" in show(here)
    left = f"waiting  b.py\n1 more in another worktree, at home in {here}\n"
    assert f"{left}1 uncommitted file, in no checkpoint\n" in show(there)
    agent.cwd = there
    agent.turn("go on there", {"c.py": "c\n"})
    elsewhere = f"2 more in another worktree, at home in {there}\n"
    assert f"waiting  a.py\n{elsewhere}{stream}" in show(here)
    assert "waiting  b.py  c.py\n" in show(there)
    assert "2 uncommitted files on entire/" in show(there)
    world.commit("a.py")
    assert "not committed" not in show(here) and "another worktree\n" not in show(there)


def test_a_worktree_that_was_removed_is_listed_while_it_left_work(world: World) -> None:
    for name in ("settled", "open"):
        there = world.path.parent / name
        world.git("worktree", "add", "-q", str(there))
        world.agent(name, there).turn("work", {"f.txt": f"{name}\n"})
    world.commit(cwd=world.path.parent / "settled")
    for name in ("settled", "open"):
        assert f"/{name}  1 session\n" in world.gitcp("status")
        world.git("worktree", "remove", "--force", str(world.path.parent / name))
    places = world.gitcp("status").partition("in other worktrees\n")[2].splitlines()
    assert places[0] == f"  {world.path.parent / 'open'}  1 session, removed"
    assert not any("settled" in place for place in places)


@pytest.mark.thorough
def test_it_fits_on_a_screen_after_weeks_of_stashes_and_removed_worktrees(world: World) -> None:
    for n in range(6):
        there = world.path.parent / f"side-{n}"
        world.git("worktree", "add", "-q", str(there))
        world.agent(f"side-{n}", there).turn("work", {"side.txt": f"{n} aside\n"})
        world.git("worktree", "remove", "--force", str(there))
        a = world.agent(f"{n}-session")
        a.turn(f"prompt {n}", {"put_away.txt": f"{n} is put away\n"})
        world.git("stash", "-q", "-u")
        a.turn(f"more {n}", {f"{n}.txt": f"{n} stays\n"})
    text = world.gitcp("status")
    assert len(text.splitlines()) <= 24, text
    assert "> more 5\n" in text and "stash@{0} " in text and " work of " in text
    assert "side-0  1 session, removed" in text
    assert " more, with work of " in text and "more sessions: 'gitcp status -v'" in text
    assert world.gitcp("status", "-v").count("more ") >= 6


def test_status_shows_live_and_archived_streams(story: Story) -> None:
    assert "treams" not in run("status").stdout
    streams = run("status", "-v").stdout.partition("Streams:\n")[2]
    assert f"  live      {story.world.branch()}  2 checkpoints, 2 files" in streams
    assert "  archived  refs/gitcp/archive/" in streams and "(another worktree)" in streams


@pytest.fixture
def watching(story: Story) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, str(BIN / "gitcp-status"), "--watch"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_watched_in_a_pipe_a_session_has_its_lane_and_its_lines(
    watching: subprocess.Popen[str],
) -> None:
    assert watching.stdout
    lines = iter(watching.stdout.readline, "")
    assert next(lines).startswith("on main at ")
    assert next(line for line in lines if line.startswith("Lanes:"))
    lane = next(lines)
    name, time, bar, *words = lane.split()
    assert name == shorten_id(ALPHA) and set(time) <= set(".=#") and "=" in time
    assert set(bar) == {"#"} and words[:2] == [shorten_id(ALPHA), "2"]
    assert any(line == "not committed\n" for line in lines)
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == -signal.SIGINT


def test_watched_at_a_terminal_it_is_drawn_in_place_and_fits(story: Story) -> None:
    pid, master = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm", COLUMNS="30", LINES="10")
        os.execv(sys.executable, [sys.executable, str(BIN / "gitcp-status"), "--watch"])
    seen = b""
    while seen.count(b"\n") < 9:
        seen += os.read(master, 65536)
    os.kill(pid, signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT
    os.close(master)
    clear, frame = seen.decode().split("\x1b[H\x1b[J")[:2]
    rows = re.sub(r"\x1b\[\d+m", "", frame).split("\r\n")
    assert "\n" not in clear, "at most a line of progress, which goes again"
    assert len(rows) == 10 and max(map(len, rows)) == 30
    assert "\x1b[32mrecor" in frame and "Lanes:" in frame


def test_records_are_not_watched(story: Story) -> None:
    done = run("status", "--watch", "--json")
    assert (done.returncode, done.stdout) == (129, "")


def test_status_says_nothing_of_pushing_where_there_is_no_remote(story: Story) -> None:
    assert "remote" not in run("status").stdout


def test_what_data_holds_reaches_no_terminal_unescaped(story: Story) -> None:
    for args in (["status"], ["log"], ["show", ALPHA], ["show", story.world.branch()]):
        done = run(args[0], *args[1:])
        assert done.returncode == 0 and "\x1b" not in done.stdout, args
    assert "Make it \\x1b[31mred" in run("status").stdout


def test_json_is_a_status_then_sessions_then_streams(story: Story) -> None:
    found = [json.loads(line) for line in run("status", "--json").stdout.splitlines()]
    assert [r["type"] for r in found] == ["status", *["session"] * 3, *["stream"] * 3]
    assert found[0]["state"] == "enabled" and found[0]["worktree"] == "e3b0c4"
    by_id = {r["session_id"]: r for r in found if r["type"] == "session"}
    assert set(by_id) == {ALPHA, BETA, GAMMA}
    assert by_id[ALPHA]["prompt"].startswith("Make it")
    assert by_id[ALPHA]["stream"] == "refs/heads/" + story.world.branch()


def test_a_disabled_repository_says_so(repo: Path) -> None:
    assert run("enable").returncode == 0
    assert run("status").stdout.startswith("on main at ")
    assert ", recording Claude Code\n" in run("status").stdout
    assert run("disable").returncode == 0
    assert run("status").stdout.endswith(", disabled: 'gitcp enable' wakes it\n")
    assert run("disable", "--uninstall").returncode == 0


def test_sessions_that_are_not_at_work_and_have_nothing_open_are_only_counted(
    repo: Path,
) -> None:
    folder = repo / ".git" / "entire-sessions"
    folder.mkdir()
    for n in range(14):
        state = {"session_id": f"s{n}", "phase": "ended" if n % 2 else "idle"}
        (folder / f"s{n}.json").write_text(json.dumps(state))
    at_work = {"session_id": "s", "phase": "idle", "agent_process": session.describe(os.getpid())}
    (folder / "s.json").write_text(json.dumps(at_work))
    head, *sessions = [json.loads(x) for x in run("status", "--json").stdout.splitlines()]
    assert (head["settled"], [r["session_id"] for r in sessions]) == (14, ["s"])


@pytest.mark.thorough
def test_of_very_many_sessions_and_streams_the_newest_are_shown(repo: Path) -> None:
    folder, marked = repo / ".git" / "entire-sessions", repo / ".git" / "gitcp" / "open"
    folder.mkdir()
    marked.mkdir(parents=True)
    tree = git("rev-parse", "HEAD^{tree}").strip()
    message = "x\n\nEntire-Session: s{0}\nGitcp-Stream: {0:012x}\n"
    refs = []
    for n in range(120):
        state = {"session_id": f"s{n}", "phase": "idle", "files_touched": ["a"]}
        (folder / f"s{n}.json").write_text(json.dumps(state))
        os.utime(folder / f"s{n}.json", (n, n))
        (marked / f"s{n}").touch()
        body = message.format(n)
        refs.append(
            f"commit refs/heads/entire/{n:07x}-e3b0c4\ncommitter x <x@example.com> {n} +0000\n"
            f"data {len(body)}\n{body}\nM 040000 {tree} \n"
        )
    given = "".join(refs)
    subprocess.run(["git", "fast-import", "--quiet"], input=given, text=True, check=True)
    head, *rest = [json.loads(x) for x in run("status", "--json").stdout.splitlines()]
    shown = [r["session_id"] for r in rest if r["type"] == "session"]
    streams = [r["ref"] for r in rest if r["type"] == "stream"]
    assert (len(shown), head["settled"], len(streams), head["more_streams"]) == (100, 20, 100, 20)
    assert {*shown} == {f"s{n}" for n in range(20, 120)}
    assert streams[0] == f"refs/heads/entire/{119:07x}-e3b0c4"
    for args in ((), ("-v",)):
        text = run("status", *args).stdout
        assert "20 earlier sessions, all committed: 'gitcp sessions -a'\n" in text
        assert ("  and 20 more streams (gitcp list-streams; " in text) is bool(args)
        assert (len(text.splitlines()) <= SCREEN) is (not args)


@pytest.mark.parametrize("how", ["unborn", "detached", "bare"])
def test_every_kind_of_repository_has_a_status(repo: Path, tmp_path: Path, how: str) -> None:
    if how == "unborn":
        git("init", "-q", "-b", "new", "--template=", str(tmp_path / "at"))
    else:
        git("clone", "-q", *(["--bare"] if how == "bare" else []), str(repo), str(tmp_path / "at"))
    if how == "detached":
        git("checkout", "-q", "--detach", cwd=tmp_path / "at")
    done = run("status", cwd=tmp_path / "at")
    assert done.returncode == 0, done.stderr
    told = {
        "unborn": "on new, no commit yet, not recording: 'gitcp enable' begins",
        "detached": "on detached HEAD at ",
        "bare": ": 'gitcp enable' in a worktree of it begins",
    }
    assert told[how] in done.stdout


def test_a_repository_that_git_refuses_is_told_with_gits_reason(repo: Path) -> None:
    foreign = {**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    argv = [sys.executable, str(BIN / "gitcp"), "status"]
    done = subprocess.run(argv, env=foreign, capture_output=True, text=True)
    assert done.returncode == 128
    assert done.stderr == (
        f"fatal: '{repo}' belongs to another user, so git does not use it; "
        f"'git config --global --add safe.directory {repo}' trusts it\n"
    )
    (repo / ".git/config").write_text("[core\n")
    assert run("status").stderr.startswith("fatal: bad config line 1 in file ")


def test_where_nothing_can_be_written_status_says_that_nothing_is_recorded(world: World) -> None:
    argv = [
        "sh",
        "-c",
        'ulimit -f 0; exec "$@"',
        "sh",
        sys.executable,
        str(BIN / "gitcp"),
        "status",
    ]
    done = subprocess.run(argv, cwd=world.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "! nothing can be written to " in done.stdout and "so nothing is recorded" in done.stdout
    assert "could not finish" not in done.stdout
