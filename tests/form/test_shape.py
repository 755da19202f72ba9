"""The shape of the code: layers, lazy imports, sizes, and no path of another machine.

Each check is one test that lists every offender.
"""

from __future__ import annotations

import ast
import re
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
    functions,
    imports,
    name,
    none,
    tree,
)
from tests.support.paths import TOP

LAYERS = (
    "VERSION errors memory packages lazy_modules",
    "commands",
    "text",
    "agents",
    "git",
    "checkpoints",
    "record",
    "guard",
    "lines",
    "link",
    "steps",
    "setup",
    "terminal",
    "extras",
    "library",
    "events",
    "cmd",
    "hook",
    "entry __main__",
)
LAYER = {part: n for n, parts in enumerate(LAYERS) for part in parts.split()}
TYPED = tuple(
    f"gitcp.{room}."
    for room in "agents.install library events stages store.care store.guard"
    " store.imports store.search store.setup store.share store.show store.turn store.v1".split()
)
OWNER = {
    "orjson": "records.py",
    "filelock": "files.py",
    "mcp": "mcp.py",
    "duckdb": "facts.py",
    "genai_prices": "prices.py",
    "phonenumbers": "personal.py",
    "pygls": "lsp.py",
    "plumbum": "shell.py",
    "prompt_toolkit": "browser.py",
    "pyspark": "facts.py",
}
# Decisions: no git, clock, environment or file.
PURE = """agents/transcripts/__init__ agents/transcripts/agent_words agents/transcripts/blocks
agents/transcripts/shell_words agents/transcripts/transcript_facts checkpoints/format/__init__
checkpoints/format/exports checkpoints/format/keys checkpoints/format/line_authors
checkpoints/format/merge_rules checkpoints/format/orphan_rules checkpoints/format/schema
checkpoints/links checkpoints/redact/__init__ checkpoints/redact/images
checkpoints/redact/json_values checkpoints/redact/options checkpoints/redact/personal
extras/bisect/rules extras/facts/tables extras/imports/rules extras/page/page_parts
extras/search/rules extras/ui/panes extras/ui/rows git/commit_message git/config_table
git/commit_message git/objects/patches git/private_files guard/guard_rules lines/blame_format
lines/committed/line_moves lines/sums record/journal/credit record/journal/cuts
record/journal/credit record/looks/credit_cases record/match/holding record/match/linking
record/session/stream_rules setup/care/findings setup/hook_texts steps/abandoned_rules
steps/back/plan steps/commits/parts steps/handover_text terminal/answers terminal/completion
terminal/history terminal/manual terminal/status text/json text/line_replay text/prompt_text
text/record_types text/shapes text/spans""".split()
TYPES = "gitcp.text.record_types"
# Imports that a hook must not pay for each time, or that name what may not be installed.
HEAVY = {*OWNER, *"dataclasses pathlib logging typing subprocess".split()}
IMPURE = set("time random secrets subprocess socket pathlib tempfile datetime".split())


def test_imports_point_downwards() -> None:
    none(
        f"{name(path)} imports {module}"
        for path in MODULES
        for module in imports(path)
        if module.startswith("gitcp.") and (part := _place(name(path)))
        if (used := _place(module)) != part and LAYER[used] >= LAYER[part]
    )


def _place(module: str) -> str:
    """The name in LAYERS of what a module, or a name of one, is in."""
    return (*module.split("."), "")[1]


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
    }
    inside |= dict.fromkeys(("_imp", "_frozen_importlib", "_thread", "_collections_abc"), "")
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
        if name(path) not in HOT and path.parent.name != "cmd"
        for function in ast.walk(tree(path))
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gitcp")
    )


def test_decisions_are_pure() -> None:
    """No git, clock, random or environment; a table beside a module may be read."""
    core = [TOP / "gitcp" / f"{each}.py" for each in PURE]
    none(name(p) for p in core if re.search(r"\bos\.(?!path\b)", p.read_text()))
    roots = [(name(p), module.partition(".")[0]) for p in core for module in imports(p)]
    none(f"{module} imports {root}" for module, root in roots if root in IMPURE)


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


def test_no_file_is_over_900_lines() -> None:
    """A file is a noun with what it can do; over that it is two."""
    sizes = {path: len(path.read_text().splitlines()) for path in EVERYTHING}
    none(f"{name(path)}: {n} lines" for path, n in sizes.items() if n > 900)


def test_no_function_is_over_40_lines() -> None:
    none(f"{name(p)}.{f}: {n} lines" for p in EVERYTHING for f, n in functions(p) if n > 40)


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
