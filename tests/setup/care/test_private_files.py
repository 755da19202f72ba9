"""The table of private files has each that gitcp makes, and what clean, forget and du do by it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from types import ModuleType

from gitcp.git.private_files import COMMON, FILES, KINDS, PERSON, STATES, WORKTREE
from tests.support.harness import Agent, World, list_unknown
from tests.support.paths import TOP

PLACES = {"join_own": (WORKTREE,), "join_shared": (COMMON,), "locate_state": (PERSON,)}


def list_named() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(module, places, path) of each private file that the code names."""
    for path in sorted((TOP / "gitcp").rglob("*.py")):
        text = path.read_text()
        if any(f"{name}(" in text for name in PLACES):
            module = ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")
            for call in ast.walk(ast.parse(text)):
                name = call.func if isinstance(call, ast.Call) else None
                word = getattr(name, "attr", getattr(name, "id", ""))
                if word in PLACES and isinstance(call, ast.Call) and call.args:
                    parts = [evaluate(arg, importlib.import_module(module)) for arg in call.args]
                    yield module, PLACES[word], "/".join(parts)


def evaluate(arg: ast.expr, module: ModuleType) -> str:
    """The value of an argument; '*' if it is known only when the code runs."""
    try:
        value = None if isinstance(arg, ast.Starred) else eval(ast.unparse(arg), {}, vars(module))
    except NameError:
        value = None
    return value if isinstance(value, str) else "*"


def fits(path: str, name: str) -> bool:
    """Whether a path may be that of a row, or of a directory above it."""
    words = name.rstrip("/").split("/")
    pairs = [*zip(path.split("/"), words, strict=False)]
    below = len(path.split("/")) - len(words)
    same = all(part in ("*", word) or word.startswith("<") for part, word in pairs)
    return same and (below <= 0 or name.endswith("/"))


def test_each_private_file_that_the_code_names_is_in_the_table() -> None:
    named = [*list_named()]
    assert len(named) > 100
    rows = [(file.place, file.name) for file in FILES]
    assert not [
        (module, path)
        for module, places, path in named
        if not any(place in places and fits(path, name) for place, name in rows)
    ]


def test_each_row_of_the_table_is_named_in_the_code() -> None:
    named = {(places[0], path.partition("/")[0]) for _, places, path in list_named()}
    words = {
        word for path in (TOP / "gitcp").rglob("*.py") for word in list_words(path.read_text())
    }
    assert not [
        (file.place, file.name)
        for file in FILES
        if file.place != STATES
        and (file.place, file.name.partition("/")[0]) not in named
        and file.name.partition("/")[0] not in words
    ]


def list_words(text: str) -> list[str]:
    return re.findall(r'"([\w.~-]+)"', text) if "KINDS = (" not in text else []


def test_what_is_not_in_the_table_is_noticed_in_every_test(world: World, a: Agent) -> None:
    a.turn("write", {"one.py": "one\n"})
    assert not list_unknown(world.path, world.home)
    stray = world.path / ".git/gitcp/stray"
    stray.write_text("")
    assert list_unknown(world.path, world.home) == [stray]
    stray.unlink()


def test_no_file_is_declared_twice_and_no_kind_is_without_words() -> None:
    assert len({(file.place, file.name) for file in FILES}) == len(FILES)
    assert all(kind.title and kind.writer and kind.reader and kind.loss for kind in KINDS)
    assert len(KINDS) <= 20


def test_what_waits_for_a_session_or_was_exported_is_forgotten_with_it(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("write", {"one.py": "one\n"})
    b.turn("write", {"two.py": "two\n"})
    world.commit()
    folder = world.path / ".git/gitcp"
    for name in ("tell/{}", "exports/amp/{}.jsonl"):
        for agent in (a, b):
            agent.end()
            path = folder / name.format(agent.sid)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("what was said\n")
    world.gitcp("forget", "--yes", a.sid)
    left = {str(path.relative_to(folder)) for path in folder.rglob(f"{a.sid}*")}
    assert not left
    assert (folder / f"tell/{b.sid}").exists() and (folder / f"exports/amp/{b.sid}.jsonl").exists()
