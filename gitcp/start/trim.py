"""A module's bytecode as hooks have it: a fifth smaller, for they wait for all of it."""

from __future__ import annotations

import ast
import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def compile_module(source: str) -> tuple[tuple[str, ...], bytes]:
    """(what the top of a source file imports of ours, its marshalled code without docstrings and
    the types of arguments and results).  Raises OSError, SyntaxError."""
    with open(source, "rb") as f:
        tree = ast.parse(f.read())
    needs = tuple(dict.fromkeys(_list_imports(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return needs, marshal.dumps(compile(tree, source, "exec", dont_inherit=True, optimize=2))


def _list_imports(tree: ast.Module) -> Iterator[str]:
    """What is imported, each after what it is in: attributes, too."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            names = statement.module.split(".")
            if names[0] == "gitcp":
                yield from (".".join(names[:n]) for n in range(2, len(names) + 1))
                yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
