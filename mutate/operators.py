"""What may be changed in a piece of Python, and into what: one small mutation at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_FLIP: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FORM = ("TYPE_CHECKING = False", "strict=True")
_SILENT = ("append_trace(", "git.append_trace(")  # what only tells changes no behaviour


@dataclass(frozen=True)
class Mutation:
    """source[start:end] (bytes) becomes new; function: '' at the top level of the module."""

    path: str
    line: int
    function: str
    start: int
    end: int
    old: str
    new: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old}  ->  {new}"


def mutations(path: str, source: bytes) -> Iterator[Mutation]:
    """Every mutation of a file, in the order of its lines."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    for function, node, new in _walk(ast.parse(source), ""):
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or 0, node.end_col_offset or 0)
        old = source[start:end].decode()
        if new != old:
            yield Mutation(path, node.lineno, function, start, end, old, new)


_Found = tuple[str, ast.expr | ast.stmt, str]


def _walk(node: ast.AST, function: str) -> Iterator[_Found]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Expr) and ast.unparse(node).startswith(_SILENT):
        return
    if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return
    if isinstance(node, (ast.Assign, ast.keyword)) and ast.unparse(node) in _FORM:
        return
    name = f"{function}.{node.name}".lstrip(".") if isinstance(node, _FUNCTIONS) else function
    yield from ((name, *target) for target in _statement(node))
    yield from ((name, *target) for target in _test(node))
    yield from ((name, *target) for target in _expression(node))
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, name)


def _statement(node: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """A statement that does something is left out."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete() | ast.Continue():
            yield node, "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield node, "pass"
        case ast.Break():
            yield node, "continue"


def _test(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """A condition that is one name or call is turned round; others are below."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        simple = (ast.Name, ast.Call, ast.Attribute, ast.Subscript)
        if isinstance(node.test, simple):
            yield node.test, f"(not {ast.unparse(node.test)})"


def _expression(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.Compare(ops=[op]):
            flipped = ast.Compare(node.left, [_FLIP[type(op)]()], node.comparators)
            yield node, f"({ast.unparse(flipped)})"
            if isinstance(op, (ast.In, ast.NotIn)):
                yield from _fewer(node.comparators[0])
        case ast.BoolOp():
            for n in range(len(node.values)):
                rest = [*node.values[:n], *node.values[n + 1 :]]
                kept = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
                yield node, f"({ast.unparse(kept)})"
        case ast.UnaryOp(op=ast.Not()):
            yield node, f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool(value)):
            yield node, repr(not value)
        case ast.Constant(value=int(value)):
            yield node, repr(value + 1)
        case ast.BinOp():
            yield from _sides(node)
        case ast.Slice():
            yield from _bounds(node)


def _fewer(among: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """`x in (a, b)`: each of those left out in turn."""
    if isinstance(among, (ast.Tuple, ast.Set)) and len(among.elts) > 1:
        for n in range(len(among.elts)):
            rest = ", ".join(ast.unparse(e) for i, e in enumerate(among.elts) if i != n)
            yield among, f"({rest},)"


def _sides(node: ast.BinOp) -> Iterator[tuple[ast.expr, str]]:
    number = any(isinstance(side, ast.Constant) and type(side.value) is int
                 for side in (node.left, node.right))  # fmt: skip
    if number and isinstance(node.op, (ast.Add, ast.Sub)):
        op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield node, f"({ast.unparse(ast.BinOp(node.left, op, node.right))})"
    elif isinstance(node.op, (ast.Add, ast.Sub, ast.BitAnd, ast.BitOr)):
        yield node, f"({ast.unparse(node.left)})"
        if not isinstance(node.op, ast.Sub):
            yield node, f"({ast.unparse(node.right)})"


def _bounds(node: ast.Slice) -> Iterator[tuple[ast.expr, str]]:
    lower, upper = (ast.unparse(b) if b else "" for b in (node.lower, node.upper))
    if node.lower and not node.step:
        yield node, f":{upper}"
    if node.upper and not node.step:
        yield node, f"{lower}:"
