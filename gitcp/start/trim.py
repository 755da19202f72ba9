"""Compile a module for hooks: a quarter smaller, since a hook waits until all of it is read."""

from __future__ import annotations
import __future__

import ast
import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from types import CodeType


def compile_module(
    source: str, functions: Container[str] | None, defer: str
) -> tuple[tuple[str, ...], CodeType, dict[str, bytes]]:
    """(the names of gitcp that the top of a source file imports, its code, name -> marshalled code
    of each deferred function).

    The code has no docstrings, no types, and no imports for them.  For a deferred function it calls
    the function named defer with the name.  functions: those that may be deferred, None for all.
    Raises OSError, SyntaxError.
    """
    with open(source, "rb") as f:
        tree = ast.parse(f.read())
    needs = tuple(dict.fromkeys(_list_imports(tree)))
    statements = [left for statement in tree.body for left in _strip_types(statement)]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    deferred, used = dict[str, bytes](), {*_list_used(statements)}
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.FunctionDef) and _can_wait(statement):
            name = statement.name
            if (functions is None or name in functions) and name not in used:
                used.add(name)
                deferred[name] = marshal.dumps(_compile([statement], source))
                [call] = ast.parse(f"{name} = {defer}({name!r})").body
                statements[number] = ast.copy_location(call, statement)
    return needs, _compile(statements, source), deferred


def _compile(body: list[ast.stmt], source: str) -> CodeType:
    flag = __future__.annotations.compiler_flag
    module = ast.Module(body, [])
    code: CodeType = compile(module, source, "exec", flag, dont_inherit=True, optimize=2)
    return code


def _can_wait(function: ast.FunctionDef) -> bool:
    """Whether a function at the top of a module is the same when it is made later."""
    defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
    return not function.decorator_list and all(isinstance(x, ast.Constant) for x in defaults)


def _list_used(statements: list[ast.stmt]) -> Iterator[str]:
    """The names that the top of a module uses, as to add an audit hook."""
    for statement in statements:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            nodes = ast.walk(statement)
            yield from (node.id for node in nodes if isinstance(node, ast.Name))


def _strip_types(statement: ast.stmt) -> list[ast.stmt]:
    """The statements that are left of one at the top of a module without types."""
    match statement:
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
            return otherwise
        case ast.ImportFrom(module="__future__"):
            return []
        case ast.AnnAssign(target=target, value=value) if value:
            return [ast.copy_location(ast.Assign([target], value), statement)]
    return [statement]


def _list_imports(tree: ast.Module) -> Iterator[str]:
    """The names that a module imports from gitcp, each after its package; attributes, too."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            names = statement.module.split(".")
            if names[0] == "gitcp":
                yield from (".".join(names[:n]) for n in range(2, len(names) + 1))
                yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
