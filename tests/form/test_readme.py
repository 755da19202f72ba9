"""The README names every command and every entry point, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

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


def test_its_pictures_are_there_and_small() -> None:
    names = re.findall(r"!\[[^\]]+\]\((.*?)\)", README)
    pictures = {Path(name).suffix: (TOP / name).read_bytes() for name in names}
    assert len(names) == len(pictures) and set(pictures) == {".png", ".svg"}
    assert pictures[".png"].startswith(b"\x89PNG") and len(pictures[".png"]) < 200_000
    assert len(pictures[".svg"]) <= 48 * 1024


def test_the_moving_picture_only_shows_and_moves_only_where_motion_is_wanted() -> None:
    text = (TOP / "demo" / "rewind.svg").read_text()
    tree = ElementTree.fromstring(text)
    kinds = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in tree.iter()}
    assert kinds <= {"svg", "title", "style", "defs", "g", "use", "rect", "text"}
    names = {name for element in tree.iter() for name in element.attrib}
    none(name for name in names if name.lower().startswith("on"))
    outside = {element.get("href", "#")[0] for element in tree.iter()} - {"#"}
    assert not outside and "url(" not in text and "@import" not in text
    (style,) = (element.text or "" for element in tree.iter() if element.tag.endswith("style"))
    still, asked, moving = style.partition("@media (prefers-reduced-motion:no-preference){")
    assert asked and "animation" not in still and "animation:" in moving.partition("}}")[0]


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
