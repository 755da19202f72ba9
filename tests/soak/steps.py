"""What a person does at a desk in a day, with sessions and without."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Callable
from pathlib import Path

from tests.soak.desk import Client, Desk
from tests.soak.ledger import LOG, SESSION, Ledger, author, commits

SHARED = ("app.py", "lib/core.py", "docs/notes.md")
_BLOCK = re.compile(
    r"<<<<<<< [^\n]*\n(.*?)(?:\|\|\|\|\|\|\| .*?)?=======\n(.*?)>>>>>>> [^\n]*\n", re.S
)
_BUSY = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


class Person:
    """A person at a desk: what is typed goes to the ledger."""

    def __init__(self, desk: Desk, ledger: Ledger, chance: random.Random) -> None:
        self.desk, self.ledger, self.chance = desk, ledger, chance
        self.folder = desk.name
        self.log: list[str] = []
        self.topics: list[str] = []
        self.worktrees = 0

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the person and the person's sessions work at."""
        return (*SHARED, f"{self.folder}/one.py", f"{self.folder}/two.py")

    # what is typed

    def edited(self, at: Path, name: str, who: str, number: str = "00000") -> str:
        """A file with rows put in and now and then one taken out."""
        path = at / name
        rows = path.read_text().splitlines() if path.exists() else []
        for _ in range(self.chance.randint(1, 3)):
            place = self.chance.randint(0, len(rows))
            gone = self.chance.choice((0, 0, 0, 1))
            rows[place : place + gone] = [self.ledger.row(who, number)]
        return "\n".join(rows) + "\n"

    def edit(self) -> None:
        name = self.chance.choice(self.files)
        self.save(name, self.edited(self.desk.path, name, self.desk.name))

    def reformat(self) -> None:
        """Some lines of a file indented otherwise: their words stay."""
        name = self.chance.choice(SHARED)
        rows = (self.desk.path / name).read_text().splitlines()
        at = self.chance.randint(0, max(0, len(rows) - 8))
        rows[at : at + 8] = [f"    {row.strip()}" for row in rows[at : at + 8]]
        self.save(name, "\n".join(rows) + "\n")

    def save(self, name: str, text: str) -> None:
        path = self.desk.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    # sessions

    def session(self) -> Client:
        """A session at work here: one that goes on, or a new one."""
        here = [c for c in self.desk.sessions if c.cwd == self.desk.path]
        if here and self.chance.random() < 0.7:
            return self.chance.choice(here)
        return self.desk.start(f"{SESSION}{self.desk.name}-{self.ledger.requests:05d}")

    def turn(self, client: Client | None = None, ends: bool = True, only: str = "") -> Client:
        client = client or self.session()
        number = self.ledger.prompt()
        client.prompt(f"request {number} wants a change")
        names = self.chance.sample(self.files, self.chance.choice((1, 1, 2)))
        for name in [only] if only else names:
            text = self.edited(client.cwd, name, client.sid, number)
            if self.chance.random() < 0.2:
                client.shell(f"mkdir -p '{Path(name).parent}'; printf '%s' '{text}' >'{name}'")
            else:
                client.write(name, text)
        if ends:
            client.stop()
        return client

    def killed(self) -> None:
        """A session that is killed in the middle of a turn."""
        self.desk.close(self.turn(ends=False))

    def agent_commits(self) -> None:
        """A session that commits what it wrote within its turn."""
        client = self.session()
        if self.clean():
            number, name = self.ledger.prompt(), self.chance.choice(self.files)
            client.prompt(f"request {number} wants a change and a commit")
            client.write(name, self.edited(client.cwd, name, client.sid, number))
            message = f"{self.ledger.token()} agent: {name}"
            client.shell(f"git add -A && git commit -q -m '{message}'")
            self.record_commit()
            client.stop()

    # commits

    def clean(self) -> bool:
        return not self.desk.ask("status", "--porcelain")

    def changed(self) -> list[str]:
        return [row[3:] for row in self.desk.ask("status", "--porcelain").splitlines()]

    def record_commit(self, cwd: Path | None = None, amended: bool = False) -> None:
        """Note the commit at HEAD, just made, with its links."""
        [made] = commits(self.desk.ask(*LOG, "-1", cwd=cwd))
        self.ledger.record(made, amended)

    def commit(self, *args: str, what: str = "commit") -> None:
        """Commit the index; sessions with work left in its paths may be linked."""
        token = self.ledger.token()
        for name in self.desk.ask("diff", "--cached", "--name-only").splitlines():
            rows = self.desk.ask("diff", "-U0", "--", name).splitlines()
            left = {author(row[1:].strip()) for row in rows if row.startswith("+")}
            self.ledger.possible[token] |= left - {""}
        before = self.desk.ask("rev-parse", "HEAD")
        self.desk.git("commit", "-q", "-m", f"{token} {self.desk.name}: {what}", *args, ok=False)
        if self.desk.ask("rev-parse", "HEAD") != before:
            self.record_commit(amended="--amend" in args)

    def commit_all(self) -> None:
        if not self.clean():
            self.desk.git("add", "-A")
            self.commit()

    def commit_path(self) -> None:
        if names := self.changed():
            self.desk.git("reset", "-q")
            self.desk.git("add", "-A", "--", self.chance.choice(names), ok=False)
            self.commit(what="one path")

    def commit_part(self) -> None:
        """Some of a file's changes, as `git add -p` stages them."""
        names = [n for n in self.changed() if (self.desk.path / n).is_file()]
        if not names:
            return
        name = self.chance.choice(names)
        old = self.desk.ask("show", f"HEAD:{name}").splitlines()
        new = (self.desk.path / name).read_text().splitlines()
        staged: list[str] = []
        for kind, i, k, j, m in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            staged += new[j:m] if kind != "equal" and self.chance.random() < 0.5 else old[i:k]
        if staged and staged != old:
            scratch = self.desk.home / "part"
            scratch.write_text("\n".join(staged) + "\n")
            oid = self.desk.ask("hash-object", "-w", str(scratch))
            self.desk.git("reset", "-q")
            self.desk.git("update-index", "--add", "--cacheinfo", f"100644,{oid},{name}")
            self.commit(what="a part")

    def ahead(self) -> int:
        """The commits that no remote has; 0 for a history with merges, which is left alone."""
        if self.desk.ask("rev-list", "--merges", "@{upstream}..HEAD"):
            return 0
        return int(self.desk.ask("rev-list", "--count", "@{upstream}..HEAD") or 0)

    def amend(self) -> None:
        if self.ahead() and not self.clean():
            self.desk.git("add", "-A")
            self.commit("--amend", what="amended")

    def squash(self) -> None:
        """Some commits that nobody has yet become one."""
        count = self.ahead()
        if count < 2 or not self.clean():
            return
        back = f"HEAD~{self.chance.randint(2, min(4, count))}"
        if self.chance.random() < 0.5:
            self.desk.git("reset", "-q", "--soft", back)
            self.commit(what="squashed")
        else:
            edit = "sed -i -e '2,$s/^pick/squash/'"
            self.desk.git("rebase", "-q", "-i", back, ok=False, GIT_SEQUENCE_EDITOR=edit)
            self.settle("rebase")

    def redo(self) -> None:
        """A stack that is taken back and committed again, file by file."""
        count = self.ahead()
        if count and self.clean():
            self.desk.git("reset", "-q", "--mixed", f"HEAD~{min(3, count)}")
            self.commit_path()
            self.commit_all()

    def reorder(self) -> None:
        count = self.ahead()
        if count > 1 and self.clean():
            edit = "sed -i -e '1{h;d}' -e '2G'"
            self.desk.git("rebase", "-q", "-i", "HEAD~2", ok=False, GIT_SEQUENCE_EDITOR=edit)
            self.settle("rebase")

    def revert(self) -> None:
        """A recent commit taken back, anybody's, a revert among them."""
        if self.clean():
            back = self.chance.randint(0, 4)
            self.desk.git("revert", "--no-edit", f"HEAD~{back}", ok=False)
            self.settle("revert", "--abort")

    def stash(self) -> None:
        """Work put away; most of it is forgotten."""
        if not self.clean():
            self.desk.git("stash", "push", "-q", "-u")
            if self.chance.random() < 0.4:
                self.edit()
                self.commit_all()
                self.unstash()

    def unstash(self) -> None:
        if self.desk.ask("stash", "list") and self.clean():
            self.desk.git("stash", "pop", "-q", ok=False)
            if self.resolve():
                self.desk.git("reset", "-q")
                self.desk.git("stash", "drop", "-q")

    # branches and worktrees

    def hotfix(self) -> None:
        """A person's fix on a branch of its own; work at hand is put away for so long."""
        busy = not self.clean()
        if busy:
            self.desk.git("stash", "push", "-q", "-u")
        self.desk.git("switch", "-q", "-c", f"fix-{self.ledger.made}", "origin/main")
        self.edit()
        self.commit_all()
        self.back_with("merge")
        if busy:
            self.unstash()

    def topic(self) -> None:
        """A branch with a session's work and a person's, merged here or by a forge."""
        if not self.clean():
            return
        name = f"topic-{self.desk.name}-{self.ledger.made}"
        self.desk.git("switch", "-q", "-c", name)
        for step in (self.turn, self.commit_all, self.edit, self.commit_all):
            step()
        if self.chance.random() < 0.4:
            self.desk.git("push", "-q", "origin", "HEAD", ok=False)
            self.desk.git("switch", "-q", "main")
            self.topics.append(name)
        else:
            self.back_with(self.chance.choice(("merge", "squash", "pick")), name)

    def back_with(self, how: str, name: str = "") -> None:
        """Return to main and bring a branch there."""
        name = name or self.desk.ask("branch", "--show-current")
        self.desk.git("switch", "-q", "main", ok=False)
        if how == "merge":
            self.desk.git("merge", "-q", "--no-edit", name, ok=False)
            self.settle("merge")
        elif how == "squash":
            self.desk.git("merge", "-q", "--squash", name, ok=False)
            self.resolve()
            if not self.clean():
                self.desk.git("add", "-A")
                self.commit(what=f"squash {name}")
        else:
            oids = self.desk.ask("rev-list", "--reverse", "--no-merges", f"main..{name}").split()
            self.desk.git("cherry-pick", *oids, ok=False)
            self.settle("cherry-pick")
        self.desk.git("branch", "-q", "-D", name, ok=False)

    def worktree(self) -> None:
        """A session at work in a linked worktree, which is removed in the end."""
        self.worktrees += 1
        name = f"side-{self.desk.name}-{self.worktrees}"
        at = self.desk.home / name
        self.desk.git("worktree", "add", "-q", "-b", name, str(at))
        client = self.desk.start(f"{SESSION}{name}", cwd=at)
        self.turn(client)
        self.desk.git("add", "-A", cwd=at)
        message = f"{self.ledger.token()} {self.desk.name}: aside"
        self.desk.git("commit", "-q", "-m", message, cwd=at)
        self.record_commit(cwd=at)
        self.desk.close(client)
        self.desk.git("worktree", "remove", "--force", str(at))
        if self.clean():
            self.back_with("merge", name)

    # names that change, and content that comes back

    def move_folder(self) -> None:
        """A session's work, then the person gives its directory another name, and commits."""
        self.turn(only=f"{self.folder}/one.py")
        old, self.folder = self.folder, f"{self.desk.name}-{self.ledger.made}"
        (self.desk.path / old).rename(self.desk.path / self.folder)
        self.commit_all()

    def rename_back(self) -> None:
        """A file gets another name, and in the next commit its old one."""
        self.commit_all()
        name, other = f"{self.folder}/two.py", f"{self.folder}/other.py"
        if (self.desk.path / name).exists() and not (self.desk.path / other).exists():
            for old, new in ((name, other), (other, name)):
                self.desk.git("mv", old, new)
                self.commit(what=f"{old} is now {new}")

    def restore(self) -> None:
        """A file is deleted, and brought back from the commit before."""
        self.commit_all()
        name = f"{self.folder}/one.py"
        if (self.desk.path / name).exists():
            self.desk.git("rm", "-q", name)
            self.commit(what=f"{name} is not needed")
            self.desk.git("checkout", "-q", "HEAD~1", "--", name)
            self.commit(what=f"{name} is needed")

    def leave_unmerged(self) -> str:
        """A branch on which a session took a line out of a shared file; it stays as it is.  The
        line, for a colleague to take out too."""
        self.commit_all()
        name = self.chance.choice(SHARED)
        rows = (self.desk.path / name).read_text().splitlines()
        gone = [row for row in rows if row.startswith("row ")]
        if not gone or not self.clean():
            return ""
        row = self.chance.choice(gone)
        self.desk.git("switch", "-q", "-c", f"left-{self.desk.name}-{self.ledger.made}")
        client, number = self.session(), self.ledger.prompt()
        client.prompt(f"request {number} wants a change")
        text = "\n".join(line for line in rows if line != row)
        client.write(name, f"{text}\n{self.ledger.row(client.sid, number)}\n")
        client.stop()
        self.commit_all()
        self.desk.git("switch", "-q", "main")
        return f"{name}:{row}"

    def take_out(self, place: str) -> None:
        """A person takes out a line of a shared file, and commits."""
        name, _, row = place.partition(":")
        rows = (self.desk.path / name).read_text().splitlines()
        if row in rows:
            rows.remove(row)
            self.save(name, "\n".join(rows) + "\n")
            self.commit_all()

    def commit_and_rebase(self) -> None:
        """A session's work, committed and rebased onto what the others pushed, before any event."""
        self.turn()
        self.commit_all()
        self.desk.git("pull", "-q", "--rebase", ok=False)
        self.settle("rebase")

    def collect(self) -> None:
        self.desk.git("gc", "-q", *self.chance.choice([(), ("--prune=now",)]))

    # what stops in the middle

    def busy(self) -> bool:
        return any((self.desk.path / ".git" / name).exists() for name in _BUSY)

    def resolve(self) -> bool:
        """Whether there were conflicts; both sides of each are taken."""
        unmerged = set(self.desk.ask("diff", "--name-only", "--diff-filter=U").splitlines())
        for name in unmerged:
            path = self.desk.path / name
            if path.exists():
                path.write_text(_BLOCK.sub(r"\1\2", path.read_text()))
        return bool(unmerged)

    def settle(self, command: str, last: str = "--abort") -> None:
        """Go on with what stopped at conflicts; give it up where that leads nowhere."""
        for _ in range(12):
            if not self.busy():
                return
            self.resolve()
            self.desk.git("add", "-A")
            step = "--continue"
            if command == "rebase" and not self.desk.ask("diff", "--cached", "--name-only"):
                step = "--skip"
            self.desk.git(command, step, ok=False)
        self.desk.git(command, last, ok=False)

    def pull(self) -> None:
        """Take in what the others have pushed."""
        self.commit_all()
        how = "--rebase" if self.chance.random() < 0.7 else "--no-rebase"
        self.desk.git("pull", "-q", how, "--no-edit", ok=False)
        self.settle("rebase" if how == "--rebase" else "merge")

    def push(self) -> None:
        for _ in range(3):
            self.pull()
            self.desk.git("push", "-q", "origin", "main", ok=False)
            if self.desk.program and not self.desk.hooks:
                self.desk.gitcp("push")
            if self.desk.ask("rev-parse", "main") == self.desk.ask("rev-parse", "origin/main"):
                return

    def rarities(self) -> list[Callable[[], object]]:
        """What happens to everybody once in a while, whatever chance says."""
        return [
            self.move_folder,
            self.worktree,
            self.rename_back,
            self.commit_and_rebase,
            self.restore,
            self.topic,
            self.revert,
            self.stash,
        ]

    def steps(self) -> list[tuple[float, Callable[[], object]]]:
        """What a day has, with its weight."""
        return [
            (7, self.turn), (4, self.edit), (4, self.commit_all), (3, self.commit_path),
            (1, self.commit_part), (1, self.agent_commits), (1, self.amend), (0.7, self.squash),
            (0.7, self.redo), (0.5, self.reorder), (0.5, self.revert), (0.7, self.stash),
            (0.4, self.unstash), (0.5, self.hotfix), (0.7, self.topic), (0.4, self.worktree),
            (0.3, self.killed), (0.2, self.collect), (0.5, self.pull),
        ]  # fmt: skip
