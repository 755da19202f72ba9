"""What every command does about the streams it is given and the ground it stands on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp import __main__, commands, program
from tests.support import warm
from tests.support.broken import break_git
from tests.support.paths import TOP

SOURCES = ("status", "log", "list-changes", "list-refs", "clean")
FILTERS = ("write-tree", "update-session", "find-commits")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PATH": f"{TOP / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True)


def test_every_command_tells_its_usage_where_there_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in commands.NAMES:
        monkeypatch.setattr(sys, "argv", [f"gitcp-{name}", "-h"])
        with pytest.raises(SystemExit) as ended:
            __main__.main()
        usage, err = capfd.readouterr()
        assert (ended.value.code, err) == (0, ""), name
        assert usage.startswith("usage: "), name
        assert max(map(len, usage.splitlines())) <= 80, name


def test_the_summary_of_plumbing_names_the_page_with_its_records(tmp_path: Path) -> None:
    for name, is_plumbing in (("condense", True), ("list-refs", True), ("fsck", False)):
        said = warm.run(name, "-h", cwd=tmp_path).stdout
        assert (f"\nPlumbing: 'gitcp help {name}' has its records" in said) == is_plumbing


def test_the_lists_of_commands_fit_a_terminal() -> None:
    assert max(map(len, program.format_listing().splitlines())) <= 80
    everyday = program.format_overview().splitlines()
    assert max(map(len, everyday)) <= 80
    assert len(everyday) <= 24


def test_gitcp_alone_and_its_help_show_the_everyday_commands() -> None:
    alone = shell("gitcp").stdout
    assert alone == shell("gitcp help").stdout
    shown = [line.split()[0] for line in alone.splitlines() if line.startswith("   ")]
    assert len(shown) == 18 and {"sessions", "recap", "blame", "redo", "ui"} < {*shown}
    assert set(shown) < set(commands.TOOLS)
    every = shell("gitcp help -a").stdout
    assert all(f"\n    {name} " in every for name in commands.NAMES)


def test_a_link_by_an_unknown_name_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "gitcp-stat").symlink_to(TOP / "bin" / "gitcp")
    done = subprocess.run([tmp_path / "gitcp-stat"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (129, "")
    assert (
        done.stderr
        == "error: 'stat' is not a gitcp command; did you mean 'stats' or 'status' or 'stage'?\n"
    )


def test_a_value_that_is_none_of_the_choices_is_answered_with_the_nearest() -> None:
    done = shell("gitcp enable --agent cluade-code")
    assert done.returncode == 129
    assert "unknown agent 'cluade-code'; did you mean 'claude-code'" in done.stderr
    assert "it is one of off, warn, deny" in shell("gitcp enable --guard zzz").stderr
    said = shell("gitcp split zzz").stderr.partition("\n")[0]
    assert said == "error: unknown commit 'zzz'; it can only be HEAD"
    said = shell("gitcp attach").stderr.partition("\n")[0]
    assert said == "error: the following arguments are required: <session>"
    said = shell("gitcp config zzz.key").stderr.partition("\n")[0]
    assert said == "error: unknown key 'zzz.key'"


# What is pressed while a command is found, imported, and at work.
INTERRUPTED = {
    "found": "PathFinder.find_spec = press; exec(open(sys.argv[0]).read(), {'__file__': '.'})",
    "imported": "main.import_module = press; start.main()",
    "at work": """
def held():
    try:
        yield
    finally:
        print("cleaned up", flush=True)
def body():
    holding = held()
    next(holding)
    press()
    return 0
main.import_module = lambda _: SimpleNamespace(run=lambda _: body())
start.main()""",
}
PRESS = """
import os, signal, sys
from importlib.machinery import PathFinder
from types import SimpleNamespace
from gitcp import __main__ as start, program as main
press = lambda *_: os.kill(os.getpid(), signal.SIGINT)
sys.argv = [sys.argv[1]]
"""


@pytest.mark.parametrize("when", INTERRUPTED)
def test_ctrl_c_ends_a_command_by_its_signal_and_without_a_word(when: str) -> None:
    argv = [sys.executable, "-c", PRESS + INTERRUPTED[when], str(TOP / "bin/gitcp-status")]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout == ("cleaned up\n" if when == "at work" else "")


def test_ctrl_c_does_not_reach_a_command_that_runs_behind_a_script(repo: Path) -> None:
    script = PRESS + INTERRUPTED["at work"]
    done = shell(f"trap '' INT; {sys.executable} -c '{script}' {TOP}/bin/gitcp-status")
    assert (done.returncode, done.stdout, done.stderr) == (0, "cleaned up\n", "")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("log -n many", "-n: not a positive number: 'many'"),
        ("undo 0", "<count>|<step>: not a positive number: '0'"),
        ("push --timeout=-1", "--timeout: not a number: '-1'"),
        ("clean --older-than=1.5", "--older-than: not a number: '1.5'"),
    ],
)
def test_what_is_no_number_is_said_in_plain_words(repo: Path, line: str, says: str) -> None:
    done = warm.run(*line.split(), cwd=repo)
    assert (done.returncode, done.stderr.splitlines()[0]) == (129, f"error: {says}")


def test_outside_a_repository_there_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in ("disable", "list-changes", "list-streams", "log", "show", "status"):
        done = warm.run(name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (128, ""), name
        assert done.stderr == f"fatal: not a git repository: '{tmp_path}'\n", name


def test_what_cannot_be_done_is_one_line_that_says_why(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for line, status, says in (
        ("forget", 128, "fatal: name a session or a checkpoint, or give --before or --all"),
        ("forget --before=soon", 128, "fatal: not a day such as 2026-11-22: 'soon'"),
        ("disable --user", 129, "error: --user needs --uninstall or --agent"),
        ("completion tcsh", 128, "fatal: not one of bash, zsh, fish: 'tcsh'"),
        (
            "facts",
            129,
            "error: give a question and '--in <directory>': '--list' shows the questions",
        ),
        ("read-stream --worktree=x", 129, "error: --worktree needs --base"),
    ):
        done = warm.run(*line.split(), cwd=repo)
        assert (done.returncode, done.stderr.splitlines()[0]) == (status, says), line
    for line, says in (
        ("rewind --list", "no point to go back to: each prompt and edit of an agent will be one"),
        (
            "sessions",
            "no session is at work or has uncommitted work: 'gitcp sessions -a' lists all",
        ),
        (
            "sessions -a",
            "no session is recorded here: one begins with the next prompt after 'gitcp enable'",
        ),
    ):
        done = warm.run(*line.split(), cwd=repo)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(says), line


@pytest.mark.parametrize("name", SOURCES)
def test_a_closed_stdout_is_the_null_device(repo: Path, name: str) -> None:
    done = shell(f"gitcp-{name} >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", FILTERS)
def test_a_closed_stdin_is_an_empty_one(repo: Path, name: str) -> None:
    closed, empty = shell(f"gitcp-{name} <&-"), shell(f"gitcp-{name} </dev/null")
    assert (closed.returncode, closed.stderr) == (empty.returncode, empty.stderr)


@pytest.mark.parametrize("name", ("status", "log", "list-changes"))
def test_what_cannot_be_written_is_one_line_and_no_traceback(repo: Path, name: str) -> None:
    done = shell(f"gitcp-{name} >/dev/full")
    assert (done.returncode, done.stderr) == (128, "fatal: No space left on device\n")


@pytest.mark.parametrize("name", ("log", "list-changes"))
def test_a_reader_that_goes_away_is_no_error(repo: Path, name: str) -> None:
    done = shell(f"gitcp-{name} | true")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ("status", "list-changes"))
def test_a_current_directory_that_is_gone_is_said(repo: Path, name: str) -> None:
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && exec gitcp-{name} 2>&1")
    assert (done.returncode, done.stdout) == (128, "fatal: the current directory is gone\n")


def test_an_event_from_a_directory_that_is_gone_goes_by_its_own(repo: Path) -> None:
    done = shell(
        f"""mkdir gone && cd gone && rmdir ../gone
        echo '{{"session_id":"s1","cwd":"{repo}","hook_event_name":"Stop"}}' |
        gitcp-hook claude-code Stop"""
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_git_refused_is_one_line_without_our_own_options(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / ".gitattributes").write_text("*.x ident\n")  # which is left to git
    (repo / "a.x").write_text("a")
    break_git(monkeypatch, tmp_path / "bin", "--add|--no-filters", "fatal: a.x: no room")
    done = shell("gitcp-list-changes | gitcp-write-blobs")
    assert done.returncode == 128
    assert done.stderr.startswith("fatal: 'git update-index --index-version=2 -z --add ")
    assert done.stderr.endswith(": a.x: no room\n")
    assert done.stderr.count("\n") == 1


def test_a_git_that_reads_nothing_of_its_input_does_not_end_the_command() -> None:
    """As a command has it, SIGPIPE is deadly: that is for the reader of what it writes."""
    code = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
    code += "from gitcp.git import Git; Git().run('version', stdin=bytes(10_000_000))"
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The program as it lies in a checkout in which nothing is installed."""
    top = tmp_path / "checkout"
    for name in ("bin", "gitcp"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(TOP / name, top / name, symlinks=True, ignore=ignored)
    shutil.copy(TOP / "pyproject.toml", top)
    return top


def test_a_checkout_without_its_packages_says_in_one_line_what_to_install(
    repo: Path, checkout: Path
) -> None:
    python: list[str | Path] = [sys.executable, "-S"]  # which sees the standard library alone
    reader = [*python, checkout / "bin/gitcp-write-blobs"]
    done = subprocess.run(reader, input="{}\n", capture_output=True, text=True)
    assert done.returncode == 128 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.endswith(f": make -C {checkout} setup")
    helped = subprocess.run([*python, checkout / "bin/gitcp"], capture_output=True, text=True)
    assert helped.returncode == 0 and "usage: gitcp" in helped.stdout


def test_a_checkout_uses_the_environment_that_make_setup_made(repo: Path, checkout: Path) -> None:
    own = checkout / ".venv/bin/python"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\necho "own: $*"\n')
    own.chmod(0o755)
    called = str(checkout / "bin/gitcp-list-refs")
    out = subprocess.check_output([sys.executable, "-S", called, "-x"], text=True)
    assert out == f"own: {called} -x\n"


@pytest.mark.parametrize("word", "init install restore list cost serve revert repair".split())
def test_what_other_programs_call_a_command_leads_to_it(word: str) -> None:
    done = shell(f"gitcp {word}")
    meant = done.stderr.removeprefix(
        f"error: '{word}' is not a gitcp command; did you mean 'gitcp "
    )
    assert done.returncode == 129 and meant != done.stderr
    name, *options = meant.removesuffix("'?\n").split()
    assert set(options) <= set(shell(f"gitcp {name} -h").stdout.split())


def test_a_word_that_leads_to_a_command_is_none_itself() -> None:
    meant = [word for words in program._SYNONYMS.values() for word in words.split()]
    assert not set(meant) & set(commands.NAMES)
    assert {command.split()[0] for command in program._SYNONYMS} <= set(commands.NAMES)


@pytest.mark.parametrize("command", ["status", "log", "blame f", "enable", "sessions"])
def test_without_git_one_line_says_so(repo: Path, tmp_path: Path, command: str) -> None:
    argv = [sys.executable, str(TOP / "bin" / "gitcp"), *command.split()]
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(argv, cwd=repo, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == (
        "fatal: git is not installed, or not on PATH; gitcp needs git 2.39 or later\n"
    )
