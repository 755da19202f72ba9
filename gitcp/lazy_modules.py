"""Let a module run when it is first used, one of gitcp or a large one of Python's: a command then
imports at its top what it may need, and its parser, help and completion cost no more than its
options.

A module is used by `module.name`; `from module import name` runs it at once.  To import it, or what
is below it, is no use of it.  Hooks import what is rare inside functions.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

try:
    from _thread import RLock
except ImportError:  # what does the same takes milliseconds to load
    from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from typing import Any


# Modules of Python that take milliseconds, and that few commands come to use.  `inspect` is what
# `dataclasses` loads for classes without a docstring.
_LARGE = """dataclasses datetime difflib glob hashlib inspect json shlex shutil subprocess
    tempfile tomllib""".split()


class _State:
    """Who runs a module: the thread that has the lock, once runs is set."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.runs = False


class _Unused(ModuleType):
    """A module that has not run, or runs."""

    def __getattribute__(self, name: str) -> Any:
        if not _is_asked_by_import(self, name):
            spec = ModuleType.__getattribute__(self, "__spec__")
            with spec.loader_state.lock:
                if type(self) is _Unused and not spec.loader_state.runs:
                    _run(self, spec)
        return ModuleType.__getattribute__(self, name)


def _is_asked_by_import(module: ModuleType, name: str) -> bool:
    """Whether this is what Python asks of a module that it has imported before.  Packages of others
    run before what is in them."""
    if name == "__spec__":
        return True
    own_name: str = ModuleType.__getattribute__(module, "__name__")
    return name == "__path__" and own_name.startswith("gitcp.")


def _run(module: ModuleType, spec: ModuleSpec) -> None:
    """Run a module in this thread, which has its lock."""
    assert spec.loader
    spec.loader_state.runs = True
    below = {key: value for key, value in module.__dict__.items() if not key.startswith("__")}
    try:
        spec.loader.exec_module(module)
    except BaseException:
        spec.loader_state.runs = False
        raise
    module.__dict__.update(below)
    module.__class__ = ModuleType


class _LazyLoader:
    """Makes a module that runs when it is used.  loader: what then runs it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As importlib.abc.Loader has it."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As importlib.abc.Loader has it."""
        assert module.__spec__
        module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        module.__spec__.loader_state = _State()
        module.__class__ = _Unused


class Finder:
    """Finds these modules as Python does, each with a lazy loader."""

    @classmethod
    def find_spec(cls, name: str, *where: Any) -> ModuleSpec | None:
        spec = None
        if name.startswith("gitcp."):
            spec = _find_file(name, where[0][0])
        elif name not in _LARGE:
            return None
        if spec is None:
            spec = PathFinder.find_spec(name, *where)
        if spec and spec.loader:
            spec.loader = _LazyLoader(spec.loader)  # type: ignore[assignment]
        return spec


def _find_file(name: str, folder: str) -> ModuleSpec | None:
    """The spec of a module in a file of a package's folder; None for any other.  PathFinder, which
    knows other kinds of files, looks at the disk four times for each."""
    path = f"{folder}/{name.rpartition('.')[2]}.py"
    if not os.path.exists(path):
        return None
    loader = SourceFileLoader(name, path)
    spec = ModuleSpec(name, loader, origin=path)
    spec.has_location = True
    return spec


def use() -> None:
    """Import these modules lazily from now on in this process, those of one thread."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
