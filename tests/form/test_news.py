"""NEWS.md is as Keep a Changelog has it, so that programs and people find a version's changes."""

from __future__ import annotations

import re

from tests.form.source import none
from tests.support.paths import TOP

NEWS = (TOP / "NEWS.md").read_text()
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_its_versions_have_dates_and_the_newest_is_first() -> None:
    first, *released = re.findall(r"^## (.*)", NEWS, re.M)
    assert first == "[Unreleased]"
    none(
        name for name in released if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", name)
    )
    numbers = [[int(n) for n in re.findall(r"\d+", name)[:3]] for name in released]
    assert numbers == sorted(numbers, reverse=True)


def test_each_change_is_of_a_kind() -> None:
    for version in NEWS.split("\n## ")[1:]:
        parts = re.split(r"^### (.*)", version, flags=re.M)
        none(name for name in parts[1::2] if name not in KINDS)
        assert "\n* " not in parts[0]
