"""A module's bytecode as hooks have it: a quarter smaller, for they wait for all of it."""

from __future__ import annotations
import __future__

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType


def compile_module(source: str) -> tuple[tuple[str, ...], CodeType]:
    """(what the top of a source file imports of ours, its code without docstrings, without the
    types of arguments and results and what is imported for them).  Raises OSError, SyntaxError."""
    with open(source, "rb") as f:
        tree = ast.parse(f.read())
    needs = tuple(dict.fromkeys(_list_imports(tree)))
    tree.body = [kept for statement in tree.body for kept in _strip_types(statement)]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    late = __future__.annotations.compiler_flag
    return needs, compile(tree, source, "exec", late, dont_inherit=True, optimize=2)


def _strip_types(statement: ast.stmt) -> list[ast.stmt]:
    """What a statement at the top of a module does when no types are checked."""
    match statement:
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
            return otherwise
        case ast.ImportFrom(module="__future__"):
            return []
        case ast.AnnAssign(target=target, value=value) if value:
            return [ast.copy_location(ast.Assign([target], value), statement)]
    return [statement]


def _list_imports(tree: ast.Module) -> Iterator[str]:
    """What is imported, each after what it is in: attributes, too."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            names = statement.module.split(".")
            if names[0] == "gitcp":
                yield from (".".join(names[:n]) for n in range(2, len(names) + 1))
                yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
