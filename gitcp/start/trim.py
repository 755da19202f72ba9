"""A module's bytecode as hooks have it: a quarter smaller, for they wait for all of it."""

from __future__ import annotations
import __future__

import ast
import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from types import CodeType


def compile_module(
    source: str, waiting: Container[str] | None, defer: str
) -> tuple[tuple[str, ...], CodeType, dict[str, bytes]]:
    """(what the top of a source file imports of ours, its code without docstrings, without the
    types of arguments and results and what is imported for them, the marshalled code of functions
    that are not in it, which its code calls defer for by name).  waiting: those that may be left
    out, None for all that can.  Raises OSError, SyntaxError."""
    with open(source, "rb") as f:
        tree = ast.parse(f.read())
    needs = tuple(dict.fromkeys(_list_imports(tree)))
    statements = [kept for statement in tree.body for kept in _strip_types(statement)]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    deferred, used = dict[str, bytes](), {*_list_used(statements)}
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.FunctionDef) and _can_wait(statement):
            name = statement.name
            if (waiting is None or name in waiting) and name not in used:
                used.add(name)
                deferred[name] = marshal.dumps(_compile([statement], source))
                [asked] = ast.parse(f"{name} = {defer}({name!r})").body
                statements[place] = ast.copy_location(asked, statement)
    return needs, _compile(statements, source), deferred


def _compile(body: list[ast.stmt], source: str) -> CodeType:
    late = __future__.annotations.compiler_flag
    module = ast.Module(body, [])
    code: CodeType = compile(module, source, "exec", late, dont_inherit=True, optimize=2)
    return code


def _can_wait(function: ast.FunctionDef) -> bool:
    """Whether a function at the top of a module is the same when it is made later."""
    defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
    return not function.decorator_list and all(isinstance(one, ast.Constant) for one in defaults)


def _list_used(statements: list[ast.stmt]) -> Iterator[str]:
    """The names that the top of a module hands on: an audit hook is called while it is read."""
    for statement in statements:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            nodes = ast.walk(statement)
            yield from (node.id for node in nodes if isinstance(node, ast.Name))


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
