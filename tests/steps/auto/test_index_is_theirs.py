"""Auto-commit and the person's index: staged hunks, intents, partial staging, formatters."""

from __future__ import annotations

import pytest

from tests.steps.auto.hooks_and_checks import hook
from tests.support.harness import Agent, World


def status(world: World) -> list[str]:
    return world.git("-c", "core.quotePath=false", "status", "--porcelain").splitlines()


def index(world: World) -> str:
    return world.git("ls-files", "--stage")


def test_a_hook_that_refuses_leaves_staged_hunks_as_they_were(auto: World, a: Agent) -> None:
    auto.write("README.md", "line one\nline two\nline three\nstaged\n")
    auto.git("add", "README.md")
    auto.write("README.md", "line one\nline two\nline three\nstaged\nnot staged\n")
    hook(auto, "pre-commit", "echo 'no commits on Fridays' >&2; exit 1")
    before, head = index(auto), auto.head
    a.prompt("add a")
    a.write("a.txt", "a\n")
    message = a.stop().said
    assert "not committed, the pre-commit hook says no: no commits on Fridays" in message
    assert (index(auto), auto.head) == (before, head)
    assert status(auto) == ["MM README.md", "?? a.txt"]
    assert auto.tree(auto.branch())["a.txt"] == "a\n"


def test_partial_staging_elsewhere_survives_a_commit(auto: World, a: Agent) -> None:
    auto.write("README.md", "line one\nline two\nline three\nstaged\n")
    auto.git("add", "README.md")
    auto.write("README.md", "line one\nline two\nline three\nstaged\nnot staged\n")
    before = auto.git("diff", "--cached"), auto.git("diff")
    a.turn("add a", {"a.txt": "a\n"})
    assert auto.git("show", "--format=%s", "--name-only", "HEAD").split() == ["Add", "a", "a.txt"]
    assert (auto.git("diff", "--cached"), auto.git("diff")) == before


def test_a_path_of_the_turn_that_is_staged_by_hand_is_not_committed(auto: World, a: Agent) -> None:
    auto.write("README.md", "line one\nline two\nline three\nstaged\n")
    auto.git("add", "README.md")
    head, before = auto.head, index(auto)
    a.prompt("work")
    a.write("README.md", "line one\nline two\nline three\nstaged\nby the agent\n")
    assert "not committed, 'README.md' is staged by hand" in a.stop().said
    assert (auto.head, index(auto)) == (head, before)
    assert "by the agent" in auto.tree(auto.branch())["README.md"]


def test_what_fell_back_goes_into_the_next_commit_of_its_session(auto: World, a: Agent) -> None:
    auto.git("config", "core.hooksPath", ".git/hooks")
    hook(auto, "pre-commit", "exit 1")
    a.prompt("add a")
    a.write("a.txt", "a\n")
    assert "not committed" in a.stop().said
    (auto.path / ".git/hooks/pre-commit").unlink()
    a.turn("add b", {"b.txt": "b\n"})
    names = auto.git("show", "--format=", "--name-only", "HEAD").split()
    assert names == ["a.txt", "b.txt"]
    assert (auto.streams, auto.open(), a.state["streams"]) == ([], [], [])


def test_an_interrupted_turn_goes_into_the_next_commit_too(auto: World, a: Agent) -> None:
    a.prompt("add a")
    a.write("a.txt", "a\n")
    a.prompt("add b")
    a.write("b.txt", "b\n")
    a.stop()
    assert auto.git("show", "--format=", "--name-only", "HEAD").split() == ["a.txt", "b.txt"]
    assert status(auto) == []


@pytest.mark.parametrize("path", ["a.txt", "theirs.txt"])
def test_an_intent_to_add_blocks_nothing(auto: World, path: str) -> None:
    a = auto.agent("session-a", tools=True)
    a.prompt("add a")
    auto.write(path, "the beginning\n")
    auto.git("add", "-N", path)
    a.write("a.txt", "a\n")
    assert a.stop().said == ""
    assert auto.git("show", "--format=", "--name-only", "HEAD") == "a.txt"
    assert status(auto) == ([] if path == "a.txt" else [" A theirs.txt"])


@pytest.mark.parametrize(("option", "tag"), [("--assume-unchanged", "h"), ("--skip-worktree", "S")])
def test_what_git_is_not_to_look_at_is_marked_so_after_a_commit_of_it(
    auto: World, a: Agent, option: str, tag: str
) -> None:
    auto.git("update-index", option, "src/lib.py")
    a.turn("more", {"src/lib.py": "def lib():\n    return 2\n"})
    assert auto.show("HEAD", "src/lib.py") == "def lib():\n    return 2\n"
    assert auto.git("ls-files", "-v", "src/lib.py") == f"{tag} src/lib.py"
    assert auto.git("diff", "--cached", "--name-only") == ""


def test_a_formatter_that_adds_its_result_leaves_a_clean_file(auto: World, a: Agent) -> None:
    hook(auto, "pre-commit", "sed -i s/x/y/ a.txt && git add a.txt")
    a.turn("add a", {"a.txt": "x\n"})
    assert auto.show("HEAD", "a.txt") == "y\n"
    assert status(auto) == []
    assert (auto.streams, auto.open()) == ([], [])
    auto.write("a.txt", "x\n")
    assert auto.commit("a.txt") == [], "retyped by hand: nobody's but the person's"


def test_a_formatter_that_adds_nothing_leaves_its_change_in_the_worktree(
    auto: World, a: Agent
) -> None:
    hook(auto, "pre-commit", "sed -i s/x/y/ a.txt")
    a.turn("add a", {"a.txt": "x\n"})
    assert auto.show("HEAD", "a.txt") == "x\n"
    assert status(auto) == [" M a.txt"]


@pytest.mark.parametrize("status", [0, 1])
def test_what_a_formatter_left_in_a_file_of_the_session_is_in_nobodys_way(
    auto: World, status: int
) -> None:
    """As black does: it formats, adds nothing, and may refuse for having done so."""
    once = f"[ -e $HOME/once ] || {{ echo '# formatted' >>a.py; touch $HOME/once; exit {status}; }}"
    hook(auto, "pre-commit", once)
    a = auto.agent("session-a", tools=True)
    a.prompt("add a")
    a.write("a.py", "a = 1\n")
    assert bool(a.stop().said) is bool(status)
    a.turn("more", {"a.py": auto.read("a.py") + "b = 1\n"})
    assert auto.show("HEAD", "a.py") == "a = 1\n# formatted\nb = 1\n"
    assert auto.git("status", "--porcelain") == ""


@pytest.mark.parametrize("adds", ["", "; git add a.py"], ids=["left", "added"])
def test_what_a_formatter_makes_of_a_file_when_head_moves_and_it_runs_again_is_nobodys(
    auto: World, adds: str
) -> None:
    move = "unset GIT_INDEX_FILE; git commit -q --no-verify --allow-empty -m theirs"
    steps = (f"echo '# one' >>a.py{adds}; {move}", f"echo '# two' >>a.py{adds}", "true")
    cases = "".join(f"{n}) {step} ;;\n" for n, step in enumerate(steps, 1))
    hook(auto, "pre-commit", f"echo >>$HOME/runs; case $(wc -l <$HOME/runs) in\n{cases}esac")
    a = auto.agent("session-a", tools=True)
    a.turn("add a", {"a.py": "a = 1\n"})
    assert auto.git("log", "-1", "--format=%s") == "Add a"
    a.turn("more", {"a.py": auto.read("a.py") + "b = 1\n"})
    assert auto.show("HEAD", "a.py") == "a = 1\n# one\n# two\nb = 1\n"
    assert auto.git("status", "--porcelain") == ""


def test_a_hook_that_adds_everything_does_not_bring_the_persons_work_in(
    auto: World, a: Agent
) -> None:
    auto.write("mine.txt", "the person's\n")
    hook(auto, "pre-commit", "git add -A")
    head, before = auto.head, index(auto)
    a.prompt("add a")
    a.write("a.txt", "a\n")
    assert "a hook added 'mine.txt' which is not of this turn" in a.stop().said
    assert (auto.head, index(auto)) == (head, before)


def test_what_a_hook_generates_is_committed_with_it(auto: World, a: Agent) -> None:
    hook(auto, "pre-commit", "date >generated.txt && git add generated.txt")
    a.turn("add a", {"a.txt": "a\n"})
    names = auto.git("show", "--format=", "--name-only", "HEAD").split()
    assert names == ["a.txt", "generated.txt"]
    assert status(auto) == []


@pytest.mark.parametrize("how", ["deleted", "became a directory", "executable", "symlink"])
def test_every_kind_of_change_is_committed_and_clean(auto: World, a: Agent, how: str) -> None:
    a.prompt("work")
    if how == "deleted":
        a.write("src/app.py", None)
    elif how == "became a directory":
        a.write("src/app.py", None)
        a.write("src/app.py/inner.py", "x = 1\n")
    elif how == "executable":
        a.write("src/app.py", "print('app')\n")
        (auto.path / "src/app.py").chmod(0o755)
    else:
        a.write("src/app.py", None)
        (auto.path / "src/app.py").symlink_to("lib.py")
    before = auto.head
    assert a.stop().said == ""
    assert auto.git("rev-parse", "HEAD~1") == before
    assert status(auto) == []


@pytest.mark.thorough
def test_another_git_that_keeps_the_index_leaves_a_temporary_checkpoint(
    auto: World, a: Agent
) -> None:
    lock = auto.path / ".git/index.lock"
    a.prompt("add a")
    a.write("a.txt", "a\n")
    lock.touch()
    head = auto.head
    assert "not committed, another git holds the index" in a.stop().said
    assert (auto.head, lock.exists()) == (head, True)
    lock.unlink()
    assert status(auto) == ["?? a.txt"]


def test_the_very_content_staged_already_is_no_obstacle(auto: World, a: Agent) -> None:
    """Agents run `git add` themselves."""
    a.prompt("add a")
    a.write("a.txt", "a\n")
    auto.git("add", "a.txt")
    assert a.stop().said == ""
    assert status(auto) == []
    assert auto.git("show", "--format=", "--name-only", "HEAD") == "a.txt"
