"""gitcp resume: stored conversations where their clients look, and nothing newer overwritten."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gitcp.agents import find_client
from gitcp.record.session import client_transcript
from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import done, run
from tests.support.harness import Agent, World


def place(world: World, cwd: Path, sid: str = SID) -> Path:
    """Where Claude Code looks for a session of cwd."""
    slug = "".join(c if c.isalnum() else "-" for c in os.path.realpath(cwd))
    return world.home / ".claude" / "projects" / slug / f"{sid}.jsonl"


def committed(world: World, a: Agent, number: int = 1) -> str:
    """A turn and its commit; the checkpoint's id."""
    a.turn(f"prompt {number}", {f"f{number}.py": f"{number}\n"})
    (checkpoint,) = world.commit(f"f{number}.py")
    return checkpoint


def elsewhere(world: World, a: Agent) -> None:
    """The local transcript is gone, as on another machine."""
    shutil.rmtree(a.transcript.parent)


def test_a_commit_a_branch_a_checkpoint_and_a_session_name_the_same_conversation(
    world: World, a: Agent
) -> None:
    checkpoint = committed(world, a)
    world.git("commit", "-q", "--allow-empty", "-m", "a commit of the person's")
    for name in ("HEAD", "main", checkpoint, checkpoint[:6], SID, SID[:8]):
        if a.transcript.parent.exists():
            elsewhere(world, a)
        told = done(world, "resume", name)
        assert f"claude -r {SID}" in told
        assert "prompt 1" in place(world, world.path).read_text()
        shutil.rmtree(place(world, world.path).parent)


def test_a_fresh_clone_goes_on_and_asks_the_remote_for_what_is_missing(
    world: World, a: Agent, tmp_path: Path
) -> None:
    committed(world, a)
    bare, clone = world.share(), tmp_path / "clone"
    world.gitcp("push")
    elsewhere(world, a)
    world.git("clone", "-q", "--single-branch", str(bare), str(clone))
    missing = run(world, "resume", "--offline", cwd=clone)
    assert (missing.returncode, "'gitcp fetch' may bring it" in missing.stderr) == (128, True)
    world.git("config", "gitcp.remote", "none", cwd=clone)
    missing = run(world, "resume", cwd=clone)
    assert (missing.returncode, "fetching" in missing.stderr) == (128, False)
    world.git("config", "--unset", "gitcp.remote", cwd=clone)
    found = run(world, "resume", cwd=clone)
    assert "fetching checkpoints from 'origin'" in found.stderr
    assert f"claude -r {SID}" in found.stdout
    assert "prompt 1" in place(world, clone).read_text()


def test_a_clone_whose_remote_does_not_have_it_either_says_so(
    world: World, a: Agent, tmp_path: Path
) -> None:
    committed(world, a)
    bare, clone = world.share(), tmp_path / "clone"
    world.git("clone", "-q", "--single-branch", str(bare), str(clone))
    for command in ("show", "explain", "resume"):
        missing = run(world, command, "HEAD", cwd=clone)
        assert missing.returncode == 128, missing.stdout
        assert "'origin' does not have checkpoint" in missing.stderr


def test_a_fresh_clone_resumes_a_commit_that_a_forge_squashed(
    world: World, a: Agent, tmp_path: Path
) -> None:
    bare, forge, clone = world.share(), tmp_path / "forge", tmp_path / "clone"
    world.git("switch", "-q", "-c", "feature")
    for number in (1, 2):
        committed(world, a, number)
    world.git("push", "-q", "origin", "feature", "main")
    world.git("clone", "-q", "-b", "main", str(bare), str(forge))
    world.git("merge", "-q", "--squash", "origin/feature", cwd=forge)
    world.git("commit", "-q", "-m", "squash of feature (#1)", cwd=forge)
    world.git("push", "-q", "origin", "main", cwd=forge)
    world.git("switch", "-q", "main")
    world.git("pull", "-q", "--ff-only", "origin", "main", warns=".*")
    world.agent("session-b").start()
    world.gitcp("push")
    elsewhere(world, a)
    world.git("clone", "-q", "--single-branch", "-b", "main", str(bare), str(clone))
    done(world, "fetch", cwd=clone)
    assert f"claude -r {SID}" in done(world, "resume", "HEAD", cwd=clone)
    assert "prompt 2" in place(world, clone).read_text()


def test_resume_keeps_a_newer_conversation_and_writes_once_beside_a_diverged_one(
    world: World, a: Agent
) -> None:
    committed(world, a)
    a.prompt("newer, not stored")
    newer = a.transcript.read_text()
    told = done(world, "resume", SID)
    assert f"session {SID} (Claude Code) is here already" in told
    assert a.transcript.read_text() == newer
    other = json.dumps({"type": "user", "uuid": "zz", "message": {"content": "elsewhere"}})
    a.transcript.write_text(other + "\n")
    told = done(world, "resume", SID)
    assert "put beside the one here, which has diverged" in told
    assert a.transcript.read_text() == other + "\n"
    beside = told.split("claude -r ")[1].strip()
    assert beside != SID
    stored = place(world, world.path, beside)
    assert "prompt 1" in stored.read_text()
    assert "is here already" in done(world, "resume", SID)
    assert list(stored.parent.iterdir()) == [stored]
    done(world, "undo")
    assert not stored.exists()
    done(world, "resume", "--force", SID)
    assert "prompt 1" in a.transcript.read_text()
    done(world, "undo")
    assert a.transcript.read_text() == other + "\n"


def test_an_older_local_conversation_is_extended(world: World, a: Agent) -> None:
    committed(world, a)
    whole = a.transcript.read_text().splitlines(keepends=True)
    a.transcript.write_text("".join(whole[:2]))
    assert "replaced" in done(world, "resume", SID)
    assert "prompt 1" in a.transcript.read_text()
    assert len(a.transcript.read_text().splitlines()) == len(whole)


def test_undo_takes_away_what_resume_wrote(world: World, a: Agent) -> None:
    committed(world, a)
    elsewhere(world, a)
    done(world, "resume")
    done(world, "undo")
    assert not place(world, world.path).exists()
    done(world, "redo")
    assert place(world, world.path).exists()


def test_it_switches_only_on_request_and_only_when_all_is_committed(world: World, a: Agent) -> None:
    committed(world, a)
    world.git("switch", "-q", "-c", "other")
    committed(world, a, 2)
    world.write("README.md", "not committed\n")
    ended = run(world, "resume", "--switch", "main")
    assert (ended.returncode, "nothing was switched" in ended.stderr) == (128, True)
    world.git("checkout", "-q", "--", "README.md")
    done(world, "resume", "main")
    assert world.git("branch", "--show-current") == "other"
    done(world, "resume", "--switch", "main")
    assert world.git("branch", "--show-current") == "main"


def test_the_files_come_in_a_worktree_of_their_own_and_the_conversation_with_them(
    world: World, a: Agent, tmp_path: Path
) -> None:
    checkpoint = committed(world, a)
    committed(world, a, 2)
    before = world.head
    done(world, "resume", "--worktree", str(tmp_path / "then"), checkpoint)
    assert sorted(p.name for p in (tmp_path / "then").glob("f*.py")) == ["f1.py"]
    assert "prompt 1" in place(world, tmp_path / "then").read_text()
    assert world.head == before


def test_every_session_of_a_checkpoint_is_put_back(world: World, a: Agent) -> None:
    b = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e")
    a.turn("prompt a", {"a.py": "a\n"})
    b.turn("prompt b", {"b.py": "b\n"})
    world.commit()
    elsewhere(world, a)
    told = done(world, "resume")
    assert told.count("claude -r ") == 2
    assert "prompt b" in place(world, world.path, b.sid).read_text()


def test_a_session_that_is_not_committed_yet_is_put_back_from_its_stream(
    world: World, a: Agent
) -> None:
    a.turn("prompt 1", {"a.py": "1\n"})
    a.turn("prompt 2", {"a.py": "2\n"})
    elsewhere(world, a)
    done(world, "resume", SID)
    assert "prompt 2" in place(world, world.path).read_text()


def test_nothing_stored_is_an_error(world: World) -> None:
    ended = run(world, "resume")
    assert (ended.returncode, "no checkpoint belongs to" in ended.stderr) == (128, True)


def test_a_session_that_no_commit_has_cannot_be_checked_out(
    world: World, a: Agent, tmp_path: Path
) -> None:
    a.turn("prompt 1", {"a.py": "1\n"})
    ended = run(world, "resume", "--worktree", str(tmp_path / "new"), SID)
    assert ended.returncode == 128 and not (tmp_path / "new").exists()
    assert f"'{SID}' belongs to no commit" in ended.stderr


def test_why_a_conversation_cannot_be_put_back_is_told_once(world: World) -> None:
    world.gitcp("run", "--session", "by-hand", "--", "sh", "-c", "echo one >one.txt")
    world.commit("one.txt")
    told = run(world, "resume")
    assert told.returncode == 1
    assert told.stdout.splitlines() == [
        "session by-hand (sh) cannot be put back",
        "  note: no transcript is stored",
    ]


def test_thinking_that_redaction_broke_is_left_out_with_a_note(world: World, a: Agent) -> None:
    a.prompt("think of it")
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
    a.answer([thought, {"type": "text", "text": "thought of it"}])
    a.write("one.py", "1\n")
    a.stop()
    world.commit("one.py")
    elsewhere(world, a)
    note = "  note: 1 thinking blocks are left out: redaction broke their signature"
    assert note in done(world, "resume").splitlines()
    stored = place(world, world.path).read_text()
    assert "thought of it" in stored and "c2lnbmVk" not in stored


@pytest.mark.parametrize("sid", ["e", "444455556666", "55556666"])
def test_a_session_whose_id_is_part_of_anothers_name_replaces_nothing_of_it(
    world: World, a: Agent, sid: str
) -> None:
    short = world.agent(sid)
    committed(world, short)
    short.transcript.unlink()
    folder = place(world, world.path).parent
    folder.mkdir(parents=True, exist_ok=True)
    other = folder / "0a1b2c3d-1111-2222-3333-444455556666.jsonl"
    other.write_text("of another session\n")
    told = done(world, "resume", "--force", sid)
    assert f"claude -r {sid}" in told
    assert other.read_text() == "of another session\n"
    assert "prompt 1" in place(world, world.path, sid).read_text()


@pytest.mark.parametrize(
    ("agent", "name", "sid", "same"),
    [
        ("claude-code", "0a1b.jsonl", "0a1b", True),
        ("claude-code", "x-0a1b.jsonl", "0a1b", False),
        ("codex", "rollout-2026-01-02T03-04-05-0a1b.jsonl", "0a1b", True),
        ("codex", "rollout-2026-01-02T03-04-05-7777-0a1b.jsonl", "0a1b", False),
        ("gemini-cli", "session-2026-01-02T03-04-0a1b2c3d.jsonl", "0a1b2c3d", False),
    ],
)
def test_a_file_is_a_sessions_if_the_client_names_it_by_the_whole_id(
    agent: str, name: str, sid: str, same: bool
) -> None:
    assert client_transcript._is_named(find_client(agent), name, sid) == same
