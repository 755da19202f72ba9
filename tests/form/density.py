"""What slows a reader down, counted in each package of gitcp.

    python -m tests.form.density            a table: a row a package, a column a measure
    python -m tests.form.density --write    store it as density.tsv, what test_density compares with

The measures and what other projects have of them are in HACKING.md "Plain code".
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.form.layers import find_package
from tests.form.source import FUNCTIONS, MODULES, name, tree

TABLE = Path(__file__).with_name("density.tsv")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BUSY = 3  # decisions
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
}
RECORD = re.compile(r"(\w+\.)?(dict|Dict|Mapping|MutableMapping)\[str, (\w+\.)?Any\]")
Names = set[str]


@dataclass(slots=True)
class Aliases:
    """Names of a module that stand for a bare tuple, or for a record of any keys."""

    tuples: Names = field(default_factory=set)
    records: Names = field(default_factory=set)


@dataclass(slots=True)
class Module:
    """A module with what several measures ask of it."""

    path: Path
    nodes: list[ast.AST]
    imported: dict[str, str]  # name at the top level -> the module that it comes from
    aliases: Aliases

    def annotations(self) -> Iterator[ast.expr]:
        for node in self.nodes:
            if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation:
                yield node.annotation
            elif isinstance(node, FUNCTIONS) and node.returns:
                yield node.returns


# What is counted ------------------------------------------------------------


def count_ternaries(module: Module) -> int:
    """Conditional expressions: `a if b else c`."""
    return sum(isinstance(node, ast.IfExp) for node in module.nodes)


def count_knotty(module: Module) -> int:
    """Comprehensions with two loops, two conditions, or a comprehension inside."""
    count = 0
    for node in module.nodes:
        if isinstance(node, COMPREHENSIONS):
            conditions = [test for loop in node.generators for test in loop.ifs]
            inner = any(isinstance(part, COMPREHENSIONS) for part in _walk_below(node))
            count += inner or len(node.generators) > 1 or len(conditions) > 1
    return count


def count_tuple_assignments(module: Module) -> int:
    """`a, b = x, y`, but for a swap."""
    count = 0
    for node in module.nodes:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                left = sorted(map(ast.unparse, target.elts))
                count += left != sorted(map(ast.unparse, node.value.elts))
    return count


def count_walruses(module: Module) -> int:
    return sum(isinstance(node, ast.NamedExpr) for node in module.nodes)


def count_busy(module: Module) -> int:
    """Statements of BUSY decisions and more, however they are made."""
    return sum(
        isinstance(node, ast.stmt) and _count_decisions(node) >= BUSY for node in module.nodes
    )


def count_shadowed_imports(module: Module) -> int:
    """Names that a function binds itself, and the module imports."""
    count = 0
    for node in module.nodes:
        if isinstance(node, FUNCTIONS):
            count += len(_list_bindings(node) & module.imported.keys())
    return count


def count_tuple_results(module: Module) -> int:
    """Functions whose result is a bare tuple of several things."""
    count = 0
    for node in module.nodes:
        if isinstance(node, FUNCTIONS) and node.returns:
            count += _is_bare_tuple(node.returns, module.aliases.tuples)
    return count


def count_records(module: Module) -> int:
    """`dict[str, Any]` in annotations, also by an alias."""
    count = 0
    for annotation in module.annotations():
        for node in ast.walk(annotation):
            if isinstance(node, ast.expr):
                count += _is_record(node, module.aliases.records)
    return count


MEASURES: dict[str, Callable[[Module], int]] = {
    "ternary": count_ternaries,
    "knotty": count_knotty,
    "tuple_assign": count_tuple_assignments,
    "walrus": count_walruses,
    "busy": count_busy,
    "shadow_import": count_shadowed_imports,
    "tuple_result": count_tuple_results,
    "record": count_records,
}


def count_tokens(module: Module) -> int:
    """The tokens of a module, without comments, docstrings and ends of lines."""
    text = module.path.read_text()
    lines = text.splitlines()
    starts = {}
    for node in module.nodes:
        if isinstance(node, ast.stmt):
            starts[node.lineno, node.col_offset] = not _is_docstring(node)
    count = 0
    is_counted = False
    depth = 0  # of f-strings, which are one token before Python 3.12
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_END":
            depth -= 1
            continue
        if kind == "FSTRING_START":
            depth += 1
        if depth > (kind == "FSTRING_START"):
            continue
        row, column = token.start
        if row <= len(lines):
            column = len(lines[row - 1][:column].encode())
        is_counted = starts.get((row, column), is_counted)
        count += is_counted and token.type not in SKIPPED
    return count


# A package ------------------------------------------------------------------


@dataclass(slots=True)
class Sums:
    """What a package has: statements, tokens, and of each measure how many."""

    statements: int = 0
    tokens: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def get_rate(self, measure: str) -> float:
        """How many there are in 1,000 statements; of tokens, in one."""
        if measure == "tokens":
            return self.tokens / max(self.statements, 1)
        return 1000 * self.counts[measure] / max(self.statements, 1)

    def get_count(self, measure: str) -> int:
        return self.tokens if measure == "tokens" else self.counts[measure]


def measure_packages() -> dict[str, Sums]:
    packages: dict[str, Sums] = {}
    for module in read_modules():
        package = find_package(name(module.path)) or "gitcp"
        sums = packages.setdefault(package, Sums())
        sums.statements += sum(isinstance(node, ast.stmt) for node in module.nodes)
        sums.tokens += count_tokens(module)
        for measure, count in MEASURES.items():
            sums.counts[measure] += count(module)
    return packages


def read_table() -> dict[str, Sums]:
    """The packages as density.tsv has them."""
    packages = {}
    head, *rows = TABLE.read_text().splitlines()
    names = head.split("\t")[3:]
    for row in rows:
        package, statements, tokens, *counts = row.split("\t")
        numbers = Counter(dict(zip(names, map(int, counts), strict=True)))
        packages[package] = Sums(int(statements), int(tokens), numbers)
    return packages


def format_table(packages: dict[str, Sums]) -> str:
    lines = ["\t".join(["package", "statements", "tokens", *MEASURES])]
    for package, sums in sorted(packages.items()):
        numbers = [sums.statements, sums.tokens, *(sums.counts[measure] for measure in MEASURES)]
        lines.append("\t".join([package, *map(str, numbers)]))
    return "\n".join(lines) + "\n"


# Reading --------------------------------------------------------------------


def read_modules() -> list[Module]:
    """All modules, each with the aliases that it imports from another."""
    modules = {}
    for path in MODULES:
        nodes = list(ast.walk(tree(path)))
        modules[name(path)] = Module(path, nodes, _map_imports(path), _find_aliases(nodes))
    own = {name: module.aliases for name, module in modules.items()}
    for module in modules.values():
        known = Aliases(set(module.aliases.tuples), set(module.aliases.records))
        for word, origin in module.imported.items():
            if origin in own:
                known.tuples |= own[origin].tuples & {word}
                known.records |= own[origin].records & {word}
        module.aliases = known
    return list(modules.values())


def _map_imports(path: Path) -> dict[str, str]:
    """The names that imports outside of functions bind, those for types too."""
    names = {}
    todo: list[ast.AST] = [tree(path)]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                names[(alias.asname or alias.name).partition(".")[0]] = module
        elif not isinstance(node, FUNCTIONS):
            todo += ast.iter_child_nodes(node)
    return names


def _find_aliases(nodes: list[ast.AST]) -> Aliases:
    aliases = Aliases()
    for node in nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Subscript):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name):
            if _is_bare_tuple(node.value, set()):
                aliases.tuples.add(target.id)
            if _is_record(node.value, set()):
                aliases.records.add(target.id)
    return aliases


def _is_bare_tuple(annotation: ast.expr, aliases: Names) -> bool:
    """Whether it is a tuple of several things; `tuple[X, ...]` is a list of one."""
    if isinstance(annotation, ast.BinOp):
        return _is_bare_tuple(annotation.left, aliases) or _is_bare_tuple(annotation.right, aliases)
    if isinstance(annotation, ast.Name):
        return annotation.id in aliases
    if not isinstance(annotation, ast.Subscript):
        return False
    word = ast.unparse(annotation.value).rpartition(".")[2]
    if word == "Optional":
        return _is_bare_tuple(annotation.slice, aliases)
    if word not in ("tuple", "Tuple") or not isinstance(annotation.slice, ast.Tuple):
        return False
    last = annotation.slice.elts[-1]
    return not (isinstance(last, ast.Constant) and last.value is Ellipsis)


def _is_record(node: ast.expr, aliases: Names) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    return isinstance(node, ast.Subscript) and bool(RECORD.fullmatch(ast.unparse(node)))


def _list_bindings(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Names:
    """The names that a function binds, without those of functions and classes in it."""
    names = set()
    todo: list[ast.AST] = [function.args, *function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
    return names


def _count_decisions(statement: ast.stmt) -> int:
    decisions = 0
    for node in _walk_own(statement):
        if isinstance(node, (ast.IfExp, ast.NamedExpr, ast.Lambda)):
            decisions += 1
        elif isinstance(node, ast.BoolOp):
            decisions += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            decisions += 1 + len(node.ifs)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            decisions += any(isinstance(part, ast.Starred) for part in node.elts)
        elif isinstance(node, ast.Dict):
            decisions += None in node.keys
    return decisions


def _walk_own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without those of the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)
        elif isinstance(child, ast.withitem):
            yield from ast.walk(child.context_expr)
        elif isinstance(child, ast.ExceptHandler) and child.type:
            yield from ast.walk(child.type)


def _walk_below(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield from ast.walk(child)


def _is_docstring(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def main() -> None:
    text = format_table(measure_packages())
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(text)
    else:
        print(text.expandtabs(14), end="")


if __name__ == "__main__":
    main()
