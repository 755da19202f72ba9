"""What is searched for is linked by evidence in proportion, and an id comes back for no work that
an ancestor has already."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.choosing import choose_pairs
from tests.support.harness import World
from tests.support.linking import ids, linked, logged, noted, shell, sound

LIB = "".join(f"def function_number_{n}():\n    return {n}\n\n\n" for n in range(12))
NEW = "def power(a, b):\n    return a ** b\n\n\ndef root(a):\n    return a ** 0.5\n"
OTHERS = "".join(f"the colleague wrote line {n} by hand\n" for n in range(20))
REMOVED = "def function_number_3():\n"
IMPORT = "import collections\n"
DATE = "export GIT_AUTHOR_DATE='@1700000000 +0000'; "
COLLEAGUE = f"export GIT_AUTHOR_NAME=colleague GIT_AUTHOR_EMAIL=c@x; {DATE}"


def without(text: str, *lines: str) -> str:
    for line in lines:
        text = text.replace(line, "", 1)
    return text


def test_the_persons_line_beside_a_deletion_of_the_session_is_no_work_of_it(world: World) -> None:
    world.write("f.txt", OTHERS)
    world.commit()
    agent, line = world.agent("session-a"), "the person wrote this line\n"
    agent.turn("remove it", {"f.txt": without(OTHERS, "the colleague wrote line 3 by hand\n")})
    world.write("f.txt", world.read("f.txt") + line)
    assert len(world.commit()) == 1
    world.git("reset", "-q", "--hard", "HEAD~")
    world.write("f.txt", OTHERS + line)
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "by the person alone")
    world.agent("session-b").start()
    assert noted(world) == []


class Team:
    """A hub, the person's clone with a session's unmerged branch, and a colleague without gitcp."""

    def __init__(self, world: World, tmp_path: Path, base: dict[str, str]) -> None:
        self.world, self.hub, self.there = world, tmp_path / "hub.git", tmp_path / "there"
        for path, text in base.items():
            world.write(path, text)
        world.commit()
        world.git("clone", "-q", "--bare", ".", str(self.hub))
        world.git("remote", "add", "origin", str(self.hub))
        world.git("fetch", "-q", "origin")
        world.git("branch", "-q", "-u", "origin/main", "main")
        world.git("config", "gitcp.push", "false")
        world.git("switch", "-q", "-c", "feature")
        self.base = world.head

    def works(self, files: dict[str, str | None]) -> str:
        """A session's turn on the branch, committed and pushed; the id."""
        self.world.agent("session-a").turn("work", files)
        [one] = self.world.commit()
        self.world.git("push", "-q", "origin", "feature", warns=".*")
        return one

    def colleague(self, script: str, **files: str) -> None:
        if not self.there.exists():
            self.world.git("clone", "-q", "-b", "main", str(self.hub), str(self.there))
        for path, text in files.items():
            (self.there / path.replace("_py", ".py")).write_text(text)
        shell(self.world, f"{COLLEAGUE}{script}; git push -q origin main", cwd=self.there)

    def pull(self) -> list[str]:
        """The ids that the newest commit gets when it is pulled and a session starts."""
        self.world.git("switch", "-q", "main")
        self.world.git("pull", "-q", "--ff-only", warns=".*")
        for at in range(3):
            self.world.agent(f"later-{at}").start()
        assert "empty-link" not in (found := self.world.gitcp("fsck")), found
        assert "wrong-note" not in found, found
        return noted(self.world)


BY_HAND = "git add -A; git commit -qm 'by hand'"
# what the session changed, what the colleague did
COLLEAGUES: dict[str, tuple[dict[str, str | None], dict[str, str]]] = {
    "one equal line removed, beside other work": (
        {"lib.py": without(LIB, REMOVED, "    return 3\n", "    return 4\n")},
        {"lib_py": without(LIB, REMOVED), "own_py": OTHERS},
    ),
    "one equal line removed and nothing else": (
        {"lib.py": without(LIB, REMOVED, "    return 3\n", "    return 4\n")},
        {"lib_py": without(LIB, REMOVED)},
    ),
    "one equal line added, beside other work": (
        {"lib.py": IMPORT + LIB},
        {"lib_py": IMPORT + LIB + OTHERS},
    ),
    "one equal line added and nothing else": (
        {"lib.py": IMPORT + LIB},
        {"lib_py": IMPORT + LIB},
    ),
    "one equal new version and nothing else": (
        {"lib.py": LIB.replace("    return 5", "    return 'version 1.2.4'")},
        {"lib_py": LIB.replace("    return 5", "    return 'version 1.2.4'")},
    ),
    "one equal new version in the place of a long one": (
        {"lib.py": LIB.replace("def function_number_5():", "def function_five_now():")},
        {"lib_py": LIB.replace("def function_number_5():", "def function_five_now():")},
    ),
    "one equal line removed, as the whole change": (
        {"lib.py": without(LIB, REMOVED)},
        {"lib_py": without(LIB, REMOVED)},
    ),
    "one equal line added, of many": (
        {"lib.py": IMPORT + LIB + NEW},
        {"lib_py": IMPORT + LIB},
    ),
    "one equal new version, beside other work": (
        {"lib.py": LIB.replace("return 5", "return 'version 1.2.4'")},
        {"lib_py": LIB.replace("return 5", "return 'version 1.2.4'"), "own_py": OTHERS},
    ),
    "two equal lines in a long change": (
        {"lib.py": IMPORT + "import functools\n" + LIB + NEW},
        {"lib_py": IMPORT + "import functools\n" + LIB + OTHERS},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLLEAGUES)
def test_a_colleagues_commit_with_a_little_in_common_is_not_linked(
    world: World, tmp_path: Path, name: str
) -> None:
    work, theirs = COLLEAGUES[name]
    team = Team(world, tmp_path, {"lib.py": LIB})
    team.works(work)
    team.colleague(BY_HAND, **theirs)
    assert team.pull() == []
    sound(world)


def test_a_colleagues_deletion_of_the_same_file_is_not_linked(world: World, tmp_path: Path) -> None:
    team = Team(world, tmp_path, {"lib.py": LIB})
    team.works({"lib.py": None, "new.py": NEW})
    team.colleague(f"git rm -q lib.py; {BY_HAND}", own_py=OTHERS)
    assert team.pull() == []


def test_a_colleagues_deletion_and_nothing_else_is_not_linked(world: World, tmp_path: Path) -> None:
    team = Team(world, tmp_path, {"lib.py": LIB})
    team.works({"lib.py": None})
    team.colleague(f"git rm -q lib.py; {BY_HAND}")
    assert team.pull() == []


def test_a_colleagues_commit_with_the_same_three_lines_and_nothing_else_is_linked(
    world: World, tmp_path: Path
) -> None:
    team = Team(world, tmp_path, {"lib.py": LIB})
    one = team.works({"lib.py": "a=1\nb=2\nc=3\n" + LIB})
    team.colleague(BY_HAND, lib_py="a=1\nb=2\nc=3\n" + LIB)
    assert team.pull() == [one]


SMALL: dict[str, str | None] = {"lib.py": IMPORT + LIB}
# A forge keeps the author's name, and may write a mail of its own.
FORGE = (
    "export GIT_COMMITTER_NAME=Forge GIT_COMMITTER_EMAIL=noreply@forge.example;"
    ' export GIT_AUTHOR_NAME="$(git log -1 --format=%an origin/feature)"'
    " GIT_AUTHOR_EMAIL=12+x@users.noreply.forge.example;"
)
FORGES = {
    "a squash": f"{FORGE} git merge -q --squash origin/feature; git commit -qm squash",
    "a rebase": f"echo o >o; git add o; git commit -qm other; {FORGE}"
    " git cherry-pick origin/feature; git commit -q --amend --reset-author -m again",
}


@pytest.mark.parametrize("forge", FORGES)
@pytest.mark.parametrize("work", [SMALL, {"lib.py": None}, {"lib.py": LIB + "}\nend_of_it\n"}])
def test_a_small_commit_that_a_forge_merged_is_linked(
    world: World, tmp_path: Path, work: dict[str, str | None], forge: str
) -> None:
    team = Team(world, tmp_path, {"lib.py": LIB})
    one = team.works(work)
    team.colleague(FORGES[forge])
    assert team.pull() == [one]
    sound(world)


def test_a_squash_of_much_by_hand_and_of_a_part_by_a_session_is_linked(
    world: World, tmp_path: Path
) -> None:
    team = Team(world, tmp_path, {"lib.py": LIB})
    world.write("own.py", OTHERS * 3)
    world.commit()
    one = team.works({"lib.py": LIB + NEW})
    world.write("more.py", OTHERS)
    world.commit()
    world.git("push", "-q", "origin", "feature", warns=".*")
    who = world.git("log", "-1", "--format=%an <%ae>")
    team.colleague(f"git merge -q --squash origin/feature; git commit -qm sq --author='{who}'")
    assert team.pull() == [one]


def test_a_squash_of_many_commits_by_another_author_has_the_links_of_all(
    world: World, tmp_path: Path
) -> None:
    team = Team(world, tmp_path, {"lib.py": LIB})
    every = [team.works({f"{n}.py": OTHERS.replace("by hand", f"as {n}")}) for n in range(12)]
    team.colleague("git merge -q --squash origin/feature; git commit -qm squash")
    assert sorted(team.pull()) == sorted(every)


def test_work_that_was_reset_is_linked_in_each_third_of_it(world: World) -> None:
    base, parts = world.head, {"a.py": "first = 1\n", "b.py": "second = 2\n", "c.py": "third = 3\n"}
    world.agent("session-a").turn("work", parts)
    [one] = world.commit()
    world.git("reset", "-q", base)
    for path in parts:
        assert world.commit(path) == [one]
    assert [each.ids for each in logged(world, f"{base}..")] == [[one]] * 3
    sound(world)


# How a path comes back to a content that it had.
BACK = {
    "renamed and renamed back": "git mv new.py b.py; {c} -qm away; git mv b.py new.py;"
    " {c} -qm back",
    "copied back": "cp new.py b.py; git add b.py; {c} -qm copy; git rm -q new.py; {c} -qm away;"
    " cp b.py new.py; git add .; {c} -qm back",
    "deleted and restored": "git rm -q new.py; {c} -qm away; git checkout -q HEAD~ -- new.py;"
    " {c} -qm back",
    "copied": "cp new.py b.py; git add b.py; {c} -qm copy",
    "moved": "git mv new.py b.py; {c} -qm moved",
}  # fmt: skip
# What leaves a second commit with the id behind.
COPIES = {
    "an amend": "git commit -q --amend -m other",
    "an amend of its content": "echo '# p' >>new.py; git commit -qa --amend -m other",
    "a rebase": "git switch -qc up HEAD~; echo u >u; git add u; git commit -qm u;"
    " git switch -q main; git rebase -q up",
    "a reset": "git reset -q --soft HEAD~; git commit -qm again",
    "a reset and back": "git reset -q --hard HEAD~; git reset -q --hard ORIG_HEAD",
    "a squash": "git switch -qc f; git switch -q main; git reset -q --hard HEAD~;"
    " git merge -q --squash f; git commit -qm squashed",
    "a pick": "git switch -qc f; git switch -qC main HEAD~; git cherry-pick f",
}


GITS = ["git commit", "git -c core.hooksPath=/dev/null commit"]


@pytest.mark.parametrize(("name", "copy", "git"), choose_pairs(list(BACK), list(COPIES), GITS))
def test_what_an_ancestor_has_gives_no_later_commit_its_id(
    world: World, name: str, copy: str, git: str
) -> None:
    world.agent("session-a").turn("write", {"new.py": NEW})
    [one] = world.commit()
    shell(world, COPIES[copy])
    assert one in [*ids(world), *noted(world)]
    start = world.head
    shell(world, BACK[name].format(c=git))
    world.agent("session-b").start()
    world.gitcp("relink")
    assert not any(linked(world, start))
    sound(world)


def test_fsck_finds_a_link_that_one_equal_line_made(world: World, tmp_path: Path) -> None:
    """As an older gitcp made it, and as its notes came from another clone."""
    work, theirs = COLLEAGUES["one equal line removed, beside other work"]
    team = Team(world, tmp_path, {"lib.py": LIB})
    one = team.works(work)
    team.colleague(BY_HAND, **theirs)
    assert team.pull() == []
    world.git("notes", "--ref=gitcp", "append", "-m", f"Entire-Checkpoint: {one}")
    env = {**os.environ, **world.env}
    found = warm.command("fsck", ["--repair"], world.path, env, b"").stdout.decode()
    assert f"(wrong-note)\n  {world.head}: " in found
    assert noted(world) == [] or world.head not in world.gitcp("find-commits", one)


@pytest.mark.parametrize("how", ["", "-c core.hooksPath=/dev/null"])
def test_fsck_is_content_with_both_halves_of_a_file_that_was_reset(world: World, how: str) -> None:
    base, lines = world.head, NEW.splitlines(keepends=True)
    world.agent("session-a").turn("work", {"new.py": NEW})
    [one] = world.commit()
    world.git("reset", "-q", base)
    for count in (2, len(lines)):
        world.write("new.py", "".join(lines[:count]))
        shell(world, f"git add .; git {how} commit -qm part")
    world.agent("session-b").start()
    links = [[*each.ids, *noted(world, each.oid)] for each in logged(world, f"{base}..")]
    assert links == [[one], [one]]
    assert "wrong-note" not in world.gitcp("fsck")


def test_no_change_of_a_person_is_work_that_is_in_the_stash_with_later_lines(world: World) -> None:
    text = "".join(f"line_{n} = {n}\n" for n in range(30))
    world.write("shared.py", text)
    world.commit()
    world.agent("session-a").turn("work", {"shared.py": text.replace("line_3 ", "line_3_new ")})
    world.write("shared.py", world.read("shared.py").replace("line_9 ", "line_9_persons "))
    shell(world, "git stash -q; git switch -qc fix")
    world.write("shared.py", text.replace("line_20 ", "line_20_persons "))
    shell(world, "git commit -qam fix")
    assert ids(world) + noted(world) == []
    shell(world, "git switch -q main; git stash pop -q; git commit -qam work")
    assert len(ids(world)) == 1
    sound(world)


def test_no_line_that_comes_back_is_work_that_is_in_the_stash_too(world: World) -> None:
    text = "".join(f"line_{n} = {n}\n" for n in range(30))
    world.write("shared.py", text)
    world.commit()
    world.agent("session-a").turn("work", {"shared.py": text.replace("line_3 ", "line_3_new ")})
    shell(world, "git stash -q; sed -i /line_20/d shared.py; git add shared.py")
    shell(world, "git -c core.hooksPath=/dev/null commit -qm less")
    shell(world, "git checkout -q HEAD~ -- shared.py; git stash apply -q; git reset -q HEAD~ .")
    shell(world, "git commit -qm back")
    assert world.git("show", "HEAD:shared.py") == text.rstrip("\n")
    assert "line_3_new" in world.read("shared.py")
    assert ids(world) + noted(world) == []
    shell(world, "git commit -qam work")
    assert len(ids(world)) == 1
    sound(world)
