"""What status and doctor see of an installation that somebody or something changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitcp.text.short_ids import shorten_id
from tests.setup import hook_tools
from tests.support import warm
from tests.support.harness import Agent, World
from tests.support.installed import HOOKS, write
from tests.support.paths import TOP
from tests.support.record_schema import list_faults
from tests.support.screens import ALL_WELL

Json = dict[str, object]


def found(world: World, cwd: Path | None = None) -> list[str]:
    """The kinds of the findings that status has."""
    out = warm.run("status", "--json", cwd=cwd or world.path)
    assert out.returncode == 0, out
    return [one["kind"] for one in json.loads(out.stdout.splitlines()[0])["findings"]]


def doctor(world: World, *args: str) -> tuple[int, str]:
    done = warm.run("doctor", "-v", *args, cwd=world.path)
    assert not done.stderr, done
    return done.returncode, done.stdout


@pytest.fixture
def enabled(world: World) -> World:
    """A world whose agent has called once."""
    world.agent("s0").start()
    return world


def test_where_all_is_well_nothing_is_found(enabled: World) -> None:
    assert found(enabled) == []
    assert doctor(enabled) == (0, ALL_WELL)


def test_what_is_silenced_or_not_there_is_not_called_well(enabled: World) -> None:
    warm.run("disable", cwd=enabled.path)
    said = warm.run("doctor", cwd=enabled.path)
    assert said.returncode == 0 and said.stdout.startswith(
        "! gitcp is not recording here: 'gitcp enable' wakes it\n✓ "
    )
    warm.run("enable", cwd=enabled.path)
    warm.run("disable", "--uninstall", cwd=enabled.path)
    told = doctor(enabled)
    assert told == (
        0,
        "nothing is wrong here\ngitcp is not recording here: 'gitcp enable' begins\n",
    )


def test_an_agent_whose_hooks_have_not_run_is_named(world: World) -> None:
    assert found(world) == ["silent-agent"]
    world.gitcp("enable", "--agent=codex")
    text = world.gitcp("status")
    assert "the hooks of Codex have not run yet: start it here; it asks for trust" in text
    world.agent("s1").start()
    assert "the hooks of Claude Code have not run yet" not in world.gitcp("status")


def interrupt_enable(world: World) -> None:
    """What Ctrl-C leaves that came between git's hooks and the agents'."""
    manifest = world.path / ".git/gitcp/installed/manifest.json"
    installed = json.loads(manifest.read_text())
    installed["files"] = [entry for entry in installed["files"] if not entry["agent"]]
    manifest.write_text(json.dumps(installed))
    (world.path / ".claude/settings.local.json").unlink()


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize(
    ("break_it", "kind", "words"),
    [
        (interrupt_enable, "agent-hook", "no agent is recorded"),
        (lambda w: (w.path / ".git/hooks/post-commit").unlink(), "git-hook", "post-commit in"),
        (lambda w: (w.path / ".git/hooks/pre-push").chmod(0o644), "git-hook", "pre-push in"),
        (lambda w: hook_tools.entire(w.path), "entire", "Entire's hooks are back"),
        (lambda w: w.git("clean", "-q", "-fdx"), "agent-hook", "Claude Code is not recorded"),
        (lambda w: hook_tools.husky(w.path), "git-hook", "(they are husky's)"),
        (lambda w: hook_tools.lefthook(w.path), "git-hook", "(they are lefthook's)"),
        (lambda w: drop_event(w, "Stop"), "agent-hook", "runs no hook at Stop"),
    ],
)
def test_what_broke_is_said_and_mended_by_the_doctor(
    enabled: World, break_it: object, kind: str, words: str
) -> None:
    assert callable(break_it)
    break_it(enabled)
    assert kind in found(enabled)
    assert words in enabled.gitcp("status")
    status, text = doctor(enabled)
    assert status == 1 and words in text and "'gitcp enable" in text
    assert doctor(enabled, "--fix")[0] == 0
    assert found(enabled) == []
    enabled.agent("s1").turn("make it", {"one.txt": "1\n"})
    assert len(enabled.commit("one.txt")) == 1


def drop_event(world: World, event: str) -> None:
    path = world.path / ".claude/settings.local.json"
    settings = json.loads(path.read_text())
    del settings["hooks"][event]
    path.write_text(json.dumps(settings))


@pytest.mark.usefixtures("older_git")
def test_hooks_that_pre_commit_calls_are_well(enabled: World) -> None:
    hook_tools.pre_commit(enabled.path)
    assert found(enabled) == ["git-hook"]  # post-rewrite is not told what git says
    assert "post-rewrite in" in enabled.gitcp("status")
    enabled.gitcp("enable")
    assert found(enabled) == []


@pytest.mark.usefixtures("older_git")
def test_a_directory_outside_is_not_called_enabled(enabled: World, tmp_path: Path) -> None:
    enabled.git("config", "core.hooksPath", str(tmp_path / "all"))
    assert "--force" in enabled.gitcp("status")
    for hook in HOOKS:
        line = f'! command -v gitcp-hook >/dev/null || gitcp-hook {hook} "$@" || :'
        write(tmp_path / "all" / hook, f"#!/bin/sh\n{line}\n")
    assert found(enabled) == []
    assert "nothing to do" in enabled.gitcp("enable")


@pytest.mark.parametrize("agent", ["codex", "gemini-cli"])
def test_a_linked_worktree_without_an_agent_s_settings_is_told(
    world: World, tmp_path: Path, agent: str
) -> None:
    world.gitcp("enable", f"--agent={agent}")
    world.git("worktree", "add", "-q", "--no-checkout", "--detach", str(tmp_path / "linked"))
    assert "agent-hook" not in found(world)
    assert "agent-hook" in found(world, tmp_path / "linked")


def test_gemini_in_a_subdirectory_is_told(world: World) -> None:
    world.gitcp("enable", "--agent=gemini-cli")
    assert "subdirectory" not in found(world)
    assert "subdirectory" in found(world, world.path / "src")
    world.gitcp("enable", "--agent=gemini-cli", "--user")
    assert "subdirectory" not in found(world, world.path / "src")


def test_settings_that_are_no_json_are_named(enabled: World) -> None:
    (enabled.path / ".claude/settings.local.json").write_text("{")
    assert "settings" in found(enabled)


@pytest.mark.usefixtures("older_git")
def test_a_program_that_is_gone_is_named_though_path_has_another(
    enabled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in [*enabled.path.glob(".git/hooks/*"), enabled.path / ".claude/settings.local.json"]:
        path.write_text(path.read_text().replace(str(TOP), "/gone"))
    folders = os.environ["PATH"].split(":")
    without = ":".join(one for one in folders if not Path(one, "gitcp-hook").exists())
    monkeypatch.setenv("PATH", without)
    assert found(enabled) == ["program", "program"]
    write(tmp_path / "bin/gitcp-hook", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{without}")
    assert found(enabled) == ["program", "program"]
    assert f"'{tmp_path}/bin/gitcp-hook' stands in for it, more slowly" in enabled.gitcp("status")
    assert doctor(enabled, "--fix")[0] == 0 and found(enabled) == []


def test_a_hook_that_failed_is_named_until_it_runs_well(enabled: World) -> None:
    enabled.git("config", "gitcp.post-commit.pipeline", "!false")
    enabled.agent("s1").start()
    enabled.git("commit", "-q", "--allow-empty", "-m", "x", warns="false")
    assert "post-commit failed once this week" in enabled.gitcp("status")
    assert "false" in doctor(enabled)[1]
    assert doctor(enabled, "--fix")[0] == 1 and found(enabled) == ["warning"]
    enabled.git("config", "--unset", "gitcp.post-commit.pipeline")
    enabled.git("commit", "-q", "--allow-empty", "-m", "y")
    assert doctor(enabled)[0] == 0 and found(enabled) == []


def test_a_session_whose_agent_died_is_ended_and_keeps_its_work(enabled: World) -> None:
    agent = enabled.agent("s1")
    agent.prompt("make it")
    agent.write("one.txt", "1\n")
    enabled.kill(agent)
    status, text = doctor(enabled)
    assert status == 1 and "'s1' is within a prompt, and its agent is gone" in text
    said = warm.run("doctor", cwd=enabled.path).stdout
    name = shorten_id("s1")
    assert f"! session {name} stopped within a prompt: 'gitcp doctor --fix' ends it\n" in said
    assert "ended; its work stays" in doctor(enabled, "--fix")[1]
    assert agent.state["phase"] == "ended" and enabled.tree(enabled.branch()) == {"one.txt": "1\n"}
    assert len(enabled.commit("one.txt")) == 1


def test_a_turn_without_a_process_counts_as_left_after_an_hour(enabled: World) -> None:
    agent = enabled.agent("s1")
    agent.prompt("make it")
    state = {**agent.state, "agent_process": None}
    path = enabled.path / ".git/entire-sessions/s1.json"
    path.write_text(json.dumps(state))
    assert "within a prompt" not in doctor(enabled)[1]
    path.write_text(json.dumps({**state, "last_interaction_time": "2020-01-01T00:00:00Z"}))
    assert "without an event for an hour" in doctor(enabled)[1]


def test_a_transcript_that_was_not_completed_is(enabled: World) -> None:
    agent = enabled.agent("s1")
    agent.prompt("make it")
    agent.write("one.txt", "1\n")
    (checkpoint,) = enabled.commit("one.txt")
    agent.answer([{"type": "text", "text": "the last word"}])
    path = enabled.path / ".git/entire-sessions/s1.json"
    path.write_text(json.dumps({**agent.state, "phase": "idle"}))
    assert "incomplete transcript" in doctor(enabled)[1]
    doctor(enabled, "--fix")
    assert "the last word" in str(enabled.committed(checkpoint)["s1"]["transcript"])
    assert "incomplete" not in doctor(enabled)[1]


def test_locks_of_git_are_named_and_left_alone(enabled: World) -> None:
    lock = enabled.path / ".git/packed-refs.lock"
    lock.touch()
    assert "packed-refs.lock" not in doctor(enabled)[1]
    os.utime(lock, (time.time() - 100,) * 2)
    status, text = doctor(enabled, "--fix")
    assert status == 1 and "remove it if no git runs" in text and lock.exists()


def test_a_claim_that_nobody_holds_is_let_go(enabled: World) -> None:
    enabled.git("config", "gitcp.guard", "warn")
    agent = enabled.agent("s1", tools=True)
    agent.prompt("make it")
    tool = {"tool_name": "Write", "tool_use_id": "t1"}
    agent.event("PreToolUse", **tool, tool_input={"file_path": str(enabled.path / "one.txt")})
    enabled.kill(agent)
    claims = enabled.path / ".git/gitcp/claims"
    [dead] = claims.iterdir()
    other = enabled.agent("s2", tools=True)
    other.turn("make it too", {"one.txt": "1\n"})
    assert not dead.exists()


@pytest.mark.usefixtures("older_git")
def test_a_commit_that_lost_its_id_is_linked_again(enabled: World) -> None:
    enabled.agent("s1").turn("make it", {"one.txt": "1\n"})
    (checkpoint,) = enabled.commit("one.txt")
    hooks = enabled.path / ".git/hooks"
    shutil.move(hooks, enabled.path / ".git/away")
    enabled.git("commit", "-q", "--amend", "-m", "reworded")
    shutil.move(enabled.path / ".git/away", hooks)
    assert f"lost its checkpoint {checkpoint}" in doctor(enabled)[1]
    doctor(enabled, "--fix")
    assert checkpoint in enabled.git("log", "-1", "--notes=gitcp")


def test_doctor_starts_as_many_gits_for_many_checkpoints_as_for_few(
    enabled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, trace = enabled.agent("s1"), enabled.home / "trace"

    def count_gits(commits: int) -> int:
        for number in range(commits):
            agent.turn("write", {f"{number}.txt": f"{commits}\n"})
            assert enabled.commit(f"{number}.txt")
        trace.write_text("")
        monkeypatch.setenv("GITCP_TRACE", str(trace))
        assert doctor(enabled)[0] == 0
        monkeypatch.delenv("GITCP_TRACE")
        return trace.read_text().count(" git: ")

    assert count_gits(2) == count_gits(3) > 0


def test_no_commit_is_searched_for_a_checkpoint_of_whose_work_nothing_is_known(
    enabled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = enabled.home / "trace"
    for name in ("a.txt", "b.txt"):
        enabled.write(name, "a person's\n")
        enabled.commit(name)

    def list_searches() -> list[str]:
        trace.write_text("")
        monkeypatch.setenv("GITCP_TRACE", str(trace))
        doctor(enabled)
        monkeypatch.delenv("GITCP_TRACE")
        return [line for line in trace.read_text().splitlines() if "diff-tree" in line]

    told = {"type": "session", "session_id": "elsewhere", "transcript": "{}"}
    told |= {"checkpoint_id": "0123456789ab"}
    enabled.gitcp("write-committed", stdin=json.dumps(told) + "\n")
    assert "0123456789ab" in enabled.gitcp("list-checkpoints")
    assert list_searches() == []


def at_terminal(world: World, answer: bytes) -> str:
    """What `gitcp doctor --fix` says to a person who types that."""
    import pty

    argv = [sys.executable, str(TOP / "bin/gitcp-doctor"), "--fix"]
    own, theirs = pty.openpty()
    text = b""
    with subprocess.Popen(argv, cwd=world.path, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        os.write(own, answer)
        try:
            while data := os.read(own, 4096):
                text += data
        except OSError:
            pass  # it has ended
    os.close(own)
    return text.decode()


@pytest.mark.usefixtures("older_git")
def test_the_doctor_asks_at_a_terminal(enabled: World) -> None:
    (enabled.path / ".git/hooks/post-commit").unlink()
    for answer, mended in ((b"n\n", False), (b"\n", True)):
        assert "[Y/n]" in at_terminal(enabled, answer)
        assert (enabled.path / ".git/hooks/post-commit").exists() is mended


@pytest.fixture
def dead(enabled: World) -> Agent:
    """A session whose agent died in a turn, with work on a stream of its own."""
    agent = enabled.agent("s1")
    agent.turn("make it", {"one.txt": "1\n"})
    agent.prompt("make more")
    agent.write("two.txt", "2\n")
    enabled.kill(agent)
    return agent


@pytest.mark.parametrize("answer", [b"s\n", b"what\n", b"\4"], ids=["skip", "nonsense", "end"])
def test_a_dead_session_is_left_alone_when_the_person_skips_it(
    enabled: World, dead: Agent, answer: bytes
) -> None:
    text = at_terminal(enabled, answer)
    assert "stopped within a prompt: [k]eep/[c]ondense/[d]iscard/[s]kip" in text
    assert dead.state["phase"] == "active" and enabled.streams


def test_a_dead_session_is_kept_on_a_mere_enter(enabled: World, dead: Agent) -> None:
    assert "ended; its work stays saved" in at_terminal(enabled, b"\n")
    assert dead.state["phase"] == "ended"
    (checkpoint,) = enabled.commit()
    assert enabled.committed(checkpoint)["s1"]["files_touched"] == ["one.txt", "two.txt"]


def test_a_dead_session_is_condensed_when_the_person_says_so(enabled: World, dead: Agent) -> None:
    stored = re.search(r"stored \('gitcp show ([0-9a-f]{12})'\)", at_terminal(enabled, b"c\n"))
    assert stored, "under an id of its own"
    first = enabled.committed(stored[1])["s1"]
    assert "make more" in first["transcript"] and "one.txt" in first["files_touched"]
    assert doctor(enabled) == (0, ALL_WELL)
    (checkpoint,) = enabled.commit()
    later = enabled.committed(checkpoint)["s1"]
    assert later["files_touched"] == ["one.txt", "two.txt"]
    assert first["token_usage_delta"]["api_call_count"] == 3
    assert later["token_usage_delta"]["api_call_count"] == 0, "what it cost is told once"


def test_a_dead_session_is_discarded_when_the_person_says_so(enabled: World, dead: Agent) -> None:
    assert "its work is put aside" in at_terminal(enabled, b"d\n")
    assert dead.state["phase"] == "ended" and dead.state["streams"] == []
    assert enabled.streams == [] and enabled.open() == []
    (archive,) = enabled.archives
    assert enabled.show(archive, "one.txt") == "1\n" and enabled.read("two.txt") == "2\n"
    assert enabled.commit() == []
    assert doctor(enabled) == (0, ALL_WELL)
    dead.pid = enabled.agent("s1").pid
    dead.turn("once more", {"three.txt": "3\n"})
    (checkpoint,) = enabled.commit()
    assert enabled.committed(checkpoint)["s1"]["files_touched"] == ["three.txt"]


def test_discarding_a_session_leaves_another_s_stream_as_it_is(
    enabled: World, request: pytest.FixtureRequest
) -> None:
    enabled.agent("s2").turn("beside it", {"other.txt": "o\n"})
    request.getfixturevalue("dead")  # no event comes after it, which would end its session
    at_terminal(enabled, b"d\n")
    assert enabled.archives == [] and len(enabled.streams) == 1
    (checkpoint,) = enabled.commit()
    assert enabled.committed(checkpoint).keys() == {"s2"}


def test_what_the_destination_lacks_is_told_where_there_is_a_remote(enabled: World) -> None:
    enabled.agent("s1").turn("make it", {"one.txt": "1\n"})
    enabled.commit("one.txt")
    assert "remote" not in enabled.gitcp("status")
    enabled.share()
    assert "; 1 is not sent yet: 'gitcp push'\n" in enabled.gitcp("status")
    enabled.git("push", "-q", "origin", "main")
    assert "not sent" not in enabled.gitcp("status")


@pytest.mark.usefixtures("older_git")
def test_json_has_a_record_for_each_finding(enabled: World) -> None:
    (enabled.path / ".git/hooks/post-commit").unlink()
    text = doctor(enabled, "--json")[1]
    assert not list(list_faults(text))
    (one,) = map(json.loads, text.splitlines())
    assert (one["type"], one["kind"], one["fix"]) == ("finding", "git-hook", "enable")
    assert one["remedy"] == "gitcp enable" and "fixed" not in one
