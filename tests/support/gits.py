"""The gits of the tests: one that runs hooks from its configuration, and one that is older."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

import pytest

from gitcp.setup import hook_texts
from tests.support.paths import TOP

# What keeps git from running hooks, be they files or configured.
_OFF = [f"hook.{hook}.enabled=false" for hook in hook_texts.HOOKS]
SILENT = tuple(word for key in ("core.hooksPath=/dev/null", *_OFF) for word in ("-c", key))
BUILT = TOP / "build" / "git" / "bin"  # .ci/get-git makes it


def find_newer() -> str:
    """PATH with a git first that runs hooks from its configuration; skips where there is none."""
    return _find(runs_configured=True)


def find_older() -> str:
    """PATH with a git first that does not; skips as find_newer() does."""
    return _find(runs_configured=False)


def _find(runs_configured: bool) -> str:
    path = os.environ["PATH"]
    for folder in [*path.split(os.pathsep), str(BUILT)]:
        if runs_configured_hooks(folder) is runs_configured:
            return f"{folder}{os.pathsep}{path}"
    pytest.skip("no git that runs configured hooks" if runs_configured else "no older git")


@cache
def runs_configured_hooks(folder: str) -> bool | None:
    """Whether the git in a folder is 2.54 or later; None if there is none."""
    git = os.path.join(folder, "git")
    if not os.access(git, os.X_OK):
        return None
    said = subprocess.run([git, "version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"(\d+)\.(\d+)", said)
    assert version, said
    return (int(version[1]), int(version[2])) >= (2, 54)
