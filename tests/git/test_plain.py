"""With GITCP_PLAIN=1 git alone reads and writes its own formats, and the answers are the same."""

from __future__ import annotations

import os
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from gitcp import memory
from gitcp.git import end_lasting, objects, refs
from gitcp.git.gitdir import index_file, packs
from gitcp.git.objects import Objects, object_lists, pack_care
from gitcp.git.repo import Repo
from gitcp.record import snapshot
from gitcp.record.snapshot import own_index, scan
from tests.support import counting
from tests.support.snapshots import git, sh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.harness import World

PLAIN = {"GITCP_PLAIN": "1"}
GC = "git -c gc.reflogExpire=never gc -q"
SHAPES = {
    "loose": "",
    "packed": GC,
    "partly packed": f"{GC}; echo more >>README.md; git commit -qam more; git branch side/late",
    "borrowed": (
        "mv .git ../lender; git clone -q --shared ../lender ../borrower; mv ../borrower/.git .;"
        " echo own >>README.md; git commit -qam own"
    ),
    "replaced": "git replace HEAD HEAD~; git replace HEAD~2 HEAD~3",
    "with symbolic refs": (
        "git symbolic-ref refs/heads/gitcp refs/heads/main; git symbolic-ref refs/heads/no"
        " refs/heads/none; git symbolic-ref HEAD refs/heads/gitcp"
    ),
    "detached": "git checkout -q HEAD~2; git pack-refs --all; git branch -D side/1 -q",
    "unborn": "git symbolic-ref HEAD refs/heads/unborn",
    "with a stash": "echo dirty >>README.md; git stash -q; echo again >>README.md; git stash -q",
    "moved about": (
        "git reset -q --hard HEAD~; git merge -q side/1; git commit -q --amend -m other;"
        " git reset -q --hard HEAD~; git pull -q . side/2 --no-edit"
    ),
    "in a linked worktree": "git worktree add -q ../linked side/1",
}


def make_history(seed: int) -> None:
    """Commits with nested files, odd names and modes, merges, tags and branches."""
    rng = random.Random(seed)
    names = ["a", "b c", "d/e", "d/ü", 'd/"q"', "d.x", "d-y", "deep/er/f", "deep/er.g", "run\tme"]
    for n in range(8):
        for name in rng.sample(names, 3):
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "a") as f:
                f.write("".join(f"line {rng.random()}\n" for _ in range(rng.choice((1, 40, 900)))))
            os.chmod(name, rng.choice((0o644, 0o755)))
        if n == 2:
            os.symlink("nowhere/ü", "link")
        sh(f"git add -A; git commit -qm 'change {n}'")
        if n % 3 == 0:
            sh(f"git branch side/{n // 3}; git tag -am tagged v{n}; git tag light{n}")
    sh("git checkout -q side/1; echo x >x; git add x; git commit -qm x; git checkout -q main")
    sh("git merge -q side/1 -m merged; git update-ref refs/gitcp/a/b HEAD~1")
    sh("git update-ref refs/heads/entire/main-1 HEAD; git update-ref refs/entire/x/1 HEAD~2")


@pytest.fixture(params=["sha1", "sha256"])
def history(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    top = tmp_path / "history"
    top.mkdir()
    monkeypatch.chdir(top)
    sh(f"git init -q -b main --object-format={request.param}; echo one >README.md")
    make_history(len(request.param))
    return top


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    end_lasting()


def ask_both(question: Callable[[Repo], object], folder: str | None = None) -> None:
    """Both ways have the same answer."""
    memory.forget()
    answers = []
    for more in ({}, PLAIN):
        repo = Repo.find(folder, env={**os.environ, **more})
        assert repo.uses_git_alone == bool(more)
        with Objects(repo):
            answers.append(question(repo))
        end_lasting()
        memory.forget()
    assert answers[1] == answers[0]


FOLDERS = ("refs/heads/", "refs/gitcp/", "refs/none/", "refs/heads/side/", "refs/notes/")


@pytest.mark.parametrize("shape", SHAPES)
def test_git_alone_finds_the_same_refs(history: Path, shape: str) -> None:
    sh(SHAPES[shape])
    names = git("for-each-ref", "--format=%(refname)").decode().split()
    names += ["refs/heads/none", "refs/heads/side", "HEAD", "refs/heads/un/born"]

    def look(repo: Repo) -> object:
        head = refs.read_head(repo), refs.read_branch(repo), refs.read_base(repo)
        lists = [refs.list_refs(repo, prefix) for prefix in FOLDERS]
        lists += [refs.list_refs(repo, "refs/heads/s*", "refs/entire/"), refs.list_refs(repo)]
        return head, [refs.read_ref(repo, name) for name in names], lists

    ask_both(look, "../linked" if shape == "in a linked worktree" else None)


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if s != "unborn"]
)  # git does not tell them there
def test_git_alone_tells_the_same_moves(history: Path, shape: str) -> None:
    sh(SHAPES[shape])
    oids = git("rev-list", "--all", "--reflog").decode().split()

    def look(repo: Repo) -> object:
        (_, *first), *moves = refs.list_head_moves(repo)
        found = [(refs.find_committed_head(repo, a), refs.list_reset_from(repo, a)) for a in oids]
        leads = [refs.leads_to(repo, a, b) for a in oids[:8] for b in oids[:8]]
        return first, moves, found, leads, refs.list_stashes(repo)

    ask_both(look, "../linked" if shape == "in a linked worktree" else None)


@pytest.mark.parametrize("shape", SHAPES)
def test_git_alone_reads_the_same_objects(history: Path, shape: str) -> None:
    sh(SHAPES[shape])
    listed = git("cat-file", "--batch-check", "--batch-all-objects").decode().splitlines()
    oids = [line.split()[0] for line in listed]
    absent = [oid[::-1] for oid in oids[:3]]
    specs = [*oids, *absent, "HEAD", "HEAD^{tree}", "v0", "refs/heads/main:d/ü", "nothing"]

    def read(repo: Repo) -> object:
        one = [repo.objects.read(spec) for spec in specs]
        trees = [o[0] for o in one if o and o[1] == "tree"]
        return (
            one,
            [objects.read_tree(repo.objects, oid) for oid in trees],
            [[*object_lists.list_files(repo.objects, oid)] for oid in trees],
            [objects.read_commit(repo.objects, spec) for spec in specs],
            [repo.objects.read_size(oid) for oid in oids],
            repo.objects.list_absent(specs[: len(oids) + 3]),
            [*repo.objects.read_each(oids)],
        )

    ask_both(read)


CONTENTS = [b"", b"one\n", bytes(range(256)) * 40, os.urandom(3 << 20), b"\r\n\r\n"]
IDENT = "A <a@b> 1700000000 +0100"


def write(repo: Repo) -> list[str]:
    """Blobs, trees and a commit, of every size and kind of entry; their oids."""
    at = repo.objects
    oids = [at.write("blob", data) for data in CONTENTS] + at.write_blobs(CONTENTS[1:3])
    oids += [at.write_file(b"large"), at.write_file(b"README.md")]
    modes = {"b": "100644", "b.c": "100755", "ü\n": "100644", "l": "120000"}
    edits = {name: (mode, oids[n]) for n, (name, mode) in enumerate(modes.items())}
    tree, more = objects.find_tree(at, "HEAD"), {"b/c/d": None, "d/e": None}
    edits |= {"x/y/z": ("100644", oids[0])}
    oids.append(objects.edit_tree(at, tree, {**edits, **more}))
    text = f"tree {oids[-1]}\nauthor {IDENT}\ncommitter {IDENT}\n\nü\n"
    oids.append(at.write("commit", text.encode()))
    oids.append(objects.edit_tree(at, None, {"s": ("160000", "1" * len(oids[0]))}))
    return [*oids, objects.edit_tree(at, None, {})]


@pytest.mark.thorough
def test_git_alone_makes_the_same_objects(history: Path) -> None:
    (history / "large").write_bytes(CONTENTS[3])

    def make(repo: Repo) -> object:
        """In a store without what the other way wrote."""
        for name in packs.list_packs(repo):
            packs.remove_pack(os.path.join(packs.locate_folder(repo), name))
        packs.forget_file(repo)
        oids = write(repo)
        stored = [repo.objects.read(oid) for oid in oids]
        assert [repo.objects.hash_object(*obj[1:]) for obj in stored if obj] == oids
        repo.objects.flush()
        ours = repo.objects.packs
        assert all(map(ours.has, oids)) and None not in map(ours.find_stamp, oids)
        held = ours.list_held([*oids, "0" * len(oids[0])])
        return oids, held, sorted(oid for oid, _ in pack_care.list_objects(repo))

    ask_both(make)
    sh("git fsck --strict")
    assert not [name for name in os.listdir(".git/gitcp/tmp") if name.startswith("plain-")]


def test_what_git_alone_has_written_is_read_and_joined_without_it_and_the_other_way(
    history: Path,
) -> None:
    wrote = []
    for n in range(12):
        repo = Repo.find(env={**os.environ, **(PLAIN if n % 2 else {})})
        with Objects(repo):
            wrote += [repo.objects.write("blob", f"{n} {m}\n".encode() * 50) for m in range(3)]
        memory.forget()
    for more in (PLAIN, {}):
        repo = Repo.find(env={**os.environ, **more})
        before = packs.list_packs(repo)
        packs.join_packs(repo)
        assert len(packs.list_packs(repo)) < len(before), more
        ask_both(lambda repo: sorted(oid for oid, _ in pack_care.list_objects(repo)))
        assert {*wrote} <= {oid for oid, _ in pack_care.list_objects(repo)}
        ask_both(lambda repo: [repo.objects.read(oid) for oid in wrote])
        with Objects(repo):
            for n in range(3):
                repo.objects.write("blob", f"more {n} {more}".encode())
                repo.objects.flush()
        memory.forget()
    pack_care.unpin_tips(Repo.find(env={**os.environ, **PLAIN}), [])
    sh("git fsck --strict")


@pytest.mark.thorough
def test_git_alone_gives_up_an_object_as_gitcp_does(history: Path) -> None:
    kept = []
    for more in ({}, PLAIN):
        repo = Repo.find(env={**os.environ, **more})
        with Objects(repo):
            tree = objects.edit_tree(
                repo.objects, None, {"f": ("100644", repo.objects.write("blob", b"doomed"))}
            )
            tips = [objects.write_commit(repo, tree, [], f"tip {n}") for n in range(2)]
        refs.update_refs(repo, [("refs/gitcp/kept", tips[1], None)], "kept")
        pack_care.unpin_tips(repo, tips[:1])
        memory.forget()
        ours = {oid for oid, _ in pack_care.list_objects(repo)}
        kept.append([oid in ours for oid in (*tips, tree)])
        refs.update_refs(repo, [("refs/gitcp/kept", None, tips[1])], "")
        pack_care.destroy_unneeded(repo, [])
        end_lasting()
        memory.forget()
    assert kept[1] == kept[0] == [False, True, False]


@pytest.mark.thorough
def test_git_alone_sees_the_same_worktree(history: Path) -> None:
    own_index.seed_index(Repo.find(), force=True)
    sh("echo more >>README.md; rm a; echo new >'b c'; ln -sf elsewhere link; echo u >untracked")
    sh("printf 'a\\r\\nb\\r\\n' >crlf; echo staged >staged; git add staged; chmod 755 README.md")

    def look(repo: Repo) -> object:
        seen = scan.scan_worktree(repo)
        entries = scan.resolve_changes(repo.objects, seen, write=True)
        tracked = snapshot.Worktree(repo).drop_tracked(["README.md", "untracked", "d/ü", "staged"])
        tree = scan.write_tree(repo.objects, objects.find_tree(repo.objects, "HEAD"), entries)
        return seen.head, seen.branch, entries, seen.omitted, tree, "untracked" in tracked

    ask_both(look)
    sh("git config core.autocrlf input")
    ask_both(look)


def test_git_alone_fills_the_same_index(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("touch README.md; echo x >>a; git update-index --assume-unchanged 'b c'; git rm -q link")
    index = history / ".git/index"
    # Both fill it at one moment, in whose second README.md changed.
    moment = (history / "README.md").stat().st_mtime
    monkeypatch.setattr(own_index, "time", SimpleNamespace(time=lambda: moment))

    def fill(repo: Repo) -> object:
        target = tmp_path / "filled"
        young = own_index.fill_index(repo, str(index), str(target))
        names = index_file.read_names(repo, str(target))
        env = {"GIT_INDEX_FILE": str(target)}
        return young, names, repo.git.run("status", "--porcelain=v2", env=env)

    ask_both(fill)


@pytest.mark.thorough
def test_with_the_switch_hooks_open_no_file_of_gits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.env |= PLAIN
    trace = counting.count_hooks(world, monkeypatch)
    agent = world.agent("s", tools=True)
    for n in range(3):
        agent.turn(f"Do part {n}", {"a.txt": f"{n}\n", f"d/{n}.txt": "new\n"})
        world.commit(".")
        world.git("pack-refs", "--all")
    assert all(world.ids(f"HEAD~{n}") for n in range(3))
    rows = [line.split()[4:] for line in trace.read_text().splitlines() if " opens: " in line]
    inside = {os.path.relpath(path, world.path / ".git") for row in rows for path in row}
    own = ("..", "gitcp/", "hooks/", "entire-sessions", "objects/pack")
    # What is left of an operation, which no command of git tells, and what git's filters depend on.
    inside -= {*refs.AUTOSTASHES, "MERGE_MSG", "SQUASH_MSG", "ORIG_HEAD", "info/attributes"}
    assert not " ".join(sorted(path for path in inside if not path.startswith(own)))
