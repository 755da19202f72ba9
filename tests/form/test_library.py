"""Below the commands gitcp is a library: it prints nothing, stays where it is, and remembers in one
place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.form.layers import find_package
from tests.form.source import FUNCTIONS, MODULES, blocks, name, none, tree

# What has a terminal or a process of its own.
PROGRAMS = {
    "cmd",
    "events",
    "terminal",
    "hook",
    "entry",
    "program",
}
# How the library tells a person, and how it runs foreign programs.
TELLING = {"gitcp.text.console", "gitcp.text.term", "gitcp.git.shell"}
LIBRARY = [p for p in MODULES if find_package(name(p)) not in PROGRAMS and name(p) not in TELLING]
DOORS = {"sys.stdin", "sys.stdout", "sys.stderr", "os.chdir", "os.fchdir", "os.putenv"}
CHANGES = set("append add clear update pop popitem extend setdefault remove discard insert".split())


def test_below_the_commands_nothing_prints_reads_a_terminal_or_changes_directory() -> None:
    none(f"{name(p)}:{line} {word}" for p in LIBRARY for word, line in _doors(tree(p)))


def test_below_the_commands_only_memory_keeps_anything_between_two_calls() -> None:
    """What a module changes is a table that gitcp/memory.py has."""
    none(
        f"{name(p)}:{line} {word}"
        for p in LIBRARY
        if name(p) != "gitcp.memory"
        for word, line in _changed(tree(p))
    )


def _doors(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name("print" | "input" as word)):
                yield word, node.lineno
            case ast.Attribute(ast.Name(module_name), attr) if f"{module_name}.{attr}" in DOORS:
                yield f"{module_name}.{attr}", node.lineno
            case _ if _changed_name(node) == "os.environ":
                yield "os.environ", getattr(node, "lineno", 0)


def _changed(module: ast.Module) -> Iterator[tuple[str, int]]:
    """The names of a module that its functions bind anew, or change as a list or a table."""
    names = {
        target.id
        for node in module.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
        and not (node.value and ast.unparse(node.value).startswith("memory.get_table("))
    }
    for function in _functions(module):
        for node in ast.walk(function):
            word = _changed_name(node)
            if isinstance(node, ast.Global) or word in names:
                yield word or "global", getattr(node, "lineno", 0)


def _functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in blocks(node):
        if isinstance(child, FUNCTIONS):
            yield child
        else:
            yield from _functions(child)


def _changed_name(node: ast.AST) -> str:
    """The name that a statement or a call changes, '' for none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value) if node.func.attr in CHANGES else ""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return ast.unparse(node.value)
    return ""
