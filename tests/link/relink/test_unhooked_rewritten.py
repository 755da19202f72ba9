"""Commits without hooks that were rewritten before an event of ours: the new ones are linked."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from gitcp.link import relink as relink_room
from gitcp.record import open_here
from gitcp.text.short_ids import shorten_id
from tests.support.harness import V1, Agent, World
from tests.support.linking import files, logged, noted, shell, sound

LIB = "".join(f"def function_number_{n}():\n    return {n}\n\n\n" for n in range(12))
NEW = "def power(a, b):\n    return a ** b\n\n\ndef root(a):\n    return a ** 0.5\n"
BARE = "git -c core.hooksPath=/dev/null"
LATER = "export GIT_AUTHOR_DATE='@1700000000 +0000' GIT_COMMITTER_DATE='@1700000000 +0000'; "
OTHER = f"export GIT_AUTHOR_NAME=other GIT_AUTHOR_EMAIL=o@x; {LATER}"


class Client:
    """A person whose graphical client runs no hooks, a session, a hub, and others who push."""

    def __init__(self, world: World, tmp_path: Path) -> None:
        self.world, self.hub, self.there = world, tmp_path / "hub.git", tmp_path / "there"
        world.write("lib.py", LIB)
        world.commit()
        world.git("clone", "-q", "--bare", ".", str(self.hub))
        world.git("remote", "add", "origin", str(self.hub))
        world.git("fetch", "-q", "origin")
        world.git("branch", "-q", "-u", "origin/main", "main")
        world.git("config", "gitcp.push", "false")
        self.agent: Agent = world.agent("session-a", tools=True)

    def works(self, part: int = 5) -> None:
        text = self.world.read("lib.py").replace(
            f"    return {part}\n", f"    return {part} * 100\n"
        )
        self.agent.turn("work", {"lib.py": text, f"new_{part}.py": NEW})

    def commits(self, subject: str = "gui", paths: str = "-A") -> None:
        shell(self.world, f"git add {paths}; {BARE} commit -qm {subject}")

    def others(self, script: str, who: str = OTHER) -> None:
        """Somebody else pushes to main of the hub."""
        if not self.there.exists():
            self.world.git("clone", "-q", "-b", "main", str(self.hub), str(self.there))
        push = "git fetch -q; git merge -q --ff-only origin/main; "
        shell(self.world, f"{who}{push}{script}; git push -q origin main", cwd=self.there)

    def others_work(self) -> None:
        self.others("echo '# theirs' >>lib.py; echo o >o; git add .; git commit -qm theirs")


def start(client: Client) -> None:
    for at in range(3):
        client.world.agent(f"later-{at}").start()


def prompt(client: Client) -> None:
    client.agent.prompt("something else")
    client.agent.stop()


def relink(client: Client) -> None:
    client.world.gitcp("relink")


def doctor(client: Client) -> None:
    client.world.gitcp("doctor", "--fix")


GONE_AND_BACK = (
    f"; git rm -q new.py; {BARE} commit -qm gone"
    f"; git checkout -q HEAD~ new.py; {BARE} commit -qm back"
)
EVENTS = [start, prompt, relink, doctor]
REBASES = {
    "a pull with rebase": "git pull -q --rebase 2>/dev/null",
    "a pull with rebase without hooks": f"{BARE} pull -q --rebase 2>/dev/null",
    "a rebase of apply without hooks": f"git fetch -q; {BARE} rebase -q --apply origin/main",
}


def links(world: World, revisions: str) -> dict[str, list[str]]:
    """The subject of each commit -> the files of its checkpoints."""
    found = {}
    for one in logged(world, revisions):
        ids = [*one.ids, *noted(world, one.oid)]
        found[one.message.strip()] = sorted({path for i in ids for path in files(world, i)})
    return found


@pytest.fixture
def client(world: World, tmp_path: Path) -> Client:
    return Client(world, tmp_path)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", REBASES)
def test_a_commit_without_hooks_that_was_rebased_is_linked(
    client: Client, name: str, event: type
) -> None:
    world, base = client.world, client.world.head
    client.works()
    client.commits()
    client.others_work()
    shell(world, REBASES[name])
    event(client)
    assert links(world, f"{base}..") == {"gui": ["lib.py", "new_5.py"], "theirs": []}
    sound(world)


def with_a_trailer(client: Client) -> None:
    client.world.commit()


def with_a_note(client: Client) -> None:
    client.world.git("config", "gitcp.link", "note")
    client.world.commit()
    client.world.git("config", "--unset", "gitcp.link")


MADE = [Client.commits, with_a_note]


@pytest.mark.parametrize(
    "made, event", [*product(MADE, EVENTS), *product([with_a_trailer], EVENTS[:3])]
)
def test_a_commit_that_was_rebased_without_hooks_has_its_lines_in_another_clone(
    client: Client, made: type, event: type, tmp_path: Path
) -> None:
    world = client.world
    client.works()
    made(client)
    client.others_work()
    shell(world, f"{BARE} pull -q --rebase 2>/dev/null")
    event(client)
    world.git("push", "-q", "origin", "main")
    there = World(tmp_path / "clone", world.home, world.env)
    world.git("clone", "-q", str(client.hub), str(there.path))
    stored = (f"{ref}:{ref}" for ref in ("refs/notes/gitcp", V1))
    there.git("fetch", "-q", str(world.path), *stored)
    for name, count in (("lib.py", 1), ("new_5.py", 6)):
        rows = map(json.loads, there.gitcp("blame", "--json", name).splitlines())
        assert [row["session_id"] for row in rows].count("session-a") == count, name


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("who", [LATER, OTHER])
def test_a_commit_without_hooks_that_a_forge_squashed_is_linked(
    client: Client, who: str, event: type
) -> None:
    world, base = client.world, client.world.head
    world.git("switch", "-q", "-c", "feature")
    client.works()
    client.commits("one")
    client.works(6)
    client.commits("two")
    world.git("push", "-q", "origin", "feature", warns=".*")
    client.others_work()
    client.others("git merge -q --squash origin/feature; git commit -qm squash", who)
    shell(world, "git switch -q main; git pull -q --ff-only; git branch -qD feature")
    event(client)
    want = ["lib.py", "new_5.py", "new_6.py"]
    assert links(world, f"{base}..") == {"squash": want, "theirs": []}
    sound(world, lost=True)


@pytest.mark.parametrize("event", EVENTS)
def test_commits_without_hooks_that_a_forge_rebased_are_linked_each_with_its_own(
    client: Client, event: type
) -> None:
    world, base = client.world, client.world.head
    world.git("switch", "-q", "-c", "feature")
    client.works()
    client.commits("one", "lib.py")
    client.commits("two")
    world.git("push", "-q", "origin", "feature", warns=".*")
    client.others_work()
    client.others("git cherry-pick main..origin/feature >/dev/null")
    shell(world, "git switch -q main; git pull -q --ff-only")
    event(client)
    assert links(world, f"{base}..") == {"two": ["new_5.py"], "one": ["lib.py"], "theirs": []}
    sound(world)


def test_a_commit_without_hooks_on_a_branch_that_head_came_back_from_is_linked(
    client: Client,
) -> None:
    world, base = client.world, client.world.head
    world.git("switch", "-q", "-c", "topic")
    client.works(5)
    client.commits("part-5")
    world.git("push", "-q", "origin", "topic", warns=".*")
    world.git("switch", "-q", "main")
    client.works(6)
    assert links(world, f"{base}..topic") == {"part-5": ["lib.py", "new_5.py"]}
    client.commits("part-6")
    client.works(7)
    client.commits("part-7")
    client.others("git merge -q --squash origin/topic; git commit -qm squash")
    shell(world, f"{BARE} pull -q --rebase")
    for _ in range(3):
        prompt(client)  # each hook searches one commit, and others while there is time
    found = {subject: links(world, f"{base}..")[subject] for subject in ("squash", "part-7")}
    assert found == {"squash": ["lib.py", "new_5.py"], "part-7": ["lib.py", "new_7.py"]}
    sound(world)


def test_a_merge_is_not_linked_to_what_it_brings(client: Client) -> None:
    world, base = client.world, client.world.head
    world.git("switch", "-q", "-c", "topic")
    client.works(5)
    client.commits("part-5")
    world.git("push", "-q", "origin", "topic", warns=".*")
    client.others("git merge -q --squash origin/topic; git commit -qm squash")
    text = world.read("lib.py").replace("    return 5 * 100\n", "    return 5\n")
    world.git("switch", "-q", "main")
    world.write("lib.py", text.replace("    return 9\n", "    return 9 * 9\n"))
    shell(world, f"{BARE} commit -qam own; git fetch -q; git merge -q --no-commit origin/main")
    shell(world, f"{BARE} commit -q --no-edit")
    assert len(world.git("rev-list", "--merges", "HEAD").split()) == 1
    prompt(client)
    found = links(world, f"{base}..")
    assert found.pop("squash") == ["lib.py", "new_5.py"]
    assert [*found.values()] == [[], []]
    sound(world)


@pytest.mark.parametrize("event", EVENTS)
def test_the_lines_of_a_commit_without_hooks_that_was_rebased_are_the_sessions(
    client: Client, event: type
) -> None:
    world = client.world
    client.works()
    client.commits()
    client.others_work()
    shell(world, REBASES["a pull with rebase without hooks"])
    event(client)
    for path, count in (("new_5.py", len(NEW.splitlines())), ("lib.py", 1)):
        out = world.gitcp("blame", path)
        assert out.count(f"(Claude Code {shorten_id(client.agent.sid)} ") == count, out


def test_what_a_colleague_pushed_is_not_linked_beside_a_commit_without_hooks(
    client: Client,
) -> None:
    world, base = client.world, client.world.head
    client.works()
    client.commits()
    client.others_work()
    client.others("sed -i 's/return 5$/return 5 * 100/' lib.py; seq 30 >own; git add .;"
                  " git commit -qm equal")  # fmt: skip
    shell(world, "git fetch -q; git reset -q --hard origin/main")
    start(client)
    assert links(world, f"{base}..") == {"equal": [], "theirs": []}


@pytest.mark.parametrize("event", [start, prompt])
def test_a_commit_without_hooks_that_was_reset_links_when_it_is_made_again(
    client: Client, event: type
) -> None:
    world, base = client.world, client.world.head
    client.works()
    client.commits()
    shell(world, "git reset -q --soft HEAD~")
    event(client)
    world.git("commit", "-q", "-m", "again")
    [one] = logged(world, f"{base}..")
    assert len(one.ids) == 1
    sound(world)


@pytest.mark.parametrize("event", EVENTS)
def test_commits_without_hooks_that_a_forge_merged_are_linked(client: Client, event: type) -> None:
    world, base = client.world, client.world.head
    world.git("switch", "-q", "-c", "feature")
    client.works()
    client.commits("one", "lib.py")
    client.commits("two")
    world.git("push", "-q", "origin", "feature", warns=".*")
    client.others_work()
    client.others("git merge -q --no-ff -m merged origin/feature")
    shell(world, "git switch -q main; git pull -q --ff-only")
    event(client)
    want = {"merged": [], "two": ["new_5.py"], "one": ["lib.py"], "theirs": []}
    assert links(world, f"{base}..") == want
    sound(world)


def add_secret(world: World) -> str:
    """A file that take_out() takes out later, committed; HEAD."""
    world.write("secret.txt", "taken out later\n")
    world.commit()
    return world.head


def works_after_secret(client: Client) -> str:
    """add_secret(), and then work in a commit without hooks; the commit before that."""
    base = add_secret(client.world)
    client.works()
    client.commits()
    return base


def take_out(world: World, path: str) -> None:
    """A file is taken out of all commits of main, without hooks."""
    script = f"git rm -q --cached --ignore-unmatch {path}"
    squelch = "export FILTER_BRANCH_SQUELCH_WARNING=1; "
    shell(world, f"{squelch}{BARE} filter-branch --index-filter '{script}' -- main >/dev/null")


def test_relink_of_a_branch_that_was_filtered_links_it_beside_one_of_the_old_commits(
    client: Client,
) -> None:
    world = client.world
    works_after_secret(client)
    start(client)
    world.git("branch", "left")
    assert links(world, "main~1..") == {"gui": ["lib.py", "new_5.py"]}
    take_out(world, "secret.txt")
    assert links(world, "main~1..") == {"gui": []}
    for _ in range(2):
        world.gitcp("relink", "main~1..main")
        assert links(world, "main~1..") == {"gui": ["lib.py", "new_5.py"]}
    assert len(noted(world, "main")) == 1
    sound(world)


def test_each_commit_with_an_id_is_found_again_in_a_branch_that_was_filtered(
    client: Client,
) -> None:
    world = client.world
    base = works_after_secret(client)
    world.git("push", "-q", "origin", "main:topic", warns=".*")
    start(client)
    client.others("git merge -q --squash origin/topic; git commit -qm squash")
    shell(world, f"{BARE} pull -q --no-rebase --no-edit")
    start(client)
    expected = links(world, f"{base}..")
    work = ["lib.py", "new_5.py"]
    assert [expected[name] for name in ("gui", "squash")] == [work, work]
    take_out(world, "secret.txt")
    world.gitcp("relink", "main")
    found = links(world, "main~2..")
    assert [found[name] for name in ("gui", "squash")] == [work, work]
    sound(world)


def test_of_equal_changes_the_commit_with_the_author_and_time_is_the_rewritten_one(
    client: Client,
) -> None:
    world = client.world
    base = add_secret(world)
    client.agent.turn("work", {"new.py": NEW})
    client.commits()
    start(client)
    shell(world, f"git rm -q new.py; {LATER}{BARE} commit -qm gone")
    shell(world, f"git checkout -q HEAD~1 -- new.py; {LATER}{BARE} commit -qm back")
    expected = {"gui": ["new.py"], "gone": [], "back": []}
    assert links(world, f"{base}..") == expected
    take_out(world, "secret.txt")
    world.gitcp("relink", "main")
    assert links(world, "main~3..") == expected
    sound(world)


@pytest.mark.parametrize("later", ["", GONE_AND_BACK])
def test_a_range_links_work_in_a_commit_that_another_session_is_linked_to(
    client: Client, later: str
) -> None:
    world, base = client.world, client.world.head
    client.works()
    client.commits()
    start(client)
    assert links(world, f"{base}..") == {"gui": ["lib.py", "new_5.py"]}
    world.agent("session-b", tools=True).turn("beside", {"new.py": LIB})
    shell(world, f"git add -A; {BARE} commit -q --amend --no-edit{later}")
    world.gitcp("relink", f"{base}..main")
    found = links(world, f"{base}..")
    assert found.pop("gui") == ["lib.py", "new.py", "new_5.py"]
    assert not any(found.values())
    sound(world)


def test_a_range_gives_no_commit_of_another_the_open_work_of_a_session(client: Client) -> None:
    world, base = client.world, client.world.head
    client.works()
    world.git("push", "-q", "origin", "main")
    client.others("sed -i 's/    return 5$/    return 5 * 100/' lib.py; git commit -qam theirs")
    shell(world, f"git fetch -q; {BARE} stash -qu; {BARE} merge -q --ff-only origin/main")
    assert links(world, f"{base}..") == {"theirs": []}
    world.gitcp("relink", f"{base}..main")
    assert links(world, f"{base}..") == {"theirs": []}


def test_sessions_that_one_event_has_no_time_for_are_settled_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relink_room, "SECONDS", -1)
    world.write("a.txt", "a\n")
    world.commit()
    base = world.head
    for at in range(3):
        text = f"def number_{at}(): return {at}\n"
        world.agent(f"session-{at}").turn("work", {f"{at}.py": text})
    for at in range(3):
        shell(world, f"git add {at}.py; {BARE} commit -qm {at}")
    monkeypatch.chdir(world.path)
    for settled in range(1, 4):
        with open_here() as ctx:
            relink_room.settle_links(ctx)
        linked = [one for one in logged(world, f"{base}..") if noted(world, one.oid)]
        assert len(linked) == settled


@pytest.mark.parametrize("event", EVENTS)
def test_work_of_a_merged_branch_is_not_a_persons_change_of_its_file_made_meanwhile(
    client: Client, event: type
) -> None:
    world, base = client.world, client.world.head
    client.agent.turn("work", {"lib.py": LIB.replace("return 3\n", "return 3 + 3\n")})
    shell(world, "git switch -qc topic")
    client.commits("work")
    world.git("push", "-q", "origin", "topic", warns=".*")
    shell(world, f"{BARE} switch -q main")
    world.write("lib.py", LIB.replace("return 7\n", "return 7 + 7\n"))
    world.agent("session-b", tools=True).turn("beside", {"beside.py": NEW})
    client.commits("meanwhile")
    client.others("git merge -q --no-ff -m merge origin/topic")
    shell(world, f"{BARE} pull -q --rebase")
    event(client)
    expected = {"work": ["lib.py"], "meanwhile": ["beside.py"], "merge": []}
    assert links(world, f"{base}..main") == expected
    sound(world)


def test_a_filtered_branch_that_has_a_commit_twice_keeps_the_link_of_the_first(
    client: Client,
) -> None:
    world = client.world
    base = works_after_secret(client)
    start(client)
    again = f"{BARE} cherry-pick -n HEAD~1; {BARE} commit -q -C HEAD~1; "
    again += f"{BARE} commit -q --amend -m again"
    shell(world, f"{BARE} revert -n HEAD; {BARE} commit -qm back; {again}")
    work = ["lib.py", "new_5.py"]
    assert links(world, f"{base}..") == {"gui": work, "back": [], "again": []}
    take_out(world, "secret.txt")
    world.gitcp("relink", "main")
    assert links(world, "main~3..") == {"gui": work, "back": [], "again": []}
    sound(world)
