"""Whatever is done to a repository, the snapshot is what `git add -A` gives in a fresh index."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.snapshot.scan import confirm_changes, read_paths, scan_worktree
from tests.support.sealed import SEALED
from tests.support.snapshots import Listing, git, listing, oracle, seed, sh, take

LONG = bool(os.environ.get("LONG"))
RUNS = int(os.environ.get("GITCP_FUZZ", "400" if LONG else "3"))  # repositories
STEPS = 40 if LONG else 25
# Few names, so that the same path is met again as a file, a link, a directory and a repository.
NAMES = st.sampled_from(
    ["a", "b", "a-", "d/a", "d/b", "d/e/c", "e/a", "x.o", "d/x.o", "n\nl", "\udcff"]
)
DATA = st.sampled_from(["", "1\n", "2\n", "3\n", "a\r\nb\r\n", "$Id: 1 $\n", "low\n"])
IGNORES = st.sampled_from(["", "*.o\n", "d/\n", "*.o\n!d/x.o\n", "e\n"])
RULES = st.sampled_from(
    ["", "* text=auto\n", "a filter=up\n", "* ident\n", "b text eol=crlf\n", "d/* -text\n"]
)
FLAGS = st.sampled_from(["assume-unchanged", "skip-worktree", "no-assume-unchanged"])


def clear(path: Path) -> None:
    """Take away what stands at path, and what stands in the way of it."""
    for above in [*reversed(path.parents), path]:
        if above.is_symlink() or above.is_file():
            above.unlink()
    if path.is_dir():
        shutil.rmtree(path)


def perhaps(*args: str) -> None:
    """Run git, which may refuse."""
    subprocess.run(["git", *map(os.fsencode, args)], capture_output=True)


class Worktree(RuleBasedStateMachine):
    """A person and their agent at work; after each step the snapshot is compared."""

    def __init__(self) -> None:
        super().__init__()
        self.before = dict(os.environ), Path.cwd()
        self.place = Path(tempfile.mkdtemp())
        os.environ.update({**SEALED, "HOME": str(self.place / "home")})
        (self.place / "r").mkdir()
        os.chdir(self.place / "r")

    def teardown(self) -> None:
        environment, here = self.before
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environment)
        shutil.rmtree(self.place)

    @initialize(sha256=st.booleans(), rules=RULES, crlf=st.booleans(), bit=st.booleans())
    def begin(self, sha256: bool, rules: str, crlf: bool, bit: bool) -> None:
        self.converts = bool(rules) or crlf
        # Fixed from here on: whether unchanged files are renormalised is free
        # (doc/git.md "The index of a snapshot").
        self.init = f"git init -q --template= --object-format={'sha256' if sha256 else 'sha1'}"
        sh(f"{self.init}; git config filter.up.clean 'tr a-z A-Z'; git config gc.auto 0")
        sh(f"git config core.autocrlf {'input' if crlf else 'false'}")
        sh(f"git config core.fileMode {str(bit).lower()}")
        Path(".gitattributes").write_text(rules)
        sh("git add .; git commit -q -m rules")

    @rule(name=NAMES, data=DATA)
    def write(self, name: str, data: str) -> None:
        path = Path(name)
        if path.is_file() and not path.is_symlink():
            path.write_bytes(data.encode())
            return
        clear(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode())

    @rule(name=NAMES)
    def write_as_if_long_ago(self, name: str) -> None:
        path = Path(name)
        if path.is_file() and not path.is_symlink() and path.stat().st_size:
            data = path.read_bytes()
            path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        elif not path.exists():
            self.write(name, "1\n")
        if path.is_file() and not path.is_symlink():
            os.utime(path, (10**9, 10**9))

    @rule(name=NAMES, to=st.sampled_from(["a", "d", "e/a", "nowhere", "/"]))
    def link(self, name: str, to: str) -> None:
        clear(Path(name))
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).symlink_to(to)

    @rule(name=st.one_of(NAMES, st.sampled_from(["d", "e"])))
    def remove(self, name: str) -> None:
        path = Path(name)
        if all(not above.is_symlink() for above in path.parents):
            clear(path) if path.is_dir() else path.unlink(missing_ok=True)

    @rule(name=NAMES)
    def turn_executable_bit(self, name: str) -> None:
        path = Path(name)
        if path.is_file() and not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) ^ stat.S_IXUSR)

    @rule(name=st.sampled_from(["d", "a", "sub", "d/e"]))
    def make_repository(self, name: str) -> None:
        path = Path(name)
        clear(path)
        path.mkdir(parents=True)
        sh(f"{self.init}; git commit -q --allow-empty -m nested", path)

    @rule(name=st.sampled_from(["d", "a", "sub", "d/e"]))
    def commit_in_repository(self, name: str) -> None:
        if Path(name, ".git").is_dir():
            sh("git commit -q --allow-empty -m more; echo new >file", Path(name))

    @rule(text=IGNORES)
    def ignore(self, text: str) -> None:
        self.write(".gitignore", text)

    @rule(name=NAMES)
    def stage(self, name: str) -> None:
        perhaps("--literal-pathspecs", "add", "--", name)

    @rule()
    def commit(self) -> None:
        sh("git add -A; git commit -q --allow-empty -m all")

    @rule()
    def commit_what_is_staged(self) -> None:
        sh("git commit -q --allow-empty -m staged")

    @rule(how=st.sampled_from(["--soft", "--mixed", "--hard"]))
    def reset(self, how: str) -> None:
        sh(f"git reset -q {how} HEAD~ || :")

    @rule()
    def switch(self) -> None:
        sh("git switch -q other || git switch -qc other || git switch -q - || :")

    @rule()
    def begin_without_history(self) -> None:
        sh("git checkout -q --orphan new$(git rev-list --all | wc -l) || :")

    @rule()
    def stash(self) -> None:
        sh("git stash -q -u || :")

    @rule()
    def pop(self) -> None:
        sh("git stash pop -q || :")

    @rule()
    def merge(self) -> None:
        sh("git merge -q other || :")

    @rule(flag=FLAGS, name=NAMES)
    def flag(self, flag: str, name: str) -> None:
        perhaps("update-index", f"--{flag}", "--", name)

    @rule()
    def refresh(self) -> None:
        sh("git status")

    @rule()
    def seed(self) -> None:
        seed()

    @invariant()
    def the_snapshot_is_true(self) -> None:
        """One snapshot, looked at in every way: it is most of the time that a step takes."""
        index = Path(".git/index")
        before = (index.read_bytes(), index.stat().st_mtime_ns) if index.exists() else None
        tree, scan = take()
        assert before == (
            (index.read_bytes(), index.stat().st_mtime_ns) if index.exists() else None
        )
        assert not scan.omitted
        ours, head = listing(tree), listing("HEAD") if self.born() else {}
        self.the_tree_is_that_of_git_add(ours)
        self.known_paths_are_as_in_the_tree(ours, head)
        self.what_is_listed_as_changed_differs_from_head(ours, head)

    def the_tree_is_that_of_git_add(self, ours: Listing) -> None:
        want = oracle(self.place / "scratch")
        # Ignored files that the person staged are kept on purpose
        # (doc/git.md "The index of a snapshot").
        forced = set(ours) - set(want)
        staged = {os.fsdecode(p) for p in git("ls-files", "-z").split(b"\0")}
        assert forced <= staged
        assert {p: e for p, e in ours.items() if p not in forced} == want

    def known_paths_are_as_in_the_tree(self, ours: Listing, head: Listing) -> None:
        repo = Repo.find()
        with Objects(repo):
            found = read_paths(repo, ours, write=False)
            assert found == ours
            gone = set(head) - set(ours)
            assert not any(read_paths(repo, gone, write=False).values())

    def what_is_listed_as_changed_differs_from_head(self, ours: Listing, head: Listing) -> None:
        repo = Repo.find()
        with Objects(repo):
            scan = scan_worktree(repo)
            confirm_changes(repo.objects, scan)
        differ = {path for path in {*head, *ours} if head.get(path) != ours.get(path)}
        # git compares sizes before line ends: it, too, lists too much then.
        assert differ <= set(scan.changes)
        assert self.converts or differ == set(scan.changes)

    def born(self) -> bool:
        return bool(sh("git rev-parse -q --verify HEAD || :"))


TestWorktree = Worktree.TestCase
TestWorktree.settings = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize=not LONG,  # the suite must not fail by chance; the long run looks for more
    suppress_health_check=list(HealthCheck),
)
