"""What git prints, record by record while it runs."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import pytest

from gitcp import git
from gitcp.errors import GitError, Late
from gitcp.git import Git
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo


def test_records_come_as_git_prints_them_however_long(repo: Path) -> None:
    content = [b"x" * 70_000, b"", b"last without an end"]
    (repo / "big").write_bytes(b"\n".join(content))
    assert list(Git().stream_records("cat-file", "blob", _hash(repo / "big"), sep=b"\n")) == content


def test_a_failure_is_told_behind_what_came_before_it(repo: Path) -> None:
    with pytest.raises(GitError, match="nothing-of-this-name"):
        list(Git().stream_records("log", "--format=%H", "nothing-of-this-name"))


def test_who_stops_early_leaves_no_process_behind(repo: Path) -> None:
    running = Git().start("log", "--format=%H", "HEAD")
    records = running.stream_records(b"\n")
    assert len(next(records)) == 40
    records.close()
    with pytest.raises(ProcessLookupError):
        os.kill(running.pid, 0)


def test_a_hook_does_not_wait_for_records_that_never_come(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_limits", {})
    git.begin_deadline(total=0.1)
    running = Git().start("-c", "alias.wait=!sleep 1", "wait")
    with pytest.raises(Late, match="did not end before the time of the whole hook was over"):
        list(running.stream_records())
    with pytest.raises(ProcessLookupError):
        os.kill(running.pid, 0)


def _hash(path: Path) -> str:
    return Git().read_line("hash-object", "-w", str(path)).decode()


def test_a_git_that_complains_at_length_is_not_waited_for(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says on standard error fills a pipe as well: it goes on when that is read."""
    oids = [hashlib.sha1(b"%d" % n).hexdigest() for n in range(700)]
    for oid in oids:
        place = repo / ".git/objects" / oid[:2]
        place.mkdir(exist_ok=True)
        (place / oid[2:]).write_bytes(b"no object")
    monkeypatch.setattr(git, "_limits", {})
    git.begin_deadline(total=30)
    with Objects(Repo.find()) as objects:
        assert objects.list_absent(oids) == {*oids}
    talk = "alias.talk=!seq 40000 >&2; echo said; exit 3"
    records = Git().stream_records("-c", talk, "talk", sep=b"\n")
    assert next(records) == b"said"
    with pytest.raises(GitError) as failure:
        next(records)
    assert failure.value.complaint.endswith("\n40000")


def test_a_conversation_that_ends_at_the_deadline_says_so(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_limits", {})
    git.begin_deadline(total=30)
    with pytest.raises(Late, match="before the time of the whole hook"), Objects(Repo.find()) as it:
        batch = it.ahead.get_batch()
        assert batch.find_head("HEAD")
        os.kill(batch._run.pid, signal.SIGSTOP)
        git.begin_deadline(total=0)
        batch.find_head("HEAD^{tree}")
