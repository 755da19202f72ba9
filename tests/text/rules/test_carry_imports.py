"""Lines of imports that were sorted, split and joined, in the ways of several languages."""

from __future__ import annotations

import pytest

from tests.support.carrying import pair, tell_hows


@pytest.mark.parametrize(
    ("before", "after", "origins"),
    [
        ("import sys, os", "import os\nimport sys", [0, 0]),
        ("import sys\nimport os", "import os\nimport sys", [1, 0]),
        ("from a import c\nfrom a import b", "from a import b, c", [0]),
        (
            "from a import zeta, alpha, beta",
            "from a import (\n    alpha,\n    beta,\n    zeta,\n)",
            [0, 0, 0, 0, 0],
        ),
        ("import { zeta, alpha } from 'a'", "import { alpha, zeta } from 'a'", [0]),
        ("use std::{io, fs};", "use std::fs;\nuse std::io;", [0, 0]),
        ("export { zeta, alpha };", "export { alpha, zeta };", [0]),
        ("using Zeta; using Alpha;", "using Alpha;\nusing Zeta;", [0, 0]),
    ],
)
def test_the_names_of_imports_keep_their_lines(before: str, after: str, origins: list[int]) -> None:
    found = pair(f"{before}\n\nrest_of_the_file()", f"{after}\n\nrest_of_the_file()").origins
    assert found[: len(origins)] == origins


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from a import zeta, alpha", "from a import alpha, more, zeta"),
        ("from a import zeta, alpha, lost", "from a import alpha, zeta"),
        ("from .core import Group", "from .core import Group as Group"),
        ("import zeta, alpha", "import alpha as zeta"),
        ("print(zeta, alpha)", "print(alpha, zeta)"),
        ("zeta = alpha", "alpha = zeta"),
    ],
)
def test_a_name_more_or_less_and_what_is_no_import_is_the_writers(before: str, after: str) -> None:
    assert pair(before, after).origins == [-1]


def test_a_line_within_brackets_is_of_the_statement_above_it() -> None:
    before = "import (\n    zeta, alpha,\n    beta,\n)\ncall(\n    zeta, alpha,\n)"
    after = "import (\n    alpha, zeta,\n    beta,\n)\ncall(\n    alpha, zeta,\n)"
    hows = tell_hows(before, after)
    assert hows[1] == "import"
    assert hows[5] == "new"


def test_a_line_after_a_backslash_is_of_the_statement_above_it() -> None:
    before = "from a import beta, \\\n    zeta, alpha"
    after = "from a import beta, \\\n    alpha, zeta"
    assert tell_hows(before, after) == ["same", "import"]
