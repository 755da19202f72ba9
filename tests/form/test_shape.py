"""The shape of the code: layers, lazy imports, sizes, and no path of another machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp import commands
from tests.support.paths import TOP

MODULES = sorted((TOP / "gitcp").rglob("*.py"))
EVERYTHING = sorted(p for d in ("gitcp", "tests", "bench", "demo") for p in (TOP / d).rglob("*.py"))

LAYERS = (
    "errors commands pipelines version",
    "core",
    "trace",
    "record git",
    "lock console repo",
    "agents",
    "store",
    "cmd",
    "chain",
    "hook",
    "entry __main__",
)
LAYER = {part: n for n, parts in enumerate(LAYERS) for part in parts.split()}
OWNER = {"orjson": "record.py", "filelock": "lock.py", "plumbum": "shell.py"}
HEAVY = {*OWNER, *"dataclasses pathlib logging typing subprocess".split()}
IMPURE = set("time random secrets subprocess socket pathlib tempfile datetime".split())


def name(path: Path) -> str:
    return ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> list[str]:
    """Every module imported anywhere in path when it runs; `from a import b` is a.b."""
    found: list[str] = []
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{a.name}" for a in node.names]
        todo += ast.iter_child_nodes(node)
    return found


def functions(path: Path) -> list[tuple[str, int]]:
    """(name, lines) of every function in path."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, kinds)]
    return [(n.name, (n.end_lineno or 0) - n.lineno + 1) for n in found]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_point_downwards(path: Path) -> None:
    part = (*name(path).split("."), "")[1]
    for module in imports(path):
        used = module.split(".")[1] if module.startswith("gitcp.") else part
        assert used == part or not part or LAYER[used] < LAYER[part], f"{part} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_foreign_package_is_imported_in_one_file(path: Path) -> None:
    for module in imports(path):
        assert OWNER.get(module.partition(".")[0], path.name) == path.name, module


@pytest.mark.parametrize("path", sorted((TOP / "gitcp" / "core").rglob("*.py")), ids=name)
def test_decisions_are_pure(path: Path) -> None:
    """No git, clock, random or environment; a table beside a module may be read."""
    assert not re.search(r"\bos\.(?!path\b)", path.read_text())
    assert not IMPURE & {module.partition(".")[0] for module in imports(path)}


@pytest.mark.parametrize(
    "module",
    sorted(
        {"gitcp.hook", *map(commands.module, commands.STAGES)}
        | {name(p) for d in ("store", "agents", "core") for p in (TOP / "gitcp" / d).rglob("*.py")}
    ),
)
def test_a_module_of_the_hook_path_loads_nothing_heavy(module: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(TOP)!r}); import {module}; print(*sys.modules)"
    argv = [sys.executable, "-I", "-S", "-c", code]
    loaded = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    assert not HEAVY & set(loaded)


@pytest.mark.parametrize("path", EVERYTHING, ids=name)
def test_no_file_is_over_the_wall_and_no_function_over_40_lines(path: Path) -> None:
    # A file of tests may hold one long table of cases; the program's files have one subject.
    wall = 400 if path.is_relative_to(TOP / "tests") else 250
    assert len(path.read_text().splitlines()) <= wall
    assert [f for f in functions(path) if f[1] > 40] == []


def test_functions_are_short_on_the_whole() -> None:
    sizes = sorted(lines for path in MODULES for _, lines in functions(path))
    assert sizes[len(sizes) // 2] <= 10
    assert sizes[len(sizes) * 9 // 10] <= 25


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_file_says_its_subject_in_its_first_line(path: Path) -> None:
    text = path.read_text()
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_the_tree_names_no_place_of_the_machine_it_was_written_on() -> None:
    places = [f"/{place}/" for place in ("work", "root", "tmp/g", "home/runner")]
    for file in subprocess.check_output(["git", "ls-files", "-z"], cwd=TOP).split(b"\0")[:-1]:
        path = TOP / file.decode()
        if "data" not in path.parts and path.is_file() and not path.is_symlink():
            text = path.read_bytes().decode(errors="replace")
            assert [p for p in places if p in text] == [], path
