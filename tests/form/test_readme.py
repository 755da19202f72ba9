"""What the README and HACKING.md name is there, and they name what they should."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from gitcp import commands
from gitcp.git import private_files
from tests.form.source import none
from tests.support.paths import TOP

README = (TOP / "README.md").read_text()


def test_it_names_commands_and_pages_that_are_there() -> None:
    named = set(re.findall(r"(?:`|\$ |\()gitcp ([a-z]+(?:-[a-z]+)*)", README)) - {"help"}
    assert {name for names in commands.EVERYDAY.values() for name in names} <= named
    none(named - set(commands.NAMES))
    pages = re.findall(r"(gitcp[\w-]*)\((\d)\)", README)
    none(f"{name}.{n}" for name, n in pages if not (TOP / "man" / f"{name}.{n}").exists())


def test_it_and_hacking_name_the_entry_points_of_the_makefile() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)", (TOP / "Makefile").read_text(), re.M)
    assert f"`make {phony}`" in (TOP / "HACKING.md").read_text()
    named = {
        word for words in re.findall(r"(?:`|\$ )make ([a-z -]+)", README) for word in words.split()
    }
    assert named == {"demo", "test", "bench"}


def test_it_has_as_many_agents_as_it_says() -> None:
    (listed,) = re.findall(r"^It knows (.*?), and any other agent", README, re.M | re.S)
    names = re.split(r", |,\n| and |\nand ", listed)
    assert len(names) == len(set(names)) == int(re.findall(r"\| agents .* (\d+), more", README)[0])


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
    inside -= {file.name.rstrip("/") for file in private_files.FILES}
    below = [TOP / "gitcp", TOP]
    none(n for n in inside if not any((d / f"{n}.py").exists() or (d / n).exists() for d in below))
