"""The shape of the code: lazy imports, foreign packages, and no path of another machine.

Each check is one test that lists every offender.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable

from tests.form.hot import HOT
from tests.form.source import (
    EVERYTHING,
    FUNCTIONS,
    MODULES,
    circles,
    definitions,
    imports,
    name,
    none,
    tree,
)
from tests.support.paths import TOP

TYPED = tuple(
    f"gitcp.{package}."
    for package in "setup library events cmd.stages guard checkpoints.share checkpoints.stored"
    " checkpoints.listing checkpoints.writing extras.imports extras.search extras.reports"
    " record.turn".split()
)
OWNER = {
    "orjson": "records.py",
    "filelock": "files.py",
    "mcp": "mcp.py",
    "duckdb": "dataset.py",
    "genai_prices": "prices.py",
    "phonenumbers": "personal.py",
    "pygls": "lsp.py",
    "plumbum": "shell.py",
    "prompt_toolkit": "browser.py",
    "pyspark": "dataset.py",
}
TYPES = "gitcp.text.record_types"
# Imports that a hook must not pay for each time, or that name what may not be installed.
HEAVY = {*OWNER, *"dataclasses pathlib logging typing subprocess".split()}


def test_what_takes_a_repository_takes_no_objects_beside_it() -> None:
    none(
        f"{name(path)}:{node.lineno}: {node.name}"
        for path in EVERYTHING
        for node in definitions(path)
        if isinstance(node, FUNCTIONS)
        if {"repo", "objects"} <= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
    )


def test_what_travels_has_a_type() -> None:
    """In these rooms no result is a bare tuple of three and more."""
    none(
        f"{name(path)}:{node.lineno}: {node.name}"
        for path in MODULES
        if name(path).startswith(TYPED)
        for node in definitions(path)
        if isinstance(node, FUNCTIONS) and node.returns
        for part in ast.walk(node.returns)
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "tuple"
        if isinstance(part.slice, ast.Tuple) and len(part.slice.elts) > 2
    )


def test_no_module_imports_itself_however_far_around() -> None:
    none(circles())


def test_a_foreign_package_is_imported_in_one_file() -> None:
    none(
        f"{name(path)} imports {module}"
        for path in MODULES
        for module in imports(path)
        if OWNER.get(module.partition(".")[0], path.name) != path.name
    )


def test_a_part_from_inside_cpython_is_taken_in_one_file() -> None:
    """Each is there with what does the same in a Python that has not got it."""
    inside = {
        "_json": "json.py",
        "_sre": "patterns.py",
        "_signal": "__init__.py",
        "_sha1": "files.py",
        "_thread": "lazy_modules.py",
    }
    inside |= dict.fromkeys(("_imp", "_frozen_importlib", "_collections_abc"), "")
    none(
        f"{name(path)} imports {part}"
        for path in MODULES
        for part in {module.partition(".")[0] for module in imports(path)} & inside.keys()
        if path.name != inside[part]
    )


def test_only_what_hooks_load_imports_inside_functions() -> None:
    """A hook pays for what stands at a module's top, so its modules import what is rare where they
    use it.  All others say at their top what they need.  A foreign package may be missing."""
    none(
        f"{name(path)}:{node.lineno}"
        for path in MODULES
        if name(path) not in HOT and not name(path).startswith("gitcp.cmd.")
        for function in ast.walk(tree(path))
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gitcp")
    )


def test_a_module_that_hooks_load_loads_nothing_heavy() -> None:
    if _heavy(HOT):  # together is quick; who it was is asked one by one
        none(f"{module} loads {_heavy([module])}" for module in HOT if _heavy([module]))


def test_the_shapes_of_records_are_for_reading_only() -> None:
    none(name(path) for path in MODULES if any(m.startswith(TYPES) for m in imports(path)))


def _heavy(modules: Iterable[str]) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(TOP)!r}); import {', '.join(sorted(modules))}"
    argv = [sys.executable, "-I", "-S", "-c", f"{code}; print(*sys.modules)"]
    loaded = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    return HEAVY & set(loaded)


def test_a_file_says_its_subject_in_its_first_line() -> None:
    none(name(p) for p in MODULES if tree(p).body and not ast.get_docstring(tree(p)))


def test_the_tree_names_no_place_of_the_machine_it_was_written_on() -> None:
    places = [f"/{place}/" for place in ("work", "root", "tmp/g", "home/runner")]
    offenders = []
    for file in subprocess.check_output(["git", "ls-files", "-z"], cwd=TOP).split(b"\0")[:-1]:
        path = TOP / file.decode()
        if "data" not in path.parts and path.is_file() and not path.is_symlink():
            text = path.read_bytes().decode(errors="replace")
            offenders += [f"{path}: {p}" for p in places if p in text]
    none(offenders)
