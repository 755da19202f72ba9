"""Blobs are what `git add` would store: attributes, line ends, encodings and filters apply."""

# ruff: noqa: E501 (a case is a line of sh)
from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.snapshot import scan
from tests.support.harness import World
from tests.support.snapshots import assert_exact, both_ways, git, listing, oracle, seed, sh, take

CRLF = "printf 'a\\r\\nb\\r\\n'"
CASES = {
    "text=auto": ("echo '* text=auto' >.gitattributes", f"{CRLF} >n; {CRLF} >>README.md"),
    "text and eol": ("echo '*.t text eol=crlf' >.gitattributes", f"{CRLF} >n.t; {CRLF} >n"),
    "binary": ("echo '*.b -text' >.gitattributes", f"{CRLF} >n.b"),
    "core.autocrlf=true": ("git config core.autocrlf true", f"{CRLF} >n; {CRLF} >README.md"),
    "core.autocrlf=input": ("git config core.autocrlf input", f"{CRLF} >n; {CRLF} >README.md"),
    "CRLF committed, then core.autocrlf": (
        f"{CRLF} >old; git add old; git commit -qm old; git config core.autocrlf true",
        f"{CRLF} >>old; {CRLF} >new; {CRLF} >>README.md",
    ),
    "CRLF committed, then text=auto": (
        f"{CRLF} >old; git add old; git commit -qm old; echo '* text=auto' >.gitattributes",
        f"{CRLF} >>old; {CRLF} >'n\"ew'",
    ),
    "CRLF committed, then text": (
        f"{CRLF} >old; git add old; git commit -qm old; echo 'old text' >.gitattributes",
        f"{CRLF} >>old",
    ),
    "core.safecrlf": ("git config core.autocrlf true; git config core.safecrlf warn", "echo 1 >n"),
    "working-tree-encoding": (
        "echo '*.u working-tree-encoding=UTF-16LE' >.gitattributes",
        "printf 'a\\0b\\0' >n.u",
    ),
    "ident": ("echo '*.c ident' >.gitattributes", "echo '$Id: abc $' >n.c; echo '$Id: x $' >n"),
    "a clean filter": (
        "git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >.gitattributes",
        "echo low >n.up; echo low >n; mkdir d; echo low >'d/x y.up'",
    ),
    "a clean filter that uses the name": (
        "git config filter.nm.clean 'echo %f; cat'; echo '*.nm filter=nm' >.gitattributes",
        'echo low >n.nm; mkdir d; echo low >"d/x y.nm"',
    ),
    "a filter that fails and is not required": (
        "git config filter.no.clean false; echo '*.no filter=no' >.gitattributes",
        "echo low >n.no",
    ),
    "attributes in a directory": (
        "mkdir d; echo '* filter=up' >d/.gitattributes; git config filter.up.clean 'tr a-z A-Z'",
        "echo low >n; echo low >d/n; mkdir d/e; echo low >d/e/n",
    ),
    "an untracked attributes file": (
        "git config filter.up.clean 'tr a-z A-Z'",
        "mkdir d; echo '* filter=up' >d/.gitattributes; echo low >d/n; echo low >n",
    ),
    "a macro": (
        "printf '[attr]loud filter=up\\n*.l loud\\n' >.gitattributes;"
        "git config filter.up.clean 'tr a-z A-Z'",
        "echo low >n.l",
    ),
    ".git/info/attributes": (
        "mkdir -p .git/info; echo '*.up filter=up' >.git/info/attributes;"
        "git config filter.up.clean 'tr a-z A-Z'",
        "echo low >n.up",
    ),
    "core.attributesFile": (
        "echo '*.up filter=up' >../attrs; git config core.attributesFile ../attrs;"
        "git config filter.up.clean 'tr a-z A-Z'",
        "echo low >n.up",
    ),
    "core.attributesFile in the home directory, core.autocrlf=yes": (
        "echo '*.up filter=up' >\"$HOME/attrs\"; git config core.attributesFile '~/attrs';"
        "git config filter.up.clean 'tr a-z A-Z'; git config core.autocrlf yes",
        f"echo low >n.up; {CRLF} >n",
    ),
    "a global attributes file": (
        'mkdir -p "$HOME/.config/git"; echo "*.up filter=up" >"$HOME/.config/git/attributes";'
        "git config filter.up.clean 'tr a-z A-Z'",
        "echo low >n.up",
    ),
    "names that need quoting": (
        "echo '* text=auto' >.gitattributes",
        "f=$(printf 'a\\nb\\r'); echo 1 >\"$f\"; echo 2 >'\"q\"'; f=$(printf '\\377'); echo 3 >\"$f\";"
        "f=$(printf 'end\\r'); echo 4 >\"$f\"; echo 5 >'b\\n'; echo 6 >' x '; echo 7 >-w",
    ),
    "an executable and a link among filtered files": (
        "echo '* text=auto' >.gitattributes",
        "echo 1 >x; chmod +x x; ln -s x l",
    ),
}


@both_ways(CASES)
def test_exact_with(case: str, seeded: bool, repo: Path) -> None:
    before, then = CASES[case]
    sh(f"{before}; git add -A; git commit -qm before --allow-empty")
    if seeded:
        seed()
    sh(then)
    assert_exact(repo)
    assert_exact(repo)  # from the cache where there is one


FILTER = """
import sys
def read():
    head = sys.stdin.buffer.read(4)
    return None if head in (b"", b"0000") else sys.stdin.buffer.read(int(head, 16) - 4)
def many():
    return list(iter(read, None))
def say(*lines):
    for line in lines:
        sys.stdout.buffer.write(b"%04x" % (len(line) + 4) + line)
    sys.stdout.buffer.write(b"0000"); sys.stdout.buffer.flush()
many(); say(b"git-filter-server\\n", b"version=2\\n")
many(); say(b"capability=clean\\n")
while many():
    data = b"".join(many())
    say(b"status=success\\n"); say(b"oid sha256:%d\\n" % len(data)); say()
"""


def test_exact_with_a_long_running_filter_process(repo: Path) -> None:
    Path("../filter.py").write_text(FILTER)
    program = f"{sys.executable} ../filter.py"
    sh(f"git config filter.big.process '{program}'; git config filter.big.required true")
    sh("echo '*.bin filter=big' >.gitattributes; echo 1 >a.bin; git add .; git commit -qm lfs")
    seed()
    sh("echo 12345678 >a.bin; echo 123 >b.bin; echo 1 >plain")
    assert_exact(repo)
    found = listing(take()[0])["b.bin"][1]
    assert git("cat-file", "blob", found) == b"oid sha256:4\n"


@pytest.mark.parametrize("crlf", [False, True])
def test_a_required_filter_that_fails_omits_its_paths_alone(repo: Path, crlf: bool) -> None:
    sh("echo '*.no filter=no' >.gitattributes; printf '1\\r\\n' >a.no; cp a.no b.no; echo 1 >c.txt")
    sh("git add .; git commit -qm x; git config filter.no.clean false")
    sh("git config filter.no.required true; git config core.safecrlf false")
    sh(f"git config core.autocrlf {str(crlf).lower()}; echo '* text=auto' >>.gitattributes")
    sh("printf '3\\r\\n' >b.no; echo 3 >c.txt; echo new >d.no; echo new >e.txt; touch a.no")
    before = listing("HEAD")
    tree, scan = take()
    after = listing(tree)
    omitted = {item["path"]: item["reason"] for item in scan.omitted}
    assert omitted.items() >= {"b.no": "unconverted", "d.no": "unconverted"}.items()
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed == {"c.txt", "e.txt", ".gitattributes"}


def test_a_file_not_in_the_encoding_of_its_attributes_is_omitted(repo: Path) -> None:
    sh("echo '*.x text working-tree-encoding=UTF-16' >.gitattributes; echo 1 >f.x; echo 2 >g")
    assert take()[1].omitted == [{"path": "f.x", "reason": "unconverted"}]
    repo_ = Repo.find()
    with Objects(repo_):
        dry = scan.read_paths_and_omitted(repo_, ["f.x", "g"], write=False)
        assert dry == scan.read_paths_and_omitted(repo_, ["f.x", "g"], write=True)
    assert dry[1] == [{"path": "f.x", "reason": "unconverted"}]


def test_a_filter_that_changes_is_not_answered_from_the_cache(repo: Path) -> None:
    sh("echo '*.up filter=up' >.gitattributes; git config filter.up.clean 'tr a-z A-Z'")
    sh("echo low >n.up; touch -d '1 hour ago' n.up")
    assert_exact(repo)
    sh("git config filter.up.clean 'tr a-z b-za'")
    assert_exact(repo)
    sh("echo >.gitattributes")
    assert_exact(repo)


def test_attributes_that_sparse_checkout_left_out_still_apply(repo: Path) -> None:
    sh("mkdir -p d/e; echo '[a-z]* filter=up' >d/.gitattributes; echo A >d/e/f; echo B >other")
    sh("git config filter.up.clean 'tr a-z A-Z'; git add .; git commit -qm d")
    sh("git sparse-checkout set --no-cone '/d/e/*'")
    assert not Path("d/.gitattributes").exists()
    seed()
    sh("echo low >d/e/new; echo changed >d/e/f")
    found = listing(take()[0])
    assert git("cat-file", "blob", found["d/e/new"][1]) == b"LOW\n"
    assert git("cat-file", "blob", found["d/e/f"][1]) == b"CHANGED\n"
    assert set(found) == {*listing("HEAD"), "d/e/new"}


def test_the_same_paths_without_a_scan_are_filtered_too(repo: Path) -> None:
    sh("git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >.gitattributes")
    sh("echo low >n.up; printf 'a\\r\\n' >crlf; git config core.autocrlf true")
    repo_ = Repo.find()
    with Objects(repo_):
        found = scan.read_paths(repo_, ["n.up", "crlf"], write=True)
    want = oracle(repo.parent / "i")
    assert found == {"n.up": want["n.up"], "crlf": want["crlf"]}


def test_hashing_without_storing_gives_the_same_names(repo: Path) -> None:
    sh(
        "git config core.autocrlf true; printf 'a\\r\\n' >>README.md; printf 'b\\r\\n' >n; ln -s n l"
    )
    objects_before = sorted(Path(".git/objects").rglob("*"))
    repo_ = Repo.find()

    with Objects(repo_):
        dry = scan.resolve_changes(repo_.objects, scan.scan_worktree(repo_), write=False)
        assert sorted(Path(".git/objects").rglob("*")) == objects_before
        assert scan.resolve_changes(repo_.objects, scan.scan_worktree(repo_), write=True) == dry


@pytest.mark.thorough
def test_a_filter_that_hangs_is_waited_for_once_and_all_else_is_recorded(world: World) -> None:
    """It reads a pipe that nobody writes to."""
    pipe = world.home / "pipe"
    os.mkfifo(pipe)
    world.write(".gitattributes", "*.dat filter=hung\n")
    world.write("a.dat", "one\n")
    world.git("add", ".")
    world.git("commit", "-q", "-m", "data")
    world.git("config", "filter.hung.clean", f"cat {pipe}")
    world.git("config", "gitcp.git-timeout", "4")
    world.write("a.dat", "two\n")
    agent = world.agent("s-one", tools=True)
    agent.prompt("write a file", warns="a filter of git did not end in time")
    agent.write("plain.py", "plain = 1\n")
    agent.stop()
    assert world.show(world.branch(), "plain.py") == "plain = 1\n"
    assert world.show(world.branch(), "a.dat") == "one\n"
    assert "a filter of git did not end in time" in world.gitcp("status")
    with suppress(OSError):  # whoever still reads it ends
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    world.git("config", "--unset", "filter.hung.clean")  # the person's own git would hang, too
    assert len(world.commit("plain.py")) == 1


def test_no_git_converts_a_file_unless_it_has_crlf(world: World) -> None:
    world.write(".gitattributes", "* text=auto\n")
    world.commit(".gitattributes")
    agent = world.agent("s", tools=True)
    agent.prompt("write")
    trace = Path(world.env.setdefault("GITCP_TRACE", str(world.home / "trace")))

    def count_gits(content: str) -> int:
        trace.write_text("")
        agent.write("README.md", content)
        rows = [line.split(None, 3) for line in trace.read_text().splitlines()]
        after = [row[3] for row in rows if row[1:3] == [rows[-1][1], "git:"]]  # its hook
        return sum("update-index" in words for words in after)

    assert (count_gits("one\n"), count_gits("one\r\ntwo\r\n")) == (0, 2)
