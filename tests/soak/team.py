"""Eight weeks of a team: four clones, and a forge between them.

Two people work with gitcp as it comes, the git of the third runs no hooks, and the fourth has
disabled it.  The forge merges branches by a merge, a squash or a rebase.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

from tests.soak.desk import DAY, Desk, run
from tests.soak.ledger import Ledger
from tests.soak.steps import SHARED, Person
from tests.support.paths import TOP

FIRST_MONDAY = 1_767_600_000  # 2026-01-05
PEOPLE = ("ann", "bob", "eve")
WITHOUT_HOOKS, COLLEAGUE, FORGE = "eve", "dan", "forge"


def earlier() -> str:
    """The revision that is installed first, '' for this one."""
    name = os.environ.get("SOAK_FROM", "")
    argv = ["git", "rev-parse", "-q", "--verify", f"{name}^{{commit}}"]
    return subprocess.run(argv, cwd=TOP, capture_output=True, text=True).stdout.strip()


class Team:
    """The repository that all push to, and the desks."""

    def __init__(self, at: Path, seed: int, days: int, actions: int) -> None:
        self.at, self.days, self.actions = at, days, actions
        at.mkdir()
        self.chance, self.ledger = random.Random(seed), Ledger()
        self.now, self.log = FIRST_MONDAY, at / "log"
        self.before, self.after = at / "program", at / "program-2"
        self.origin = at / "origin.git"
        self.homes = 0
        self.people: list[Person] = []
        self._program(self.before, earlier())
        self._found()
        for name in PEOPLE:
            self.people.append(Person(self.desk(name), self.ledger, self.chance))
        self.colleague = Person(self.desk(COLLEAGUE), self.ledger, self.chance)
        assert self.colleague.desk.gitcp("disable").status == 0
        self.forge = Person(self.desk(FORGE, program=False), self.ledger, self.chance)
        self.kinds, self.rare = 0, 0

    def clock(self) -> str:
        """The time as git takes it; it goes on with each question."""
        self.now += 1
        return f"{self.now} +0000"

    def _program(self, at: Path, revision: str = "") -> None:
        """An installation: a copy of this checkout, or of one of its revisions."""
        at.mkdir()
        if revision:
            argv = ["git", "archive", revision, "gitcp", "bin"]
            archive = subprocess.run(argv, cwd=TOP, capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x"], cwd=at, input=archive, check=True)
        else:
            for name in ("gitcp", "bin"):
                hidden = shutil.ignore_patterns("__pycache__")
                shutil.copytree(TOP / name, at / name, symlinks=True, ignore=hidden)

    def _found(self) -> None:
        """The repository that all push to, with its first commit."""
        self.homes += 1
        home = self.at / "home-0"
        home.mkdir()
        desk = Desk("zoe", self.at / "first", home, None, self.clock)
        desk.path.mkdir()
        desk.git("init", "-q", "-b", "main")
        person = Person(desk, self.ledger, self.chance)
        for name in (*SHARED, "docs/plan.md"):
            person.save(name, "".join(f"{self.ledger.row('zoe')}\n" for _ in range(30)))
        desk.git("add", "-A")
        desk.git("commit", "-q", "-m", "the first commit")
        desk.git("clone", "-q", "--bare", str(desk.path), str(self.origin))

    def desk(self, name: str, program: bool = True) -> Desk:
        """A new clone for a person, with gitcp enabled and what the others recorded fetched."""
        self.homes += 1
        home = self.at / f"home-{name}-{self.homes}"
        home.mkdir()
        place = home / "repo"
        desk = Desk(name, place, home, self.before if program else None, self.clock)
        desk.hooks = name != WITHOUT_HOOKS
        run(["git", "clone", "-q", str(self.origin), str(place)], self.at, desk.env)
        for key in ("reflogExpire", "reflogExpireUnreachable"):  # by the clock it is long ago
            desk.git("config", f"gc.{key}", "never")
        if program:
            desk.enable()
            desk.gitcp("fetch")
        return desk

    # the weeks

    def work(self) -> None:
        """All the days: an upgrade in the middle, a clone made again at two thirds, and before the
        last day a file is taken out of the history."""
        for day in range(self.days):
            if day == self.days // 2:
                self.upgrade()
            if day == self.days * 2 // 3:
                self.made_again(self.people[1])
            if day == self.days - 1:
                self.filter_history()
            self.day(day)
        for person in self.people:
            self.note(person, "last push")
            person.desk.settle()
            person.push()
            if not person.desk.hooks:
                person.desk.settle()  # no hook has seen what the push rebased
            # Links that were noted after the filter on commits from before it.
            person.desk.gitcp("doctor", "--fix")
            person.push()

    def day(self, number: int) -> None:
        self.now = FIRST_MONDAY + DAY * (number // 5 * 7 + number % 5) + 9 * 3600
        for person in [*self.people, self.colleague]:
            person.desk.measure_pace()
        for person in self.people:
            self.morning(person)
        for _ in range(self.actions):
            for person in self.people:
                self.act(person)
        for person in self.people:
            self.act_rarely(person)
        self.colleagues_day()
        for person in self.people:
            self.evening(person)

    def morning(self, person: Person) -> None:
        for client in person.desk.sessions:
            client.start(source="resume")
        self.note(person, "pull")
        person.pull()

    def act(self, person: Person) -> None:
        steps = person.steps()
        [(_, step)] = self.chance.choices(steps, [weight for weight, _ in steps])
        self.note(person, step.__name__)
        step()
        self.now += 600

    def act_rarely(self, person: Person) -> None:
        """One of the rare steps, each in its turn; the number of people is no divisor of theirs."""
        steps = person.rarities()
        step = steps[self.rare % len(steps)]
        self.rare += 1
        self.note(person, step.__name__)
        step()

    def evening(self, person: Person) -> None:
        """Push; some sessions end, most are left to die, some stay for days."""
        if self.chance.random() < 0.7:
            self.note(person, "push")
            person.push()
        for client in list(person.desk.sessions):
            fate = self.chance.random()
            if fate < 0.25:
                client.end()
            if fate < 0.7:
                person.desk.close(client)
        person.desk.age(DAY)

    def colleagues_day(self) -> None:
        """The colleague edits anybody's lines, and takes out one that a session took out on a
        branch that nobody merges; the forge merges branches."""
        dan = self.colleague
        self.note(dan, "day")
        dan.pull()
        person = self.chance.choice(self.people)
        person.push()
        if place := person.leave_unmerged():
            dan.pull()
            dan.take_out(place)
        for _ in range(self.chance.randint(1, 3)):
            dan.edit()
            dan.commit_all()
        if self.chance.random() < 0.2:
            dan.reformat()
            dan.commit_all()
        dan.push()
        for person in self.people:
            for name in person.topics:
                self.merge_as_forge(name)
            person.topics.clear()

    def merge_as_forge(self, name: str) -> None:
        """A branch comes to main by a merge, a squash or a rebase, in turns; the messages of what
        is squashed may come along or not."""
        forge = self.forge.desk
        forge.git("fetch", "-q", "--prune")
        forge.git("reset", "-q", "--hard", "origin/main")
        if not forge.ask("rev-parse", "--verify", "-q", f"origin/{name}"):
            return
        kind = ("squash", "rebase", "merge")[self.kinds % 3]
        self.kinds += 1
        self.note(self.forge, f"{kind} {name}")
        message = f"{self.ledger.token()} forge: {name} (#{self.kinds})"
        if kind == "merge":
            forge.git("merge", "-q", "--no-ff", "-m", message, f"origin/{name}", ok=False)
            self.forge.settle("merge")
        elif kind == "rebase":
            oids = forge.ask("rev-list", "--reverse", "--no-merges", f"main..origin/{name}").split()
            forge.git("cherry-pick", *oids, ok=False)
            self.forge.settle("cherry-pick")
        else:
            bodies = forge.ask("log", "--reverse", "--format=* %B", f"main..origin/{name}")
            forge.git("merge", "-q", "--squash", f"origin/{name}", ok=False)
            self.forge.resolve()
            forge.git("add", "-A")
            body = ["-m", bodies] if self.chance.random() < 0.5 else []
            forge.git("commit", "-q", "-m", message, *body, ok=False)
        forge.git("push", "-q", "origin", "main")
        forge.git("push", "-q", "origin", "--delete", name, ok=False)

    def filter_history(self) -> None:
        """A file is taken out of every commit; all follow, and find their links again."""
        for person in [*self.people, self.colleague]:
            self.note(person, "before the filter")
            person.push()
        first = self.people[0]
        self.note(first, "filter")
        first.pull()
        script = "git rm -q --cached --ignore-unmatch docs/plan.md"
        first.desk.ask("filter-branch", "-f", "--index-filter", script, "--", "main")
        first.desk.git("push", "-q", "--force", "origin", "main", ok=False)
        for person in [*self.people, self.colleague, self.forge]:
            person.desk.git("fetch", "-q")
            person.desk.git("reset", "-q", "--hard", "origin/main")
        for person in self.people:
            person.desk.gitcp("fetch")  # what the others' clones know
            assert person.desk.gitcp("relink", "main").status == 0
            person.push()

    def upgrade(self) -> None:
        """The program is replaced: for one in its place, for the others it moves."""
        self._program(self.after)
        for number, person in enumerate(self.people):
            self.note(person, "upgrade")
            if number:
                person.desk.program = self.after
                person.desk.enable()
        for name in ("gitcp", "bin"):
            shutil.rmtree(self.before / name)
            shutil.copytree(self.after / name, self.before / name, symlinks=True)

    def made_again(self, person: Person) -> None:
        """A person pushes, throws the clone away and makes another one."""
        self.note(person, "made again")
        person.push()
        for client in list(person.desk.sessions):
            person.desk.close(client)
        old, timings, said = person.desk, person.desk.timings, person.desk.said
        shutil.rmtree(old.path)
        program = old.program
        person.desk = self.desk(old.name, program=False)
        person.desk.program = program
        person.desk.enable()
        person.desk.gitcp("fetch")
        person.desk.timings[:0], person.desk.said[:0] = timings, said

    def note(self, person: Person, what: str) -> None:
        """Say what is done next, so that a run can be followed."""
        with self.log.open("a") as f:
            f.write(json.dumps([self.now, person.desk.name, what, self.ledger.made]) + "\n")

    def close(self) -> None:
        for person in self.people:
            for client in list(person.desk.sessions):
                person.desk.close(client)
