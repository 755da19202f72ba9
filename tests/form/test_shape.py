"""The shape of the code: layers, lazy imports, sizes, and no path of another machine.

Each check is one test that lists every offender.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable

from gitcp import commands
from tests.form.source import (
    EVERYTHING,
    FUNCTIONS,
    LATE,
    MODULES,
    bound,
    circles,
    functions,
    imports,
    late_modules,
    name,
    none,
    tree,
)
from tests.support.paths import TOP

LAYERS = (
    "VERSION errors commands memory start",
    "pipelines",
    "core agents",
    "trace",
    "process",
    "record git",
    "asked",
    "jj",
    "lock repo",
    "console",
    "store",
    "context",
    "library",
    "stages",
    "cmd agent_hook",
    "hook",
    "entry __main__",
)
# Decisions read what clients write; tests/form/test_rooms.py has their order.
BESIDE = {"core", "agents"}
LAYER = {part: n for n, parts in enumerate(LAYERS) for part in parts.split()}
OWNER = {
    "orjson": "record.py",
    "filelock": "lock.py",
    "mcp": "mcp.py",
    "duckdb": "query.py",
    "genai_prices": "prices.py",
    "phonenumbers": "personal.py",
    "pygls": "lsp.py",
    "plumbum": "shell.py",
    "prompt_toolkit": "picker.py",
    "pyspark": "fleet.py",
}
TYPES = "gitcp.core.record_types"
# Imports that a hook must not pay for each time, or that name what may not be installed.
INSIDE = 45
HEAVY = {*OWNER, *"dataclasses pathlib logging typing subprocess".split()}
IMPURE = set("time random secrets subprocess socket pathlib tempfile datetime".split())
ROOMY = {TOP / "gitcp" / "cmd", TOP / "tests" / "cmd"}  # one file a command, named like it
EMPTY = set("of one whole names named known given rest told kept aside".split())
RIDDLES = set("ahead behind account others shown told said made found".split())


def test_imports_point_downwards() -> None:
    wrong = []
    for path in MODULES:
        part = (*name(path).split("."), "")[1]
        for module in imports(path):
            used = module.split(".")[1] if module.startswith("gitcp.") else part
            upward = used != part and LAYER[used] >= LAYER[part] if part else False
            if upward and {part, used} != BESIDE:
                wrong.append(f"{name(path)} imports {module}")
    none(wrong)


def test_no_module_imports_itself_however_far_around() -> None:
    none(circles())


def test_a_foreign_package_is_imported_in_one_file() -> None:
    none(
        f"{name(path)} imports {module}"
        for path in MODULES
        for module in imports(path)
        if OWNER.get(module.partition(".")[0], path.name) != path.name
    )


def test_what_is_inside_cpython_is_taken_in_one_file() -> None:
    inside = {"_json", "_sre", "_signal", "_imp", "_frozen_importlib", "_thread"}
    none(f"{name(path)} imports {part}" for path in MODULES for part in imports(path) & inside)


def test_imports_inside_functions_become_fewer() -> None:
    """Each hides from a reader what a module needs; a hook pays for what stands at the top."""
    inside = {
        (name(path), node.lineno)
        for path in MODULES
        if path.parent.name != "cmd"
        for function in ast.walk(tree(path))
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert len(inside) <= INSIDE, sorted(inside)


def test_what_is_imported_late_is_named_once_with_its_milliseconds_and_used() -> None:
    modules = set(late_modules().values())
    text = LATE.read_text()
    block, _, runtime = text.partition("else:")
    rows = [line for line in block.splitlines() if line.startswith("    from")]
    none(row for row in rows if not re.search(r"  # [\d.]+$", row))
    places = ast.literal_eval(runtime[runtime.index("{") : runtime.index("}") + 1])
    assert {f"{place}.{word}" for place in places for word in places[place].split()} == modules
    used = set().union(*(imports(path) for path in MODULES if path != LATE))
    none(modules - used)


def test_a_late_module_is_imported_at_the_top_of_none_that_names_it_late() -> None:
    for path in MODULES:
        top = {
            f"{node.module}.{a.name}"
            for node in tree(path).body
            if isinstance(node, ast.ImportFrom)
            for a in node.names
        }
        words = set(re.findall(r"\blate\.(\w+)", path.read_text()))
        none(f"{name(path)} {word}" for word in words if late_modules().get(word) in top)


def test_decisions_are_pure() -> None:
    """No git, clock, random or environment; a table beside a module may be read."""
    core = sorted((TOP / "gitcp" / "core").rglob("*.py"))
    none(name(p) for p in core if re.search(r"\bos\.(?!path\b)", p.read_text()))
    roots = [(name(p), module.partition(".")[0]) for p in core for module in imports(p)]
    none(f"{module} imports {root}" for module, root in roots if root in IMPURE)


def test_a_module_of_the_hook_path_loads_nothing_heavy() -> None:
    rooms = [p for d in ("store", "agents", "core") for p in (TOP / "gitcp" / d).rglob("*.py")]
    stages = map(commands.stage_module, commands.STAGES)
    modules = {"gitcp.hook", "gitcp.agent_hook", *stages, *map(name, rooms)} - {TYPES}
    modules = {module for module in modules if not module.startswith("gitcp.store.page.")}
    if _heavy(modules):  # together is quick; who it was is asked one by one
        none(f"{module} loads {_heavy([module])}" for module in modules if _heavy([module]))


def test_the_shapes_of_records_are_for_reading_only() -> None:
    none(name(path) for path in MODULES if any(m.startswith(TYPES) for m in imports(path)))


def _heavy(modules: Iterable[str]) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(TOP)!r}); import {', '.join(sorted(modules))}"
    argv = [sys.executable, "-I", "-S", "-c", f"{code}; print(*sys.modules)"]
    loaded = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    return HEAVY & set(loaded)


def test_no_folder_holds_more_than_18_files() -> None:
    folders = Counter(path.parent for path in EVERYTHING if path.parent not in ROOMY)
    none(f"{folder}: {count}" for folder, count in folders.items() if count > 18)


def test_no_file_is_over_the_wall() -> None:
    # A wall of fewer lines cut subjects in two.
    sizes = {path: len(path.read_text().splitlines()) for path in EVERYTHING}
    none(f"{name(path)}: {n} lines" for path, n in sizes.items() if n > 900)


def test_no_function_is_over_40_lines_and_most_are_short() -> None:
    none(f"{name(p)}.{f}: {n} lines" for p in EVERYTHING for f, n in functions(p) if n > 40)
    sizes = sorted(lines for path in MODULES for _, lines in functions(path))
    assert sizes[len(sizes) // 2] <= 8
    assert sizes[len(sizes) * 9 // 10] <= 19


def test_a_file_says_its_subject_in_its_first_line() -> None:
    none(name(p) for p in MODULES if tree(p).body and not ast.get_docstring(tree(p)))


def test_no_function_and_no_parameter_is_named_by_a_word_that_says_nothing() -> None:
    """`given` and `rest` say that a caller gave it; the name is to say what it is."""
    none(
        f"{name(path)} {word}"
        for path in EVERYTHING
        for node in ast.walk(tree(path))
        for word in [getattr(node, "name" if isinstance(node, FUNCTIONS) else "arg", "")]
        if isinstance(node, (*FUNCTIONS, ast.arg)) and word.strip("_") in EMPTY
    )


def test_nothing_is_named_by_a_riddle_locals_neither() -> None:
    """A name says what it holds: `found` and `told` say only that somebody looked or spoke."""
    none(name(path) for path in MODULES if path.stem in RIDDLES)
    none(
        f"{name(path)}:{line} {word}"
        for path in MODULES
        for word, line in bound(path)
        if word.strip("_").lower() in RIDDLES
    )


def test_the_tree_names_no_place_of_the_machine_it_was_written_on() -> None:
    places = [f"/{place}/" for place in ("work", "root", "tmp/g", "home/runner")]
    offenders = []
    for file in subprocess.check_output(["git", "ls-files", "-z"], cwd=TOP).split(b"\0")[:-1]:
        path = TOP / file.decode()
        if "data" not in path.parts and path.is_file() and not path.is_symlink():
            text = path.read_bytes().decode(errors="replace")
            offenders += [f"{path}: {p}" for p in places if p in text]
    none(offenders)
