"""Where the program spells the names of its private files, refs and trailers."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from gitcp.git import private_files
from tests.form.layers import find_package
from tests.form.source import MODULES, name, tree

# The functions that make the path of a private file of their arguments.
JOINING = {"join_shared", "join_own", "locate_state"}
CACHING = {"join_shared_cache", "join_own_cache"}  # likewise, below cache/
# A ref with a name of its own, and the key of a trailer.
REF = re.compile(
    r"refs/(?:heads/entire/checkpoints/v1|notes/gitcp|gitcp/[\w-]+/?|entire/checkpoints)"
)
TRAILER = re.compile(r"Entire-[A-Z][A-Za-z-]+")


def map_spelled_files() -> dict[str, set[str]]:
    """The first part of the path of each private file -> the packages that spell it in code."""
    packages: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        constants = _list_constants(tree(path))
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            function = _get_last_name(node.func)
            word = _read_first(node, constants) if function in JOINING | CACHING else ""
            if word:
                first = f"cache/{word}" if function in CACHING else word.partition("/")[0]
                packages[first].add(find_package(name(path)))
    return packages


def map_spelled_texts(pattern: re.Pattern[str]) -> dict[str, set[str]]:
    """Each whole text of the code that a pattern matches -> the modules that have it."""
    modules: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(tree(path)):
            text = _read_text(node)
            if pattern.fullmatch(text):
                modules[text].add(name(path))
    return modules


def find_first(file: private_files.PrivateFile) -> str:
    """The first part of a private file's name, or its place in the cache, by which
    map_spelled_files() knows it; '' if each session has a file of its own there."""
    if file.is_derived:
        return file.name
    first = file.name.partition("/")[0]
    return "" if first.startswith("<") else first


def _list_constants(module: ast.Module) -> dict[str, str]:
    """The texts that names of a module stand for; of several in a row the first."""
    constants: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                constants |= _read_assignment(target, node.value)
    return constants


def _read_assignment(target: ast.expr, value: ast.expr) -> dict[str, str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        found: dict[str, str] = {}
        for inner, part in zip(target.elts, value.elts, strict=False):
            found |= _read_assignment(inner, part)
        return found
    if isinstance(value, ast.Tuple) and value.elts:
        value = value.elts[0]
    text = _read_text(value)
    return {target.id: text} if text and isinstance(target, ast.Name) else {}


def _get_last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _read_first(call: ast.Call, constants: dict[str, str]) -> str:
    """The text of the first argument if the module itself spells it, or how it begins; '' for
    another."""
    if not call.args:
        return ""
    first = call.args[0]
    if isinstance(first, ast.Starred):
        first = first.value
    if isinstance(first, ast.BinOp):
        first = first.left
    if isinstance(first, ast.Name):
        return constants.get(first.id, "")
    return _read_text(first)


def _read_text(node: ast.AST) -> str:
    """The text that a literal is; '' for another node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""
