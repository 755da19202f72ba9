"""Conversations of clients whose hooks did not run: that they are noticed, imported, or counted
for nobody until then."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from gitcp import agents
from gitcp.agents.reading import edits
from gitcp.git.repo import Repo
from gitcp.record.unheard import unrecorded
from tests.extras.imports.conftest import TALE, Yesterday, coder
from tests.support import gits, warm
from tests.support.harness import Json, World
from tests.support.paths import TOP
from tests.support.terminal import talk

WRONG = "was not recorded"


@pytest.fixture
def silent(past: Yesterday) -> Yesterday:
    """gitcp is enabled; then a client works whose hooks do not run."""
    past.write("old.py", "old = 1\n")
    past.commit()
    past._lines.clear()
    past.run("enable", "--agent", "claude-code")
    return past


def work(silent: Yesterday, sid: str = "silent") -> Path:
    """A conversation that writes a file, without a hook of the client."""
    silent.prompt("Write a tale")
    silent.write("tale.py", TALE)
    return silent.say(sid)


def session_start(silent: Yesterday) -> str:
    """What a client whose hooks run is told at the start of a session."""
    payload = {"session_id": "next", "cwd": str(silent.repo), "source": "startup"}
    payload |= {"transcript_path": "", "hook_event_name": "SessionStart"}
    env = {**os.environ, "CLAUDE_PID": "1"}
    done = warm.hook(
        ["claude-code", "SessionStart"], silent.repo, env, json.dumps(payload).encode()
    )
    assert done.returncode == 0
    return done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout


def commit_at_terminal(silent: Yesterday) -> str:
    """What a person sees who commits."""
    master, slave = os.openpty()
    env = {key: value for key, value in os.environ.items() if key != "CI"}
    argv = ["git", "commit", "-q", "--allow-empty", "-m", "work"]
    subprocess.run(argv, cwd=silent.repo, env=env, stderr=slave, check=True)
    os.close(slave)
    try:
        seen = os.read(master, 4096)
    except OSError:  # nothing was written
        seen = b""
    os.close(master)
    return seen.decode()


def counted(silent: Yesterday) -> list[str]:
    """The sessions that status says were not recorded."""
    return [name for one in findings(silent) for name in one["sessions"]]


def findings(silent: Yesterday, command: str = "status") -> list[Json]:
    done = warm.run(command, "--json", cwd=silent.repo)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    if command == "status":
        records = records[0]["findings"]
    return [one for one in records if one["kind"] == "unrecorded"]


@pytest.mark.thorough
def test_status_and_doctor_tell_of_a_conversation_until_it_is_imported(silent: Yesterday) -> None:
    assert findings(silent) == []
    work(silent)
    silent.commit()
    (found,) = findings(silent)
    assert found["sessions"] == ["silent"] and found["remedy"] == "gitcp import"
    assert findings(silent, "doctor") == [found]
    said = warm.run("status", cwd=silent.repo).stdout
    assert "1 conversation since" in said and f"{WRONG}: 'gitcp import'" in said
    assert len(silent.imported()) == 1
    assert findings(silent) == findings(silent, "doctor") == []


@pytest.mark.thorough
@pytest.mark.parametrize("ask", ["status", "stats"])
def test_where_the_person_enabled_every_repository_it_is_told_before_any_session(
    past: Yesterday, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    monkeypatch.setenv("PATH", gits.find_newer())
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(past.home / "gitconfig"))
    mail = "[user]\n\tname = A U Thor\n\temail = author@example.com\n"
    (past.home / "gitconfig").write_text(mail)
    past.prompt("Write what is old")
    past.write("old.py", "old = 1\n")
    past.say("before")
    past.commit()
    past._lines.clear()
    time.sleep(1.1)  # it began before gitcp was enabled
    past.run("enable", "--global", "--agent", "claude-code")
    assert not (past.repo / ".git" / "gitcp" / "recording").exists()
    work(past)
    past.commit()
    if ask == "status":
        assert counted(past) == ["silent"]
    else:
        added = json.loads(warm.run("stats", "--json", "HEAD", cwd=past.repo).stdout)["added"]
        assert added["unknown"] and not added["person"], added
    session_start(past)
    assert counted(past) == ["silent"]


@pytest.mark.thorough
def test_with_an_older_git_it_is_so_in_a_repository_made_since(
    past: Yesterday, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", gits.find_older())
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(past.home / "gitconfig"))
    mail = "[user]\n\tname = A U Thor\n\temail = author@example.com\n"
    (past.home / "gitconfig").write_text(mail)
    past.run("enable", "--global", "--agent", "claude-code")
    past.write("old.py", "old = 1\n")
    past._lines.clear()
    work(past, "elsewhere")
    assert counted(past) == [], "the hooks of an older git are not in a repository of before"
    past.git("init", "-q")  # which copies the template
    past._lines.clear()
    work(past)
    past.commit()
    assert "silent" in counted(past)
    added = json.loads(warm.run("stats", "--json", "HEAD", cwd=past.repo).stdout)["added"]
    assert added["unknown"], added


@pytest.mark.thorough
def test_what_an_import_could_not_link_is_told_of_again_when_a_commit_takes_it(
    silent: Yesterday,
) -> None:
    work(silent)
    assert silent.imported() == []
    assert findings(silent) == []
    time.sleep(1.1)  # times of commits are in seconds
    silent.commit()
    assert len(findings(silent)) == 1
    assert len(silent.imported()) == 1
    assert findings(silent) == []


def test_a_conversation_that_goes_on_after_an_import_is_told_of_again(silent: Yesterday) -> None:
    work(silent)
    silent.commit()
    silent.imported()
    silent.prompt("And another one")
    silent.say("silent")
    assert len(findings(silent)) == 1


def test_what_was_there_before_enable_or_is_no_conversation_of_its_own_is_not_counted(
    past: Yesterday,
) -> None:
    past.prompt("Before")
    past.write("old.py", "old = 1\n")
    before = past.say("before")
    past.commit()
    time.sleep(1.1)
    past.run("enable", "--agent", "claude-code")
    os.utime(before)
    # A subagent of a session that is not here, one of another directory, one without a prompt.
    folder = before.parent
    head = {"sessionId": "empty", "cwd": str(past.repo), "timestamp": "2099-01-01T00:00:00Z"}
    (folder / "empty.jsonl").write_text(json.dumps({**head, "type": "summary"}) + "\n")
    elsewhere = {**head, "sessionId": "elsewhere", "cwd": str(past.repo) + "-not"}
    prompt = {"type": "user", "message": {"role": "user", "content": "Hello"}}
    (folder / "elsewhere.jsonl").write_text(json.dumps({**elsewhere, **prompt}) + "\n")
    copied = {**head, "sessionId": "copy", "requestSessionId": "before", **prompt}
    (folder / "copy.jsonl").write_text(json.dumps(copied) + "\n")
    assert counted(past) == []


def test_a_conversation_that_gitcp_wrote_is_none_that_was_not_recorded(silent: Yesterday) -> None:
    unrecorded.note_written(Repo.find(str(silent.repo)), ["cut"])
    work(silent, "cut")
    assert findings(silent) == []
    silent.commit()
    assert silent.imported() == []


@pytest.mark.thorough
def test_what_was_forgotten_or_written_while_gitcp_was_off_is_not_counted(
    silent: Yesterday,
) -> None:
    path = work(silent)
    payload = {
        "session_id": "silent",
        "transcript_path": str(path),
        "cwd": str(silent.repo),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Write a tale",
    }
    env = {**os.environ, "CLAUDE_PID": "1"}
    data = json.dumps(payload).encode()
    assert warm.hook(["claude-code", "UserPromptSubmit"], silent.repo, env, data).returncode == 0
    assert counted(silent) == []  # a hook has heard of it
    end = {**payload, "hook_event_name": "SessionEnd", "reason": "other"}
    data = json.dumps(end).encode()
    assert warm.hook(["claude-code", "SessionEnd"], silent.repo, env, data).returncode == 0
    silent.run("forget", "silent", "--yes")
    assert counted(silent) == []
    silent.run("disable")
    time.sleep(2.1)  # if it was enabled in this second, recording ends in the next
    silent._lines.clear()
    work(silent, "while-off")
    time.sleep(1.1)
    silent.run("enable")
    assert counted(silent) == []


@pytest.mark.thorough
def test_enable_asks_once_at_a_terminal_whether_to_import_what_was_there(
    worked: Yesterday,
) -> None:
    world = World(worked.repo, worked.home)
    enable = ["enable", "--agent=claude-code", "--checkpoints=none"]
    seen = talk(world, enable, ("link their commits now?", "\n"))
    assert "1 conversation since" in seen and "linked 1 session, 1 commit" in seen
    assert "Entire-Checkpoint" in worked.git("notes", "--ref=gitcp", "show", "HEAD")
    (worked.repo / ".claude" / "settings.local.json").unlink()
    assert "link their commits" not in talk(world, enable)


@pytest.mark.parametrize("how", ["commit", "status", "session start"])
def test_with_import_auto_it_is_imported_at_once(silent: Yesterday, how: str) -> None:
    silent.git("config", "gitcp.import", "auto")
    if how != "commit":
        silent.git("config", "core.hooksPath", "/dev/null")
    work(silent)
    silent.commit()
    silent.git("config", "--unset-all", "core.hooksPath") if how != "commit" else None
    if how == "status":
        assert findings(silent) == []
    elif how == "session start":
        assert "imported 1 session, 1 commit: 'gitcp undo' takes it back" in session_start(silent)
    assert "Entire-Checkpoint" in silent.git("notes", "--ref=gitcp", "show", "HEAD")


@pytest.mark.thorough
def test_with_import_auto_a_later_commit_of_its_work_is_linked_too(silent: Yesterday) -> None:
    silent.git("config", "gitcp.import", "auto")
    work(silent)
    silent.git("commit", "-q", "--allow-empty", "-m", "nothing of it")
    time.sleep(2.1)  # the import notes a whole second, and only later ones count
    silent.commit()
    assert "Entire-Checkpoint" in silent.git("notes", "--ref=gitcp", "show", "HEAD")


def test_a_person_at_a_terminal_is_told_once_when_he_commits(silent: Yesterday) -> None:
    work(silent)
    assert f"{WRONG}: 'gitcp import'" in commit_at_terminal(silent)
    assert commit_at_terminal(silent) == ""


def test_a_commit_starts_no_python_where_no_client_has_anything_new(silent: Yesterday) -> None:
    work(silent)
    findings(silent)
    trace = silent.home.parent / "trace"
    run = {**os.environ, "GITCP_TRACE": str(trace)}
    silent.git("add", "-A")
    subprocess.run(["git", "commit", "-q", "-m", "work"], cwd=silent.repo, env=run, check=True)
    assert not trace.exists()


def why(silent: Yesterday, place: str) -> Json:
    return dict(json.loads(silent.run("why", "--json", place).splitlines()[0]))


def added(silent: Yesterday) -> Json:
    stats = json.loads(silent.run("stats", "--json", "HEAD~1..HEAD").splitlines()[0])
    return {who: count for who, count in stats["added"].items() if count}


@pytest.mark.thorough
def test_a_line_that_a_silent_conversation_may_have_written_is_nobodys_until_an_import(
    silent: Yesterday,
) -> None:
    work(silent)
    (silent.repo / "mine.py").write_text("mine = 1\n")
    assert why(silent, "tale.py:1")["who"] == "unknown"
    assert why(silent, "mine.py:1")["who"] == "person"
    silent.commit()
    line = why(silent, "tale.py:1")
    assert (line["who"], line["agent"]) == ("unknown", "Claude Code")
    assert why(silent, "mine.py:1")["who"] == "person"
    assert added(silent) == {"unknown": 2, "person": 1}
    said = silent.run("why", "tale.py:1")
    assert "not recorded: a conversation of Claude Code may have written it" in said
    silent.imported()
    assert added(silent)["agent"] == 2
    assert why(silent, "tale.py:1")["who"] == "session"


@pytest.mark.thorough
def test_after_a_command_of_a_silent_conversation_every_path_of_that_time_is_nobodys(
    silent: Yesterday,
) -> None:
    silent.prompt("Make it")
    silent.shell("echo 1 > made.py")
    silent.say("silent")
    silent.commit()
    assert added(silent) == {"unknown": 1}
    time.sleep(2.1)  # the conversation is over, and so is the time of its changes
    (silent.repo / "later.py").write_text("later = 1\n")
    silent.commit()
    silent.git("commit", "-q", "--allow-empty", "-m", "one between")
    (silent.repo / "last.py").write_text("last = 1\n")
    silent.commit()
    assert added(silent) == {"person": 1}


def test_a_checkpoint_leaves_lines_of_a_silent_conversation_to_nobody(
    silent: Yesterday, tmp_path: Path
) -> None:
    """A recorded session and a silent one wrote what one commit has."""
    world = World(silent.repo, silent.home)
    agent = coder(world, "heard")
    agent.start()
    agent.prompt("Write mine")
    agent.write("mine.py", "mine = 1\n")
    agent.stop()
    work(silent)
    (silent.repo / "mine.py").write_text("mine = 1\nperson = 2\n")
    silent.commit()
    world.close()
    stored = silent.git("show", "entire/checkpoints/v1", "--name-only", "--format=")
    (lines,) = [path for path in stored.splitlines() if path.endswith("lines.json")]
    told = json.loads(silent.git("show", f"entire/checkpoints/v1:{lines}"))
    words = {run[2] for entry in told["tale.py"] for run in entry["ranges"]}
    assert words == {"unknown"}
    words = {run[2] for entry in told["mine.py"] for run in entry["ranges"]}
    assert "person" in words and "unknown" not in words


@pytest.mark.parametrize(
    ("agent", "folder", "name"),
    [
        ("codex", ".codex/sessions/2026/11/29", "rollout-2026-11-29T10-00-00-{}.jsonl"),
        ("claude-code", ".claude/projects/{slug}", "{}.jsonl"),
        ("copilot", ".copilot/session-state/{}", "events.jsonl"),
        ("pi", ".pi/agent/sessions/--{pi}--", "2026-11-29_{}.jsonl"),
        ("qwen-code", ".qwen/projects/{slug}/chats", "{}.jsonl"),
    ],
)
def test_a_real_conversation_of_each_client_is_noticed_at_a_commit(
    silent: Yesterday, agent: str, folder: str, name: str
) -> None:
    """Recordings of real clients, as if they had happened here and now."""
    scenarios = TOP / "tests" / "data" / "recordings" / agent
    (recorded, *_) = sorted(scenarios.glob("basic*/*transcript*.jsonl")) or sorted(
        scenarios.glob("basic*/*events.jsonl")
    )
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1))
    text = recorded.read_text().replace("/repo", str(silent.repo))
    text = re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d", now, text)
    path = silent.home / "given.jsonl"
    path.write_text(text)
    client = agents.get_client(agent)
    session_id = (client.read_head(str(path)) or edits.read_head(str(path)))["session"]
    slug = re.sub("[^a-zA-Z0-9]", "-", str(silent.repo))
    pi = str(silent.repo).strip("/").replace("/", "-")
    place = silent.home / folder.format(session_id, slug=slug, pi=pi) / name.format(session_id)
    place.parent.mkdir(parents=True)
    path.rename(place)
    assert WRONG in commit_at_terminal(silent)
    assert counted(silent) == [session_id]
