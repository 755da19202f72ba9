"""Let a module run when it is first used, one of gitcp or a large one of Python's: a command then
imports at its top what it may need, and its parser, help and completion cost no more than its
options.

A module is used by `module.name`; `from module import name` runs it at once.  Hooks import what is
rare inside functions.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import LazyLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any


# Modules of Python that take milliseconds, and that few commands come to use.  `inspect` is what
# `dataclasses` loads for classes without a docstring.
_LARGE = "datetime difflib inspect json shutil subprocess tempfile tomllib".split()


class Finder:
    """Finds these modules as Python does, each with a lazy loader."""

    @classmethod
    def find_spec(cls, name: str, *where: Any) -> ModuleSpec | None:
        if not name.startswith("gitcp.") and name not in _LARGE:
            return None
        spec = PathFinder.find_spec(name, *where)
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def use() -> None:
    """Import these modules lazily from now on in this process, those of one thread."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
