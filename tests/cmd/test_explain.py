"""gitcp-explain: what is behind a commit, a checkpoint or a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.steps.rewind.going import done, run, temporary
from tests.support.harness import V1, Agent, World


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("11111111-aaaa-4a87-9186-848bdd83d62e")


def test_a_commit_its_checkpoint_and_its_session_tell_the_same(world: World, a: Agent) -> None:
    a.turn("Please write one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    told = done(world, "explain", "HEAD")
    for name in (checkpoint, checkpoint[:6]):
        assert done(world, "explain", name) == told
        assert done(world, "explain", "--checkpoint", name) == told
    assert told == done(world, "explain", "--commit", "HEAD")
    assert told == done(world, "explain", "--session", a.sid)
    for line in (
        f"Checkpoint: {checkpoint}",
        f"Session: {a.sid}",
        "Author: A U Thor",
        "Intent: Please write one",
        "Files: (1)\n  a.py",
        f"Commits: (1)\n  {world.head[:8]} 2005-04-01 commit\n",
        "Transcript (checkpoint scope):\n    [User] Please write one",
    ):
        assert line in told


def test_what_was_said_is_left_out_or_told_in_full_or_raw(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    world.commit()
    a.turn("two", {"b.py": "1\n"})
    world.commit()
    assert "Transcript" not in done(world, "explain", "--short", "HEAD")
    assert "[User] one" not in done(world, "explain", "HEAD")
    full = done(world, "explain", "--full", "HEAD")
    assert "Transcript (full session):\n    [User] one" in full
    raw = done(world, "explain", "--raw-transcript", "HEAD")
    assert raw == done(world, "show", "--transcript", "HEAD")


def test_a_temporary_checkpoint_is_told_too(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    point = temporary(world)[0]
    told = done(world, "explain", point[:10])
    assert told.startswith(f"Checkpoint: {point[:12]} [temporary]\nSession: {a.sid}\n")
    assert "Intent: one\nFiles: (1)\n  a.py\n" in told


def test_without_a_name_the_checkpoints_of_the_branch_are_listed(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    a.turn("two", {"b.py": "1\n"})
    told = done(world, "explain").splitlines()
    assert told[:2] == ["Branch: main", "Checkpoints: 2"]
    assert f'[{checkpoint}] "one"' in told
    assert f'[{temporary(world)[0][:12]}] [temporary] "two"' in told


def test_what_excludes_each_other_is_misuse(world: World) -> None:
    for args in (
        ("HEAD", "--commit", "HEAD"),
        ("--short", "--full"),
        ("-c", "a", "--session", "b"),
    ):
        assert run(world, "explain", *args).returncode == 129
    ended = run(world, "explain", "HEAD")
    assert (ended.returncode, "no session is behind commit" in ended.stderr) == (128, True)


def test_show_tells_a_session_turn_by_turn(world: World, a: Agent) -> None:
    a.turn("write one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    a.turn("write two", {"b.py": "1\n", "a.py": None})
    told = done(world, "show", "--full", a.sid).split("\nprompts\n")[1].splitlines()
    # git's dates stand still here and the clock does not: the order of the two is not the point
    starts = [n for n, line in enumerate(told) if line.startswith("  ") and line[2] not in " >"]
    parts = {told[n].split()[0]: [t.strip() for t in told[n + 1 :]] for n in starts}
    (name,) = [oid for oid in parts if temporary(world)[0].startswith(oid)]
    assert checkpoint in world.ids("HEAD")
    assert parts[world.head[:8]][:2] == ["> write one", "a.py"]
    assert parts[name][:3] == ["> write two", "D a.py", "A b.py"]


SUMMARY = {
    "intent": "Write one",
    "outcome": "It is written; the key was sk-ant-api03-" + "aB3" * 31 + "AA",
    "learnings": {"repo": ["small"], "code": [{"path": "a.py", "line": 1, "finding": "one"}]},
    "friction": ['the log has secret="pässwört123456"'],  # JSON may write it without an ä
    "open_items": ["two"],
    "unknown": "left out",
}


@pytest.fixture
def model(world: World, tmp_path: Path) -> Path:
    """A command that answers as Claude Code prints it; asked holds what it was given."""
    told = json.dumps({"type": "result", "result": f"Here:\n```json\n{json.dumps(SUMMARY)}\n```"})
    (tmp_path / "told").write_text(told)
    at = tmp_path
    script = f"pwd >{at}/cwd; env >{at}/env; cat >>{at}/asked; cat {at}/told"
    world.git("config", "gitcp.summarize", f"{{ {script}; }}")
    return tmp_path


def test_a_summary_is_generated_on_request_stored_and_told(
    world: World, a: Agent, model: Path
) -> None:
    a.turn("Please write one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    ended = run(world, "explain", "--generate", "--short", "HEAD")
    assert ended.stderr == f"summarized session {a.sid} of {checkpoint}\n", ended
    for line in ("Intent: Write one", "Learnings:\n  - small\n  - a.py 1 one", "  - two"):
        assert line in ended.stdout
    stored = world.committed(checkpoint)[a.sid]
    assert stored["summary"]["open_items"] == ["two"]
    assert "aB3aB3" not in json.dumps(stored["summary"])
    assert stored["summary"]["friction"] == ['the log has secret="REDACTED"']
    assert "unknown" not in stored["summary"]
    subject = f"Update summary for checkpoint {checkpoint} (session: {a.sid})"
    assert world.git("log", "-1", "--format=%s", V1) == subject
    assert "[User] Please write one" in (model / "asked").read_text()
    assert str(world.path) not in (model / "cwd").read_text()
    assert "GIT_" not in (model / "env").read_text()
    assert world.gitcp("fsck") == ""


def test_what_has_a_summary_keeps_it_unless_forced(world: World, a: Agent, model: Path) -> None:
    a.turn("Please write one", {"a.py": "1\n"})
    world.commit()
    run(world, "explain", "--generate", "HEAD")
    tip = world.git("rev-parse", V1)
    assert run(world, "explain", "--generate", "HEAD").stderr == ""
    assert world.git("rev-parse", V1) == tip
    (model / "told").write_text(json.dumps({**SUMMARY, "intent": "Another"}))
    assert "Intent: Another" in run(world, "explain", "--generate", "--force", "HEAD").stdout


@pytest.mark.parametrize("answer", ["", "no JSON", '{"is_error": true, "result": "no credit"}'])
def test_an_answer_that_is_none_is_an_error_and_nothing_is_stored(
    world: World, a: Agent, model: Path, answer: str
) -> None:
    a.turn("Please write one", {"a.py": "1\n"})
    world.commit()
    tip = world.git("rev-parse", V1)
    (model / "told").write_text(answer)
    ended = run(world, "explain", "--generate", "HEAD")
    assert ended.returncode == 128
    assert "no summary in" in ended.stderr or "did not answer: no credit" in ended.stderr
    assert world.git("rev-parse", V1) == tip


def test_a_command_that_fails_is_named_with_what_it_says(world: World, a: Agent) -> None:
    a.turn("Please write one", {"a.py": "1\n"})
    world.commit()
    world.git("config", "gitcp.summarize", "echo not logged in >&2; exit 3;")
    ended = run(world, "explain", "--generate", "HEAD")
    assert (ended.returncode, "not logged in" in ended.stderr) == (128, True)
    assert run(world, "explain", "--generate").returncode == 129
    assert run(world, "explain", "--force", "HEAD").returncode == 129
    a.turn("more", {"b.py": "1\n"})
    nothing = run(world, "explain", "--generate", temporary(world)[0])
    assert "has no committed checkpoint here" in nothing.stderr


def test_its_records_are_those_of_show(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    a.turn("two", {"b.py": "1\n"})
    shown = done(world, "show", "--json", checkpoint)
    assert done(world, "explain", "--json", "HEAD") == shown
    short = json.loads(done(world, "explain", "--json", "--short", "HEAD"))
    assert "turns" not in short["contents"][0] and short["checkpoint_id"] == checkpoint
    kinds = [json.loads(row)["kind"] for row in done(world, "explain", "--json").splitlines()]
    assert sorted(kinds) == ["committed", "temporary"]
    assert run(world, "explain", "--json", "--raw-transcript", "HEAD").returncode == 129
