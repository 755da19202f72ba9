"""Random walks of a person, two sessions and git: no link is lost, none is wrong, none dangles.

Every line says whose it is, so what a commit adds tells which sessions it must be linked to.
After each step any other session starts, and then every commit of every branch must be right.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.harness import Agent, World
from tests.support.linking import KEY, stored

LONG = bool(os.environ.get("LONG"))
WALKS, STEPS = (25, 80) if LONG else (2, 14)
BARE = ("-c", "core.hooksPath=/dev/null")
_TODO = """#!/bin/sh
grep -v '^#' "$1" | grep . >"$1.old"
case $VERB in
swap) sed -n '1!G;h;$p' "$1.old" >"$1" ;;
*) sed "$AT s/^pick/$VERB/" "$1.old" >"$1" ;;
esac
"""


class Walk:
    """One repository, and who works in it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.aside = world.home / "aside"  # a linked worktree, with a session of its own
        world.git("worktree", "add", "-q", "-b", "aside", str(self.aside))
        self.agents = [world.agent("session-a"), world.agent("session-b")]
        self.other = world.agent("session-c", cwd=self.aside)
        self.lines = self.commits = 0
        self.base = world.head
        todo = world.home / "todo"
        todo.write_text(_TODO)
        todo.chmod(0o755)
        world.env |= {"GIT_SEQUENCE_EDITOR": str(todo), "GIT_EDITOR": "true"}
        self.log: list[str] = []

    def line(self, who: str) -> str:
        self.lines += 1
        return f"line number {self.lines} is written by {who}\n"

    def git(self, *args: str, ok: bool = True, cwd: Path | None = None) -> str:
        return self.world.git(*args, ok=ok, cwd=cwd, warns=".*")

    def clean(self) -> bool:
        return not self.git("status", "--porcelain")

    def depth(self) -> int:
        return int(self.git("rev-list", "--count", f"{self.base}..HEAD"))

    # what an agent does

    def turn(self, agent: Agent | None = None) -> None:
        agent = agent or self.random.choice(self.agents)
        name = f"{agent.sid}-{self.random.randrange(3)}.txt"
        path = agent.cwd / name
        before = path.read_text() if path.exists() else ""
        agent.turn(f"write {name}", {name: before + self.line(agent.sid) + self.line(agent.sid)})

    # what the person does

    def own(self) -> None:
        self.world.write("person.txt", self.line("the person"))

    def commit(self, *args: str, some: bool = False) -> None:
        names = [line[3:] for line in self.git("status", "--porcelain").splitlines()]
        if some and names:
            names = [self.random.choice(names)]
        if names:
            self.git("add", "-A", "--", *names, ok=False)  # one may be staged and gone already
            self.commits += 1
            self.git(*args, "commit", "-q", "-m", f"commit {self.commits}", ok=False)

    def commit_one(self) -> None:
        self.git("reset", "-q")
        self.commit(some=True)

    def commit_unhooked(self) -> None:
        self.commit(*BARE)

    def killed(self, act: Callable[[], None]) -> None:
        """Done with none of the hooks that come after a commit."""
        hooks = [self.world.path / ".git/hooks" / name for name in ("post-commit", "post-rewrite")]
        texts = [hook.read_text() for hook in hooks]
        for hook in hooks:
            hook.write_text("#!/bin/sh\nexit 0\n")
        act()
        for hook, text in zip(hooks, texts, strict=True):
            hook.write_text(text)

    def commit_killed(self) -> None:
        self.killed(self.commit)

    def amend_killed(self) -> None:
        self.killed(self.amend)

    def commit_aside(self) -> None:
        """A turn and a commit in the other worktree, seen by our hooks or not."""
        self.turn(self.other)
        self.git("add", "-A", cwd=self.aside)
        how = self.random.choice([(), BARE])
        self.git(*how, "commit", "-q", "-m", f"aside {self.lines}", cwd=self.aside)
        self.world.agent(f"onlooker-{self.lines}", cwd=self.aside).start()

    def pick_aside(self) -> None:
        if self.clean() and self.git("rev-list", "-1", f"{self.base}..aside"):
            self.git("cherry-pick", "aside", ok=False)
            self.git("cherry-pick", "--abort", ok=False)

    def amend(self) -> None:
        if self.depth():
            self.git("add", "-A")
            how = self.random.choice([("-m", f"amended {self.lines}"), ("--no-edit",)])
            self.git("commit", "-q", "--amend", "--allow-empty", *how)

    def reset(self) -> None:
        if self.depth():
            how = self.random.choice(["--soft", "--mixed"])
            self.git("reset", "-q", how, f"HEAD~{self.random.randint(1, min(2, self.depth()))}")

    def stash(self) -> None:
        if not self.clean():
            self.git("stash", "-q", "-u")

    def pop(self) -> None:
        if self.git("stash", "list") and self.clean():
            self.git("stash", "pop", "-q", ok=False)
            if self.git("ls-files", "-u"):  # a conflict: the person gives up, the stash stays
                self.git("reset", "-q", "--hard")
                self.git("clean", "-qfd")

    def pick(self) -> None:
        if self.depth() > 1 and self.clean():
            self.git("switch", "-q", "-C", "side", "HEAD~2")
            self.git("cherry-pick", "main~1", ok=False)
            self.git("cherry-pick", "--abort", ok=False)
            self.git("switch", "-q", "main")

    def revert(self) -> None:
        if self.depth() and self.clean() and "Revert" not in self.git("log", "-1", "--format=%B"):
            self.git("revert", "--no-edit", "HEAD", ok=False)
            self.git("revert", "--abort", ok=False)

    def rebase(self) -> None:
        if self.depth() > 1 and self.clean():
            verb = self.random.choice("reword squash fixup swap edit split drop".split())
            late = verb in ("squash", "fixup")  # the first one has nothing to go into
            at = self.random.choice(["$"] if late else ["1", "$"])
            self.world.env |= {"VERB": verb.replace("split", "edit"), "AT": at}
            self.git("rebase", "-q", "-i", "HEAD~2", ok=False)
            if (self.world.path / ".git" / "rebase-merge").exists():
                if verb == "split":
                    self.git("reset", "-q", "HEAD^")
                    self.commit(some=True)
                    self.commit()
                self.git("rebase", "--continue", ok=False)
            self.git("rebase", "--abort", ok=False)

    def step(self) -> None:
        weights: list[tuple[int, Callable[[], None]]] = [
            (6, self.turn), (2, self.own), (4, self.commit), (3, self.commit_one),
            (1, self.commit_unhooked), (1, self.commit_killed), (2, self.amend), (2, self.reset),
            (1, self.stash), (2, self.pop), (1, self.pick), (2, self.rebase), (1, self.revert),
            (1, self.amend_killed), (1, self.commit_aside), (1, self.pick_aside),
        ]  # fmt: skip
        [(_, what)] = self.random.choices(weights, [weight for weight, _ in weights])
        self.log.append(what.__name__)
        # Else each commit has the author and date of each other, as only a copy has.
        self.world.env["GIT_AUTHOR_DATE"] = f"@{1112354055 + len(self.log)} +0200"
        what()
        self.world.agent(f"observer-{len(self.log)}").start()

    # what must be true

    def check(self) -> None:
        kept = stored(self.world)
        form = f"--format=%x00%H%x01%(trailers:key={KEY},valueonly,separator=%x2c)%x01%N%x01"
        args = ("--notes=gitcp", "-p", "--first-parent", "--diff-merges=first-parent", "-M0")
        where = ("--exclude=entire/*", "--branches", f"^{self.base}")
        for item in self.git("log", *args, form, *where).split("\0")[1:]:
            oid, trailers, note, patch = item.split("\x01", 3)
            ids = [one for one in trailers.split(",") if one]
            ids += [line.split(": ")[1] for line in note.splitlines() if line.startswith(KEY)]
            self.right(oid, ids, patch, kept)

    def right(self, oid: str, ids: list[str], patch: str, stays: dict[str, set[str]]) -> None:
        where = f"{oid} after {self.log}"
        assert set(ids) <= stays.keys(), f"dangling {set(ids) - stays.keys()} in {where}"
        added = [line for line in patch.splitlines() if line.startswith("+line number")]
        holds = {line.rpartition(" ")[2] for line in added} - {"person"}
        linked = {sid for one in ids for sid in stays[one]}
        assert holds <= linked, f"lost {holds - linked} in {where}"
        gone = {line.rpartition(" ")[2] for line in patch.splitlines() if line.startswith("-line")}
        for one in ids:
            of = stays[one]
            assert of & (holds | gone), f"wrong {one} of {of} in {where}"
            wrong = of - holds - gone  # but in a part of a commit: it has the whole checkpoint
            assert not wrong or wrong <= self.ever(one), f"wrong {wrong} in {where}"

    def ever(self, checkpoint: str) -> set[str]:
        """Whose lines are in any commit with this id, be it gone by now."""
        args = ("--reflog", "--branches", "--notes=gitcp", "--format=", "-p", "--first-parent")
        patch = self.git("log", *args, f"--grep={KEY}: {checkpoint}")
        return {line.rpartition(" ")[2] for line in patch.splitlines() if line[1:5] == "line"}


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
@pytest.mark.parametrize("seed", range(WALKS))
def test_no_link_is_lost_or_wrong_on_a_random_walk(world: World, mode: str, seed: int) -> None:
    world.git("config", "gitcp.streams", mode)
    walk = Walk(world, seed)
    for _ in range(STEPS):
        walk.step()
        walk.check()


def test_the_oracle_notices_a_lost_link(world: World) -> None:
    walk = Walk(world, 0)
    walk.turn()
    walk.commit(*BARE)
    with pytest.raises(AssertionError, match="lost"):
        walk.check()
