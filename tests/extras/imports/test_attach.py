"""What `gitcp attach` links, by evidence and by a person's word."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.extras.imports.conftest import TALE, Yesterday
from tests.extras.imports.truth import Told
from tests.support import warm


def attached(past: Yesterday, *args: str, status: int = 0) -> list[dict[str, object]]:
    """The records of attaching a session."""
    done = warm.run("attach", "--json", *args, cwd=past.repo)
    assert done.returncode == status, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_session_is_attached_by_the_commits_that_hold_its_edits(worked: Yesterday) -> None:
    worked.say("other")
    (link,) = attached(worked, "yest")
    assert (link["session_id"], link["lines"]) == ("yesterday", 2)
    assert "Write a tale" in worked.run("why", "tale.py:2")
    assert attached(worked, "yest", status=1) == []
    again = warm.run("attach", "yest", cwd=worked.repo)
    assert "0 commits; stored before: 1 session; left out: 0 sessions" in again.stdout
    worked.run("undo")
    assert Told(worked.repo).links == set()


def test_a_transcript_from_elsewhere_is_attached_whoever_committed(
    past: Yesterday, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "bot@example.com")
    past.write("tale.py", TALE)
    past.commit()
    path = tmp_path / "artefact.jsonl"
    path.write_text(past.say().read_text().replace(str(past.repo), "/workspace"))
    shutil.rmtree(past.home / ".claude")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "c@example.com")
    (link,) = attached(past, str(path))
    assert (link["files"], link["lines"]) == (["tale.py"], 2)


def test_a_commit_that_shows_nothing_is_attached_by_a_persons_word(worked: Yesterday) -> None:
    (worked.repo / "shell.txt").write_text("by a command\n")
    worked.commit()
    assert [link["lines"] for link in attached(worked, "yesterday", "HEAD", "HEAD~1")] == [2, 0]
    assert "Linked-By-Hand" in worked.git("notes", "--ref=gitcp", "show", "HEAD")
    assert len(Told(worked.repo).links) == 2
    worked.run("undo")
    assert Told(worked.repo).links == set()


def test_the_tokens_of_a_session_that_is_attached_twice_are_counted_once(
    worked: Yesterday,
) -> None:
    attached(worked, "yesterday")
    (worked.repo / "shell.txt").write_text("by a command\n")
    worked.commit()
    attached(worked, "yesterday", "HEAD")
    deltas = [one["token_usage_delta"]["output_tokens"] for one in Told(worked.repo).metadata]
    assert sorted(deltas) == [0, 7]


def test_what_names_no_conversation_is_an_error(worked: Yesterday, tmp_path: Path) -> None:
    (tmp_path / "no.jsonl").write_text('{"a": 1}\n')
    for name in ("nobody", str(tmp_path / "no.jsonl")):
        assert attached(worked, name, status=128) == []
