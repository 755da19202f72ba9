"""Git LFS beside gitcp: a colleague's clone gets every object, in whatever order the two came."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from gitcp.cmd.care import doctor
from gitcp.cmd.setup import disable, enable, status
from gitcp.setup import hook_texts
from tests.setup import hook_tools
from tests.setup.hook_tools import Tool
from tests.support import gits
from tests.support.installed import write

pytestmark = pytest.mark.skipif(not shutil.which("git-lfs"), reason="git-lfs is not installed")
# As each installer of Git LFS writes it.
FILTERS = """\
[filter "lfs"]
\tclean = git-lfs clean -- %f
\tsmudge = git-lfs smudge -- %f
\tprocess = git-lfs filter-process
\trequired = true
"""
PERSON = "[user]\n\tname = A U Thor\n\temail = author@example.com\n"
LFS_HOOKS = ("post-checkout", "post-commit", "post-merge", "pre-push")
BYTES = bytes(range(256)) * 16


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """git's configuration of the person, with the filters of Git LFS."""
    path = tmp_path / "home" / "gitconfig"
    path.parent.mkdir(exist_ok=True)
    path.write_text(PERSON + FILTERS)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    monkeypatch.delenv("GIT_TEMPLATE_DIR", raising=False)
    monkeypatch.setenv("PATH", gits.find_older())
    return path


@pytest.fixture
def forge(repo: Path, config: Path) -> Path:
    """The bare repository that `git push` sends to; Git LFS keeps objects in it, too."""
    bare = repo.parent / "forge.git"
    call("init", "-q", "--bare", "-b", "main", str(bare))
    call("remote", "add", "origin", f"file://{bare}")
    return bare


def call(*args: str, ok: bool = True, **env: str) -> str:
    """git in the current directory; what it said."""
    outcome = subprocess.run(
        ["git", *args], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert (outcome.returncode == 0) is ok, outcome
    return outcome.stdout + outcome.stderr


def track(repo: Path) -> None:
    call("lfs", "track", "*.bin")


def install_lfs(repo: Path) -> None:
    """`git lfs install`, which fails where another hook is, for git as for us."""
    subprocess.run(["git", "lfs", "install"], capture_output=True, check=False)


def force_lfs(repo: Path) -> None:
    call("lfs", "install", "--force")


def enable_here(repo: Path) -> None:
    enable.run(["--agent=claude-code"])


def disable_here(repo: Path) -> None:
    disable.run([])


def uninstall_here(repo: Path) -> None:
    disable.run(["--uninstall"])


def lose_gitcp(repo: Path) -> None:
    """What stays if gitcp is removed without a word: hooks that call nothing."""
    for hook in (repo / ".git" / "hooks").glob("*"):
        if "# gitcp hook" in (text := hook.read_text()):
            hook.write_text(text.replace("work='", "work='/gone"))


def write_own_hook(repo: Path) -> None:
    write(repo / ".git/hooks/pre-push", "#!/bin/sh\ncat >.git/own-pre-push\n")


STEPS: dict[str, Tool] = {
    "track": track,
    "install": install_lfs,
    "force": force_lfs,
    "us": enable_here,
    "off": disable_here,
    "out": uninstall_here,
    "gone": lose_gitcp,
    "own": write_own_hook,
    "pre-commit": hook_tools.pre_commit,
    "lefthook": hook_tools.lefthook,
    "husky": hook_tools.husky_alone,
}


def carry_out(repo: Path, order: str) -> None:
    for step in order.split():
        STEPS[step](repo)


def send(name: str = "x.bin") -> str:
    """Commit a large file and push it; what git said."""
    Path(name).write_bytes(BYTES + name.encode())
    call("add", "-A")
    call("commit", "-q", "-m", name)
    return call("push", "origin", "HEAD:main")


def read_as_colleague(forge: Path, name: str = "x.bin") -> bytes:
    """The large file in a new clone; a clone without its object fails."""
    clone = forge.parent / f"colleague-{name}"
    call("clone", "-q", f"file://{forge}", str(clone))
    return (clone / name).read_bytes()


def is_sent(forge: Path, name: str = "x.bin") -> bool:
    return read_as_colleague(forge, name) == BYTES + name.encode()


ORDERS = [
    *("us track", "track us", "us track us", "track us track", "track us install"),
    *("us track install", "us track force", "us track force us", "track us force us"),
    *("us track off", "us track gone", "track us gone", "us track out", "track us out"),
    *("own us track", "us own track us", "us pre-commit track", "pre-commit us track"),
    *("lefthook us track", "us husky us track", "track lefthook us"),
]


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("order", ORDERS)
def test_a_colleague_gets_the_objects_in_every_order(repo: Path, forge: Path, order: str) -> None:
    carry_out(repo, order)
    send()
    assert is_sent(forge)
    if "own" in order:
        assert (repo / ".git/own-pre-push").read_text().count("refs/heads/main") == 1


@pytest.mark.parametrize("order", ["us track", "track us", "us track us", "us track out"])
def test_where_git_runs_configured_hooks_both_have_their_places(
    repo: Path, forge: Path, order: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", gits.find_newer())
    carry_out(repo, order)
    send()
    assert is_sent(forge)
    capsys.readouterr()
    status.run([])
    assert "gitcp enable" not in capsys.readouterr().out or order.endswith("out")
    text = (repo / ".git/hooks/pre-push").read_text()
    assert hook_texts.find_tool(text) == hook_texts.LFS


def test_where_files_of_ours_stand_and_git_runs_configured_hooks_it_is_run_once(
    repo: Path, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(repo, "us track")
    monkeypatch.setenv("PATH", gits.find_newer())
    enable_here(repo)
    Path("x.bin").write_bytes(BYTES + b"x.bin")
    call("add", "-A")
    call("commit", "-q", "-m", "x")
    trace = call("push", "origin", "HEAD:main", GIT_TRACE="1")
    assert trace.count("exec: git-lfs pre-push") == 1
    assert is_sent(forge)


def test_what_was_committed_before_gitcp_went_is_sent_after_it(repo: Path, forge: Path) -> None:
    carry_out(repo, "us track")
    (repo / "x.bin").write_bytes(BYTES + b"x.bin")
    call("add", "-A")
    call("commit", "-q", "-m", "x")
    uninstall_here(repo)
    call("push", "-q", "origin", "HEAD:main")
    assert is_sent(forge)


@pytest.mark.usefixtures("older_git")
def test_a_clone_of_a_repository_with_large_files_sends_more_of_them(
    repo: Path, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(repo, "track")
    send()
    enable.run(["--global", "--agent=claude-code"])
    call("clone", "-q", f"file://{forge}", "../mine")
    monkeypatch.chdir(repo.parent / "mine")
    assert "# gitcp hook" in Path(".git/hooks/pre-push").read_text()
    send("y.bin")
    assert is_sent(forge, "y.bin")


def test_objects_are_sent_from_a_linked_worktree(
    repo: Path, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(repo, "us track")
    call("worktree", "add", "-q", "../linked")
    monkeypatch.chdir(repo.parent / "linked")
    track(repo)
    send()
    assert is_sent(forge)


@pytest.mark.parametrize("storage", ["other", "absolute"])
def test_objects_that_are_stored_elsewhere_are_sent(repo: Path, forge: Path, storage: str) -> None:
    place = storage if storage == "other" else repo.parent / storage
    call("config", "lfs.storage", str(place))
    carry_out(repo, "us track")
    send()
    assert not (repo / ".git/lfs").exists()
    assert is_sent(forge)


@pytest.mark.parametrize("order", ["", "us", "track us"])
def test_files_that_can_be_locked_are_read_only_after_each_event(
    repo: Path, forge: Path, order: str
) -> None:
    carry_out(repo, order)
    call("lfs", "track", "--lockable", "*.bin")
    send()

    def is_read_only() -> bool:
        return not stat.S_IMODE(os.stat("x.bin").st_mode) & stat.S_IWUSR

    assert is_read_only(), "post-commit"
    call("switch", "-q", "-c", "side", "HEAD~1")
    call("switch", "-q", "main")
    assert is_read_only(), "post-checkout"
    call("switch", "-q", "side")
    call("merge", "-q", "main")
    assert is_read_only(), "post-merge"


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("order", ["us track", "track us", "own us track"])
def test_where_its_program_is_missing_a_push_is_refused_as_by_its_own_hook(
    repo: Path, forge: Path, tmp_path: Path, order: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    carry_out(repo, order)
    bare_path = tmp_path / "few"
    bare_path.mkdir()
    for name in ("git", "sh", "cat", "grep", "uname"):
        (bare_path / name).symlink_to(str(shutil.which(name)))
    said = call("push", "origin", "HEAD:main", ok=False, PATH=str(bare_path))
    assert "'git-lfs' is not found" in said
    monkeypatch.setenv("PATH", str(bare_path))
    capsys.readouterr()
    assert doctor.run([]) != 0
    assert "'git-lfs' is not found" in capsys.readouterr().out


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("order", ["us track", "track us"])
def test_its_uninstaller_ends_it_though_it_does_not_find_its_hooks(
    repo: Path, forge: Path, config: Path, order: str
) -> None:
    carry_out(repo, order)
    send()
    call("lfs", "uninstall")
    assert "filter" not in config.read_text()
    Path("y.bin").write_bytes(BYTES)
    call("add", "-A")
    call("commit", "-q", "-m", "y")
    trace = call("push", "origin", "HEAD:main", GIT_TRACE="1")
    assert "git-lfs" not in trace and "'git lfs install' does it" in trace
    uninstall_here(repo)
    assert not any((repo / ".git/hooks" / hook).exists() for hook in LFS_HOOKS)
    assert hook_tools.left_behind(repo) == []


@pytest.mark.parametrize("order", ["us", "own us"])
def test_a_person_without_it_pushes_as_before(
    repo: Path, forge: Path, config: Path, order: str
) -> None:
    config.write_text(PERSON)
    carry_out(repo, order)
    (repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    assert "LFS" not in send() and not (repo / ".git/lfs").exists()


def test_a_hook_that_calls_it_by_itself_is_not_doubled(repo: Path, forge: Path) -> None:
    body = '#!/bin/sh\necho own >>.git/ran\ngit lfs pre-push "$@"\n'
    write(repo / ".git/hooks/pre-push", body)
    carry_out(repo, "us track")
    Path("x.bin").write_bytes(BYTES + b"x.bin")
    call("add", "-A")
    call("commit", "-q", "-m", "x")
    trace = call("push", "origin", "HEAD:main", GIT_TRACE="1")
    assert trace.count("exec: git-lfs pre-push") == 1 and (repo / ".git/ran").exists()
    assert is_sent(forge)


def test_a_refusal_by_it_is_the_push_s(repo: Path, forge: Path) -> None:
    carry_out(repo, "us track")
    Path("x.bin").write_bytes(BYTES)
    call("add", "-A")
    call("commit", "-q", "-m", "x")
    shutil.rmtree(repo / ".git/lfs/objects")
    call("push", "origin", "HEAD:main", ok=False)
    assert call("ls-remote", str(forge)) == ""


def test_a_hook_of_the_person_s_for_merges_stays(repo: Path, config: Path) -> None:
    own = repo / ".git/hooks/post-merge"
    write(own, "#!/bin/sh\n")
    enable_here(repo)
    assert own.read_text() == "#!/bin/sh\n"
    assert not (repo / ".git/hooks/post-merge.before-gitcp").exists()


def test_doctor_says_where_nothing_runs_it(
    repo: Path, forge: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    carry_out(repo, "us track")
    write_own_hook(repo)
    capsys.readouterr()
    assert doctor.run([]) != 0
    said = capsys.readouterr().out
    assert f"'{repo}/.git/hooks/pre-push' does not run 'git lfs pre-push'" in said
    enable_here(repo)
    send()
    assert is_sent(forge)


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("hook", hook_texts.LFS_HOOKS)
@pytest.mark.parametrize("attributes", ["", "# filter=lfs\n*.txt text\n"])
def test_where_it_is_not_used_the_hooks_start_no_program(
    repo: Path, hook: str, attributes: str, tmp_path: Path
) -> None:
    carry_out(repo, "us")
    (repo / ".gitattributes").write_text(attributes)
    argv = [str(shutil.which("sh")), f".git/hooks/{hook}"]
    env = {"PATH": str(tmp_path / "nothing")}
    ended = subprocess.run(argv, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    assert ended.stderr == b""
