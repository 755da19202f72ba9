"""Foreign stages and the pager, with real programs."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from gitcp import git
from gitcp.errors import Error, InputError
from gitcp.git import shell
from tests.support.paths import TOP


def test_a_foreign_stage_reads_and_writes_records() -> None:
    records = [{"type": "ref", "n": n, "path": "a\udcff"} for n in range(3)]
    assert list(shell.run_filter(["cat"], records)) == records
    assert list(shell.run_filter(["sed", "-n", "2p"], records)) == records[1:2]


def test_a_large_stream_passes_without_a_deadlock() -> None:
    records = [{"n": n, "text": "x" * 1000} for n in range(3000)]
    assert sum(1 for _ in shell.run_filter(["cat"], records)) == 3000


def test_no_shell_reads_its_words() -> None:
    words = ["printf", '{"a": "%s"}\n', "$HOME; x | y"]
    assert list(shell.run_filter(words, [])) == [{"a": "$HOME; x | y"}]


def test_it_inherits_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_NAME", "some value")
    words = ["sh", "-c", """printf '{"a": "%s"}' "$SOME_NAME" """]
    assert list(shell.run_filter(words, [])) == [{"a": "some value"}]


def test_the_stages_before_it_are_done_when_it_starts(tmp_path: Path) -> None:
    mark = tmp_path / "locked"

    def stage() -> object:
        mark.touch()
        yield {"n": 1}
        mark.unlink()

    words = ["sh", "-c", f"cat; ! test -e {mark}"]
    assert list(shell.run_filter(words, stage())) == [{"n": 1}]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["sh", "-c", "exit 3"], Error, "'!sh -c exit 3': exit status 3"),
        (["gitcp-nonesuch", "x"], Error, "no such program: 'gitcp-nonesuch'"),
        (["echo", "hello"], InputError, "'!echo hello': cannot parse record 1"),
        (["echo", "[1]"], InputError, "'!echo \\[1\\]': record 1 is not an object"),
        (["sh", "-c", "kill -9 $$"], Error, "exit status -9"),
    ],
)
def test_a_foreign_stage_that_fails_is_named(
    words: list[str], error: type[Error], message: str
) -> None:
    with pytest.raises(error, match=message):
        list(shell.run_filter(words, [{"type": "ref"}]))


def test_a_stage_that_does_not_read_its_input_may_succeed() -> None:
    assert list(shell.run_filter(["true"], [{"text": "x" * 200_000}])) == []


def test_what_goes_to_a_pipe_goes_through_no_pager(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_PAGER", "false")
    shell.page_text("text\n")
    assert capfd.readouterr().out == "text\n"


@pytest.mark.parametrize(
    ("pager", "shown"),
    [
        ("sed s/^/paged:/", b"paged:one\r\npaged:two\r\n"),
        ("cat", b"one\r\ntwo\r\n"),
        ("", b"one\r\ntwo\r\n"),
        ("head -n 0; printf end", b"end"),
    ],
)
def test_what_goes_to_a_terminal_goes_through_the_pager(pager: str, shown: bytes) -> None:
    assert paged(pager, "one\ntwo\n") == (0, shown)


def test_ctrl_c_at_the_pager_is_the_pagers() -> None:
    assert paged("cat; kill -INT $PPID; echo still here", "one\n") == (0, b"one\r\nstill here\r\n")


@pytest.mark.linux
def test_ctrl_c_at_the_pager_of_git_is_the_pagers(repo: Path) -> None:
    """One that is in a search, say: who pages waits for it, as git does."""
    us = "us=$(cut -d' ' -f4 /proc/$PPID/stat)"
    pager = f"trap '' INT; {us}; cat; kill -INT 0; sleep 0.5; kill -0 $us && echo waited for"
    code = "shell.run_git(Repo.find_here(), ['-p', 'rev-parse', '--is-bare-repository'])"
    status, shown = at_terminal(f"from gitcp.git.repo import Repo; {code}", GIT_PAGER=pager)
    assert (status, shown) == (0, b"false\r\nwaited for\r\n")


def test_blame_is_paged_at_a_terminal_as_gits_is(repo: Path) -> None:
    line = "from gitcp.cmd.ask import blame; blame.run(['README.md'])"
    status, shown = at_terminal(line, GIT_PAGER="sed s/^/paged:/")
    assert status == 0 and shown.startswith(b"paged:")


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_pager_that_is_left_early_ends_the_command_in_peace(size: int) -> None:
    """Not by SIGPIPE, with what it had for the pager still in hand."""
    assert paged("head -n 1", "a line of the text\n", size) == (0, b"a line of the text\r\n")


def paged(pager: str, part: str, times: int = 1) -> tuple[int, bytes]:
    """(status, what was shown) of a process that pages so many parts, as a command does."""
    return at_terminal(f"shell.page_text({part!r} for _ in range({times}))", PAGER=pager)


def at_terminal(line: str, **env: str) -> tuple[int, bytes]:
    """(status, what was shown) of a line of Python, run as a command is."""
    code = f"import sys; sys.path[0] = {str(TOP)!r}; from gitcp.git import shell; "
    code += f"import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL); {line}"
    pid, fd = pty.fork()
    if not pid:
        os.environ.update(env)
        os.execv(sys.executable, [sys.executable, "-c", code])
    found = b""
    try:
        while data := os.read(fd, 1000):
            found += data
    except OSError:
        pass  # how Linux tells that the other end is closed
    os.close(fd)
    return os.waitpid(pid, 0)[1], found


def test_the_time_of_a_program_is_left_to_the_stages_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(git, "_limits", {})
    git.begin_deadline(1000, 100_000)
    before = git.count_seconds_left()
    assert list(shell.run_filter(["sleep", "2"], [])) == []
    after = git.count_seconds_left()
    assert before and after and before - after < 2
