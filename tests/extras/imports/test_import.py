"""What `gitcp import` links, and what it leaves alone."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.extras.imports.conftest import TALE, Yesterday
from tests.extras.imports.truth import Told
from tests.support import warm
from tests.support.harness import Json, World
from tests.support.terminal import talk

NOTES = "refs/notes/gitcp"


def refs(past: Yesterday) -> str:
    return past.git("for-each-ref", "--format=%(refname) %(objectname)", NOTES, "refs/heads")


def test_a_plan_writes_nothing_and_an_import_is_there_once(worked: Yesterday) -> None:
    before = refs(worked)
    planned = worked.imported("--dry-run")
    assert refs(worked) == before
    assert [(one["session_id"], one["files"], one["lines"]) for one in planned] == [
        ("yesterday", ["tale.py"], 2)
    ]
    assert worked.imported() == planned
    after = refs(worked)
    assert worked.imported() == []
    assert refs(worked) == after


def test_an_import_takes_the_conversations_that_are_asked_for_and_no_others(
    worked: Yesterday,
) -> None:
    """Two of Claude Code's, one of which ended long ago, and one of Codex's."""
    first = worked.say()
    old = worked.say("long-ago")
    os.utime(old, (1, 1))
    folder = worked.home / ".codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    meta = {"id": "s-codex", "cwd": str(worked.repo)}
    head = {"type": "session_meta", "payload": meta}
    (folder / "rollout-1-s-codex.jsonl").write_text(json.dumps(head) + "\n")

    def find(*args: str) -> list[tuple[str, str]]:
        found = worked.imported("--dry-run", "--unlinked", *args)
        return sorted((one["agent"], one["session_id"]) for one in found)

    claude, codex = [("Claude Code", "yesterday")], [("Codex", "s-codex")]
    every = [("Claude Code", "long-ago"), *claude, *codex]
    for args, wanted in (
        ((), every),
        (("--agent", "codex"), codex),
        (("--agent", "claude-code"), every[:2]),
        (("--agent", "codex", "-a", "claude-code"), every),
        (("--agent", "pi"), []),
        (("--since", "2 days ago"), claude + codex),
        (("--since", "2 days ago", "--agent", "claude-code"), claude),
    ):
        assert find(*args) == wanted, args
    for words in (["import"], ["attach", "yesterday"]):
        done = warm.run(*words, "--agent", "nobody", cwd=worked.repo)
        assert done.returncode == 129
        assert "unknown agent 'nobody'; 'gitcp enable --list' lists those known" in done.stderr
    os.utime(first, (1, 1))
    assert find("--since", "yesterday", "--agent", "claude-code") == []


def test_an_import_shows_a_terminal_how_far_it_has_come_and_a_pipe_nothing(
    worked: Yesterday, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_PROGRESS_DELAY", "0")
    planned = warm.run("import", "--dry-run", cwd=worked.repo)
    assert planned.stderr == "" and " 0 %" not in planned.stdout
    world = World(worked.repo, worked.home)
    world.env["GIT_PROGRESS_DELAY"] = "0"
    seen = talk(world, ["import", "--yes"])
    steps = ("Reading conversations", "Comparing commits", "Storing checkpoints")
    assert [step for step in steps if f"{step}: 0 % (0/1)" in seen] == [*steps]
    assert "linked: 'gitcp undo' takes it back" in seen.rpartition("\033[K")[2]


def test_one_undo_takes_an_import_back_and_redo_brings_it_again(worked: Yesterday) -> None:
    worked.imported()
    told = Told(worked.repo)
    assert len(told.links) == 1
    worked.run("undo")
    assert Told(worked.repo).links == set()
    listed = worked.git("ls-tree", "-r", "--name-only", "entire/checkpoints/v1")
    assert listed == ""
    worked.run("redo")
    assert Told(worked.repo).links == told.links
    worked.run("undo")
    assert len(worked.imported()) == 1


def test_a_checkpoint_says_that_it_was_imported_and_why_answers(worked: Yesterday) -> None:
    worked.imported()
    (metadata,) = Told(worked.repo).metadata
    assert (metadata["kind"], metadata["agent"]) == ("imported", "Claude Code")
    assert metadata["token_usage"]["output_tokens"] == 7
    assert metadata["token_usage_delta"] == metadata["token_usage"]
    assert "Write a tale" in worked.run("why", "tale.py:2")
    assert "yesterday" in worked.run("resume", "--json", "yesterday")
    assert worked.run("fsck") == ""


def test_what_is_secret_is_not_imported(past: Yesterday) -> None:
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    past.prompt(f"Write a tale, the token is {key}")
    past.write("tale.py", TALE)
    past.say()
    past.commit()
    past.imported()
    stored = past.git("grep", "-c", "", "entire/checkpoints/v1")
    assert "full.jsonl" in stored
    assert not past.git("log", "-p", "--all", "-S", key, "--format=%H")


def test_a_persons_lines_in_an_agents_file_are_nobodys(past: Yesterday) -> None:
    past.prompt("Write a tale")
    past.write("tale.py", TALE)
    past.say()
    (past.repo / "tale.py").write_text(TALE + "\n\ndef person_wrote_this():\n    return None\n")
    past.commit()
    past.imported()
    assert {line[3] for line in Told(past.repo).lines} == {1, 2}


@pytest.mark.parametrize("with_result", [True, False])
def test_what_stood_under_a_whole_write_is_nobodys_though_nothing_tells_it(
    past: Yesterday, with_result: bool
) -> None:
    person = "def person_wrote_this():\n    return None\n"
    (past.repo / "tale.py").write_text(person)
    past.prompt("Add a tale")
    past.write("tale.py", person + TALE, with_result=with_result)
    past.say()
    past.commit()
    past.imported()
    assert {line[3] for line in Told(past.repo).lines} == ({3, 4} if with_result else set())


def test_a_commit_of_what_a_whole_write_left_is_linked_without_lines_and_once(
    past: Yesterday,
) -> None:
    past.prompt("Write a tale")
    past.write("tale.py", TALE, with_result=False)
    past.say()
    linked = past.commit()
    past.git("revert", "--no-edit", "HEAD")
    past.git("revert", "--no-edit", "HEAD")
    [link] = past.imported()
    assert (link["commit"], link["lines"], link["coarse"]) == (linked, 0, False)


def test_one_line_that_went_and_that_a_person_types_again_is_nobodys(past: Yesterday) -> None:
    (past.repo / "tale.py").write_text("first = line()\n")
    past.commit()
    past.write("tale.py", "window = value()\nsignal_40 = parse(40)\n")
    past.git("checkout", "-q", "tale.py")
    past.write("tale.py", "buffer_41 = parse(41)\n")
    past.say()
    (past.repo / "tale.py").write_text("window = value()\nbuffer_41 = parse(41)\n")
    past.commit()
    past.imported()
    assert {line[3] for line in Told(past.repo).lines} == {2}


HERE = f"cat > tale.py <<'END'\n{TALE}END\n"
LINES = [f"+{line}" for line in TALE.splitlines()]


@pytest.mark.parametrize(
    ("command", "changed", "lines"),
    [
        (HERE, None, [0]),
        (HERE, {"hunks": [{"lines": LINES}], "created": True}, [2]),
        ("cp source.py tale.py", {"hunks": [{"lines": LINES}], "created": True}, [0]),
        ("cp source.py tale.py", None, []),
    ],
    ids=["its words alone", "its words and what changed", "what changed alone", "nothing"],
)
def test_what_a_command_wrote_is_its_own_by_its_words_and_by_what_the_client_saw_change(
    past: Yesterday, command: str, changed: Json | None, lines: list[int]
) -> None:
    (past.repo / "source.py").write_text(TALE)
    past.commit()
    past.prompt("Write a tale")
    path = {"filePath": str(past.repo / "tale.py")}
    files = [{**path, **changed}] if changed else []
    past.shell(command, {"stdout": "", "bashEditDiff": {"files": files}} if changed else None)
    past.say()
    past.commit()
    assert [link["lines"] for link in past.imported()] == lines


@pytest.mark.parametrize(
    "who",
    [
        {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z"},
        {"GIT_COMMITTER_DATE": "2040-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2040-01-01T00:00:00Z"},
    ],
    ids=["before", "long after"],
)
def test_a_commit_of_another_time_is_not_linked(past: Yesterday, who: dict[str, str]) -> None:
    past.write("tale.py", TALE)
    past.say()
    past.commit(**who)
    assert past.imported() == []


def test_a_commit_that_a_colleague_made_is_not_linked(
    past: Yesterday, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.write("tale.py", TALE)
    past.say()
    past.git("add", "-A")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "colleague@example.com")
    theirs = past.git("commit-tree", "-p", "HEAD", "-m", "work", past.git("write-tree"))
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "c@example.com")
    past.git("branch", "theirs", theirs)
    assert past.imported() == []


def test_what_a_person_typed_anew_or_took_from_elsewhere_is_not_linked(past: Yesterday) -> None:
    past.write("tale.py", TALE)
    past.say()
    (past.repo / "tale.py").write_text("import os\n\nprint('by the person')\n")
    (past.repo / "other.py").write_text(TALE)
    past.commit()
    assert past.imported() == []


def test_what_was_reverted_and_comes_again_is_linked_once(worked: Yesterday) -> None:
    worked.git("revert", "--no-edit", "HEAD")
    worked.git("revert", "--no-edit", "HEAD")
    linked = worked.git("rev-parse", "HEAD~2")
    assert [one["commit"] for one in worked.imported()] == [linked]


def test_a_link_that_a_person_took_away_does_not_come_again(worked: Yesterday) -> None:
    worked.imported()
    worked.run("unlink", "HEAD")
    assert worked.imported() == []


def test_a_commit_that_is_linked_is_left_alone(past: Yesterday) -> None:
    past.write("tale.py", TALE)
    past.say()
    past.git("add", "-A")
    past.git("commit", "-q", "-m", "work\n\nEntire-Checkpoint: 0123456789ab")
    assert past.imported() == []


def test_a_repository_that_moved_has_the_conversations_of_its_former_place(
    worked: Yesterday,
) -> None:
    there = worked.repo.rename(worked.repo.with_name("moved"))
    was, worked.repo = worked.repo, there
    assert worked.imported() == []
    assert len(worked.imported("--path", str(was))) == 1


def test_a_repository_whose_path_has_a_line_break_has_its_conversations(past: Yesterday) -> None:
    past.repo = past.repo.rename(past.repo.with_name("two\nlines"))
    past.prompt("Write a tale")
    past.write("tale.py", TALE)
    past.say()
    past.commit()
    assert len(past.imported()) == 1


def test_what_no_line_tells_is_linked_by_time_and_files_on_request(past: Yesterday) -> None:
    past.write("tale.py", "x\n", with_result=False)
    past.say()
    past.write("tale.py", "y\n", with_result=False)
    past.commit()
    assert past.imported() == []
    (link,) = past.imported("--coarse")
    assert (link["coarse"], link["lines"], link["files"]) == (True, 0, ["tale.py"])
    (metadata,) = Told(past.repo).metadata
    assert metadata["coarse"] is True
    assert past.run("fsck") == ""


def test_a_session_without_a_commit_is_stored_on_request_and_once(past: Yesterday) -> None:
    past.prompt("What is this repository about?")
    past.say()
    assert past.imported() == []
    (link,) = past.imported("--unlinked")
    assert (link["commit"], link["session_id"]) == ("", "yesterday")
    assert past.imported("--unlinked") == []
    listed = [json.loads(line) for line in past.run("list-checkpoints").splitlines()]
    assert [one["sessions"] for one in listed] == [["yesterday"]]


def test_an_import_that_was_killed_before_it_linked_is_taken_up(worked: Yesterday) -> None:
    worked.imported()
    worked.git("update-ref", "-d", NOTES)
    assert len(worked.imported()) == 1
    assert len(Told(worked.repo).links) == 1


def test_a_damaged_conversation_keeps_no_other_back(worked: Yesterday, tmp_path: Path) -> None:
    path = worked.say("other")
    path.write_bytes(path.read_bytes()[:300] + b"\xff\x00{[\n" + b"[" * 5000 + b"\n")
    (path.parent / "empty.jsonl").write_bytes(b"")
    (path.parent / "loop.jsonl").symlink_to("loop.jsonl")
    assert [one["session_id"] for one in worked.imported()] == ["yesterday"]


def test_enable_counts_conversations_and_says_who_deletes_them_unless_told(
    past: Yesterday,
) -> None:
    past.prompt("Write a tale")
    for sid in ("one", "two"):
        past.say(sid)
    third = past.say("three")
    other = third.parent.with_name(third.parent.name + "2") / third.name  # of another directory
    other.parent.mkdir()
    other.write_text(third.read_text().replace(f'{past.repo}"', f'{past.repo}2"'))
    third.unlink()
    seen = past.run("enable", "--agent", "claude-code")
    assert "nothing is sent anywhere" in seen
    assert f"2 conversations since {time.strftime('%B')}: 'gitcp import'" in seen
    deletes = "Claude Code deletes conversations after 30 days: 'cleanupPeriodDays'"
    assert deletes in seen
    assert deletes in warm.run("doctor", cwd=past.repo).stdout
    settings = past.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"cleanupPeriodDays": 365}))
    assert deletes not in warm.run("doctor", cwd=past.repo).stdout


def test_enable_counts_conversations_of_a_client_that_keeps_those_of_all_directories_together(
    past: Yesterday,
) -> None:
    folder = past.home / ".codex/sessions/2020/05/20"
    folder.mkdir(parents=True)
    for number, cwd in enumerate((past.repo, past.repo / "below", past.home)):
        meta = {"id": f"0197-{number}", "cwd": str(cwd), "cli_version": "0.169.0"}
        line = {"timestamp": "2020-05-20T10:00:00Z", "type": "session_meta", "payload": meta}
        file = folder / f"rollout-2020-05-20T10-00-00-0197-{number}.jsonl"
        file.write_text(json.dumps(line) + "\n")
        os.utime(file, (1_590_000_000, 1_590_000_000))
    said = past.run("enable", "--agent", "codex")
    assert "2 conversations since May 2020: 'gitcp import' links their commits\n" in said


def test_what_the_editor_of_cline_wrote_is_linked(past: Yesterday) -> None:
    """As it puts it: `new_text` alone makes a file, with `insert_line` it goes before that line."""
    file = past.repo / "tale.py"
    calls: list[tuple[Json, str, bool]] = [
        ({"new_text": TALE}, f"File created successfully at: {file}", True),
        ({"old_text": "upon", "new_text": "below"}, "Edited", True),
        ({"old_text": "no such", "new_text": "text"}, "", False),
        (
            {"new_text": "# older than the world\n# and told by everyone", "insert_line": 1},
            "Inserted content",
            True,
        ),
    ]
    now = int(time.time() * 1000)
    text = {"type": "text", "text": '<user_input mode="act">Write a tale</user_input>'}
    messages: list[Json] = [{"role": "user", "ts": now, "content": [text]}]
    for number, (given, result, success) in enumerate(calls):
        done, call = {"result": result, "success": success}, f"c{number}"
        use: Json = {"type": "tool_use", "id": call, "name": "editor"}
        use["input"] = {"path": str(file), "old_text": None, **given}
        answer = {"type": "tool_result", "tool_use_id": call, "content": [done]}
        messages += [{"role": "assistant", "ts": now, "content": [use]}]
        messages += [{"role": "user", "ts": now, "content": [answer]}]
    folder = past.home / ".cline" / "data" / "sessions" / "s-1"
    folder.mkdir(parents=True)
    held = {"version": 1, "sessionId": "s-1", "messages": messages}
    (folder / "s-1.messages.json").write_text(json.dumps(held, indent=2))
    (folder / "s-1.json").write_text(json.dumps({"cwd": str(past.repo)}))
    file.write_text(
        "# older than the world\n# and told by everyone\n" + TALE.replace("upon", "below")
    )
    past.commit()
    [record] = past.imported()
    assert (record["agent"], record["lines"]) == ("Cline", 4)
