"""A page of the manual without man: the words, spaces and marks that mandoc shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gitcp.terminal.manual import draw_page
from gitcp.text.spans import list_texts
from tests.support.paths import TOP

PAGES = sorted((TOP / "man").iterdir())
PLAIN = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2022", "''\"\"-*")
SOURCE = r""".Dd November 23, 2026
.Dt GITCP-X 1
.Os
.Sh NAME
.Nm gitcp-x
.Nd do it
.Sh SYNOPSIS
.Nm
.Op Fl a , Fl -all
.Op Fl -base Ns = Ns Ar <tree>
.Sh DESCRIPTION
Of
.Xr git-log 1 ,
with
.Dq a \e b
.Pq see Pf x Ns Ql y .
.Bl -tag -width Ds
.It Fl a
Short.
.It Fl -longer
Its text is on a line of its own.
.Bl -bullet -compact
.It
one
.El
.El
.Bd -literal -offset indent
$ kept   as it is
.Ed
"""
DRAWN = """\
GITCP-X(1)

NAME
     gitcp-x - do it

SYNOPSIS
     gitcp-x [-a, --all] [--base=<tree>]

DESCRIPTION
     Of git-log(1), with "a \\ b" (see
     x'y').

     -a      Short.

     --longer
             Its text is on a line of
             its own.
             *   one

           $ kept   as it is"""


def test_a_page_is_drawn_for_the_width_of_the_terminal() -> None:
    assert "\n".join(list_texts(draw_page(SOURCE, 40))) == DRAWN


def show_by_mandoc(path: Path) -> str:
    """The page in long lines; of the longest, what was parted at a hyphen is joined."""
    argv = ["mandoc", "-Tutf8", "-Owidth=1000", str(path)]
    shown = re.sub("(?s).\x08", "", subprocess.check_output(argv, text=True))
    return re.sub(r"(?m)^(.{900,}-)\n *", r"\1", shown).translate(PLAIN)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_has_the_words_that_mandoc_shows(path: Path) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    lines = show_by_mandoc(path).strip().split("\n")[1:-1]  # without its head and foot
    drawn = list(list_texts(draw_page(path.read_text())))
    assert "\n".join(drawn[1:]).split() == "\n".join(lines).split()
