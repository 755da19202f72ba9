"""What a person applies of a colleague's commit, whole or in part: by patch, by mail, by paste."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.lines.carried.authors import tell, write_turn
from tests.support.harness import World
from tests.support.linking import ids, noted, shell, sound

BASE = [f"line_{n} = 'there before {n}'\n" for n in range(24)]
FIRST = [f"value_{n} = compute_for_session({n})\n" for n in range(4)]
SECOND = [f"other_{n} = finish_the_session({n})\n" for n in range(4)]
WORK = [*BASE[:4], *FIRST, *BASE[4:20], *SECOND, *BASE[20:]]
OTHER = "".join(f"helper_{n} = assist_the_session({n})\n" for n in range(5))
COLLEAGUE = {"AUTHOR": "colleague", "COMMITTER": "colleague"}
THEIRS = "origin/feature"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that each test has a copy of, as the first one has made it."""
    return tmp_path_factory.mktemp("applied") / "repo"


@pytest.fixture
def here(world: World, kept: Path, tmp_path: Path) -> World:
    """A clone in which no session has been and that has fetched a colleague's session, of one
    commit, with its checkpoint."""
    if not kept.exists():
        world.write("a.py", "".join(BASE))
        world.commit()
        hub = world.remote("origin")
        there = World(tmp_path / "there", world.home, dict(world.env))
        for who, name in COLLEAGUE.items():
            there.env |= {f"GIT_{who}_NAME": name, f"GIT_{who}_EMAIL": f"{name}@example.com"}
        world.git("clone", "-q", str(hub), str(there.path))
        there.gitcp("enable")
        there.git("switch", "-qc", "feature")
        write_turn(there.agent("session-a", tools=True), "write it", a_py="".join(WORK), b_py=OTHER)
        there.commit()
        there.git("push", "-q", "origin", "feature", warns=".*")
        there.gitcp("push", "--to", "origin")
        world.git("fetch", "-q", "origin", warns=".*")
        world.gitcp("fetch")
        shutil.copytree(world.path, kept, symlinks=True)
    path = Path(shutil.copytree(kept, tmp_path / "here", symlinks=True))
    copy = World(path, world.home, {**world.env, "GIT_AUTHOR_DATE": "@1700000000 +0000"})
    copy.git("status", "-s")  # the copies are newer than the index
    return copy


PATCH = f"git diff main {THEIRS}"
HUNK = (
    f"git diff -U0 main {THEIRS} -- a.py | awk '/^@@/ {{ n++ }} n < 2' | git apply --unidiff-zero"
)
WHOLE = "PPPPSSSS" + "P" * 16 + "SSSSPPPP"
PART = "PPPPSSSS" + "P" * 20
# what the person does -> whose the lines of a.py are
WAYS = {
    f"{PATCH} | git apply --index; git commit -qm x": WHOLE,
    f"{PATCH} | patch -s -p1; git add -A; git commit -qm x": WHOLE,
    f"git format-patch --stdout main..{THEIRS} | sed /^Entire-Checkpoint/d | git am -q": WHOLE,
    f"git show {THEIRS}:a.py >a.py; git commit -qam x": WHOLE,
    f"{PATCH} -- a.py | git apply; git commit -qam x": WHOLE,
    f"{PATCH} -- b.py | git apply; git add -A; git commit -qm x": "P" * 24,
    f"{HUNK}; git commit -qam x": PART,
    # In a commit with a link, what no hook saw typed is nobody's.
    f"{HUNK}; echo 'mine = typed_by_the_person()' >>a.py; git commit -qam x": PART + "?",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_part_of_a_colleagues_commit_is_of_its_session(here: World, way: str) -> None:
    [one] = ids(here, THEIRS)
    shell(here, way)
    here.agent("later").start()
    assert ids(here) + noted(here) == [one]
    assert tell(here, "a.py") == WAYS[way]
    sound(here)


def test_both_parts_of_a_colleagues_commit_are_of_its_session(here: World) -> None:
    [one] = ids(here, THEIRS)
    shell(here, f"{HUNK}; git commit -qam x; git show {THEIRS}:a.py >a.py; git commit -qam y")
    for number in range(2):  # one event searches one commit however busy the machine is
        here.agent(f"later-{number}").start()
    assert noted(here, "HEAD~1") == noted(here) == [one]
    assert tell(here, "a.py") == WHOLE


# how many of the colleague's lines the person has typed, too -> whose they are
TYPED = {1: "P", 2: "SS", 3: "SSS"}


@pytest.mark.parametrize("count", TYPED)
def test_one_equal_line_by_another_author_is_no_evidence(here: World, count: int) -> None:
    here.write("a.py", "".join([*BASE[:4], *FIRST[:count], *BASE[4:]]))
    here.commit("a.py")
    here.agent("later").start()
    assert noted(here) == (ids(here, THEIRS) if count > 1 else [])
    assert tell(here, "a.py") == "PPPP" + TYPED[count] + "P" * 20
