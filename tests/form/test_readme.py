"""The README names every command and every entry point, and no other."""

from __future__ import annotations

import re

from gitcp import commands
from tests.support.paths import TOP

README = (TOP / "README.md").read_text()


def test_the_table_names_every_command_once() -> None:
    rows = "\n".join(re.findall(r"^\|[^|]*\|(.*)\|$", README, re.M)[2:])
    named = re.findall(r"`([a-z-]+)`", rows)
    assert sorted(named) == sorted({**commands.STAGES, **commands.TOOLS})


def test_the_entry_points_are_those_of_the_makefile() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)", (TOP / "Makefile").read_text(), re.M)
    assert f"`make {phony}`" in README
