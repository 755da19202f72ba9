"""Commits of one file, one on another: each keeps its own link, whatever git makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from tests.support.harness import Agent, World
from tests.support.linking import BARE, editor, ids, logged, noted, shell
from tests.support.scenes import Scenes

PARTS = ("first", "second", "third", "fourth")
PLAIN = "".join(f"# the {part} part\n\n\n\n\n\n\n" for part in PARTS)


def grown(text: str, part: str, who: str = "the agent") -> str:
    """The text with a function put into one of its parts."""
    lines = f"def {part}_part_of_it():\n    return '{part} thing that {who} wrote'\n"
    return text.replace(f"# the {part} part\n", f"# the {part} part\n{lines}")


class Stack:
    """A branch on which three turns and the person changed one file, a commit each."""

    def __init__(self, world: World, person: bool = True) -> None:
        self.world, self.agent = world, world.agent("session-a")
        world.write("app.py", PLAIN)
        world.commit()
        self.base = world.head
        for at, part in enumerate(PARTS):
            text = grown(world.read("app.py"), part, "the person" if at == 1 else "the agent")
            if at != 1:
                self.agent.turn(f"write the {part} part", {"app.py": text})
            elif person:
                world.write("app.py", text)
            if at != 1 or person:
                world.git("commit", "-q", "-a", "-m", part)
        self.ids = self.links("main")
        assert [len(found) for found in self.ids.values()] == ([1, 0, 1, 1] if person else [1] * 3)

    def links(self, *revisions: str) -> dict[str, list[str]]:
        """The subject of each commit -> all ids it has; oldest first."""
        found = logged(self.world, *revisions, f"^{self.base}")
        subjects = [(one.message.partition("\n")[0], one) for one in reversed(found)]
        assert len({subject for subject, _ in subjects}) == len(subjects)
        return {subject: [*one.ids, *noted(self.world, one.oid)] for subject, one in subjects}

    def upstream(self) -> None:
        """Another branch, on which the person put a line at the end of the file."""
        self.world.git("switch", "-q", "-c", "upstream", self.base)
        self.world.write("app.py", self.world.read("app.py") + "# a line of upstream\n")
        self.world.git("commit", "-q", "-a", "-m", "upstream")
        self.world.git("switch", "-q", "main")

    def patch(self, part: str, name: str = "") -> str:
        """A file with the patch of one of the commits."""
        patch = self.world.home / f"{part}.patch"
        subject = f"--grep=^{part}$"
        commit = self.world.git("log", "-1", "--format=%H", subject, name or "main")
        patch.write_text(self.world.git("diff", f"{commit}~", commit) + "\n")
        return str(patch)

    def later(self) -> None:
        """Some sessions start."""
        for at in range(2):
            self.world.agent(f"observer-{at}").start()


@pytest.fixture
def stack(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    yield from scenes.play(Stack, monkeypatch)


REBASES = {
    "onto another branch": "git rebase -q upstream",
    "by --apply": "git rebase -q --apply upstream",
    "with --no-ff": "git rebase -q --no-ff main~4",
    "with --exec": "git rebase -q --exec true upstream 2>/dev/null",
    "twice": "git rebase -q upstream; git rebase -q --no-ff main~4",
}


@pytest.mark.parametrize("name", REBASES)
def test_a_rebased_stack_that_shares_a_file_has_each_link_once(stack: Stack, name: str) -> None:
    stack.upstream()
    shell(stack.world, REBASES[name])
    stack.later()
    found = {one: links for one, links in stack.links("main").items() if one != "upstream"}
    assert found == stack.ids


def test_update_refs_leaves_each_branch_of_a_stack_its_links(stack: Stack) -> None:
    stack.upstream()
    for at, part in enumerate(PARTS):
        stack.world.git("branch", part, f"main~{3 - at}")
    stack.world.git("rebase", "-q", "--update-refs", "upstream")
    stack.later()
    assert stack.links("fourth", "^upstream") == stack.ids
    assert stack.links("third", "^upstream") == {p: stack.ids[p] for p in PARTS[:3]}


@pytest.mark.parametrize("part", ["first", "second", "third"])
def test_an_autosquashed_fixup_leaves_the_others_of_a_stack_alone(stack: Stack, part: str) -> None:
    world = stack.world
    world.write("app.py", world.read("app.py").replace(f"{part}_part", f"{part}_piece"))
    commit = world.git("log", "-1", "--format=%H", f"--grep=^{part}$")
    world.git("commit", "-q", "-a", "--fixup", commit)
    fixed = set(ids(world)) | {*noted(world)}
    world.env |= {"GIT_SEQUENCE_EDITOR": ":", "GIT_EDITOR": ":"}
    world.git("rebase", "-q", "-i", "--autosquash", stack.base)
    stack.later()
    found = stack.links("main")
    assert set(found.pop(part)) == {*stack.ids.pop(part)} | fixed
    assert found == stack.ids


ORDERS = ["".join(order) for order in permutations("134")]


@pytest.mark.parametrize("how", ["--soft", "--mixed"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_stack_taken_back_and_made_again_in_any_order_has_each_link_once(
    world: World, order: str, how: str
) -> None:
    stack = Stack(world, person=False)
    parts = [PARTS[int(at) - 1] for at in order]
    patches = {part: stack.patch(part) for part in parts}
    world.git("reset", "-q", how, "HEAD~3")
    world.git("reset", "-q")
    for part in parts:
        world.git("apply", "--cached", "--recount", patches[part])
        world.git("commit", "-q", "-m", part)
    stack.later()
    assert stack.links("main") == {part: stack.ids[part] for part in parts}
    assert not (world.path / ".git/gitcp/taken-back").exists()


def test_the_persons_part_of_what_is_taken_back_stays_the_persons(stack: Stack) -> None:
    world = stack.world
    patches = [stack.patch(part) for part in PARTS]
    world.git("reset", "-q", "HEAD~4")
    for part, patch in reversed(list(zip(PARTS, patches, strict=True))):
        world.git("apply", "--cached", "--recount", patch)
        world.git("commit", "-q", "-m", part)
    stack.later()
    assert stack.links("main") == stack.ids


def test_the_person_s_lines_in_a_linked_commit_give_no_other_commit_its_link(world: World) -> None:
    """Half of a commit is the agent's: what is the person's goes into a commit of its own."""
    world.write("app.py", PLAIN)
    world.commit()
    world.agent("session-a").turn("write the first part", {"app.py": grown(PLAIN, "first")})
    world.write("app.py", grown(world.read("app.py"), "third", "the person"))
    [one] = world.commit()
    world.git("reset", "-q", "--soft", "HEAD~")
    commit_staged(world, grown(PLAIN, "third", "the person"), "the person's")
    assert (ids(world), noted(world)) == ([], [])
    world.git("commit", "-q", "-a", "-m", "the agent's")
    assert ids(world) == [one]


def test_a_commit_split_where_a_rebase_stops_leaves_the_others_alone(world: World) -> None:
    agent = world.agent("session-a")
    world.write("app.py", PLAIN)
    world.commit()
    base, found = world.head, {}
    agent.turn("one", {"app.py": grown(world.read("app.py"), "first")})
    found["first"] = world.commit()
    agent.turn("two", {"app.py": grown(grown(world.read("app.py"), "second"), "third")})
    [split] = world.commit()
    agent.turn("three", {"app.py": grown(world.read("app.py"), "fourth")})
    found["fourth"] = world.commit()
    world.env |= {"GIT_SEQUENCE_EDITOR": "sed -i '2s/^pick/edit/'", "GIT_EDITOR": ":"}
    whole = world.object("HEAD~:app.py").data.decode()
    world.git("rebase", "-q", "-i", base)
    world.git("reset", "-q", "HEAD^")
    commit_staged(world, grown(grown(PLAIN, "first"), "second"), "second")
    commit_staged(world, whole, "third")
    world.git("rebase", "--continue")
    for at in range(2):
        world.agent(f"observer-{at}").start()
    links = [{*one.ids, *noted(world, one.oid)} for one in logged(world, f"{base}..")]
    assert links == [set(found["fourth"]), {split}, {split}, set(found["first"])]


BLOCK = "try:\n    run()\nfinally:\n    stop()\n"
EDITS = {
    "a function": ("# the first part\n", "# the first part\ndef add(a, b):\n    return a + b\n"),
    "a value": ("# the second part\n", "# the second part\nVALUE = guess()\n"),
    "its next value": ("VALUE = guess()", "VALUE = better_guess()"),
    "a block": ("# the first part\n", "# the first part\n" + BLOCK),
    "the same block again": ("# the third part\n", "# the third part\n" + BLOCK),
    "a removed line": ("VALUE = better_guess()\n", ""),
}
SCRIPTS = {
    "a new file": "echo 'print(1)' >new.py",
    "an empty file": "touch empty.py",
    "a mode": "chmod +x run.sh",
    "a deletion": "rm old.txt",
    "a renamed file": "mv name.py other_name.py",
    "a binary file": "printf 'a\\0b' >bin",
}


def test_relink_finds_the_ids_of_twelve_commits_that_were_rebased_without_reflogs(
    world: World,
) -> None:
    """git itself forgets the old commits; what is left of them is the store."""
    world.git("config", "core.logAllRefUpdates", "false")
    name = "def name():\n    return 'the name of it'\n\n\nprint(name())\n"
    before = {"app.py": PLAIN, "run.sh": "echo\n", "old.txt": "old\n", "name.py": name}
    for path, text in before.items():
        world.write(path, text)
    world.commit()
    base, agent = world.head, world.agent("session-a")
    want: dict[str, list[str]] = {"upstream": []}
    for step in (*EDITS, *SCRIPTS):
        agent.prompt(step)
        if step in EDITS:
            world.write("app.py", world.read("app.py").replace(*EDITS[step]))
        else:
            shell(world, SCRIPTS[step])
        agent.stop()
        shell(world, f"git add -A; git commit -q -m '{step}'")
        want[step] = ids(world)
    shell(world, f"git format-patch -q --stdout {base} >../p; sed -i /^Entire/d ../p")
    world.git("reset", "-q", "--hard", base)
    world.write("app.py", f"import os\n{PLAIN}# the end\n")
    world.git(*BARE, "commit", "-q", "-a", "-m", "upstream")
    world.git(*BARE, "am", "-q", "-3", str(world.path.parent / "p"))
    shell(world, "rm -rf .git/logs .git/ORIG_HEAD; git gc -q --prune=now")
    world.gitcp("relink")
    commits = logged(world, f"{base}..")
    assert {one.message.strip(): noted(world, one.oid) for one in commits} == want
    assert not any(one.ids for one in commits)


def test_a_team_that_pulls_with_rebase_has_no_wrong_note(world: World, tmp_path: Path) -> None:
    """A person commits a line, a turn in the same file is committed, all is pulled, three times."""
    agent = world.agent("session-a")
    world.write("app.py", PLAIN)
    world.commit()
    base, theirs = world.head, tmp_path / "theirs"
    world.git("clone", "-q", "--bare", ".", str(tmp_path / "hub.git"))
    world.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    world.git("config", "gitcp.push", "false")
    world.git("clone", "-q", str(tmp_path / "hub.git"), str(theirs))
    want: dict[str, list[str]] = {}
    for at, part in enumerate(PARTS[:3]):
        world.git("pull", "-q", "--rebase", cwd=theirs)
        (theirs / "app.py").write_text((theirs / "app.py").read_text() + f"# colleague {at}\n")
        world.git("commit", "-q", "-a", "-m", f"colleague {at}", cwd=theirs)
        world.git("push", "-q", "origin", "HEAD:main", cwd=theirs)
        world.write("app.py", f"# person {at}\n" + world.read("app.py"))
        world.git("commit", "-q", "-a", "-m", f"person {at}")
        agent.turn(part, {"app.py": grown(world.read("app.py"), part)})
        world.git("commit", "-q", "-a", "-m", part)
        want |= {f"colleague {at}": [], f"person {at}": [], part: ids(world)}
        world.git("pull", "-q", "--rebase", "origin", "main", warns=".*")
        world.agent(f"observer-{at}").start()
        world.git("push", "-q", "origin", "HEAD:main", warns=".*")
    found = {
        one.message.partition("\n")[0]: [*one.ids, *noted(world, one.oid)]
        for one in logged(world, f"{base}..")
    }
    assert found == want
    assert "note" not in world.gitcp("fsck")


def commit_staged(world: World, text: str, subject: str) -> None:
    """Commit app.py with a text of which the worktree may have more, as after `add -p`."""
    blob = world.home / "blob"
    blob.write_text(text)
    oid = world.git("hash-object", "-w", str(blob))
    world.git("update-index", "--cacheinfo", f"100644,{oid},app.py")
    world.git("commit", "-q", "-m", subject)


def agents_commit(world: World, agent: Agent, part: str) -> str:
    agent.turn(part, {"app.py": grown(world.read("app.py"), part)})
    world.git("commit", "-q", "-a", "-m", part)
    [one] = ids(world)
    return one


def test_both_halves_of_one_file_by_two_sessions_in_two_commits_stay_each_its_own(
    world: World,
) -> None:
    world.write("app.py", PLAIN)
    world.commit()
    first = agents_commit(world, world.agent("session-a"), "first")
    second = agents_commit(world, world.agent("session-b"), "third")
    world.git("reset", "-q", "--soft", "HEAD~2")
    commit_staged(world, grown(PLAIN, "third"), "third")
    world.git("commit", "-q", "-a", "-m", "first")
    assert (ids(world, "HEAD~"), ids(world)) == ([second], [first])


def test_an_editor_reorders_what_was_unhooked_and_each_link_is_once(world: World) -> None:
    """Links by note: three commits by another tool, then a rebase that turns them round."""
    world.write("app.py", PLAIN)
    world.commit()
    base, agent = world.head, world.agent("session-a")
    for part in PARTS[:3]:
        agent.turn(part, {"app.py": grown(world.read("app.py"), part)})
        world.git(*BARE, "commit", "-q", "-a", "-m", part)
        agent.start()
    links = {one.message.strip(): noted(world, one.oid) for one in logged(world, f"{base}..")}
    assert [len(found) for found in links.values()] == [1, 1, 1]
    world.env["GIT_SEQUENCE_EDITOR"] = editor(world, 'sed -n \'1!G;h;$p\' "$1" >x; mv x "$1"')
    world.git("rebase", "-q", "-i", base, ok=False)
    for at in range(2):
        world.agent(f"observer-{at}").start()
    after = {one.message.strip(): noted(world, one.oid) for one in logged(world, f"{base}..")}
    assert after == links
