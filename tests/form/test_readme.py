"""The README names every command and every entry point, and no other."""

from __future__ import annotations

import re

from gitcp import commands
from tests.form.source import none
from tests.support.paths import TOP

README = (TOP / "README.md").read_text()


def test_the_table_names_every_command_once() -> None:
    rows = "\n".join(re.findall(r"^\|[^|]*\|(.*)\|$", README, re.M)[2:])
    named = re.findall(r"`([a-z-]+)`", rows)
    assert sorted(named) == sorted(commands.NAMES)


def test_the_entry_points_are_those_of_the_makefile() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)", (TOP / "Makefile").read_text(), re.M)
    assert f"`make {phony}`" in README


def test_its_picture_is_there_and_small() -> None:
    (name,) = re.findall(r"!\[[^\]]+\]\((.*?)\)", README)
    data = (TOP / name).read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) < 200_000


def test_every_place_that_hacking_names_is_there() -> None:
    text = (TOP / "HACKING.md").read_text()
    named = set(re.findall(r"`((?:gitcp|tests|mutate|man|bin)/[\w/.-]*)`", text))
    none(name for name in named if not (TOP / name).exists())
    inside = {f"{room}/{name}" for room, name in re.findall(r"`(\w+(?:/\w+)*)/(\w+)`", text)}
    below = [TOP / "gitcp", TOP / "gitcp" / "store", TOP]
    none(n for n in inside if not any((d / f"{n}.py").exists() or (d / n).exists() for d in below))


def test_hacking_names_every_room_in_its_row() -> None:
    text = (TOP / "HACKING.md").read_text()
    for folder in ("core", "store"):
        (row,) = re.findall(rf"^\| `gitcp/{folder}/` \|(.*)", text, re.M)
        rooms = {path.parent.name for path in (TOP / "gitcp" / folder).glob("*/__init__.py")}
        none(rooms - set(re.findall(r"`(\w+)`", row)))
