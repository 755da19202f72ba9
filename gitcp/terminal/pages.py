"""Show a page of the manual, by man or drawn here."""

from __future__ import annotations

import os
import sys
from shutil import which

from gitcp.errors import OK, Error
from gitcp.terminal import cli, manual
from gitcp.text import term

_SECTIONS = ("1", "7", "5")


def show_page(name: str) -> int:
    """Show a page with man, or in the pager without man; raise Error without the page."""
    path = find_page(name)
    if path is None:
        raise Error(f"the manual page of '{name}' is not installed: try '{name} -h'")
    sys.stdout.flush()
    if which("man") is None or term.run_foreground(["man", path], os.environ):
        with open(path, encoding="utf-8") as f:
            cli.page_lines(manual.draw_page(f.read(), cli.read_width()), folded=False)
    return OK


def find_page(name: str) -> str | None:
    """The path of a page: of the checkout, else where an installer puts share/man."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    own = [(os.path.join(top, "man"), section) for section in _SECTIONS]
    prefixes = (sys.prefix, os.path.expanduser("~/.local"), "/usr/local")
    shared = []
    for p in prefixes:
        for n in _SECTIONS:
            shared.append((os.path.join(p, "share", "man", f"man{n}"), n))
    paths = (os.path.join(folder, f"{name}.{section}") for folder, section in own + shared)
    return next((path for path in paths if os.path.exists(path)), None)
