"""A person and sessions at work on files of unique lines, and whose each line is.

Every line there ever is is unique, white space apart, so the model needs no history and never
reads what gitcp recorded: it knows a line's author by its text.
"""

from __future__ import annotations

import difflib
import os
import random
import re
import subprocess
import sys
from pathlib import Path

from tests.support.harness import Agent, World

FILES = ("a.txt", "b.txt", "dir/c.txt")
PERSON, UNKNOWN = "person", "unknown"
_BLOCK = re.compile(
    r"<<<<<<< [^\n]*\n(.*?)(?:\|\|\|\|\|\|\| .*?)?=======\n(.*?)>>>>>>> [^\n]*\n", re.S
)
# Rewrites a rebase's list: each pick gets another verb, two neighbours may change places.
_EDITOR = """import random, sys
chance = random.Random(sys.argv[1])
rows = [r for r in open(sys.argv[2]).read().splitlines() if r and not r.startswith("#")]
verbs = [chance.choice(("pick", "pick", "reword", "edit", "squash", "fixup", "drop")) for _ in rows]
verbs[0] = "pick" if verbs[0] in ("squash", "fixup", "drop") else verbs[0]
rows = [f"{verb} {row.partition(' ')[2]}" for verb, row in zip(verbs, rows)]
if chance.random() < 0.4 and len(rows) > 2:
    rows[1], rows[2] = rows[2], rows[1]
if chance.random() < 0.4:
    rows.insert(1, "exec true")
open(sys.argv[2], "w").write("\\n".join(rows) + "\\n")
"""


class Lines:
    """The world, and whose each line is: by its text without white space at its ends.

    also: the names a line may have besides, where the rules say so: what came through a
    conflict is the resolver's, what a revert brought back is the reverting commit's.
    """

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance, self.seed = world, random.Random(seed), seed
        self.agents = [world.agent(f"session-{n}", tools=True) for n in range(2)]
        self.owner: dict[str, str] = {}
        self.also: dict[str, set[str]] = {}
        self.count = self.turns = 0
        self.editor = world.home / "editor.py"
        self.editor.write_text(_EDITOR)

    # what is typed

    def typed(self, who: str) -> str:
        self.count += 1
        line = f"line number {self.count:05d} of {who}"
        self.owner[line] = who
        return line

    def edited(self, name: str, who: str) -> str:
        """The file with lines put in, changed and taken out, all that is new who's."""
        path = self.world.path / name
        if not path.exists():
            self.taken(name)
        lines = path.read_text().splitlines() if path.exists() else []
        for _ in range(self.chance.randint(1, 3)):
            at = self.chance.randint(0, len(lines))
            lines[at : at + self.chance.choice((0, 0, 1))] = [self.typed(who)]
        return "\n".join(lines) + "\n"

    def list_files(self) -> list[str]:
        """The files, those that were renamed among them."""
        return [n for n in self.run("ls-files").splitlines() if n.endswith(".txt")] or [*FILES]

    def run(self, *args: str, **env: str) -> str:
        """The person's git; what it cannot do, it does not do."""
        both = {**os.environ, **self.world.env, "GIT_EDITOR": "true", **env}
        done = subprocess.run(
            ["git", *args], cwd=self.world.path, env=both, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr, done
        return done.stdout

    # the steps

    def turn(self) -> None:
        agent: Agent = self.chance.choice(self.agents)
        self.turns += 1
        agent.prompt(f"prompt {self.turns}")
        for name in self.chance.sample(FILES, self.chance.randint(1, 2)):
            agent.write(name, self.edited(name, agent.sid))
        agent.stop()

    def person(self) -> None:
        name = self.chance.choice(FILES)
        self.world.write(name, self.edited(name, PERSON))

    def commit(self) -> None:
        names = self.chance.choice((["-A"], [self.chance.choice(FILES)]))
        if names == ["-A"] or (self.world.path / names[0]).exists():
            self.run("add", *names)
            self.run("commit", "-q", "-m", f"commit {self.count}")

    def part(self) -> None:
        """Some of a file's changes, as `git add -p` stages them."""
        name = self.chance.choice(self.list_files())
        path = self.world.path / name
        old = self.run("show", f"HEAD:{name}").splitlines(keepends=True)
        new = path.read_text().splitlines(keepends=True) if path.exists() else []
        staged: list[str] = []
        for kind, i, k, j, m in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            staged += new[j:m] if kind != "equal" and self.chance.random() < 0.5 else old[i:k]
        if staged and staged != old:
            scratch = self.world.home / "part"
            scratch.write_text("".join(staged))
            oid = self.run("hash-object", "-w", str(scratch)).strip()
            self.run("update-index", "--add", "--cacheinfo", f"100644,{oid},{name}")
            self.run("commit", "-q", "-m", f"part {self.count}")

    def amend(self) -> None:
        self.run("add", "-A")
        self.run("commit", "-q", "--amend", "--no-edit")

    def again(self) -> None:
        """Undo the last commit and make it again."""
        merged = len(self.run("log", "-1", "--format=%P").split()) > 1
        if self.depth() > 3 and not merged:
            self.run("reset", "-q", "--soft", "HEAD~1")
            self.run("commit", "-q", "-m", f"again {self.count}")

    def stranger(self) -> None:
        """A commit without hooks that names a checkpoint: linked, and nothing is recorded."""
        self.clean()
        ids = re.findall("^Entire-Checkpoint: (.*)$", self.run("log", "--format=%B"), re.M)
        if ids:
            self.world.write("b.txt", self.edited("b.txt", UNKNOWN))
            self.run("add", "-A")
            message = f"strange\n\nEntire-Checkpoint: {self.chance.choice(ids)}"
            self.run("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", message)

    def rename(self) -> None:
        """A file under another name, and edited, in one commit."""
        name = self.chance.choice(self.list_files())
        if (self.world.path / name).exists():
            self.clean()
            new = f"{name.partition('-')[0].removesuffix('.txt')}-{self.count}.txt"
            self.run("mv", name, new)
            lines = self.world.read(new).splitlines(keepends=True)
            if len(lines) > 5:  # git follows where half of a file stays
                lines.insert(self.chance.randint(0, len(lines)), self.typed(PERSON) + "\n")
            self.world.write(new, "".join(lines))
            self.run("add", "-A")
            self.run("commit", "-q", "-m", f"rename {self.count}")

    def reformat(self) -> None:
        """Every line of a file indented otherwise, by a formatter a session or the person ran."""
        name = self.chance.choice(FILES)
        path = self.world.path / name
        if path.exists():
            rows = [f"{'  ' * (n % 3)}{line.strip()}\n" for n, line in enumerate(path.open())]
            if self.chance.random() < 0.5:
                self.world.write(name, "".join(rows))
            else:
                agent = self.chance.choice(self.agents)
                agent.turn("format it", {name: "".join(rows)})

    def stash(self) -> None:
        """Work put away, taken up again on another base."""
        self.run("stash", "-u")
        self.world.write("other.txt", self.edited("other.txt", PERSON))
        self.run("add", "other.txt")
        self.run("commit", "-q", "-m", f"meanwhile {self.count}")
        self.run("stash", "pop")
        self.settle("checkout", "--", ".")

    def revert(self) -> None:
        """A revert; where it stops at a conflict, what it did to other files stays for the next
        commit to take."""
        self.clean()
        before, typed = self.run("rev-parse", "HEAD").strip(), {*self.owner}
        self.run("revert", "--no-edit", f"HEAD~{self.chance.randint(0, 2)}")
        self.settle("revert", "--abort")
        for row in self.run("diff", "-U0", before).splitlines():
            if row.startswith("+") and row[1:].strip() in typed:
                self.may(row[1:], PERSON, UNKNOWN)  # undone and made again it is no revert

    def pick(self) -> None:
        self.branched()
        oids = self.run("rev-list", "--reverse", "HEAD..side").split()
        self.run("cherry-pick", *oids)
        self.settled("cherry-pick")
        self.elsewhere()

    def merge(self) -> None:
        self.branched()
        self.run("merge", "-q", "--no-edit", "side")
        self.settled("merge")

    def squash(self) -> None:
        self.branched()
        self.run("merge", "-q", "--squash", "side")
        if self.resolve():
            self.run("add", "-A")
        self.run("commit", "-q", "--no-edit")
        self.elsewhere()

    def rebase(self) -> None:
        self.clean()
        back = min(self.chance.randint(2, 4), self.depth() - 2)
        if back > 1:
            edit = f"{sys.executable} {self.editor} {self.chance.random()}"
            self.run("rebase", "-q", "-i", f"HEAD~{back}", GIT_SEQUENCE_EDITOR=edit)
            self.settled("rebase")
            self.elsewhere()

    # what they have in common

    def depth(self) -> int:
        return int(self.run("rev-list", "--first-parent", "--count", "HEAD"))

    def clean(self) -> None:
        self.run("add", "-A")
        self.run("commit", "-q", "-m", f"clean {self.count}")

    def branched(self) -> None:
        """A branch `side` from some commits back, with commits of a session and the person."""
        self.clean()
        self.run("checkout", "-q", "-B", "side", f"HEAD~{min(2, self.depth() - 2)}")
        for step in (self.turn, self.person)[: self.chance.randint(1, 2)]:
            step()
            self.clean()
        self.run("checkout", "-q", "main")

    def settled(self, command: str) -> None:
        """Go on with what stopped: a conflict, or a commit to edit; the third time give up."""
        for _ in range(6):
            state = self.world.path / ".git"
            stopped = any((state / name).exists() for name in _STATES[command])
            if not stopped:
                return
            if not self.resolve() and command == "rebase" and self.chance.random() < 0.5:
                self.person()
            self.run("add", "-A")
            if command == "rebase" and not self.run("diff", "--cached", "--name-only"):
                self.run("rebase", "--skip")
            else:
                self.run(command, "--continue")
        self.settle(command, "--abort")

    def settle(self, *give_up: str) -> None:
        if self.run("ls-files", "-u") or any(
            (self.world.path / ".git" / name).exists() for name in sum(_STATES.values(), ())
        ):
            self.resolve()
            self.run("reset", "-q")
            self.run(*give_up)

    def resolve(self) -> bool:
        """Whether there were conflicts; each is resolved to one side, both, or rewritten."""
        names = set(self.run("diff", "--name-only", "--diff-filter=U").splitlines())
        for name in names:
            path: Path = self.world.path / name
            if not path.exists():
                continue
            text = path.read_text()
            # One side of a block each; without blocks one side has deleted the file.
            sides = [ours + theirs for ours, theirs in _BLOCK.findall(text)] or [text]
            for line in "".join(sides).splitlines():
                self.may(line, PERSON, UNKNOWN)
            way = self.chance.choice(("ours", "theirs", "both", "hand", "session"))
            agent = self.chance.choice(self.agents)
            typed = self.typed(agent.sid if way == "session" else PERSON) + "\n"
            kept = {"ours": r"\1", "theirs": r"\2", "both": r"\1\2"}.get(way, typed)
            text = _BLOCK.sub(kept, text)
            if way == "session":
                agent.turn("resolve it", {name: text})
            else:
                path.write_text(text)
        return bool(names)

    def taken(self, name: str) -> None:
        """A file is made again under a name that was renamed: git sees no rename where an amend
        brings both into one commit, and the lines are that commit's."""
        for path in (self.world.path / name).parent.glob(f"{Path(name).stem}-*.txt"):
            for line in path.open():
                self.may(line, PERSON, UNKNOWN)

    def elsewhere(self) -> None:
        """What was replayed onto another name of its file is recorded of the first one alone."""
        for name in set(self.list_files()).difference(FILES):
            if (self.world.path / name).exists():
                for line in self.world.read(name).splitlines():
                    self.may(line, UNKNOWN)

    def may(self, line: str, *authors: str) -> None:
        self.also.setdefault(line.strip(), set()).update(authors)


_STATES = {
    "rebase": ("rebase-merge", "rebase-apply"),
    "cherry-pick": ("CHERRY_PICK_HEAD", "sequencer"),
    "merge": ("MERGE_HEAD",),
    "revert": ("REVERT_HEAD",),
}
