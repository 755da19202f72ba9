"""gitcp-hook: pipelines in force, chained stages, foreign stages, gates and watchers."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from gitcp import commands, events
from gitcp.errors import Error
from gitcp.events import turn_end
from gitcp.git.repo import Repo
from gitcp.record.session import exports
from tests.support.paths import TOP
from tests.support.stages import bind_stage

ENTRY = TOP / "gitcp" / "entry.py"


def hook(*args: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-I", "-S", str(ENTRY), *args]
    return subprocess.run(argv, input=stdin, capture_output=True, env={**os.environ, **env})


def configure(repo: Path, event: str, *values: str) -> None:
    for value in values:
        key = f"gitcp.{event}.pipeline"
        subprocess.run(["git", "config", "--add", key, value], cwd=repo, check=True)


def payload(**more: object) -> bytes:
    return json.dumps({"session_id": "s1", "cwd": os.getcwd(), **more}).encode()


def states(repo: Path) -> list[str]:
    folder = repo / ".git" / "entire-sessions"
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_an_agent_without_an_event_is_named_as_misuse(repo: Path) -> None:
    done = hook("claude-code")
    assert (done.returncode, done.stdout) == (129, b"")
    assert done.stderr == b"error: no such hook: 'claude-code'\n"


def test_ctrl_c_ends_a_hook_at_once_and_without_a_word(repo: Path) -> None:
    argv = [sys.executable, "-I", "-S", str(ENTRY), "event"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stderr=pipe) as waiting:
        assert waiting.stdin and waiting.stderr
        waiting.stdin.write(b"no record\n")
        waiting.stdin.flush()
        assert b"cannot parse" in waiting.stderr.readline()  # it reads on now
        waiting.send_signal(signal.SIGINT)
        assert (waiting.wait(10), waiting.stderr.read()) == (-signal.SIGINT, b"")


def test_without_configuration_the_built_in_pipeline_is_in_force(repo: Path) -> None:
    assert events.list_pipelines(Repo.find(), "turn-end") == [turn_end.PIPELINES["turn-end"]]


def test_a_configured_value_replaces_the_built_in_pipeline(repo: Path) -> None:
    configure(repo, "turn-end", "list-refs refs/heads | !cat -u")
    assert events.list_pipelines(Repo.find(), "turn-end") == ["list-refs refs/heads | !cat -u"]


def test_default_stands_for_the_built_in_pipeline_between_others(repo: Path) -> None:
    configure(repo, "turn-end", "list-refs a", "default", "list-refs b")
    found = events.list_pipelines(Repo.find(), "turn-end")
    assert found == ["list-refs a", turn_end.PIPELINES["turn-end"], "list-refs b"]


def test_an_empty_value_is_no_pipeline(repo: Path) -> None:
    configure(repo, "turn-end", "")
    assert events.list_pipelines(Repo.find(), "turn-end") == []


def test_quotes_are_honoured_and_no_shell_is() -> None:
    found = commands.parse_pipeline("list-refs 'a | b' $HOME #x|!tee f")
    assert found == [["list-refs", "a | b", "$HOME", "#x"], ["!tee", "f"]]


@pytest.mark.parametrize("text", ["|", "list-refs |", "rm -rf /", "!", "list-refs; x"])
def test_what_is_not_a_stage_is_refused(text: str) -> None:
    with pytest.raises(Error, match="no such stage"):
        commands.parse_pipeline(text)


def test_an_open_quote_is_an_error_that_names_the_pipeline() -> None:
    with pytest.raises(Error, match="cannot parse pipeline 'list-refs '"):
        commands.parse_pipeline("list-refs '")


def test_list_shows_what_is_in_force_and_where_it_comes_from(repo: Path) -> None:
    configure(repo, "turn-end", "default", "list-refs refs/x")
    configure(repo, "pre-rebase", "list-refs refs/y")
    lines, unknown = hook("--list").stdout.decode().splitlines(), "(cannot run: no such event)"
    assert "session-start        built in    update-session | finalize" in lines
    assert "turn-end             configured  list-refs refs/x" in lines
    assert f"pre-rebase           configured  list-refs refs/y  {unknown}" in lines
    assert len([line for line in lines if line.startswith("post-commit ")]) == 1


def test_a_foreign_stage_gets_and_gives_records(repo: Path) -> None:
    configure(repo, "post-commit", "!tee seen.ndjson")
    done = hook("post-commit")
    assert (done.returncode, done.stderr) == (0, b"")
    seen = json.loads((repo / "seen.ndjson").read_bytes())
    assert (seen["type"], seen["event"]) == ("event", "post-commit")


def test_a_stage_runs_although_the_next_one_reads_nothing(repo: Path) -> None:
    configure(repo, "post-commit", "!tee seen.ndjson | list-refs")
    done = hook("post-commit")
    assert (done.returncode, done.stderr, (repo / "seen.ndjson").exists()) == (0, b"", True)


def test_a_stage_that_reads_no_records_waits_for_none(repo: Path) -> None:
    ends = os.pipe()  # nobody writes to it
    argv = [sys.executable, str(TOP / "bin" / "gitcp-relink")]
    try:
        done = subprocess.run(argv, cwd=repo, stdin=ends[0], capture_output=True, timeout=30)
    finally:
        for end in ends:
            os.close(end)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_line_of_gits_ends_at_its_newline_alone(repo: Path) -> None:
    configure(repo, "pre-push", "!tee seen.ndjson")
    line = "refs/heads/a\u2028b 1 refs/heads/a\u2028b 0"
    assert hook("pre-push", "origin", "url", stdin=f"{line}\n".encode()).returncode == 0
    assert json.loads((repo / "seen.ndjson").read_bytes())["stdin"] == [line]


def test_a_foreign_stage_runs_at_the_top_of_the_worktree(repo: Path) -> None:
    (repo / "check").write_text("#!/bin/sh\npwd >where\ncat\n")
    (repo / "check").chmod(0o755)
    configure(repo, "session-start", "!./check")
    (repo / "deep" / "er").mkdir(parents=True)
    at = str(repo / "deep" / "er")
    call = payload(cwd=at, hook_event_name="SessionStart", source="startup")
    assert hook("claude-code", "SessionStart", stdin=call).stderr == b""
    assert (repo / "where").read_text() == f"{repo}\n"


def say(repo: Path, event: str, *records: dict[str, str]) -> None:
    """A pipeline of the event that says each record."""
    lines = " ".join(f"'{json.dumps(record)}'" for record in records)
    configure(repo, event, f"!printf '%s\\n' {lines}")


def test_all_that_pipelines_say_is_one_answer_to_the_client(repo: Path) -> None:
    say(repo, "session-start", {"type": "say", "message": "one"}, {"type": "say", "message": "two"})
    say(repo, "session-start", {"type": "say", "message": "three"})
    call = payload(hook_event_name="SessionStart", source="startup")
    [line] = hook("claude-code", "SessionStart", stdin=call).stdout.splitlines()
    assert json.loads(line) == {"systemMessage": "one\n\ntwo\n\nthree"}


@pytest.mark.parametrize("bad", [{"type": "say"}, {"type": "say", "message": "x", "to": "us"}])
def test_a_say_without_a_message_is_an_error_of_its_pipeline_alone(
    repo: Path, bad: dict[str, str]
) -> None:
    say(repo, "post-commit", bad, {"type": "say", "message": "heard"})
    configure(repo, "post-commit", "!tee seen.ndjson")
    done = hook("post-commit")
    assert (done.returncode, (repo / "seen.ndjson").exists()) == (0, True)
    [warning, heard] = done.stderr.decode().splitlines()
    assert warning.startswith("warning: post-commit: '!printf ")
    assert warning.endswith("a record of type 'say' has no message, or is to nobody known")
    assert heard == "heard"


def test_a_refusal_without_a_message_refuses(repo: Path) -> None:
    say(repo, "commit-msg", {"type": "refuse"})
    done = hook("commit-msg", str(repo / "README.md"))
    assert (done.returncode, done.stderr) == (3, b"refused\n")


def test_list_marks_what_cannot_run(repo: Path) -> None:
    configure(repo, "turn-end", "list-refs | !no-such-program x", "rm -rf /", "!./none", "!cat")
    lines = hook("--list").stdout.decode().splitlines()
    marked = [line.partition("configured  ")[2] for line in lines if line.startswith("turn-end")]
    assert marked == [
        "list-refs | !no-such-program x  (cannot run: no such program: 'no-such-program')",
        "rm -rf /  (cannot run: no such stage: 'rm -rf /')",
        "!./none  (cannot run: no such program: './none')",
        "!cat",
    ]


def test_a_watcher_that_fails_warns_and_exits_0(repo: Path) -> None:
    configure(repo, "post-commit", "expire-refs --keep=all")
    done = hook("post-commit")
    assert done.returncode == 0
    assert done.stderr.startswith(b"warning: post-commit: 'expire-refs --keep=all': ")


def test_a_failing_pipeline_does_not_keep_the_next_one_from_running(repo: Path) -> None:
    configure(repo, "post-commit", "rm -rf /", "!tee seen.ndjson")
    done = hook("post-commit")
    assert (done.returncode, (repo / "seen.ndjson").exists()) == (0, True)
    assert b"no such stage: 'rm -rf /'" in done.stderr


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            '!printf \'{"type":"match","commit":"x","old":"y"}\' | condense',
            "a match record of post-commit lacks 'id'",
        ),
        (
            '!printf \'{"type":"match","args":["none"]}\' | write-trailer',
            "No such file or directory",
        ),
    ],
)
def test_a_stage_that_breaks_does_not_keep_the_next_pipeline_from_running(
    repo: Path, value: str, why: str
) -> None:
    configure(repo, "post-commit", value, "!tee seen.ndjson")
    done = hook("post-commit")
    assert (done.returncode, (repo / "seen.ndjson").exists()) == (0, True)
    [warning] = done.stderr.decode().splitlines()
    assert warning.startswith(f"warning: post-commit: '{value}': {why}")


@pytest.mark.parametrize("word", ["-h", "--help", "--no-such"])
def test_the_built_in_pipeline_runs_in_place_of_one_with_a_wrong_option(
    repo: Path, word: str
) -> None:
    configure(repo, "turn-start", f"update-session {word}")
    done = hook("claude-code", "UserPromptSubmit", stdin=payload(prompt="x"))
    said = f"unknown argument: '{word}'; the built-in pipeline ran"
    assert done.stderr.decode() == f"warning: turn-start: 'update-session {word}': {said}\n"
    assert (done.returncode, done.stdout, "s1.json" in states(repo)) == (0, b"", True)


RECORDS: dict[str, dict[str, object]] = {
    "finalize": {"type": "event", "session_id": "s1"},
    "release-claim": {"type": "event", "session_id": "s1", "event": 1},
    "check-message": {"type": "event", "event": "commit-msg"},
    "relink --hook": {"type": "event", "event": "post-rewrite"},
}


@pytest.mark.parametrize("stage", RECORDS)
def test_a_record_that_lacks_what_a_stage_needs_is_passed_on(repo: Path, stage: str) -> None:
    name, *words = stage.split()
    given = RECORDS[stage]
    assert list(bind_stage(name, words)([given])) == [given]


@pytest.mark.parametrize(("event", "status"), [("commit-msg", 3), ("post-commit", 0)])
def test_only_a_gate_refuses(repo: Path, event: str, status: int) -> None:
    refusal = json.dumps({"type": "refuse", "message": "not now"})
    configure(repo, event, f"!printf '%s\\n' '{refusal}'")
    done = hook(event)
    assert done.returncode == status
    assert (b"not now" in done.stderr) is bool(status)


def test_our_own_git_commands_do_not_run_our_hooks(repo: Path) -> None:
    configure(repo, "post-commit", "!tee seen.ndjson")
    assert hook("post-commit", GITCP_ACTIVE="1").returncode == 0
    assert not (repo / "seen.ndjson").exists()


def test_a_disabled_repository_is_left_alone(repo: Path) -> None:
    (repo / ".git" / "gitcp").mkdir()
    (repo / ".git" / "gitcp" / "off").touch()
    done = hook("claude-code", "UserPromptSubmit", stdin=payload(prompt="x"))
    assert (done.returncode, states(repo)) == (0, [])


BAD = {
    "not JSON": (b"{", b"cannot parse the payload"),
    "not an object": (b"[]", b"the payload is not an object"),
    "empty": (b"", b"cannot parse the payload"),
    "deeply nested": (b"[" * 100_000, b"cannot parse the payload"),
    "no session": (b"{}", b"session_id"),
    "a path as session": (payload(session_id="../../x", prompt="p"), b"session_id"),
    "an option as session": (payload(session_id="-x", prompt="p"), b"session_id"),
    "a NUL in session": (payload(session_id="a\0b", prompt="p"), b"session_id"),
    "a long session": (payload(session_id="a" * 201, prompt="p"), b"session_id"),
    "a number as session": (payload(session_id=7, prompt="p"), b"session_id"),
    "a list as prompt": (payload(prompt=["p"]), b"prompt"),
    "a number as transcript": (payload(prompt="p", transcript_path=1), b"transcript_path"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_payload_gets_one_line_and_writes_nothing(repo: Path, name: str) -> None:
    stdin, said = BAD[name]
    before = sorted(os.listdir(repo / ".git"))
    done = hook("claude-code", "UserPromptSubmit", stdin=stdin)
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert said in done.stderr
    assert sorted(os.listdir(repo / ".git")) == before


def test_an_unknown_event_of_an_agent_is_accepted_and_ignored(repo: Path) -> None:
    done = hook("claude-code", "SomethingNew", stdin=payload())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_unknown_agent_is_named_with_those_that_are_known(repo: Path) -> None:
    done = hook("hal", "Stop", stdin=payload())
    assert done.returncode == 0
    assert done.stderr.startswith(b"warning: hal Stop: unknown agent 'hal'; known are aider, amp, ")
    assert not (repo / ".git" / "gitcp" / "warnings").exists()


@pytest.mark.parametrize("kind", ["outside", "bare"])
def test_where_there_is_no_worktree_an_agents_hook_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    place = tmp_path / kind
    place.mkdir()
    monkeypatch.chdir(place)
    if kind == "bare":
        subprocess.run(["git", "init", "-q", "--bare", "."], check=True)
    before = sorted(os.listdir(place))
    done = hook("claude-code", "UserPromptSubmit", stdin=payload(prompt="x"))
    assert (done.returncode, sorted(os.listdir(place))) == (0, before)


def test_a_repository_without_a_commit_records_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "-b", "main", "new"], check=True)
    monkeypatch.chdir(tmp_path / "new")
    assert hook("claude-code", "UserPromptSubmit", stdin=payload(prompt="x")).stderr == b""
    (tmp_path / "new" / "a.txt").write_text("a\n")
    assert hook("claude-code", "Stop", stdin=payload()).stderr == b""
    show = "git show --format= --name-only entire/0000000-e3b0c4 -- a.txt".split()
    assert subprocess.check_output(show) == b"a.txt\n"


def test_no_hook_named_is_misuse(repo: Path) -> None:
    done = hook()
    assert done.returncode == 129
    assert b"usage: gitcp-hook" in done.stderr


def test_hooks_of_one_session_have_its_conversation_written_one_after_the_other(
    repo: Path, tmp_path: Path
) -> None:
    """Subagents of opencode run side by side: each of their hooks copies what is new."""
    seen = tmp_path / "seen"

    def copied(event: object, folder: str) -> None:
        for mark in "<>":
            with seen.open("a") as f:
                f.write(mark)
            time.sleep(0.3)

    client = ModuleType("client")
    client.NAME, client.export = "client", copied  # type: ignore[attr-defined]
    fork = multiprocessing.get_context("fork")
    given = (Repo.find(), client, {"session_id": "s1"})
    both = [fork.Process(target=exports.copy_conversation, args=given) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert seen.read_text() == "<><>"
