"""What is built to be installed, and what shells complete."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gitcp import commands
from gitcp.cmd import completion
from tests.support.paths import TOP

BUILD = "from setuptools import build_meta as b; print(b.build_wheel('{0}'), b.build_sdist('{0}'))"
NAMES = sorted(commands.NAMES)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a wheel and an sdist of this checkout."""
    at = tmp_path_factory.mktemp("package")
    files = subprocess.check_output(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=TOP)
    for name in filter(None, files.decode().split("\0")):
        if (TOP / name).exists():
            (at / "top" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, at / "top" / name, follow_symlinks=False)
    argv = [sys.executable, "-c", BUILD.format(at)]
    done = subprocess.run(argv, cwd=at / "top", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return at


def test_the_wheel_has_pages_completions_types_and_the_licence(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    shared = [n.partition(".data/data/")[2] for n in names if ".data/data/" in n]
    pages = {f"share/man/man{p.name[-1]}/{p.name}" for p in (TOP / "man").iterdir()}
    assert pages <= set(shared)
    assert "share/bash-completion/completions/gitcp" in shared
    assert "share/zsh/site-functions/_gitcp" in shared
    assert "share/fish/vendor_completions.d/gitcp.fish" in shared
    assert "gitcp/py.typed" in names and "gitcp/core/redact/secrets.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "bench/", "demo/")) for name in names)


def test_the_wheel_has_a_program_for_every_command(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        lines = archive.read(name).decode().split("[console_scripts]\n")[1].split("\n")
    programs = {f"gitcp-{name} = gitcp.__main__:main" for name in NAMES}
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
    text = completion.script(shell)
    (tmp_path / "script").write_text(text)
    done = subprocess.run([shell, check, tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in text for name in NAMES)
