"""Each fact is written once; whatever repeats it is checked against it here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from gitcp import commands
from tests.support.paths import TOP

TABLE = {**commands.STAGES, **commands.TOOLS}
NAMES = sorted(TABLE)
PAGES = sorted((TOP / "man").iterdir())
CODE = "".join(p.read_text() for p in sorted((TOP / "gitcp").rglob("*.py")))
MDOC = {r"\e": "\\", r"\(dq": '"', r"\-": "-", r"\&": "", r"\(aq": "'"}

needs_mandoc = pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")


def page(name: str, section: int = 1) -> str:
    return (TOP / "man" / f"{name}.{section}").read_text()


def options(lines: list[str]) -> set[str]:
    return {o for line in lines for o in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line)}


def test_pyproject_installs_every_command_and_no_other() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    want = {f"gitcp-{n}": f"{commands.module(n)}:main" for n in NAMES}
    assert project["scripts"] == {"gitcp": "gitcp.__main__:main", **want}


def test_pyproject_and_the_program_name_the_same_version() -> None:
    from gitcp.version import VERSION

    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_bin_has_a_link_for_every_command_and_no_other() -> None:
    links = {p.name: os.readlink(p) for p in (TOP / "bin").iterdir() if p.is_symlink()}
    assert links == {f"gitcp-{n}": "gitcp" for n in NAMES}


def test_every_command_has_a_page_and_every_page_a_command() -> None:
    pages = {p.stem for p in PAGES if p.suffix == ".1"}
    assert pages == {f"gitcp-{n}" for n in NAMES}


def test_every_module_of_cmd_is_a_command() -> None:
    modules = {p.stem for p in (TOP / "gitcp" / "cmd").glob("*.py")} - {"__init__"}
    known = {commands.module(n).removeprefix("gitcp.cmd.") for n in NAMES}
    assert modules == known - {"gitcp.hook"}


@pytest.mark.parametrize("name", NAMES)
def test_page_and_help_have_the_same_options(name: str) -> None:
    shown = import_module(commands.module(name)).parser().format_help().splitlines()
    items = re.findall(r"^\.It (.*Fl.*)", page(f"gitcp-{name}"), re.M)
    written = [re.sub(r"\bFl (-?)", r"-\1", item) for item in items]
    assert options(written) == options([s for s in shown if s.startswith("  -")])


@pytest.mark.parametrize("name", NAMES)
def test_table_page_and_module_have_the_same_summary(name: str) -> None:
    assert f".Nm gitcp-{name}\n.Nd {TABLE[name]}\n" in page(f"gitcp-{name}")
    main = commands.ALIASES.get(name, name)
    doc = import_module(commands.module(name)).__doc__ or ""
    assert doc.splitlines()[0] == f"gitcp-{main} - {TABLE[main]}"


def test_the_overview_has_every_command_with_its_summary() -> None:
    listed = re.findall(r"^\.It Xr gitcp-(\S+) 1\n(.*)", page("gitcp", 7), re.M)
    assert dict(listed) == TABLE


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_a_page_has_its_sections_in_order(path: Path) -> None:
    found = re.findall(r"^\.Sh (.*)", path.read_text(), re.M)
    want = "NAME,SYNOPSIS,DESCRIPTION,EXIT STATUS,EXAMPLES,SEE ALSO".split(",")
    if path.suffix == ".1":
        assert [s for s in found if s in want] == want
    assert f"\n.Nm {path.stem}\n.Nd " in path.read_text()


@needs_mandoc
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_a_page_has_no_lint(path: Path) -> None:
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", path], capture_output=True, text=True)
    assert done.stdout == ""


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_references_lead_to_pages_that_exist(path: Path) -> None:
    for name, section in re.findall(r"\.Xr (gitcp\S*) (\d)", path.read_text()):
        assert (TOP / "man" / f"{name}.{section}").exists()


def test_the_program_reads_exactly_the_configuration_that_is_documented() -> None:
    items = re.findall(r"^\.It Cm gitcp\.(.*)", page("gitcp-config", 5), re.M)
    written = {re.sub(r" ?Ns (Ar|Cm) ?", "", item) for item in items}
    calls = r"""config\.(?:get|all|flag|size)\(\s*f?["']gitcp\.([^"'{]+)["']"""
    assert set(re.findall(calls, CODE)) <= written
    named = {key.replace("<event>", "{event}") for key in written}
    assert {key for key in named if f'gitcp.{key}"' not in CODE and f'"{key}"' not in CODE} == set()


def test_the_program_reads_exactly_the_environment_that_is_documented() -> None:
    read = set(re.findall(r"""["'](GITCP_[A-Z_]+)["']""", CODE))
    assert read == set(re.findall(r"^\.It Ev (GITCP_\S+)", page("gitcp", 7), re.M))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_the_examples_of_a_page_run(path: Path, repo: Path) -> None:
    """In a repository with two commits and one change that is not committed."""
    _, _, examples = path.read_text().partition(".Sh EXAMPLES\n")
    lines = re.findall(r"^\.Dl \$ (.*)", examples.partition("\n.Sh ")[0], re.M)
    (repo / "README.md").write_text("line one\nline 2\nline three\n")
    search = f"{TOP / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    for line in lines:
        for name, char in MDOC.items():
            line = line.replace(name, char)  # noqa: PLW2901
        done = subprocess.run(
            ["sh", "-c", line],
            env={**os.environ, "PATH": search},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), line
