"""The manual page of a command, wherever this installation has its pages."""

from __future__ import annotations

import os
import sys
from shutil import which

from gitcp.console import foreground
from gitcp.errors import OK, Error


def show(name: str) -> int:
    """Open the page of a program with man; raise Error when there is no man or no page."""
    path = _path(name)
    if path is None:
        raise Error(f"the manual page of '{name}' is not installed: try '{name} -h'")
    if which("man") is None:
        raise Error(f"there is no man to show '{path}': try '{name} -h'")
    sys.stdout.flush()
    if foreground.run(["man", path], os.environ):
        raise Error(f"man cannot show '{path}'")
    return OK


def _path(name: str) -> str | None:
    """Of a checkout: beside the package; else where the installer put share/man."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    user = os.path.expanduser("~/.local")
    places = [os.path.join(top, "man")]
    places += [os.path.join(p, "share", "man", "man1") for p in (sys.prefix, user, "/usr/local")]
    paths = [os.path.join(place, f"{name}.1") for place in places]
    return next((path for path in paths if os.path.exists(path)), None)
