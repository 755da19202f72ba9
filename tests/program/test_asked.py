"""What git said of a repository is kept only while git would say the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp.git import Git, files, gitdir
from gitcp.git.gitdir import Answers, ask_config, ask_place
from gitcp.git.repo import Repo


@pytest.fixture
def place(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose answers are kept; files may be as young as they are here."""
    monkeypatch.setattr(gitdir, "_SLACK", 0)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    (repo / ".git" / "gitcp").mkdir()
    (repo / "deep" / "er").mkdir(parents=True)
    assert asked()
    assert not asked()
    return repo


@pytest.fixture(autouse=True)
def back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test changes of the environment and the directory ends with it."""
    before = dict(os.environ)
    monkeypatch.chdir(os.getcwd())
    yield
    os.environ.clear()
    os.environ.update(before)


def asked() -> bool:
    """Ask as a hook does: whether it took a process.  The answers are what git says now."""
    git = Git()
    answers = Answers(git, os.getcwd())
    try:
        truth = ask_place(git), ask_config(git)
    except Exception:
        truth = [], {}
    assert (answers.read_place(), answers.read_config()) == truth
    return answers._asked is not None


def set_(*args: str) -> None:
    subprocess.run(["git", "config", *args], check=True)


def test_below_the_top_the_same_answers_hold(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("deep/er")
    assert not asked()


def test_variables_that_change_no_answer_are_no_matter(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    monkeypatch.setenv("PATH", f"/nowhere:{os.environ['PATH']}")
    assert not asked()


def test_configuration_that_comes_to_where_a_link_to_git_stands_is_seen(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /opt/homebrew/etc/gitconfig, of a git below /opt/homebrew/Cellar."""
    prefix = tmp_path / "homebrew"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "etc").mkdir()
    (prefix / "bin" / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", f"{prefix}/bin:{os.environ['PATH']}")
    (place / ".git" / "gitcp" / "cache" / "asked").unlink()
    assert asked() and not asked()
    (prefix / "etc" / "gitconfig").write_text("")
    assert asked()


@pytest.mark.parametrize("platform", ["darwin", "linux"])
@pytest.mark.parametrize(
    ("method", "flushed"), [("", False), ("fsync", True), ("batch", True), ("writeout-only", False)]
)
def test_a_macs_disk_is_flushed_where_git_is_to_do_so(
    place: Path, platform: str, method: str, flushed: bool
) -> None:
    set_("core.fsyncMethod", method)
    assert Repo.find().config.get("core.fsyncmethod") == files.METHOD["core.fsyncmethod"] == method
    assert files.needs_disk_flush(platform, method) == (flushed and platform == "darwin")


def _value(place: Path) -> None:
    set_("gitcp.guard", "deny")


def _value_of_the_person(place: Path) -> None:
    set_("--global", "gitcp.guard", "deny")


def _file_of_the_person(place: Path) -> None:
    path = Path(os.environ["HOME"], ".config", "git", "config")
    path.parent.mkdir(parents=True)
    path.write_text("[gitcp]\n\tguard = deny\n")


def _home(place: Path) -> None:
    os.environ["HOME"] = str(place)


def _global(place: Path) -> None:
    other = place.parent / "other-config"
    other.write_text("[gitcp]\n\tguard = deny\n")
    os.environ["GIT_CONFIG_GLOBAL"] = str(other)


def _same_size(place: Path) -> None:
    path = place / ".git" / "config"
    st = path.stat()
    path.write_text(path.read_text().replace("true", "TRUE"))
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def _worktree_config(place: Path) -> None:
    set_("extensions.worktreeConfig", "true")
    asked()
    set_("--worktree", "gitcp.guard", "deny")


def _moved(place: Path) -> None:
    place.rename(place.with_name("moved"))
    os.chdir(place.with_name("moved"))


def _nested(place: Path) -> None:
    subprocess.run(["git", "init", "-q", "deep"], check=True)
    os.chdir("deep/er")


def _bare_below(place: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "deep/er"], check=True)
    os.chdir("deep/er")


def _linked(place: Path) -> None:
    subprocess.run(["git", "worktree", "add", "-q", "../linked"], check=True)
    os.chdir("../linked")


def _inside(place: Path) -> None:
    os.chdir(".git/gitcp")


def _damaged(place: Path) -> None:
    path = place / ".git" / "gitcp" / "cache" / "asked"
    path.write_bytes(path.read_bytes()[:-20])


def _of_another_shape(place: Path) -> None:
    path = place / ".git" / "gitcp" / "cache" / "asked"
    path.write_text(json.dumps({**json.loads(path.read_text()), "config": {"gitcp.guard": "deny"}}))


ONCE = [
    *(_value, _value_of_the_person, _file_of_the_person, _home, _global, _same_size),
    *(_worktree_config, _moved, _nested, _bare_below, _linked, _inside),
    *(_damaged, _of_another_shape),
]


@pytest.mark.parametrize("change", ONCE)
def test_git_is_asked_again_after_a_change(place: Path, change: Callable[[Path], None]) -> None:
    change(place)
    assert asked()


def _with_option(place: Path) -> None:
    os.environ["GIT_CONFIG_PARAMETERS"] = "'gitcp.guard'='deny'"


def _counted(place: Path) -> None:
    count = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    os.environ.update(count)


def _elsewhere(place: Path) -> None:
    subprocess.run(["git", "init", "-q", "../other"], check=True)
    os.environ["GIT_DIR"] = str(place.parent / "other" / ".git")


def _ceiling(place: Path) -> None:
    os.chdir("deep")
    os.environ["GIT_CEILING_DIRECTORIES"] = str(place)


def _included(place: Path) -> None:
    (place / "more").write_text("[a]\n\tb = c\n")
    set_("include.path", "../more")


def _included_on_a_branch(place: Path) -> None:
    set_("includeIf.onbranch:main.path", "../more")


ALWAYS = (_with_option, _counted, _elsewhere, _ceiling, _included, _included_on_a_branch)


@pytest.mark.parametrize("way", ALWAYS)
def test_git_is_asked_each_time(place: Path, way: Callable[[Path], None]) -> None:
    way(place)
    assert asked()
    assert asked()


def test_in_a_directory_that_is_not_our_own_git_decides(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert asked()


def test_a_file_that_may_have_changed_since_git_read_it_keeps_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitdir, "_SLACK", 2_000_000_000)
    set_("gitcp.guard", "deny")
    assert asked()
    assert asked()


def test_where_gitcp_is_not_enabled_nothing_is_written(repo: Path) -> None:
    assert asked()
    assert not (repo / ".git" / "gitcp").exists()
