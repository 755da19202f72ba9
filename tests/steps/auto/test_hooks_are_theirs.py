"""Auto-commit and the hooks of the person: their environment, git, verdict and message."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.steps.auto.hooks_and_checks import hook, sound
from tests.support import gits
from tests.support.harness import Agent, World

# What keeps our own git quiet.
OURS = {
    f"GIT_{name}"
    for name in "LITERAL_PATHSPECS NO_REPLACE_OBJECTS NO_LAZY_FETCH OPTIONAL_LOCKS"
    " TERMINAL_PROMPT".split()
}


def refused(agent: Agent, path: str, text: str = "a\n") -> str:
    """Why the turn that writes this file is not committed."""
    head = agent.world.head
    agent.prompt("work")
    agent.write(path, text)
    message = agent.stop().said
    assert agent.world.head == head
    assert message.startswith("gitcp: not committed, ")
    return message


def test_a_pattern_in_a_hook_finds_what_is_staged(auto: World, a: Agent) -> None:
    """With our GIT_LITERAL_PATHSPECS in force it matched nothing, and let all through."""
    hook(auto, "pre-commit", "! git diff --cached -- '*.py' | grep -q '^+.*breakpoint'")
    assert "the pre-commit hook says no" in refused(a, "bad.py", "breakpoint()\n")


def test_a_configured_hook_says_no_as_one_in_a_file_does(
    auto: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", gits.find_newer())
    shutil.rmtree(auto.path / ".git" / "hooks")
    auto.git("config", "hook.theirs.event", "pre-commit")
    auto.git("config", "hook.theirs.command", "! grep -q breakpoint bad.py")
    assert "the pre-commit hook says no" in refused(a, "bad.py", "breakpoint()\n")
    head = auto.head
    a.turn("mend it", {"bad.py": "pass\n"})
    assert auto.head != head


def test_hooks_see_the_environment_of_the_client_and_nothing_of_ours(auto: World, a: Agent) -> None:
    out = auto.home / "env"
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook(auto, name, f"env | sed 's/^/{name} /' >>{out}")
    auto.env |= {"LC_ALL": "C.UTF-8", "THEIRS": "yes"}
    a.turn("add a", {"a.txt": "a\n"})
    lines = out.read_text().splitlines()
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        seen = dict(line.split(" ", 1)[1].split("=", 1) for line in lines if line.startswith(name))
        assert (seen["LC_ALL"], seen["THEIRS"], seen["GIT_EDITOR"]) == ("C.UTF-8", "yes", ":")
        assert OURS & seen.keys() == set()


@pytest.mark.parametrize("strategy", ["auto-commit", "manual-commit"])
def test_filters_see_the_persons_environment(auto: World, a: Agent, strategy: str) -> None:
    """A clean filter that sorts as the person's language does stores the same bytes as git add."""
    auto.git("config", "gitcp.strategy", strategy)
    seen = auto.home / "seen"
    auto.git("config", "filter.theirs.clean", f"sh -c 'env >>{seen}; sed s/^/$LC_ALL:/'")
    auto.write(".gitattributes", "*.dat filter=theirs\n")
    auto.commit(".gitattributes")
    auto.env |= {"LC_ALL": "C.UTF-8"}
    a.turn("add a", {"a.dat": "x\n"})
    tip = "HEAD" if strategy == "auto-commit" else auto.branch()
    assert auto.show(tip, "a.dat") == "C.UTF-8:x\n"
    lines = seen.read_text().splitlines()
    assert OURS & {line.partition("=")[0] for line in lines} == set()


def test_a_filter_that_a_scan_runs_sees_the_persons_environment(auto: World, a: Agent) -> None:
    """git asks it where only the date of a file tells that it may have changed."""
    auto.write("a.dat", "x\n")
    auto.write(".gitattributes", "*.dat filter=theirs\n")
    auto.git("config", "filter.theirs.clean", "cat")
    auto.commit(".gitattributes", "a.dat")
    seen = auto.home / "seen"
    auto.git("config", "filter.theirs.clean", f"sh -c 'env >>{seen}; echo asked >&2; cat'")
    auto.env |= {"LC_ALL": "C.UTF-8"}
    (auto.path / "a.dat").touch()
    a.turn("add b", {"b.txt": "b\n"})
    variables = set(seen.read_text().splitlines())
    assert {v for v in variables if v.startswith("LC_ALL=")} == {"LC_ALL=C.UTF-8"}
    # Neither to write nor to fetch where it only looks changes nothing that it sees.
    quiet = {"GIT_OPTIONAL_LOCKS", "GIT_NO_LAZY_FETCH"}
    assert OURS & {v.partition("=")[0] for v in variables} <= quiet


@pytest.mark.parametrize("event", ["commit-msg", "prepare-commit-msg", "post-commit"])
def test_what_the_person_configured_runs_at_a_commit_of_ours_too(
    auto: World, a: Agent, event: str
) -> None:
    out = auto.home / "calls"
    auto.git("config", f"gitcp.{event}.pipeline", f"!tee {out}")
    auto.git("config", "--add", f"gitcp.{event}.pipeline", "default")
    a.turn("add a", {"a.txt": "a\n"})
    assert f'"event":"{event}"' in out.read_text()
    assert len(auto.ids("HEAD")) == 1


def test_hooks_run_in_the_order_of_git_with_its_arguments(auto: World, a: Agent) -> None:
    out = auto.home / "calls"
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook(auto, name, f'echo {name} "$#" "${{2-}}" >>{out}; test "$PWD" = {auto.path}')
    a.turn("add a", {"a.txt": "a\n"})
    assert out.read_text().splitlines() == [
        "pre-commit 0 ",
        "prepare-commit-msg 2 message",
        "commit-msg 1 ",
        "post-commit 0 ",
    ]


def test_husky_runs_its_scripts_from_its_own_folder(auto: World, a: Agent) -> None:
    """core.hooksPath in the worktree, each hook sourcing one script of all of them."""
    folder = auto.path / ".husky" / "_"
    folder.mkdir(parents=True)
    runner = (
        '#!/usr/bin/env sh\n[ -f "$0/../../pre-commit" ] || exec sh -e .husky/"${0##*/}" "$@"\n'
    )
    (folder / "pre-commit").write_text(runner)
    (folder / "pre-commit").chmod(0o755)
    (auto.path / ".husky" / "pre-commit").write_text("echo lint-staged says no; exit 1\n")
    auto.commit(".husky")
    auto.git("config", "core.hooksPath", ".husky/_")
    assert "the pre-commit hook says no: lint-staged says no" in refused(a, "a.txt")


SAID = {
    "pre-commit": """[WARNING] Unstaged files detected.
[INFO] Stashing unstaged files to /home/me/.cache/pre-commit/patch1795296341-26955.
no prints................................................................Failed
- hook id: prints

1:breakpoint()

[INFO] Restored changes from /home/me/.cache/pre-commit/patch1795296341-26955.
""",
    "lint-staged": """[STARTED] Backing up original state...
[COMPLETED] Backed up original state in git stash (a790ea7)
[FAILED] eslint [FAILED]
[FAILED] eslint [FAILED]
[SKIPPED] Skipped because of errors from tasks.
eslint:
1:breakpoint()
""",
}
WHY = {
    "pre-commit": "no prints...Failed; - hook id: prints; 1:breakpoint(); ",
    "lint-staged": "[FAILED] eslint [FAILED]; eslint:; 1:breakpoint(); ",
}


@pytest.mark.parametrize("tool", SAID)
def test_of_what_a_hook_says_the_reason_is_told(auto: World, a: Agent, tool: str) -> None:
    (auto.home / "said").write_text(SAID[tool])
    hook(auto, "pre-commit", "cat $HOME/said; exit 1")
    message = refused(a, "a.txt").removesuffix("what it changed is saved")
    assert message == f"gitcp: not committed, the pre-commit hook says no: {WHY[tool]}"


# As pre-commit does: unstaged work goes into a patch, checks run, the patch is applied again.
STASHING = """
patch=$HOME/patch
git diff-files --binary --no-color --no-ext-diff >"$patch"
[ -s "$patch" ] && git checkout -q -- .
{check}
status=$?
[ -s "$patch" ] && git apply --whitespace=nowarn "$patch"
exit $status
"""


@pytest.mark.parametrize("check", ["true", "false"])
def test_a_hook_that_hides_unstaged_work_judges_the_commit_alone_and_brings_it_back(
    auto: World, a: Agent, check: str
) -> None:
    auto.write("README.md", "the person's, half done\n")
    seen = f"cat README.md >$HOME/seen; cat a.txt >>$HOME/seen; {check}"
    hook(auto, "pre-commit", STASHING.format(check=seen))
    a.prompt("add a")
    a.write("a.txt", "a\n")
    assert bool(a.stop().said) is (check == "false")
    assert (auto.home / "seen").read_text() == "line one\nline two\nline three\na\n"
    assert auto.read("README.md") == "the person's, half done\n"
    assert auto.read("a.txt") == "a\n"


@pytest.mark.parametrize("status", [0, 1])
def test_work_that_a_hook_hid_and_lost_is_put_back(auto: World, a: Agent, status: int) -> None:
    auto.write("README.md", "the person's, half done\n")
    (auto.path / "src/lib.py").unlink()
    hook(auto, "pre-commit", f"git checkout -q -- .; exit {status}")
    a.prompt("add a")
    a.write("src/app.py", "print('new')\n")
    assert bool(a.stop().said) is bool(status)
    assert auto.read("README.md") == "the person's, half done\n"
    assert not (auto.path / "src/lib.py").exists()
    assert auto.read("src/app.py") == "print('new')\n"


def test_what_the_person_stashes_while_a_hook_runs_stays_stashed(auto: World, a: Agent) -> None:
    auto.write("README.md", "the person's, half done\n")
    hook(auto, "pre-commit", "unset GIT_INDEX_FILE; git stash push -q README.md")
    a.turn("add a", {"a.txt": "a\n"})
    assert auto.read("README.md") == "line one\nline two\nline three\n"
    auto.git("stash", "pop")
    assert auto.read("README.md") == "the person's, half done\n"


@pytest.mark.parametrize("how", ["commit", "branch"])
def test_a_head_that_moves_while_the_hooks_run_is_committed_upon(
    auto: World, a: Agent, how: str
) -> None:
    act = {
        "commit": "git commit -q --no-verify --allow-empty -m theirs",
        "branch": "git switch -q -c other",
    }[how]
    once = f"[ -e $HOME/once ] || {{ touch $HOME/once; unset GIT_INDEX_FILE; {act}; }}"
    hook(auto, "pre-commit", once)
    a.turn("add a", {"a.txt": "a\n"})
    subjects = auto.git("log", "--format=%s", "-2").splitlines()
    assert subjects == ["Add a", "theirs" if how == "commit" else "add lib"]
    assert auto.git("show", "--format=", "--name-only", "HEAD") == "a.txt"
    assert auto.git("symbolic-ref", "--short", "HEAD") == ("other" if how == "branch" else "main")
    assert auto.git("status", "--porcelain") == ""
    sound(auto)


def test_a_subject_that_begins_like_a_comment_is_kept(auto: World, a: Agent) -> None:
    auto.git("config", "commit.cleanup", "strip")
    a.turn("# Fix header", {"a.txt": "a\n"})
    assert auto.git("log", "-1", "--format=%s") == "# Fix header"


def test_a_hook_may_change_the_message_and_the_id_stays(auto: World, a: Agent) -> None:
    hook(auto, "commit-msg", 'sed -i "1s/^/[JIRA-1] /" "$1"')
    a.turn("add a", {"a.txt": "a\n"})
    assert auto.git("log", "-1", "--format=%s") == "[JIRA-1] Add a"
    assert len(auto.ids("HEAD")) == 1
    sound(auto)


def test_a_hook_that_takes_the_id_out_gets_a_note(auto: World, a: Agent) -> None:
    hook(auto, "commit-msg", 'sed -i /Entire-Checkpoint/d "$1"')
    a.turn("add a", {"a.txt": "a\n"})
    assert auto.ids("HEAD") == []
    note = auto.git("notes", "--ref=gitcp", "show", "HEAD")
    assert list(auto.committed(note.split(": ")[1])) == ["session-a"]


def test_a_hook_that_empties_the_message_refuses(auto: World, a: Agent) -> None:
    hook(auto, "commit-msg", ': >"$1"')
    assert "the hooks left no message" in refused(a, "a.txt")


def test_a_signature_is_asked_for_and_its_failure_told_in_the_signers_words(
    auto: World, a: Agent
) -> None:
    signer = auto.home / "signer"
    signer.write_text("#!/bin/sh\necho 'gpg: no card in the reader' >&2\nexit 2\n")
    signer.chmod(0o755)
    auto.git("config", "commit.gpgSign", "true")
    auto.git("config", "gpg.program", str(signer))
    message = refused(a, "a.txt")
    assert "gpg failed to sign the data" in message
    assert "commit-tree" not in message


def test_a_commit_is_signed_where_the_person_signs(auto: World, a: Agent) -> None:
    key = auto.home / "key"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    if subprocess.run(["which", "ssh-keygen"], capture_output=True).returncode:
        pytest.skip("ssh-keygen is not installed")
    subprocess.run(argv, check=True)
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": f"{key}.pub",
        "commit.gpgSign": "true",
    }.items():
        auto.git("config", name, value)
    a.turn("add a", {"a.txt": "a\n"})
    assert "-----BEGIN SSH SIGNATURE-----" in auto.git("cat-file", "commit", "HEAD")


@pytest.mark.parametrize("what", ["a rebase", "a bisection", "a cherry-pick"])
def test_nothing_is_committed_in_the_middle_of_something(auto: World, a: Agent, what: str) -> None:
    if what == "a rebase":
        auto.env["GIT_SEQUENCE_EDITOR"] = "sed -i s/pick/edit/"
        auto.git("rebase", "-q", "-i", "HEAD~1")
    elif what == "a bisection":
        auto.git("bisect", "start", "HEAD", "HEAD~1")
    else:
        auto.git("switch", "-qc", "side")
        auto.write("README.md", "side\n")
        auto.git("commit", "-qam", "side")
        auto.git("switch", "-q", "main")
        auto.write("README.md", "main\n")
        auto.git("commit", "-qam", "main")
        auto.git("cherry-pick", "side", ok=False)
    assert f"{what} is in progress" in refused(a, "a.txt")


def test_a_clone_without_a_commit_gets_its_first_one(tmp_path: Path, auto: World) -> None:
    auto.git("switch", "-q", "--orphan", "new")
    agent = auto.agent("session-b")
    agent.turn("begin", {"a.txt": "a\n"})
    assert auto.git("log", "--format=%s") == "Begin"
    assert auto.git("reflog", "-1", "--format=%gs").startswith("commit (initial): Begin")
    assert auto.git("status", "--porcelain") == ""


def test_a_linked_worktree_commits_on_its_own_branch(auto: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    auto.git("worktree", "add", "-q", "-b", "side", str(other))
    before, agent = auto.head, auto.agent("session-b", other)
    agent.turn("add a", {"a.txt": "a\n"})
    assert auto.git("log", "-1", "--format=%s", "side") == "Add a"
    assert auto.head == before
    assert auto.git("status", "--porcelain", cwd=other) == ""


def runs(pid: str) -> bool:
    """Whether a process goes on: one that was killed may wait for init to reap it."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "post-commit"])
@pytest.mark.linux
def test_a_hook_that_outlasts_the_deadline_is_ended_and_nothing_of_it_is_left(
    auto: World, a: Agent, name: str
) -> None:
    auto.git("config", "gitcp.hook-timeout", "4")
    auto.git("config", "gitcp.git-timeout", "2")
    auto.write("README.md", "staged\n")
    auto.git("add", "README.md")
    pid, before = auto.home / "pid", auto.head
    hook(auto, name, f"echo $$ >{pid}; sleep 60")
    a.prompt("add a")
    a.write("a.txt", "a\n")
    message = a.stop().said
    if name == "post-commit":
        assert (message, auto.git("rev-parse", "HEAD~1")) == ("", before)
    else:
        assert f"not committed, the {name} hook takes too long" in message
        assert auto.head == before
    assert auto.git("show", ":README.md") == "staged"
    assert not runs(pid.read_text().strip())
    sound(auto)
    assert auto.agent("session-b").prompt("look").status == 0
