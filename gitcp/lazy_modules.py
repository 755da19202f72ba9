"""Let a module of gitcp run when it is first used: a command then imports at its top what it may
need, and its parser, help and completion cost no more than its options.

A module is used by `module.name`; `from module import name` runs it at once.  Hooks import what is
rare inside functions.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import LazyLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec


class Finder:
    """Finds the modules of gitcp as Python does, each with a lazy loader."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if not name.startswith("gitcp."):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def use() -> None:
    """Import modules of gitcp lazily from now on in this process, those of one thread."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
