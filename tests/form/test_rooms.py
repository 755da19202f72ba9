"""The packages of gitcp, the order between them, and what each of them alone writes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from gitcp.git import private_files
from tests.form.hot import HOT
from tests.form.layers import LAYERS, LEVELS, PURE, USERS_OF_EXTRAS, find_package
from tests.form.places import (
    REF,
    TRAILER,
    find_first,
    map_spelled_files,
    map_spelled_texts,
)
from tests.form.source import KNOWN, MODULES, imports, name, none, resolve, tree
from tests.support.paths import TOP

PATHS = {name(path): path for path in MODULES}
IMPURE = set("time random secrets subprocess socket pathlib tempfile datetime".split())


def test_the_packages_are_those_of_the_list() -> None:
    found = {find_package(module) for module in KNOWN} - {""}
    assert found == set(LEVELS) - {"VERSION"}


def test_imports_go_down_only() -> None:
    """In functions and for types, too."""
    none(
        f"{name(path)} imports {module}"
        for path in MODULES
        for module in imports(path, types=True)
        if module.startswith("gitcp.") and is_upward(find_package(name(path)), find_package(module))
    )


def is_upward(user: str, used: str) -> bool:
    return bool(user) and used != user and LEVELS[used] >= LEVELS[user]


def test_only_the_library_events_and_commands_need_the_extras() -> None:
    """One can delete the package, and gitcp records, links and goes back as before."""
    none(
        f"{name(path)} imports {module}"
        for path in MODULES
        for module in imports(path, types=True)
        if find_package(module) == "extras" and find_package(name(path)) not in USERS_OF_EXTRAS
    )


def test_what_extras_write_can_be_worked_out_again() -> None:
    none(
        file.name for file in private_files.FILES if file.writer == "extras" and not file.is_derived
    )


def test_decisions_are_pure() -> None:
    """No git, clock, random or environment; a table beside a module may be read."""
    none(module for module in PURE if module not in PATHS)
    paths = [PATHS[module] for module in PURE]
    none(name(p) for p in paths if re.search(r"\bos\.(?!path\b)", p.read_text()))
    roots = [(name(p), module.partition(".")[0]) for p in paths for module in imports(p)]
    none(f"{module} imports {root}" for module, root in roots if root in IMPURE)


def test_a_private_file_is_known_to_the_package_of_its_row_alone() -> None:
    """All others ask a function of that package for its path."""
    spelled = map_spelled_files()
    files = {find_first(file): file.writer for file in private_files.FILES if find_first(file)}
    none(file.name for file in private_files.FILES if file.writer not in LEVELS)
    none(f"{first}: it has no row" for first in spelled if first not in files)
    none(
        f"{first}: spelled in {', '.join(sorted(packages))}; the row says {files[first]}"
        for first, packages in spelled.items()
        if packages != {files.get(first)}
    )


def test_a_ref_and_the_key_of_a_trailer_are_spelled_once() -> None:
    for pattern in (REF, TRAILER):
        none(
            f"{text}: {', '.join(sorted(modules))}"
            for text, modules in map_spelled_texts(pattern).items()
            if len(modules) > 1
        )


def test_what_stands_above_a_module_of_hooks_is_light() -> None:
    """Importing a module runs the first page of each package that it is in: these are hooks', too,
    or import nothing of gitcp."""
    above = {".".join(module.split(".")[:n]) for module in HOT for n in range(1, module.count("."))}
    none(f"{package} imports {module}" for package in above - HOT for module in at_top(package))


def at_top(module: str) -> list[str]:
    """What a module of gitcp imports of gitcp as it is imported itself."""
    return [
        f"{node.module}.{alias.name}"
        for node in tree(PATHS[module]).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gitcp")
        for alias in node.names
    ]


def test_the_first_page_of_a_package_imports_nothing_that_is_above_its_subject() -> None:
    """What is rare stands beside it: the first page imports no module of its own package that hooks
    do not load."""
    none(
        f"{package} imports {module}"
        for package, path in PATHS.items()
        if path.name == "__init__.py" and find_package(package) not in ("agents", "cmd")
        for module in at_top(package)
        if resolve(module).startswith(f"{package}.") and resolve(module) not in HOT
    )


def test_hacking_has_a_row_for_each_package() -> None:
    """In their order, each with the folders that are in it."""
    text = (TOP / "HACKING.md").read_text()
    rows = re.findall(r"^\| `(\w+)/` \|(.*)", text, re.M)
    packages = [part for parts in LAYERS for part in parts.split() if is_folder(part)]
    assert [package for package, _ in rows] == packages
    for package, row in rows:
        if package != "agents":
            inside = {p.parent.name for p in (TOP / "gitcp" / package).glob("*/__init__.py")}
            none(f"{package}: {n}" for n in inside - set(re.findall(r"`(\w+)/?`", row)))


def is_folder(part: str) -> bool:
    return Path(TOP, "gitcp", part).is_dir()
