"""What a snapshot leaves out is listed with its reason; what it cannot know is an error."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.snapshot import scan
from tests.support.paths import TOP
from tests.support.snapshots import assert_exact, git, listing, omitted, oracle, sh, take

MB = 1 << 20
# Root reads everything: these tests give that up, by setpriv where there is no other user.
UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def probe() -> bool:
    try:
        found = subprocess.run([*UNPRIVILEGED, "true"], capture_output=True)
    except OSError:
        return False
    return found.returncode == 0


needs_a_limit = pytest.mark.skipif(not probe(), reason="root cannot be kept from reading here")
TAKE = (
    "import sys; from tests.support.snapshots import take, omitted\n"
    "from gitcp.errors import Error\n"
    "try: tree, scan = take()\n"
    "except Error as e: sys.exit(str(e))\n"
    "print(tree, omitted(scan))"
)


def without_privilege() -> subprocess.CompletedProcess[str]:
    top = TOP
    env = {**os.environ, "PYTHONPATH": str(top)}
    argv = [*UNPRIVILEGED, sys.executable, "-c", TAKE]
    return subprocess.run(argv, env=env, capture_output=True, text=True)


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that speaks another language to who has not asked for C."""
    git, words = (
        shutil.which("git"),
        "s/could not open directory/kein Zugriff auf/; s/P.* denied/Nein/",
    )
    path = tmp_path / "bin" / "git"
    path.parent.mkdir(mode=0o755)
    path.write_text(f"""#!/bin/sh
[ "$LC_ALL" != C ] || exec {git} "$@"
{{ {git} "$@" 2>&1 >&3 | sed '{words}' >&2; }} 3>&1
""")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")


def test_an_untracked_file_over_the_cap(repo: Path) -> None:
    sh("truncate -s 5G huge; truncate -s 10485761 big; truncate -s 10485760 fits")
    tree, scan = take()
    assert omitted(scan) == {"huge": "too-large", "big": "too-large"}
    assert set(listing(tree)) == {*listing("HEAD"), "fits"}


def test_the_cap_is_configured(repo: Path) -> None:
    sh("git config gitcp.max-file-size 1k; truncate -s 1024 a; truncate -s 1025 b")
    assert omitted(take()[1]) == {"b": "too-large"}


def test_a_tracked_file_has_no_cap(repo: Path) -> None:
    sh("git config gitcp.max-file-size 4; echo much more >>README.md")
    assert_exact(repo)


def test_a_staged_file_has_no_cap(repo: Path) -> None:
    sh("git config gitcp.max-file-size 4; echo much more >new; git add new")
    assert_exact(repo)


def test_of_too_much_the_small_files_are_kept(repo: Path) -> None:
    sh("git config gitcp.max-untracked-size 10; printf 12345 >b; printf 123456 >c; printf 1234 >a")
    tree, scan = take()
    assert omitted(scan) == {"c": "over-budget"}
    assert set(listing(tree)) == {*listing("HEAD"), "a", "b"}


def test_a_fifo_a_socket_and_a_device(repo: Path) -> None:
    want = listing("HEAD")
    os.mkfifo("src/fifo")
    left = socket.socket(socket.AF_UNIX)
    left.bind("src/socket")
    devices = {}
    if os.geteuid() == 0:
        sh("mknod src/device c 1 3")
        devices = {"src/device": "device"}
    Path("src/new").write_text("1\n")
    scan = assert_exact(repo, want | {"src/new": ("100644", git_oid("src/new"))})
    left.close()
    assert omitted(scan) == {"src/fifo": "fifo", "src/socket": "socket", **devices}


def test_an_ignored_fifo_is_not_worth_a_word(repo: Path) -> None:
    sh("echo '*.pipe' >.gitignore; mkfifo a.pipe")
    assert omitted(take()[1]) == {}


def test_a_tracked_file_that_became_a_fifo_is_gone_and_listed(repo: Path) -> None:
    sh("rm README.md; mkfifo README.md")
    tree, scan = take()
    assert set(listing(tree)) == set(listing("HEAD")) - {"README.md"}
    assert omitted(scan) == {"README.md": "fifo"}


def test_our_own_directory_is_as_in_head(repo: Path) -> None:
    sh("mkdir .entire; echo 1 >.entire/settings.json; git add .; git commit -qm ours")
    sh("echo 2 >.entire/settings.json; mkdir -p .entire/metadata; echo 3 >.entire/metadata/x")
    assert_exact(repo, listing("HEAD"))


@needs_a_limit
def test_an_untracked_file_that_cannot_be_read(repo: Path) -> None:
    sh("echo 1 >secret; chmod 0 secret; echo 2 >open")
    done = without_privilege()
    assert "{'secret': 'unreadable'}" in done.stdout, done.stderr
    assert set(listing(done.stdout.split()[0])) == {*listing("HEAD"), "open"}


@needs_a_limit
def test_an_untracked_file_with_attributes_that_cannot_be_read(repo: Path) -> None:
    sh("echo '* text=auto' >.gitattributes; echo 1 >secret; chmod 0 secret; echo 2 >open")
    done = without_privilege()
    assert "{'secret': 'unreadable'}" in done.stdout, done.stderr
    assert set(listing(done.stdout.split()[0])) == {*listing("HEAD"), "open", ".gitattributes"}


@needs_a_limit
def test_an_untracked_directory_that_cannot_be_read(repo: Path) -> None:
    sh("mkdir -p closed 'it'\"'\"'s: odd'; echo 1 >closed/f; chmod 0 closed *odd; echo 2 >open")
    done = without_privilege()
    sh("chmod 755 closed *odd")
    assert "'closed': 'unreadable'" in done.stdout, done.stderr
    assert "\"it's: odd\": 'unreadable'" in done.stdout, done.stderr
    assert set(listing(done.stdout.split()[0])) == {*listing("HEAD"), "open"}


@needs_a_limit
@pytest.mark.usefixtures("german")
def test_what_cannot_be_read_is_told_in_whatever_language_git_speaks(repo: Path) -> None:
    sh("mkdir closed; echo 1 >closed/f; chmod 0 closed; chmod 311 src")
    done = without_privilege()
    sh("chmod 755 closed src")
    assert "'closed': 'unreadable'" in done.stdout, done.stderr
    assert "'src': 'unreadable'" in done.stdout, done.stderr


@needs_a_limit
@pytest.mark.parametrize(
    "script",
    [
        "echo 2 >>README.md; chmod 0 README.md",
        "chmod 0 README.md",
        "git config core.autocrlf true; echo 2 >>README.md; chmod 0 README.md",
    ],
)
def test_a_tracked_file_that_cannot_be_read_is_an_error_that_names_it(
    script: str, repo: Path
) -> None:
    sh(script)
    done = without_privilege()
    assert (done.returncode, done.stderr) == (1, "cannot read 'README.md': Permission denied\n")


@needs_a_limit
def test_a_tracked_directory_that_cannot_be_searched_is_an_error_that_names_it(repo: Path) -> None:
    sh("echo 2 >>src/app.py; chmod 0 src")
    done = without_privilege()
    sh("chmod 755 src")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("cannot read 'src/")


@needs_a_limit
def test_a_tracked_directory_that_cannot_be_listed_hides_only_what_is_untracked(
    repo: Path,
) -> None:
    sh("echo 2 >>src/app.py; echo 1 >src/new; chmod 311 src")
    done = without_privilege()
    sh("chmod 755 src; rm src/new")
    assert "{'src': 'unreadable'}" in done.stdout, done.stderr
    assert listing(done.stdout.split()[0]) == oracle(repo.parent / "i")


def test_a_snapshot_of_the_home_directory_is_refused(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.symlink(repo, repo.parent / "home-link")
    monkeypatch.setenv("HOME", str(repo.parent / "home-link"))
    with pytest.raises(Error, match=f"refusing to snapshot the home directory '{repo}'"):
        take()
    assert not Path(".git/gitcp").exists()


def test_a_snapshot_of_the_root_directory_is_refused() -> None:
    with pytest.raises(Error, match="refusing to snapshot the root directory '/'"):
        scan.refuse_root("/")


def test_a_bare_repository_has_no_snapshot(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh("git init -q --bare ../bare")
    monkeypatch.chdir("../bare")
    with pytest.raises(Error, match="not a work tree"):
        take()


def test_known_paths_are_what_stands_there_now(repo: Path) -> None:
    sh("echo 2 >>README.md; rm src/app.py; ln -s src l; mkdir -p d; git init -q n; mkfifo p")
    sh("echo 1 >n/f; truncate -s 11M big; ln -s nowhere s; chmod +x src/lib.py")
    paths = "README.md src/app.py l/lib.py d n n/f p big s src/lib.py missing/x README.md/x".split()
    repo_ = Repo.find()
    with Objects(repo_):
        found = scan.read_paths(repo_, paths, write=True)
    assert found == {
        "README.md": ("100644", git_oid("README.md")),
        "src/app.py": None,
        "l/lib.py": None,
        "d": None,
        "n/f": None,
        "s": ("120000", link_oid("nowhere")),
        "src/lib.py": ("100755", git_oid("src/lib.py")),
        "missing/x": None,
        "README.md/x": None,
    }
    assert not Path(".git/gitcp/cache/index").exists()


def test_a_submodule_among_known_paths_is_its_commit(repo: Path) -> None:
    sh("git init -q n; git -C n commit -qm 1 --allow-empty")
    sh("git add n 2>/dev/null; git commit -qm n")
    sh("git -C n commit -qm 2 --allow-empty; git init -q m; git -C m commit -qm 1 --allow-empty")
    repo_ = Repo.find()
    with Objects(repo_):
        found = scan.read_paths(repo_, ["n", "m", "n/f"], write=True)
    heads = {n: git("-C", n, "rev-parse", "HEAD").decode().strip() for n in "nm"}
    assert found == {"n": ("160000", heads["n"]), "m": ("160000", heads["m"]), "n/f": None}


def git_oid(path: str) -> str:
    return git("hash-object", path).decode().strip()


def link_oid(target: str) -> str:
    argv = ["git", "hash-object", "-w", "--stdin"]
    return subprocess.check_output(argv, input=target, text=True).strip()
