"""What is read without git is what git reads, and all else is left to git."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp import memory
from gitcp.git import gitdir
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.snapshots import git, sh


def by_git(spec: str) -> tuple[str, str, bytes]:
    oid = git("rev-parse", spec).decode().strip()
    kind = git("cat-file", "-t", oid).decode().strip()
    return oid, kind, git("cat-file", kind, oid)


@pytest.mark.parametrize("packed", ["loose", "in a pack of ours", "in a pack of git's"])
def test_what_is_read_without_git_is_what_git_reads(repo: Path, packed: str) -> None:
    at = Repo.find()
    specs = ["HEAD", "refs/heads/main", "HEAD^{tree}", "refs/heads/main^{tree}"]
    specs += [git("rev-parse", f"HEAD{peel}").decode().strip() for peel in ("", "^{tree}")]
    specs.append(git("rev-parse", "HEAD:README.md").decode().strip())
    if packed != "in a pack of git's":  # of which few objects are read
        specs += ["HEAD:README.md", "HEAD:src/app.py", "HEAD^1:src", "HEAD^1", "HEAD^1^{tree}"]
    read = {spec: by_git(spec) for spec in specs}
    if packed == "in a pack of git's":
        sh("git gc -q")
    elif packed != "loose":
        with Objects(at):
            for _, kind, data in read.values():
                at.objects.write(kind, data)
        sh("git prune-packed")
        assert not (repo / ".git/objects" / read["HEAD"][0][:2] / read["HEAD"][0][2:]).exists()
    assert {spec: Objects(at).read_direct(spec) for spec in specs} == read


@pytest.mark.parametrize("base", ["by its offset", "by its name"])
def test_deltas_are_read_without_git(repo: Path, base: str) -> None:
    lines = [f"line {n} of a text that is long enough for deltas\n" for n in range(3000)]
    for n in range(6):
        lines[n * 400 : n * 400 + n] = [f"changed in {n}\n"]
        (repo / "text").write_text("".join(lines))
        sh(f"git add text; git commit -qm {n}")
    by_offset = "true" if base == "by its offset" else "false"
    sh(f"git -c repack.useDeltaBaseOffset={by_offset} repack -qadf --depth=50; git prune-packed")
    specs = [f"HEAD~{n}:text" for n in range(6)]
    [index] = (repo / ".git/objects/pack").glob("*.idx")
    deltas = git("verify-pack", "-v", str(index)).decode()
    assert "chain length = 3" in deltas
    for oid, *read in map(by_git, specs):
        assert Objects(Repo.find()).read_direct(oid) == (oid, *read)


def test_git_reads_many_objects_of_its_packs(repo: Path) -> None:
    for n in range(17):
        (repo / f"{n}").write_text(f"{n}\n")
    sh("git add .; git commit -qm many; git gc -q")
    oids = git("rev-parse", *(f"HEAD:{n}" for n in range(17))).decode().split()
    for oid in oids[:16]:
        assert Objects(Repo.find()).read_direct(oid)
    with pytest.raises(gitdir.Unsure):
        Objects(Repo.find()).read_direct(oids[16])


def test_a_ref_that_is_not_there_names_nothing(repo: Path) -> None:
    assert Objects(Repo.find()).read_direct("refs/heads/none") is None


HEAD = 'f=.git/objects/$(git rev-parse HEAD | sed "s,..,&/,"); chmod +w "$f"; '
LEFT_TO_GIT = {
    "in one of many packs": (
        "for n in 0 1 2 3 4 5 6 7 8; do echo $n >n; git add n; git commit -qm n; git repack -qd;"
        " done"
    ),
    "larger than is read at once": (
        "head -c 200000 /dev/urandom >big; git add big; git commit -qm big"
    ),
    "damaged": HEAD + 'echo x >"$f"',
    "cut short": HEAD + 'truncate -s 20 "$f"',
    "gone": HEAD + 'rm "$f"',
}


@pytest.mark.parametrize("case", LEFT_TO_GIT)
def test_what_is_not_plain_is_left_to_git(repo: Path, case: str) -> None:
    sh(LEFT_TO_GIT[case])
    spec = git("rev-parse", "HEAD:big").decode().strip() if case.startswith("larger") else "HEAD"
    with pytest.raises(gitdir.Unsure):
        Objects(Repo.find()).read_direct(spec)


@pytest.mark.parametrize(
    "spec",
    ["HEAD~", "main", "refs/heads/main~0", "main:README.md", "HEAD:./a", "4b825dc"],
)
def test_a_name_that_takes_more_than_a_look_is_left_to_git(repo: Path, spec: str) -> None:
    with pytest.raises(gitdir.Unsure):
        Objects(Repo.find()).read_direct(spec)


@pytest.mark.parametrize("spec", ["HEAD:nothing", "HEAD:README.md/more", "HEAD^2", "HEAD^1^1"])
def test_what_is_not_there_is_known_without_git(repo: Path, spec: str) -> None:
    assert Objects(Repo.find()).read_direct(spec) is None


def test_what_a_process_forgets_is_read_again(repo: Path) -> None:
    oid = git("rev-parse", "HEAD:README.md").decode().strip()
    assert Repo.find().objects.read(oid)
    (repo / ".git/objects" / oid[:2] / oid[2:]).unlink()
    assert Repo.find().objects.read(oid), "as long as the process lasts"
    memory.forget()
    assert Repo.find().objects.read(oid) is None
