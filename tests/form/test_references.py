"""Every reference leads to what is there: to a heading of a page of doc/, a function, a module."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

from tests.form.source import KNOWN, MODULES, definitions, name, none, tree
from tests.support.paths import TOP

DOC = TOP / "doc"
# A reference may be broken over lines, where the next one begins with white space or a comment.
BREAK = r"(?:\n[ \t]*#|\s)+"
REFERENCE = re.compile(rf'\bdoc/([\w-]+\.md)((?:,?{BREAK}"[^"]+")*)')
# A page outside doc/, a paragraph by its number, and a name that only its author can look up.
LOST = re.compile(
    r"(?<![\w/.])(?:behaviour|credit|formats|guard|model|performance)\.md|§|\b[Ss]eeds? 00\d"
)


def headings(page: str) -> set[str]:
    return set(re.findall(r"^#+ (.*)$", (DOC / page).read_text(), re.M))


def texts() -> Iterator[tuple[str, str]]:
    """Path and text of every file that may refer to a page."""
    places = "gitcp tests bench mutate demo man doc conftest.py *.md".split()
    argv = ["git", "ls-files", "-z", "--", *places, ":!*.png"]
    for file in subprocess.check_output(argv, cwd=TOP).decode().split("\0")[:-1]:
        path = TOP / file
        if "data" not in path.parts and path.is_file() and not file.endswith("test_references.py"):
            text = path.read_bytes().decode(errors="replace")
            yield file, text.replace("\\(dq", '"') if file.startswith("man/") else text


def unresolved(text: str) -> Iterator[str]:
    """The references in text that lead nowhere, as they are written."""
    for page, quoted in REFERENCE.findall(text):
        if not (DOC / page).is_file():
            yield f"doc/{page}"
            continue
        for heading in re.findall(r'"([^"]+)"', quoted):
            flat = re.sub(BREAK, " ", heading)
            if flat not in headings(page):
                yield f'doc/{page} "{flat}"'
    yield from LOST.findall(text)


def test_every_reference_leads_to_a_heading() -> None:
    none(f"{file}: {lost}" for file, text in texts() for lost in unresolved(text))


def test_a_reference_that_leads_nowhere_is_found() -> None:
    good = 'one (doc/model.md), (doc/git.md "Locks and\n    # refs", "Notes"), "no heading"'
    assert list(unresolved(good)) == []
    bad = 'doc/none.md "A"; doc/git.md "Notes", "B"; see behaviour.md §5'
    assert set(unresolved(bad)) == {"doc/none.md", 'doc/git.md "B"', "behaviour.md", "§"}


def test_a_page_has_each_heading_once() -> None:
    for page in DOC.iterdir():
        found = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
        none(f"{page.name}: {h}" for h in found if found.count(h) > 1)


def test_a_function_that_a_docstring_names_is_in_that_module_or_class() -> None:
    named = {
        (getattr(node, "name", name(path).rpartition(".")[2]), word)
        for path in MODULES
        for node in (tree(path), *definitions(path))
        for part in node.body
        for word in (getattr(part, "name", ""), getattr(getattr(part, "target", part), "id", ""))
    }
    for path in MODULES:
        texts = [ast.get_docstring(node) or "" for node in (tree(path), *definitions(path))]
        calls = set(re.findall(r"\b(\w+)\.(\w+)\(\)", "\n".join(texts)))
        calls -= {call for call in calls if call[0] in ("str", *sys.stdlib_module_names)}
        none(f"{name(path)}: {'.'.join(call)}()" for call in calls - named)


def test_what_a_program_imports_that_stands_in_a_text_is_there() -> None:
    line = re.compile(r"^from (gitcp[\w.]*) import (\w+(?:, \w+)*)$", re.M)
    none(
        f"{file}: {module}.{word}"
        for file, text in texts()
        for module, words in line.findall(text)
        for word in words.split(", ")
        if f"{module}.{word}" not in KNOWN
        if module not in KNOWN or not hasattr(import_module(module), word)
    )


def test_no_text_sends_to_the_package_index_for_gitcp() -> None:
    """There the name is another program's: what is installed is a checkout."""
    places = ("man/*", "doc/*.md", "gitcp/**/*.py", "README.md")
    command = re.compile(r"\b(?:pip|pipx|uv|uvx|install|inject) [^\n]*'?\bgitcp(?:\[|' *$)", re.M)
    none(
        f"{path.relative_to(TOP)}: {found[0]}"
        for place in places
        for path in TOP.glob(place)
        for found in command.finditer(path.read_text())
    )
