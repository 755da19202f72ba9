"""The program's own source, parsed once: what the checks of its form look at."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import TOP

MODULES = sorted((TOP / "gitcp").rglob("*.py"))
EVERYTHING = sorted(
    p for d in ("gitcp", "tests", "bench", "demo", "mutate") for p in (TOP / d).rglob("*.py")
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def none(offenders: Iterable[object]) -> None:
    """Fail by naming every offender, however many there are."""
    lines = sorted(map(str, offenders))
    assert not lines, "\n".join([f"{len(lines)} offenders", *lines])


def name(path: Path) -> str:
    """The module's dotted name; a package goes by its folder's."""
    return ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


KNOWN = {*map(name, MODULES)}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path, types: bool = False) -> frozenset[str]:
    """Every module imported anywhere in path when it runs, inside functions too; `from a import b`
    is a.b.  types: also what only a type checker imports."""
    modules = set[str]()
    todo: list[ast.AST] = [tree(path)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            continue
        if isinstance(node, ast.Import):
            modules |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {f"{node.module}.{a.name}" for a in node.names}
        todo += blocks(node)
    return frozenset(modules)


def blocks(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in the blocks of a statement: no expression has another statement in it."""
    for block in ("body", "handlers", "cases", "orelse", "finalbody"):
        yield from getattr(node, block, ())


def definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    todo: list[ast.AST] = [tree(path)]
    while todo:
        node = todo.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node
        todo += blocks(node)


def bound(path: Path) -> Iterator[tuple[str, int]]:
    """(name, line) of whatever path names: definitions, parameters, variables, attributes; the
    keys of a record that is declared are the format's."""
    keys = {
        id(line.target)
        for node in definitions(path)
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if id(node) not in keys:
                yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


@cache
def functions(path: Path) -> list[tuple[str, int]]:
    """(name, lines) of every function in path."""
    nodes = [node for node in definitions(path) if isinstance(node, FUNCTIONS)]
    return [(node.name, (node.end_lineno or 0) - node.lineno + 1) for node in nodes]


def circles() -> list[list[str]]:
    """The sets of modules that import each other, however far around, in functions and for types
    too."""
    graph = {name(path): {*map(resolve, imports(path, types=True))} & KNOWN for path in MODULES}
    reached = {module: _reach(graph, module) for module in graph}
    sets = {frozenset(m for m in reached[one] if one in reached[m]) for one in graph}
    return sorted(sorted(members) for members in sets if len(members) > 1)


def resolve(module: str) -> str:
    """The module that is imported, of one or of a name in one."""
    return module if module in KNOWN else module.rpartition(".")[0]


def _reach(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - reached
        reached |= new
        todo += new
    return reached
