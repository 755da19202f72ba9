"""What gives a commit its link without being named: looked for where it may be, in bounded time."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.harness import V1, World
from tests.support.linking import BARE, editor, ids, logged, noted, shell, sound

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # its note tells since when is recorded
LINES = "def power(a, b):\n    return a ** b\n\n\ndef root(a):\n    return a ** 0.5\n"


BARE_GIT = shlex.join(["git", *BARE])


def worked(world: World, path: str = "new.py", text: str = LINES) -> str:
    """A session's turn and the person's commit of it; the id."""
    world.agent("session-a").turn(f"write {path}", {path: text})
    [one] = world.commit()
    return one


SQUASHES = {
    "brought nothing": "git merge -q --squash side",
    "was taken back": "git merge -q --squash side; git restore --staged --worktree .",
    "was reset file by file": "git merge -q --squash side; git rm -qf new.py",
}


@pytest.mark.parametrize("how", SQUASHES)
def test_a_squash_of_which_nothing_is_left_links_no_other_commit(world: World, how: str) -> None:
    world.git("switch", "-q", "-c", "side")
    one = worked(world)
    world.git("switch", "-q", "main")
    if how == "brought nothing":
        world.git("cherry-pick", "side")
    shell(world, SQUASHES[how] + "; echo m >m; git add m; git commit -qm own")
    assert (ids(world), noted(world)) == ([], [])
    assert ids(world, "side") == [one]
    sound(world)


def test_a_squash_keeps_the_link_of_a_commit_that_a_later_one_overwrote(world: World) -> None:
    world.git("switch", "-q", "-c", "side")
    first = worked(world)
    world.agent("session-b").turn("all anew", {"new.py": "print('another program')\n"})
    [second] = world.commit()
    world.git("switch", "-q", "main")
    shell(world, "git merge -q --squash side; git commit -qm squashed")
    assert sorted(ids(world)) == sorted([first, second])
    assert "empty-link" not in world.gitcp("fsck")


@pytest.mark.parametrize("author", ["another <a@x> @1700000000", "%an <%ae> @%at"])
def test_a_commit_that_cannot_be_read_does_not_stop_the_search(world: World, author: str) -> None:
    one = worked(world)
    who, date = world.git("log", "-1", f"--format=tformat:{author}").split(" @")
    shell(
        world, "git switch -q --detach HEAD~; git branch damaged; echo l >lost.py; git add lost.py"
    )
    tree, (name, mail) = world.git("write-tree"), who.rstrip(">").split(" <")
    names = f"GIT_AUTHOR_NAME='{name}' GIT_AUTHOR_EMAIL='{mail}' GIT_AUTHOR_DATE='@{date} +0000'"
    shell(world, f"git branch -f damaged $({names} git commit-tree -p HEAD -m lost {tree})")
    shell(world, f"git switch -qf main; {BARE_GIT} commit -q --amend -m 'without the line'")
    (world.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    done = warm.command("relink", [], world.path, {**os.environ, **world.env}, b"")
    assert (done.returncode, one in done.stdout.decode()) == (0, True), done


MOVED = "git mv src/lib.py src/moved.py; git commit -qm moved"
BROUGHT = {
    "a squash": "git merge -q --squash side; git commit -q --no-edit",
    "a pick": "git cherry-pick side >/dev/null",
    "a rebase": "git switch -q side; git rebase -q main",
    "a squash without hooks": "git merge -q --squash side;"
    " git -c core.hooksPath=/dev/null commit -q -m squashed",
}


@pytest.mark.parametrize("how", BROUGHT)
def test_work_on_a_file_keeps_its_link_where_that_was_renamed(world: World, how: str) -> None:
    world.git("switch", "-q", "-c", "side")
    text = world.read("src/lib.py") + LINES
    one = worked(world, "src/lib.py", text)
    shell(world, f"git switch -q main; {MOVED}; {BROUGHT[how]}")
    world.agent("session-b").start()
    assert [*ids(world), *noted(world)] == [one]
    assert world.read("src/moved.py") == text
    sound(world)


COMMENT = "# a line that looks like a comment\n"
SCISSORS = [("", ""), ("--no-verify", ""), ("-s", ""), ("-v", ""), ("", COMMENT), ("-v", COMMENT)]


@pytest.mark.parametrize(("mode", "comments"), SCISSORS)
def test_an_unchanged_template_with_scissors_aborts_as_without_hooks(
    world: World, mode: str, comments: str
) -> None:
    world.agent("session-a").turn("write", {"new.py": LINES})
    base = world.head
    world.write("../template", f"subject of the template\n\nits body\n\n{comments}")
    world.env["GIT_EDITOR"] = "true"
    shell(world, f"git add .; ! git commit -q --cleanup=scissors {mode} -t ../template 2>/dev/null")
    assert world.head == base


def test_a_template_with_scissors_that_is_filled_in_commits_with_its_link(world: World) -> None:
    world.agent("session-a").turn("write", {"new.py": LINES})
    world.write("../template", "subject of the template\n\nits body\n")
    world.env["GIT_EDITOR"] = editor(world, "sed -i '1s/^/my /' \"$1\"")
    shell(world, "git add .; git commit -q --cleanup=scissors -t ../template")
    assert len(ids(world)) == 1
    assert "subject of the template" in world.git("log", "-1", "--format=%s")


def by_a_library(world: World, path: str, text: str) -> None:
    """A commit by a library that writes objects and the branch, and neither index nor reflog."""

    def git(*args: str, stdin: str = "") -> str:
        env = {**os.environ, **world.env, "GIT_INDEX_FILE": str(world.home / "index")}
        done = subprocess.run(
            ["git", "-c", "core.logAllRefUpdates=false", *args],
            cwd=world.path, env=env, input=stdin, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    world.write(path, text)
    git("read-tree", "HEAD")
    git("update-index", "--add", path)
    commit = git("commit-tree", git("write-tree"), "-p", "HEAD", "-m", f"library {path}")
    (world.path / ".git/refs/heads/main").write_text(commit + "\n")
    world.git("read-tree", commit)


def test_a_commit_by_a_library_that_writes_no_reflog_is_linked(world: World) -> None:
    agent = world.agent("session-a")
    agent.turn("write", {"new.py": LINES})
    by_a_library(world, "new.py", LINES)
    world.agent("session-b").start()
    [_] = noted(world)
    sound(world)


def test_where_nothing_is_logged_a_commit_without_hooks_is_linked(world: World) -> None:
    shell(world, "git config core.logAllRefUpdates false; rm -r .git/logs")
    world.agent("session-a").turn("write", {"new.py": LINES})
    shell(world, "git add .; git -c core.hooksPath=/dev/null commit -qm 'by another tool'")
    world.agent("session-b").start()
    [_] = noted(world)
    sound(world)


def test_where_nothing_is_logged_what_another_pulled_is_not_the_sessions(world: World) -> None:
    """The colleague changed the very file, in other words: no evidence, no link."""
    shell(world, "git config core.logAllRefUpdates false; rm -r .git/logs")
    world.agent("session-a").turn("write", {"src/lib.py": "def lib():\n    return 'agent'\n"})
    shell(world, "git stash -q; git switch -qc theirs")
    world.write("src/lib.py", "def lib():\n    return 12345\n")
    world.git(*BARE, "commit", "-q", "-a", "-m", "theirs")
    shell(world, "git switch -q main; git merge -q --ff-only theirs")
    world.agent("session-b").start()
    assert noted(world) == []


def test_what_is_reset_and_made_again_without_any_reflog_is_linked_by_evidence(
    world: World,
) -> None:
    shell(world, "git config core.logAllRefUpdates false; rm -r .git/logs")
    one = worked(world)
    shell(world, "git reset -q --soft HEAD~; git commit -qm again")
    assert ids(world) == [one]


def test_a_forgotten_stash_keeps_nothing_in_mind(world: World) -> None:
    """A stash of other lines of the very files that were taken back."""
    world.write("src/lib.py", "def lib():\n    return 'of the person, put away'\n")
    world.git("stash", "-q")
    worked(world, "src/lib.py", "def lib():\n    return 'the session wrote it'\n")
    shell(world, "git reset -q --hard HEAD~; echo m >m; git add m; git commit -qm own")
    assert not (world.path / ".git/gitcp/taken-back").exists()
    world.env["GITCP_TRACE"] = str(world.home / "trace")
    shell(world, "echo n >m; git commit -qam more")
    assert not (world.home / "trace").exists()


def test_after_a_sync_nothing_is_left_to_be_looked_for(world: World) -> None:
    """Fifty commits are rebased and a stash is there: what comes next starts no search."""
    world.write("m", "m\n")
    world.git("stash", "-q", "-u")
    world.git("branch", "upstream")
    agent = world.agent("session-a")
    for at in range(5):
        agent.turn(f"turn {at}", {"new.py": "".join(f"line {n} of it\n" for n in range(at + 1))})
        world.commit()
    shell(world, "git switch -q upstream; echo u >u; git add u; git commit -qm u; git switch -q -")
    links = [one.ids for one in logged(world, "-5")]
    world.git("rebase", "-q", "upstream")
    world.agent("session-b").start()
    assert [one.ids for one in logged(world, "-5")] == links
    assert [noted(world, one.oid) for one in logged(world, "-5")] == [[]] * 5
    assert not (world.path / ".git/gitcp/taken-back").exists()
    world.env["GITCP_TRACE"] = str(world.home / "trace")
    world.git("commit", "-q", "--allow-empty", "-m", "empty")
    assert not (world.home / "trace").exists()


def test_notes_on_commits_that_a_rebase_left_behind_are_not_pushed(
    world: World, tmp_path: Path
) -> None:
    hub, clone = tmp_path / "hub.git", tmp_path / "clone"
    world.git("clone", "-q", "--bare", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    world.git("config", "gitcp.remote", "origin")
    base, agent = world.head, world.agent("session-a")
    for name in ("a.py", "b.py"):
        agent.turn("write", {name: LINES + f"# {name}\n"})
        world.git("add", ".")
        world.git(*BARE, "commit", "-q", "-m", name)
        agent.start()
    old = [one.oid for one in logged(world, f"{base}..")]
    shell(world, f"git switch -qc side {base}; echo m >m; git add m; git commit -qm m")
    shell(world, "git switch -q main; git rebase -q side")
    new = [one.oid for one in logged(world, "side..")]
    assert all(len(noted(world, oid)) == 1 for oid in new)
    world.git("push", "-q", "origin", "main", warns=".*")
    world.git("clone", "-q", str(hub), str(clone))
    world.git("fetch", "-q", "origin", "refs/notes/gitcp:refs/notes/gitcp", cwd=clone)
    listed = world.git("notes", "--ref=gitcp", "list", cwd=clone).splitlines()
    on = {line.split()[1] for line in listed}
    assert on - {EMPTY_TREE} == set(new)
    there = World(clone, world.home, world.env)
    there.gitcp("fetch", "origin")
    assert fsck(there) == ""
    there.close()
    world.gitcp("fetch", "origin")
    world.git("reset", "-q", "--hard", old[0])
    assert all(len(noted(world, oid)) == 1 for oid in old)
    assert "merged with" not in world.gitcp("push", "origin")


def test_a_forges_squash_is_linked_in_a_fresh_clone_that_has_no_branch(
    world: World, tmp_path: Path
) -> None:
    """Of two commits of one file, and beside a commit of others in it: no content is as it was."""
    agent, base, clone = world.agent("session-a"), world.head, tmp_path / "clone"
    lib = world.read("src/lib.py")
    agent.turn("one", {"src/lib.py": lib + LINES})
    [first] = world.commit()
    agent.turn("two", {"src/lib.py": lib + LINES + "\n\ndef third(a):\n    return a ** (1 / 3)\n"})
    [second] = world.commit()
    text = world.read("src/lib.py")
    shell(world, f"git switch -q -c merged {base}")
    world.write("src/lib.py", "import math\n\n" + lib)
    world.git(*BARE, "commit", "-q", "-a", "-m", "others")
    world.write("src/lib.py", "import math\n\n" + text)
    world.git(*BARE, "commit", "-q", "-a", "-m", "squash (#1)")
    world.git("clone", "-q", "--single-branch", "-b", "merged", ".", str(clone))
    world.git("fetch", "-q", "origin", f"+{V1}:{V1}", cwd=clone)
    there = World(clone, world.home, world.env)
    there.gitcp("relink")
    assert sorted(noted(there)) == sorted([first, second])
    assert noted(there, "HEAD~") == []
    there.close()


def wrongly_noted(world: World) -> tuple[str, str]:
    """(the id of a commit's checkpoint, the person's commit after it whose note has it too)."""
    text = world.read("src/lib.py")
    one = worked(world, "src/lib.py", text + LINES)
    world.write("src/lib.py", "# by the person alone\n" + text + LINES)
    world.git("commit", "-q", "-a", "-m", "own")
    world.git("notes", "--ref=gitcp", "append", "-m", f"Entire-Checkpoint: {one}")
    assert noted(world) == [one]
    return one, world.head


def fsck(world: World, *args: str) -> str:
    env = {**os.environ, **world.env}
    return warm.command("fsck", args, world.path, env, b"").stdout.decode()


def test_a_wrong_note_is_found_and_taken_back_and_that_can_be_undone(world: World) -> None:
    one, own = wrongly_noted(world)
    assert f"(wrong-note)\n  {own}: " in fsck(world) and noted(world) == [one]
    assert "took the link away" in fsck(world, "--repair")
    assert "wrong-note" not in fsck(world)
    assert own not in world.gitcp("find-commits", one)
    world.gitcp("undo")
    assert own in world.gitcp("find-commits", one)


def test_a_wrong_note_on_a_merge_that_had_a_conflict_is_found_and_taken_back(world: World) -> None:
    text = world.read("src/lib.py")
    world.git("switch", "-q", "-c", "side")
    one = worked(world, "src/lib.py", text + LINES)
    world.git("switch", "-q", "main")
    world.write("src/lib.py", text + "def of_the_person():\n    return 'another'\n")
    world.git("commit", "-q", "-a", "-m", "own")
    shell(
        world,
        "! git merge -q side >/dev/null; sed -i '/^[<=>]\\{7\\}/d' src/lib.py;"
        "git -c core.hooksPath=/dev/null commit -q -a --no-edit;"
        f"git notes --ref=gitcp append -m 'Entire-Checkpoint: {one}'",
    )
    assert f"(wrong-note)\n  {world.head}: " in fsck(world)
    assert "took the link away" in fsck(world, "--repair")
    assert "wrong-note" not in fsck(world)
    assert ids(world, "side") == [one]


def test_a_wrong_note_that_was_fetched_is_taken_back_there_too(
    world: World, tmp_path: Path
) -> None:
    one, own = wrongly_noted(world)
    clone = tmp_path / "clone"
    world.git("clone", "-q", ".", str(clone))
    refspecs = [f"+{ref}:{ref}" for ref in ("refs/notes/gitcp", V1)]
    world.git("fetch", "-q", "origin", *refspecs, cwd=clone)
    there = World(clone, world.home, world.env)
    assert "took the link away" in fsck(there, "--repair")
    assert own not in there.gitcp("find-commits", one)
    there.close()


def test_a_wrong_note_stays_gone_where_another_clone_has_it(world: World, tmp_path: Path) -> None:
    hub = tmp_path / "hub.git"
    one, own = wrongly_noted(world)
    world.git("clone", "-q", "--mirror", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    fsck(world, "--repair")
    world.gitcp("push", "origin")
    world.gitcp("fetch", "origin")
    assert own not in world.gitcp("find-commits", one)


def test_a_commit_from_before_a_checkpoint_is_not_taken_for_its_lost_one(world: World) -> None:
    a, content = world.agent("session-a"), "a line of before\nanother line of before\n"
    world.write("old.txt", content)
    world.commit()
    world.git("switch", "-q", "-c", "side")
    a.turn("copy it", {"copy.txt": content})
    assert len(world.commit()) == 1
    world.git("switch", "-q", "main")
    world.git("branch", "-q", "-D", "side")
    assert world.gitcp("relink", "--dry-run") == ""
    assert "all is well" in world.gitcp("doctor")


def test_a_note_that_a_person_made_stays(world: World) -> None:
    one, own = wrongly_noted(world)
    world.gitcp("unlink", "HEAD", one)
    world.gitcp("link", "HEAD", one)
    assert "wrong-note" not in fsck(world, "--repair")
    assert own in world.gitcp("find-commits", one)
