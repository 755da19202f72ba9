"""What is built to be installed, and what shells complete."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gitcp import commands
from gitcp.cmd.setup import completion
from tests.support.harness import World
from tests.support.paths import TOP

NAMES = sorted(commands.NAMES)
VERSION, COMMIT = "7.6.5", "0123456789abcdef0123456789abcdef01234567"


def build(at: Path, umask: int) -> Path:
    """The directory of what is distributed of this checkout."""
    files = subprocess.check_output(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=TOP)
    for name in filter(None, files.decode().split("\0")):
        if (TOP / name).exists():
            (at / "top" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TOP / name, at / "top" / name, follow_symlinks=False)
            if not (TOP / name).is_symlink():
                (at / "top" / name).chmod((TOP / name).stat().st_mode & ~umask)
    stale = at / "top" / "build" / "lib" / "gitcp" / "repo" / "__init__.py"  # of an older version
    stale.parent.mkdir(parents=True)
    stale.touch()
    out = str(at / "dist")
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    for argv in (["dist", str(at / "top"), out, VERSION, COMMIT], ["sums", out]):
        words = [sys.executable, str(TOP / ".ci" / argv[0]), *argv[1:]]
        done = subprocess.run(words, env=env, capture_output=True, text=True, umask=umask)
        assert done.returncode == 0, done.stderr
    return at / "dist"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of what is distributed of this checkout."""
    return build(tmp_path_factory.mktemp("package"), 0o022)


@pytest.mark.thorough
def test_what_is_distributed_is_the_same_bytes_wherever_it_is_built(
    built: Path, tmp_path: Path
) -> None:
    again = build(tmp_path / "elsewhere", 0o077)
    suffixes = {path.suffix for path in built.iterdir()}
    assert suffixes == {".whl", ".gz", ".pyz", ""}
    assert {p.name: p.read_bytes() for p in built.iterdir()} == {
        p.name: p.read_bytes() for p in again.iterdir()
    }
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=built, check=True)


@pytest.mark.thorough
def test_the_zipapp_runs_and_records_with_python_alone(
    built: Path, repo: Path, tmp_path: Path
) -> None:
    """Without any package, and from where its file was moved since."""
    (zipapp,) = built.glob("*.pyz")
    python = [sys.executable, "-I", "-S", str(shutil.copy(zipapp, tmp_path / "gitcp.pyz"))]

    def gitcp(*argv: str) -> str:
        return subprocess.check_output([*python, *argv], text=True)

    told = json.loads(gitcp("--version", "--json"))
    assert (told["gitcp"], told["commit"]) == (VERSION, COMMIT)
    gitcp("enable", "--agent", "claude-code")
    (tmp_path / "gitcp.pyz").rename(tmp_path / "moved.pyz")
    python[-1] = str(tmp_path / "moved.pyz")
    world = World(repo, tmp_path / "home")
    hook = json.loads((repo / ".claude" / "settings.local.json").read_text())["hooks"]
    command = hook["UserPromptSubmit"][0]["hooks"][0]["command"]
    given = {"session_id": "s1", "cwd": str(repo), "prompt": "write", "transcript_path": ""}
    subprocess.run(["sh", "-c", command], input=json.dumps(given), text=True, check=True)
    assert world.state("s1")["phase"] == "active"
    records = gitcp("log", "--json").splitlines()
    assert len(records) == 2 and json.loads(records[0])["oid"] == world.git("rev-parse", "HEAD")


def test_the_wheel_has_pages_completions_types_and_the_licence(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    shared = [n.partition(".data/data/")[2] for n in names if ".data/data/" in n]
    pages = {f"share/man/man{p.name[-1]}/{p.name}" for p in (TOP / "man").iterdir()}
    assert {*pages, "share/man/man1/git-why.1", "share/man/man1/git-rewind.1"} == {
        name for name in shared if name.startswith("share/man/")
    }
    assert "share/bash-completion/completions/gitcp" in shared
    assert "share/zsh/site-functions/_gitcp" in shared
    assert "share/fish/vendor_completions.d/gitcp.fish" in shared
    assert "gitcp/py.typed" in names and "gitcp/checkpoints/redact/secrets.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "bench/", "demo/")) for name in names)


def test_the_zipapp_knows_which_packages_a_command_lacks(built: Path, tmp_path: Path) -> None:
    (zipapp,) = built.glob("*.pyz")
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    argv = [sys.executable, "-I", "-S", str(zipapp), "lsp"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    (apart,) = tmp_path.glob("gitcp/*/instead")
    assert done.stderr.endswith(f"{sys.executable} -m pip install --target {apart} 'pygls>=2'\n")


def test_the_wheel_has_no_module_of_an_earlier_build(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "gitcp/git/repo.py" in names
    assert not [name for name in names if name.startswith("gitcp/git/repo/")]


def test_the_wheel_has_a_program_for_every_command(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        lines = archive.read(name).decode().split("[console_scripts]\n")[1].split("\n")
    programs = {f"gitcp-{name} = gitcp.__main__:main" for name in NAMES}
    programs |= {f"git-{name} = gitcp.__main__:main" for name in ("why", "rewind")}
    assert {line for line in lines if line} == {"gitcp = gitcp.__main__:main", *programs}


def test_the_sdist_has_all_that_is_tracked(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.check_output(["git", "ls-files"], cwd=TOP, text=True).split()
    assert {n for n in tracked if (TOP / n).exists()} - names <= {".gitignore"}


@pytest.mark.parametrize(("shell", "check"), [("bash", "-n"), ("zsh", "-n"), ("fish", "-n")])
def test_completions_are_what_the_shell_reads(shell: str, check: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    text = completion.format_script(shell)
    (tmp_path / "script").write_text(text)
    done = subprocess.run([shell, check, tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in text for name in NAMES)
