"""The table of private files has each that gitcp makes, and what clean, forget and du do by it."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shutil
from collections.abc import Iterator
from types import ModuleType

from gitcp.git.private_files import COMMON, FILES, KINDS, PERSON, STATES, WORKTREE
from tests.support.harness import Agent, World, list_unknown
from tests.support.paths import TOP

PLACES = {
    "join_own": (WORKTREE,),
    "join_shared": (COMMON,),
    "locate_state": (PERSON,),
    "join_own_cache": (WORKTREE,),
    "join_shared_cache": (COMMON,),
}


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
                    folder = ["cache"] if word.endswith("_cache") else []
                    yield module, PLACES[word], "/".join([*folder, *parts])


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
    named = {(places[0], find_word(path)) for _, places, path in list_named()}
    words = {
        word for path in (TOP / "gitcp").rglob("*.py") for word in list_words(path.read_text())
    }
    assert not [
        (file.place, file.name)
        for file in FILES
        if file.place != STATES
        and (file.place, find_word(file.name)) not in named
        and find_word(file.name) not in words
    ]


def find_word(path: str) -> str:
    """The first part of a path, below the cache the second."""
    return path.removeprefix("cache/").partition("/")[0]


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
    assert sum(not file.is_derived for file in FILES) <= 51


def test_what_is_derived_may_be_deleted_at_any_time(world: World, a: Agent, b: Agent) -> None:
    """Each file in turn, then all: the answers are the same, and hooks go on as before."""
    a.turn("write", {"one.py": "one = 1\n"})
    world.commit()
    b.turn("write too", {"two.py": "two = 2\n"})
    world.write("three.py", "three = 3\n")
    folder = world.path / ".git/gitcp/cache"

    def ask() -> list[str]:
        asked = "status --json", "stats --json", "search --json write", "why --json two.py:1"
        return [world.gitcp(*words.split()) for words in asked]

    said = ask()
    world.gitcp("page")
    there = {f"cache/{path.name}" for path in folder.iterdir()}
    derived = [file.name for file in FILES if file.is_derived and file.name in there]
    assert len(derived) > 10
    for name in derived:
        (folder.parent / name).unlink()
        assert ask() == said, name
    shutil.rmtree(folder)
    b.turn("again", {"two.py": "two = 3\n"})
    shutil.rmtree(folder)
    world.git("add", "two.py", "three.py")
    shutil.rmtree(folder, ignore_errors=True)
    world.git("commit", "-q", "-m", "two")
    shutil.rmtree(folder)
    authors = [json.loads(line) for line in world.gitcp("blame", "--json", "two.py").splitlines()]
    assert [line["session_id"] for line in authors] == [b.sid]
    (own,) = world.gitcp("blame", "--json", "three.py").splitlines()
    assert json.loads(own)["who"] == "person"


def test_what_waits_for_a_session_or_was_exported_is_forgotten_with_it(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("write", {"one.py": "one\n"})
    b.turn("write", {"two.py": "two\n"})
    world.commit()
    folder = world.path / ".git/gitcp"
    for name in ("turn/{}.tell", "exports/amp/{}.jsonl"):
        for agent in (a, b):
            agent.end()
            path = folder / name.format(agent.sid)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("what was said\n")
    world.gitcp("forget", "--yes", a.sid)
    left = {str(path.relative_to(folder)) for path in folder.rglob(f"{a.sid}*")}
    assert not left
    assert (folder / f"turn/{b.sid}.tell").exists() and (
        folder / f"exports/amp/{b.sid}.jsonl"
    ).exists()
