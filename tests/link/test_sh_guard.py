"""The sh guard of the git hooks (doc/git.md "The guard in sh"): when it starts Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from gitcp.setup import hook_texts
from tests.support import mac
from tests.support.installed import write
from tests.support.paths import ENTRY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.setup.hook_texts import Chain

    Env = Mapping[str, str]

# What came after bash 3.2, which is a Mac's, or is no sh's; examples of each.
_NEWER = {
    r"\$\{\w+[,^@]": "${name,,}; ${name^^}; ${name@Q}",
    r"&>|\|&|<<<|<\(|;&": "make &>log; make |& cat; cat <<<word; cat <(make); a ;&",
    r"\[\[|\(\(\w+[^\w)]|\bfunction\b": "[[ -n $a ]]; ((a++)); function f",
    r"\b(declare|typeset|local|mapfile|readarray|coproc|shopt|source)\b": "declare -A a; local b",
    r"\$\{\w+(: ?-?\d|\[|/)": "${name:1}; ${name: -1}; ${names[0]}; ${name/a/b}",
    r"printf -v|wait -n|read -[^r]|\{\w+\}[<>]|\$'": "printf -v a b; read -t 1 a; exec {fd}<f",
    r"\$\([^()]*\bcase\b": "a=$(case $b in c) esac)",
    r"\b(EPOCHSECONDS|EPOCHREALTIME|BASHPID|RANDOM|SECONDS)\b": "kill $BASHPID",
    r"\$\{\w+[#%][^}]*(?<!\\)[()]": "${line#*(}; ${line%)*}",
}
NONE: Env = {}
# Those that are here: of a Debian, all of them.
_SHELLS = ("sh", "dash", "bash --posix", "bash", "busybox sh", "mksh", "ksh93", "zsh --emulate sh")
SHELLS = [shell for shell in _SHELLS if shutil.which(shell.split()[0])]
WAYS = ["", *([] if mac.why_not() else [mac.HIDE])]  # with /proc and without
RECORDER = """#!/bin/sh
# stands in for the interpreter: one line a call, then what it was given to read
shift 3
echo "$@" >>"$CALLS"
case $1 in post-rewrite | pre-push) cat >>"$CALLS.stdin" ;; esac
exit 9
"""


class Place:
    """A repository with our hooks, an interpreter that only records, and git."""

    def __init__(self, top: Path, py: Path) -> None:
        self.top, self.py, self.calls = top, py, py.with_name("calls")
        self.hooks = top / ".git" / "hooks"
        self.env = {**os.environ, "CALLS": str(self.calls)}
        self.via = ""  # a program that runs git in another world
        self.hooks.mkdir(exist_ok=True)
        for hook in hook_texts.HOOKS:
            self.write(hook)

    def write(self, hook: str, chain: Chain | None = None) -> None:
        path = self.hooks / hook
        path.write_text(hook_texts.build_script(hook, str(self.py), str(ENTRY), chain))
        path.chmod(0o755)

    def theirs(self, hook: str, body: str) -> None:
        path = self.hooks / f"{hook}.before-gitcp"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def mark(self, name: str) -> None:
        path = self.top / ".git" / "gitcp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def git(self, *args: str, ok: bool = True, cwd: Path | None = None, env: Env = NONE) -> str:
        done = subprocess.run(
            [*self.via.split(), "git", *args],
            cwd=cwd or self.top,
            env={**self.env, **env},
            capture_output=True,
        )
        assert (done.returncode == 0) is ok, done.stderr.decode()
        return done.stderr.decode()

    def commit(self, *args: str, ok: bool = True, env: Env = NONE) -> str:
        args = args or ("-m", "subject")
        return self.git("commit", "-q", "--allow-empty", *args, ok=ok, env=env)

    def called(self) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return [line.split(" ")[0] for line in lines]


@pytest.fixture
def place(repo: Path, tmp_path: Path) -> Place:
    py = tmp_path / "it's a python"
    py.write_text(RECORDER)
    py.chmod(0o755)
    return Place(repo, py)


def push(place: Place, tmp_path: Path) -> None:
    place.git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    place.git("push", "-q", str(tmp_path / "bare.git"), "main")


def test_without_a_marker_no_python_starts(place: Place, tmp_path: Path) -> None:
    place.commit()
    place.commit("--amend", "-m", "Entire-Checkpoint: 0123456789ab")
    place.git("rebase", "-q", "--force-rebase", "HEAD~2")
    push(place, tmp_path)
    assert place.called() == []


@pytest.mark.parametrize("how", ["off", "GITCP_ACTIVE"])
def test_a_disabled_or_own_call_starts_nothing(place: Place, how: str) -> None:
    place.mark("open/s1")
    place.mark("linked")
    env = {"GITCP_ACTIVE": "1"} if how == "GITCP_ACTIVE" else NONE
    if not env:
        place.mark("off")
    place.commit(env=env)
    place.commit("--amend", "-m", "other", env=env)
    assert place.called() == []


def test_an_open_session_starts_one_python_before_and_one_after(place: Place) -> None:
    place.mark("open/s1")
    place.commit()
    assert place.called() == ["prepare-commit-msg", "post-commit"]


@pytest.mark.parametrize("where", ["sub", "worktree", "separate", "env"])
def test_the_markers_are_found_from_everywhere(place: Place, tmp_path: Path, where: str) -> None:
    place.mark("open/s1")
    cwd = place.top / "src"
    env: Env = NONE
    if where == "worktree":
        cwd = tmp_path / "w t"
        place.git("worktree", "add", "-q", "--detach", str(cwd))
        place.called()
    elif where == "separate":
        place.git("init", "-q", "--separate-git-dir", str(tmp_path / "a dir"))
    elif where == "env":
        cwd = tmp_path
        env = {"GIT_DIR": str(place.top / ".git"), "GIT_WORK_TREE": str(place.top)}
    place.git("commit", "-q", "--allow-empty", "-m", "x", cwd=cwd, env=env)
    assert place.called() == ["prepare-commit-msg", "post-commit"]


@pytest.mark.parametrize(
    ("message", "started"),
    [
        ("\n\nEntire-Checkpoint: 0123456789ab\n", True),
        ("Entire-Checkpoint: 0123456789ab\n# comment\nSigned-off-by: A <a@b>", True),
        ("\n; comment\n; with another character\n\nEntire-Checkpoint: 0123456789ab", True),
        ("Entire-Checkpoint: 0123456789ab\n# ------------------------ >8 ---\ndiff a b\n", True),
        ("subject\n\nEntire-Checkpoint: 0123456789ab\n", False),
        ("Überschrift\nEntire-Checkpoint: 0123456789ab\n", False),
        ("# comment\n\n", False),
        ("", False),
    ],
)
def test_commit_msg_starts_python_only_for_a_message_of_our_trailer(
    place: Place, message: str, started: bool
) -> None:
    place.mark("open/s1")
    (place.top / "message").write_text(message)
    hook = [str(place.hooks / "commit-msg"), "message"]
    subprocess.run(hook, cwd=place.top, env=place.env, check=True)
    assert place.called() == ["commit-msg"] * started


@pytest.mark.parametrize("via", WAYS)
def test_what_squashes_linked_commits_is_seen_without_a_session(place: Place, via: str) -> None:
    place.via = via
    place.mark("linked")
    place.commit("-m", "one")
    place.commit("--fixup", "HEAD")
    assert place.called() == []
    place.git("rebase", "-q", "-i", "--autosquash", "HEAD~2", env={"GIT_SEQUENCE_EDITOR": ":"})
    assert place.called() == ["prepare-commit-msg", "post-rewrite", "post-rewrite"]
    place.git("checkout", "-q", "-b", "side", "HEAD~1")
    (place.top / "new").write_text("x")
    place.git("add", "new")
    place.commit("-m", "two")
    place.git("checkout", "-q", "main")
    place.git("merge", "-q", "--squash", "side")
    place.commit("-m", "squashed")
    # ORIG_HEAD, which the rebase has set, is looked at until we say that we have.
    assert place.called() == ["prepare-commit-msg", "prepare-commit-msg"]


def test_a_rewrite_and_a_push_are_told_to_both_hooks(place: Place, tmp_path: Path) -> None:
    place.mark("linked")
    place.mark("unpushed")
    for hook in ("post-rewrite", "pre-push"):
        place.theirs(hook, f'cat >>"$CALLS.{hook}"')
    place.commit("--amend", "-m", "other")
    push(place, tmp_path)
    assert place.called() == ["prepare-commit-msg", "post-rewrite", "pre-push"]
    heard = [Path(f"{place.calls}.{hook}").read_text() for hook in ("post-rewrite", "pre-push")]
    assert Path(f"{place.calls}.stdin").read_text() == "".join(heard)
    assert len(heard[0].split()) == 2 and heard[1].startswith("refs/heads/main ")


@pytest.mark.parametrize("hook", ["prepare-commit-msg", "commit-msg"])
@pytest.mark.parametrize("marked", [True, False])
def test_the_refusal_of_a_chained_hook_counts(place: Place, hook: str, marked: bool) -> None:
    if marked:
        place.mark("open/s1")
    place.theirs(hook, 'echo "no: $0" >&2; exit 3')
    assert f"no: .git/hooks/{hook}.before-gitcp" in place.commit(ok=False)
    assert hook not in place.called()


@pytest.mark.parametrize("marked", [True, False])
def test_a_chained_pre_push_refuses_the_push(place: Place, tmp_path: Path, marked: bool) -> None:
    if marked:
        place.mark("unpushed")
    place.theirs("pre-push", "cat >/dev/null; exit 1")
    place.git("init", "-q", "--bare", str(tmp_path / "b.git"))
    place.git("push", "-q", str(tmp_path / "b.git"), "main", ok=False)
    assert place.called() == []


def test_a_sourced_hook_still_finds_its_own_name(place: Place) -> None:
    place.write("post-commit", {"suffix": ".before-gitcp", "shell": "sh", "mark": ""})
    place.theirs("post-commit", 'echo "$(basename "$0") $#" >"$CALLS.name"')
    place.commit()
    assert Path(f"{place.calls}.name").read_text() == "post-commit 0\n"


def test_a_chained_hook_is_found_when_ours_is_renamed(place: Place) -> None:
    place.theirs("post-commit", 'echo ran >"$CALLS.ran"')
    (place.hooks / "post-commit").rename(place.hooks / "post-commit.legacy")
    subprocess.run([place.hooks / "post-commit.legacy"], cwd=place.top, env=place.env, check=True)
    assert Path(f"{place.calls}.ran").exists()


def test_a_missing_gitcp_fails_nothing_and_says_nothing(place: Place, tmp_path: Path) -> None:
    for name in ("open/s1", "linked", "unpushed"):
        place.mark(name)
    place.py.unlink()
    assert place.commit() == ""
    assert place.commit("--amend", "-m", "Entire-Checkpoint: 0123456789ab") == ""
    push(place, tmp_path)


def test_a_hook_has_ten_lines_and_one_more_for_git_lfs() -> None:
    for hook in hook_texts.WRITTEN:
        text = hook_texts.build_script(hook, "/py", "/gitcp/entry.py")
        assert len(text.splitlines()) == 10 + (hook in hook_texts.LFS_HOOKS)


def moved(place: Place, folder: Path) -> Path:
    """An installation of its own, which the hooks start; its directory."""
    (folder / "gitcp").mkdir(parents=True)
    shutil.copy(ENTRY.with_name("hooks.sh"), folder / "gitcp")
    for hook in hook_texts.HOOKS:
        text = hook_texts.build_script(hook, str(place.py), str(folder / "gitcp" / "entry.py"))
        (place.hooks / hook).write_text(text)
    return folder / "gitcp"


def test_an_upgrade_changes_what_the_hooks_do_without_another_enable(
    place: Place, tmp_path: Path
) -> None:
    package = moved(place, tmp_path / "a b")
    (package / "entry.py").write_text("")
    place.mark("open/s1")
    place.commit()
    assert place.called() == ["prepare-commit-msg", "post-commit"]
    (package / "hooks.sh").write_text('echo "$hook" >>"$CALLS"\n')
    place.commit()
    assert place.called() == ["prepare-commit-msg", "commit-msg", "post-commit"]


def test_hooks_without_their_installation_take_that_of_the_gitcp_on_path(
    place: Place, tmp_path: Path
) -> None:
    shutil.rmtree(moved(place, tmp_path / "gone"))
    place.theirs("post-commit", 'echo theirs >>"$CALLS"')
    place.mark("open/s1")
    place.commit()
    assert place.called() == ["theirs"]
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    sh = ENTRY.with_name("hooks.sh")
    write(
        tmp_path / "bin/gitcp-hook",
        f'#!/bin/sh\nif [ "$1" = --sh ]; then echo {sh}; else echo "$1" >>"$CALLS"; fi\n',
    )
    place.commit(env={"PATH": path})
    assert place.called() == ["prepare-commit-msg", "post-commit", "theirs"]
    place.mark("off")
    place.commit(env={"PATH": path})
    assert place.called() == ["theirs"]


def test_a_hook_without_its_installation_ends_a_circle(place: Place, tmp_path: Path) -> None:
    shutil.rmtree(moved(place, tmp_path / "gone"))
    place.theirs("post-commit", 'echo theirs >>"$CALLS"; .git/hooks/post-commit')
    place.commit()
    assert place.called() == ["theirs"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_hook_that_stood_there_runs_once_in_every_shell_where_gitcp_is_gone(
    place: Place, tmp_path: Path, shell: str
) -> None:
    shutil.rmtree(moved(place, tmp_path / "gone"))
    place.theirs("post-commit", f'echo "$1" >>"$CALLS"; {shell} .git/hooks/post-commit; exit 7')
    argv = [*shell.split(), "-eu", ".git/hooks/post-commit", "argument"]
    done = subprocess.run(argv, cwd=place.top, env=place.env, capture_output=True)
    assert (done.returncode, done.stderr, place.called()) == (7, b"", ["argument"])


@pytest.mark.parametrize(("via", "shell"), [*product(WAYS, SHELLS)])
def test_a_hook_that_the_other_calls_again_runs_once_in_every_shell(
    place: Place, via: str, shell: str
) -> None:
    place.mark("linked")
    hook = ".git/hooks/prepare-commit-msg"
    place.theirs("prepare-commit-msg", f'echo theirs >>"$CALLS"; {shell} {hook}; exit 7')
    argv = [*via.split(), *shell.split(), "-eu", hook]
    done = subprocess.run(argv, cwd=place.top, env=place.env, capture_output=True)
    assert (done.returncode, done.stderr, place.called()) == (7, b"", ["theirs"])
    (place.top / hook).with_suffix(".before-gitcp").unlink()
    subprocess.run(argv, cwd=place.top, env=place.env, check=True)
    assert place.called() == ["prepare-commit-msg"]


def test_gitcp_hook_on_path_stands_in_for_a_python_that_is_gone(place: Place) -> None:
    place.mark("open/s1")
    place.py.unlink()
    other = place.py.with_name("gitcp-hook")
    other.write_text('#!/bin/sh\necho "$1" >>"$CALLS"\n')
    other.chmod(0o755)
    place.commit(env={"PATH": f"{other.parent}:{os.environ['PATH']}"})
    assert place.called() == ["prepare-commit-msg", "post-commit"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("hook", hook_texts.HOOKS)
def test_every_shell_at_its_strictest_runs_every_hook(place: Place, hook: str, shell: str) -> None:
    for name in ("open/s1", "linked", "unpushed"):
        place.mark(name)
    done = subprocess.run(
        [*shell.split(), "-eu", f".git/hooks/{hook}"], cwd=place.top, env=place.env,
        capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert place.called() == ([] if hook in ("commit-msg", "post-checkout") else [hook])


@pytest.mark.parametrize("pattern", _NEWER)
def test_the_hooks_say_nothing_that_bash_32_does_not_know(pattern: str) -> None:
    code = ENTRY.with_name("hooks.sh").read_text()
    code += "".join(hook_texts.build_script(one, "py", "entry", None) for one in hook_texts.HOOKS)
    code = re.sub(r"(?m)(^|\s)#.*", "", code)
    assert all(re.search(pattern, example) for example in _NEWER[pattern].split("; "))
    assert re.findall(f".*(?:{pattern}).*", code) == []
