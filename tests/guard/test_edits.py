"""With `deny` a session's edits stand on its ref, one commit each, and nobody else's do."""

from __future__ import annotations

import itertools
import os
import subprocess
import threading
import time
from collections.abc import Callable

from tests.guard.working_copies import A, B, Copy, post, pre, run
from tests.support.harness import Agent

LONG = bool(os.environ.get("LONG"))
SESSIONS, EDITS = (16, 20) if LONG else (4, 3)
TEN = "".join(f"line {n}\n" for n in range(10))


def git(copy: Copy, *args: str) -> str:
    return run(["git", f"--git-dir={copy.store}", *args], copy.path)


def changes(copy: Copy, ref: str) -> list[str]:
    """What each commit of a ref changed in `change`, oldest first, as `path: -lines +lines`."""
    commits = git(copy, "rev-list", "--reverse", "--first-parent", ref).split()
    found = []
    for one, next_ in itertools.pairwise(commits):
        trees = f"{one}:change", f"{next_}:change"
        diff = git(copy, "diff", "-U0", "--no-color", "--no-ext-diff", *trees)
        paths = [line[6:] for line in diff.splitlines() if line.startswith("+++ ")]
        lines = [x for x in diff.splitlines() if x[:1] in "+-" and x[:3] not in ("+++", "---")]
        found.append(f"{' '.join(paths)}: {' '.join(lines)}")
    return found


def parts(copy: Copy, sid: str) -> list[str]:
    refs = git(copy, "for-each-ref", "--format=%(refname)", "refs/gitcp/edits").splitlines()
    return [ref for ref in refs if ref.startswith(f"refs/gitcp/edits/{sid}")]


def edit(
    copy: Copy, agent: Agent, path: str, change: Callable[[str], str], use: str, ends: int = 0
) -> None:
    """One tool call that reads a file and writes it."""
    assert pre(agent, path, use).status == 0
    at = copy.path / path
    at.write_text(change(at.read_text() if at.exists() else ""))
    assert post(agent, path, use).status == ends


def test_one_commit_an_edit_and_each_names_its_session(copy: Copy) -> None:
    a, _ = copy.pair()
    place = copy.place()
    edit(copy, a, "a.txt", lambda _: "one\n", "toolu_1")
    edit(copy, a, "a.txt", lambda text: text + "two\n", "toolu_2")
    edit(copy, a, "src/b.txt", lambda _: "three\n", "toolu_3")
    (ref,) = parts(copy, A)
    assert changes(copy, ref) == ["a.txt: +one", "a.txt: +two", "src/b.txt: +three"]
    for message in git(copy, "log", "--format=%B%x00", ref).split("\0")[:-1]:
        assert message.rstrip().endswith(f"\nClaude-Session-Id: {A}")
    assert copy.place() == place
    if not copy.uses_jj:
        assert copy.git("diff", "--cached", "--name-only") == ""


def test_nothing_of_the_persons_or_of_another_session_is_in_it(git_copy: Copy) -> None:
    copy = git_copy
    a, b = copy.pair()
    copy.write("f.txt", TEN)
    copy.commit("f.txt")
    edit(copy, a, "f.txt", lambda text: text.replace("line 1\n", "A 1\n"), "toolu_1")
    copy.write("f.txt", copy.read("f.txt").replace("line 4\n", "person 4\n"))
    copy.write("own.txt", "the person's\n")
    edit(copy, b, "f.txt", lambda text: text.replace("line 7\n", "B 7\n"), "toolu_2")
    edit(copy, a, "f.txt", lambda text: text.replace("line 9\n", "A 9\n"), "toolu_3")
    assert changes(copy, f"refs/gitcp/edits/{A}") == [
        "f.txt: -line 1 +A 1",
        "f.txt: -line 9 +A 9",
    ]
    assert changes(copy, f"refs/gitcp/edits/{B}") == ["f.txt: -line 7 +B 7"]
    tree = git(copy, "ls-tree", "-r", "--name-only", f"refs/gitcp/edits/{A}:change")
    assert "own.txt" not in tree


def test_an_edit_on_somebody_elses_lines_begins_a_part(git_copy: Copy) -> None:
    copy = git_copy
    a, _ = copy.pair()
    edit(copy, a, "f.txt", lambda _: "mine\n", "toolu_1")
    copy.write("f.txt", "the person's\n")
    edit(copy, a, "f.txt", lambda text: text.upper(), "toolu_2")
    edit(copy, a, "f.txt", lambda text: text + "more\n", "toolu_3")
    first, second = parts(copy, A)
    assert second == f"{first}.2"
    assert changes(copy, first) == ["f.txt: +mine"]
    assert changes(copy, second) == ["f.txt: -the person's +THE PERSON'S", "f.txt: +more"]
    copy.write("f.txt", "once more\n")
    edit(copy, a, "f.txt", lambda text: text.upper(), "toolu_4")
    assert parts(copy, A) == [first, second, f"{first}.3"]


def test_a_deleted_and_an_executable_file_are_edits_too(git_copy: Copy) -> None:
    copy = git_copy
    a, _ = copy.pair()
    assert pre(a, "README.md", "toolu_1").status == 0
    (copy.path / "README.md").unlink()
    assert post(a, "README.md", "toolu_1").status == 0
    assert pre(a, "src/app.py", "toolu_2").status == 0
    (copy.path / "src" / "app.py").chmod(0o755)
    assert post(a, "src/app.py", "toolu_2").status == 0
    found = git(copy, "ls-tree", "-r", f"refs/gitcp/edits/{A}:change")
    assert "README.md" not in found
    assert "100755" in found


def test_an_edit_on_a_poisoned_original_is_not_squashed(copy: Copy) -> None:
    a, _ = copy.pair()
    edit(copy, a, "a.txt", lambda _: "one\n", "toolu_1")
    assert pre(a, "a.txt", "toolu_2").status == 0
    copy.write("a.txt", "two\n")
    copy.describe(f"Corrupted\n\nClaude-Session-Id: {B}\n")
    assert post(a, "a.txt", "toolu_2").status == 2
    assert changes(copy, f"refs/gitcp/edits/{A}") == ["a.txt: +one"]


def test_an_edit_whose_base_moved_is_kept_on_the_ref(copy: Copy) -> None:
    a, _ = copy.pair()
    assert pre(a, "a.txt", "toolu_1").status == 0
    copy.write("a.txt", "one\n")
    copy.go_to_new("elsewhere")
    copy.write("a.txt", "one\n")
    done = post(a, "a.txt", "toolu_1")
    assert done.status == 2
    assert f"Edit kept:      a.txt, and on refs/gitcp/edits/{A}" in done.stderr
    assert changes(copy, f"refs/gitcp/edits/{A}") == ["a.txt: +one"]


def test_the_end_of_the_turn_leaves_the_change_on_the_ref(git_copy: Copy) -> None:
    copy = git_copy
    a, _ = copy.pair()
    edit(copy, a, "a.txt", lambda _: "one\n", "toolu_1")
    a.stop()
    a.prompt("more")
    edit(copy, a, "b.txt", lambda _: "two\n", "toolu_2")
    (ref,) = parts(copy, A)
    assert [c for c in changes(copy, ref) if c != ": "] == ["a.txt: +one", "b.txt: +two"]
    assert copy.gitcp("fsck") is not None


def test_with_warn_there_is_no_commit_for_each_edit(git_copy: Copy) -> None:
    copy = git_copy
    copy.set("gitcp.guard", "warn")
    a, _ = copy.pair()
    edit(copy, a, "a.txt", lambda _: "one\n", "toolu_1")
    assert parts(copy, A) == []


def step(number: int, count: int) -> tuple[str, str, str]:
    """(path, the line replaced or '', the new line) of a session's edit: every third one is in
    a line of its own of a file that all of them write."""
    new = f"s{number}. at {count}\n"
    if count % 3:
        return f"own-{number}.txt", "", new
    return "shared.txt", f"s{number}. at {count - 3}\n" if count else f"s{number}.\n", new


def work(copy: Copy, agent: Agent, number: int, errors: list[str]) -> None:
    """All edits of one session, each through its hooks."""
    try:
        for count in range(EDITS):
            path, was, new = step(number, count)
            use = f"toolu_{number}_{count}"
            assert pre(agent, path, use).status == 0
            at = copy.path / path
            text = at.read_text() if at.exists() else ""
            at.write_text(text.replace(was, new) if was else text + new)
            assert post(agent, path, use).status in (0, 2)
    except BaseException as e:
        errors.append(f"{number}: {e!r}")


def wanted(number: int) -> list[str]:
    """What the commits of a session's ref are to change."""
    found = []
    for count in range(EDITS):
        path, was, new = step(number, count)
        lines = [f"-{was.strip()}"] * bool(was) + [f"+{new.strip()}"]
        found.append(f"{path}: {' '.join(lines)}")
    return found


def commit_while(copy: Copy, threads: list[threading.Thread]) -> int:
    """The person commits while the sessions work; how often."""
    commits = 0
    while any(thread.is_alive() for thread in threads) and (LONG or commits < 10):
        commits += 1
        time.sleep(0.1)  # no faster than git's own gc bears beside `git add`
        copy.write("person.txt", f"{commits}\n")
        subprocess.run(["git", "add", "person.txt"], cwd=copy.path, check=True)
        argv = ["git", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", f"mine {commits}"]
        subprocess.run(argv, cwd=copy.path, check=True, stdout=subprocess.DEVNULL)
    return commits


def test_many_sessions_edit_while_a_person_commits(git_copy: Copy) -> None:
    """Each session's ref holds exactly its edits; the person's commits are undisturbed."""
    copy, errors = git_copy, list[str]()
    copy.set("gitcp.guard-wait", "120")  # all wait for one file, on whatever machine
    copy.write("shared.txt", "".join(f"s{n}.\n\n\n" for n in range(SESSIONS)))
    copy.commit("shared.txt")
    agents = [copy.agent(f"many-{n:02}") for n in range(SESSIONS)]
    for agent in agents:
        agent.prompt("work")
        assert pre(agent, "ls", "toolu_ls", tool="Bash").status == 0
        assert post(agent, "ls", "toolu_ls", tool="Bash").status == 0
    index = copy.git("ls-files", "-s").splitlines()
    threads = [
        threading.Thread(target=work, args=(copy, agent, number, errors))
        for number, agent in enumerate(agents)
    ]
    for thread in threads:
        thread.start()
    commits = commit_while(copy, threads)
    for thread in threads:
        thread.join()
    assert errors == []
    for number, agent in enumerate(agents):
        edits = [c for ref in parts(copy, agent.sid) for c in changes(copy, ref)]
        assert edits == wanted(number)
    staged = copy.git("ls-files", "-s").splitlines()
    assert [line for line in staged if "person.txt" not in line] == index
    assert copy.git("rev-list", "--count", "HEAD") == str(3 + commits)
