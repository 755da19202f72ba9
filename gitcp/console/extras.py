"""Say how to install what only some commands need."""

from __future__ import annotations

import os
import sys

import gitcp
from gitcp.errors import Error


def make_missing(purpose: str, extra: str) -> Error:
    """The error of a command whose packages are not installed.

    purpose: what they do, as the beginning of a sentence; extra: their name in pyproject.toml.
    """
    return Error(f"{purpose}: {describe_install(extra)}")


def describe_install(extra: str) -> str:
    """The command that installs an extra of gitcp.  It names a checkout, since the name of gitcp
    in the package index is another program's."""
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(gitcp.__file__)))
    if not os.path.exists(os.path.join(checkout, "pyproject.toml")):
        checkout = "<checkout of gitcp>"
    return f"{sys.executable} -m pip install '{checkout}[{extra}]'"
