"""Much work is shared by processes: nothing of it is lost, told twice or left behind."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.objects.reading import spread_batches
from gitcp.git.repo import Repo
from gitcp.lines import exports
from gitcp.link import commits
from gitcp.text import console
from tests.lines.blame.recorded_lines import linked
from tests.support.checkpoints import git


@pytest.fixture
def objects(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    """Three workers, whatever the machine has."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    with Objects(Repo.find()) as objects:
        yield objects


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were forked, as they come."""
    fork, pids = os.fork, list[int]()

    def noted() -> int:
        pid = fork()
        pids.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted)
    return pids


def none_left(pids: list[int]) -> None:
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.parametrize("count", [*range(6), 20])
def test_results_come_in_order_and_from_several_processes(
    objects: Objects, forked: list[int], count: int
) -> None:
    batches = [[n, "\udcff", b"x" * n * 10_000] for n in range(count)]
    done = list(spread_batches(objects, batches, lambda _: lambda batch: (batch, os.getpid())))
    assert [batch for batch, _ in done] == batches
    assert len({pid for _, pid in done}) == min(count, 4)
    assert len(forked) == (3 if count > 1 else 0)
    none_left(forked)


def test_one_processor_does_it_alone(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    done = spread_batches(objects, range(5), lambda _: lambda batch: (batch, os.getpid()))
    assert list(done) == [(n, os.getpid()) for n in range(5)]


def test_each_process_reads_with_a_git_of_its_own(objects: Objects) -> None:
    oid = git("rev-parse", "HEAD:README.md")
    first = objects.read(oid)
    assert first
    read = list(spread_batches(objects, range(9), lambda own: lambda _: own.read(oid)))
    assert read == [first] * 9
    assert objects.read(git("rev-parse", "HEAD")) is not None


def test_what_is_to_be_written_is_written_once_and_before(objects: Objects) -> None:
    oid = objects.write("blob", b"what the workers read, too\n")

    def begin(own: Objects) -> Callable[[int], tuple[object, ...]]:
        return lambda _: (own.read(oid) is not None, own.flush())

    seen = list(spread_batches(objects, range(9), begin, 0))
    assert seen == [(True, False)] * 9


def test_the_batch_of_a_worker_that_is_killed_is_done_here(objects: Objects) -> None:
    parent = os.getpid()

    def work(batch: int) -> int:
        if batch == 4 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return batch * 2

    assert list(spread_batches(objects, range(20), lambda _: work)) == [n * 2 for n in range(20)]


def test_what_cannot_be_sent_back_is_made_here(objects: Objects) -> None:
    done = spread_batches(objects, map(str, range(9)), lambda _: Path)
    assert list(done) == [Path(str(n)) for n in range(9)]


def test_an_error_of_a_worker_is_met_here(objects: Objects, forked: list[int]) -> None:
    def work(batch: int) -> int:
        if batch == 3:
            raise Error("three is too many")
        return batch

    results = spread_batches(objects, range(9), lambda _: work)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Error, match="three is too many"):
        next(results)
    none_left(forked)


def test_what_is_lacking_is_told_once_and_here(
    objects: Objects, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_PRINTED", {})
    told = spread_batches(
        objects, range(6), lambda _: lambda batch: console.warn_lacking(f"part {batch % 2}")
    )
    assert list(told) == [None] * 6
    assert capfd.readouterr().err == "warning: part 0\nwarning: part 1\n"
    assert console.is_incomplete()


def test_whoever_stops_early_leaves_no_process(objects: Objects, forked: list[int]) -> None:
    results = spread_batches(objects, iter(range(1000)), lambda _: lambda batch: b"x" * 1_000_000)
    for _ in range(5):
        next(results)
    results.close()  # type: ignore[attr-defined]
    none_left(forked)


def test_what_nobody_waits_for_is_not_worked_on(objects: Objects, forked: list[int]) -> None:
    parent = os.getpid()

    def work(batch: int) -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGSTOP)
        return batch

    results = spread_batches(objects, iter(range(9)), lambda _: work, 2)
    assert [next(results), next(results)] == [0, 1]
    results.close()  # type: ignore[attr-defined]
    none_left(forked)


def test_a_fork_that_fails_leaves_no_descriptor_and_one_does_it_alone(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(os, "fork", refused)
    objects.read("HEAD")  # git is there
    before = os.listdir("/dev/fd")
    done = spread_batches(objects, range(5), lambda _: lambda batch: (batch, os.getpid()))
    assert list(done) == [(n, os.getpid()) for n in range(5)]
    assert os.listdir("/dev/fd") == before


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.default_int_handler])
def test_ctrl_c_ends_a_worker_unless_it_was_to_be_ignored(objects: Objects, handler: Any) -> None:
    parent, before = os.getpid(), signal.signal(signal.SIGINT, handler)

    def work(_: int) -> bool:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGINT)
        return os.getpid() == parent

    try:
        done = list(spread_batches(objects, range(4), lambda _: work))
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [True, *[handler is not signal.SIG_IGN] * 3]


@pytest.fixture
def long(repo: Path) -> Path:
    """Twenty commits, every second one linked, the last checkpoint without its metadata."""
    for n in range(20):
        (repo / "src" / "app.py").write_text(f"line {n}\n" * (n + 1))
        git("commit", "-qam", f"change {n}")
        if n % 2:
            linked(f"a1b2c3d4e5{n:02}", f"session-{n % 3}", "src/app.py", [[1, n, "t1", None]])
    return repo


def test_a_history_told_by_several_is_the_one_told_by_one(
    long: Path, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repo.find()

    def everything() -> list[object]:
        return [*commits.list_commits(repo, []), *exports.list_commits(repo, [], [])]

    alone = everything()
    monkeypatch.setattr(commits, "_FIRST", 2)
    monkeypatch.setattr(commits, "_BATCH", 3)
    monkeypatch.setattr(exports, "WINDOW", 3)
    for module in (commits, exports):
        monkeypatch.setattr(module, "_ALONE", 2)
    assert everything() == alone
    assert len(forked) >= 4
