"""Compile a module for hooks: a quarter smaller, since a hook waits until all of it is read."""

from __future__ import annotations
import __future__

import ast
import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from types import CodeType

    from gitcp.start.bundle import Imports

_BY_CLASS = ("__new__", "__init_subclass__", "__class_getitem__")  # Python asks them of the class


def compile_module(
    source: str, functions: Container[str] | None, defer: str
) -> tuple[Imports, CodeType, dict[str, bytes]]:
    """(the imports with which a source file begins, its code without them, name -> marshalled code
    of each deferred function).

    The code has no docstrings, no types, and no imports for them.  It has no deferred function to
    which nothing in it refers; another one is what the function named defer gives for the name.
    functions: those that may be deferred, None for all.  Raises OSError, SyntaxError.
    """
    with open(source, "rb") as f:
        tree = ast.parse(f.read())
    statements = [left for statement in tree.body for left in _strip_types(statement)]
    imports = _take_out_imports(statements)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    answers = any(getattr(one, "name", "") == "__getattr__" for one in statements)
    deferred = dict(_take_out_functions(statements, "", source, functions, defer))
    if not answers:  # else the module itself gives the names that it lacks
        loaded = {*_list_loaded(statements)}
        calls = {_format_call(name, defer) for name in deferred if name not in loaded}
        statements = [one for one in statements if ast.unparse(one) not in calls]
    return imports, _compile(statements, source), deferred


def _take_out_functions(
    body: list[ast.stmt], owner: str, source: str, functions: Container[str] | None, defer: str
) -> Iterator[tuple[str, bytes]]:
    """Defer functions of a body as compile_module() does; yield (name, marshalled code) of each.

    owner: the class of the body, with a dot, which the name of a method begins with; '' for a
    module.
    """
    used = {*_list_called(body)}
    for number, statement in enumerate(body):
        if isinstance(statement, ast.ClassDef) and not (statement.decorator_list or owner):
            methods = statement.body
            yield from _take_out_functions(methods, f"{statement.name}.", source, functions, defer)
        elif isinstance(statement, ast.FunctionDef) and _can_wait(statement):
            own = statement.name
            name = owner + own
            if (functions is None or name in functions) and own not in used:
                used.add(own)
                yield name, marshal.dumps(_compile([statement], source))
                [call] = ast.parse(_format_call(name, defer)).body
                body[number] = ast.copy_location(call, statement)


def _format_call(name: str, defer: str) -> str:
    return f"{name.rpartition('.')[2]} = {defer}({name!r})"


def _list_loaded(statements: list[ast.stmt]) -> Iterator[str]:
    """The names to which statements refer."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _compile(body: list[ast.stmt], source: str) -> CodeType:
    flag = __future__.annotations.compiler_flag
    module = ast.Module(body, [])
    code: CodeType = compile(module, source, "exec", flag, dont_inherit=True, optimize=2)
    return code


def _can_wait(function: ast.FunctionDef) -> bool:
    """Whether a function or a method is the same when it is made later, outside of its class."""
    if function.decorator_list or function.name in _BY_CLASS:
        return False
    defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
    names = [getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(function)]
    bound = any(name in ("super", "__class__") or name[:2] == "__" != name[-2:] for name in names)
    return not bound and all(isinstance(one, ast.Constant) for one in defaults)


def _list_called(statements: list[ast.stmt]) -> Iterator[str]:
    """The names in calls of a body itself: an audit hook is called while it is read."""
    for statement in statements:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
            nodes = (node for call in calls for node in ast.walk(call))
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


def _take_out_imports(statements: list[ast.stmt]) -> Imports:
    """Remove the imports with which a module begins, but for those that give another name."""
    imports: list[tuple[str, tuple[str, ...]]] = []
    renaming: list[ast.stmt] = []
    while statements:
        match statements[0]:
            case ast.Expr(value=ast.Constant()):  # the docstring
                pass
            case ast.Import(names=[ast.alias(name=name, asname=None)]) if "." not in name:
                imports.append((name, ()))
            case ast.ImportFrom(module=str(name), names=names) if not any(a.asname for a in names):
                imports.append((name, tuple(alias.name for alias in names)))
            case ast.Import() | ast.ImportFrom() as statement:
                renaming.append(statement)
            case _:
                break
        del statements[0]
    statements[:0] = renaming
    return tuple(imports)
