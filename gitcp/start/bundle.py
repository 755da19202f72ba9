"""The bytecode of the modules that hooks import, in one file instead of a hundred.

To find, open and check a module's own .pyc costs as much as to run it: 8 ms of a prompt's hook.
What importlib does around each module costs 5 ms more: a module of the file brings those that it
imports at its top itself.
The file is for one build of Python and for this source, which says how it is laid out; each module
in it for its own source as it stands: by its times and size, that of change too, for an installer
dates files as it likes.  What is not in it
is imported as ever, and added when the hook has done its work.
"""

from __future__ import annotations

import marshal
import os
import sys

from gitcp.start import cpython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Stamp = tuple[int, int, int]  # of a module's source: its times in ns, its bytes
    Needs = tuple[str, ...]  # what its top imports, as far as that are modules
    # Is it a package, stamp, what it needs, where its code begins, bytes.
    Place = tuple[bool, Stamp, Needs, int, int]
    Part = tuple[str, bool, Stamp, Needs, bytes]  # name, …, code

_TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_HEAD = 1 << 16  # bytes: the index of some hundred modules fits
_FIRST = frozenset(sys.modules)  # what came before us cannot come out of the file
_DAMAGE = (OSError, ValueError, EOFError, TypeError)


class Bundle:
    """Finds and loads the modules in the file; sys.meta_path asks it first."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        mark, _, table = os.pread(fd, _HEAD, 0).partition(b"\n")
        known = _mark()
        if not mark.startswith(known):
            raise ValueError("of another Python, or laid out otherwise")
        size = int(mark.removeprefix(known))
        self._codes = len(mark) + 1 + size
        if len(table) < size:
            table = os.pread(fd, size, len(mark) + 1)
        self._index: dict[str, Place] = marshal.loads(table[:size])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """What importlib asks of a finder; None for a module that is not in the file as it is."""
        if (place := self._index.get(name)) is None:
            return None
        origin = _source(name, place[0])
        try:
            code = marshal.loads(self.code(name)) if _stamp(origin) == place[1] else None
        except _DAMAGE:
            code = None
        return _spec(name, self, origin, place[0], code) if code else None

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual kind of module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code in it."""
        spec: Any = module.__spec__
        for name in self._index[spec.name][2]:
            if name in self._index and name not in sys.modules:
                self._load(name)
        exec(spec.loader_state, module.__dict__)
        spec.loader_state = None

    def _load(self, name: str) -> None:
        """Import a module, where that takes nothing but the file."""
        above, _, own = name.rpartition(".")
        spec = self.find_spec(name) if above in sys.modules else None
        if spec is None:
            return  # whoever imports it has importlib find it
        module = type(sys)(name)
        module.__spec__, module.__package__ = spec, spec.parent
        module.__file__ = spec.origin
        if spec.submodule_search_locations:
            module.__path__ = spec.submodule_search_locations
        sys.modules[name] = module
        try:
            self.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[above], own, module)

    def code(self, name: str) -> bytes:
        """The marshalled code of a module that is in the file."""
        *_, start, size = self._index[name]
        return os.pread(self._fd, size, self._codes + start)

    def fitting(self) -> Iterator[Part]:
        """Each module that is in the file as it is."""
        for name, (package, stamp, needs, _, _) in self._index.items():
            if _stamp(_source(name, package)) == stamp:
                yield name, package, stamp, needs, self.code(name)


def _spec(name: str, loader: Any, origin: str, package: bool, code: CodeType) -> ModuleSpec:
    kind = type(sys.__spec__)  # importlib.machinery costs half a millisecond
    spec = kind(name, loader, origin=origin, loader_state=code, is_package=package)
    spec.has_location = True
    spec.cached = cpython.path("hooks")
    if package:
        spec.submodule_search_locations = [os.path.dirname(origin)]
    return spec


def _source(name: str, package: bool) -> str:
    return f"{_TOP}/{name.replace('.', '/')}{'/__init__' if package else ''}.py"


def _stamp(source: str) -> Stamp | None:
    try:
        st = os.stat(source)
    except OSError:
        return None
    return st.st_mtime_ns, st.st_ctime_ns, st.st_size


def _mark() -> bytes:
    return cpython.MARK + b"%d %d %d " % (_stamp(__file__) or (0, 0, 0))


def use() -> None:
    """Import from the file from now on, where there is one that fits."""
    try:
        sys.meta_path.insert(0, Bundle(cpython.opened(cpython.path("hooks"))))
    except _DAMAGE:
        pass


def complete() -> None:
    """Add what was imported from elsewhere, for the next hook."""
    if fresh := [*_elsewhere()]:
        cpython.write(cpython.path("hooks"), lambda: _content(fresh))


def _elsewhere() -> Iterator[ModuleSpec]:
    """Of each module of ours that did not come out of the file, but could."""
    for name, module in sys.modules.items():
        if name.startswith("gitcp.") and name not in _FIRST:
            spec = module.__spec__
            if spec and not isinstance(spec.loader, Bundle):
                yield spec


def _content(fresh: list[ModuleSpec]) -> bytes:
    bundles = (finder for finder in sys.meta_path if isinstance(finder, Bundle))
    parts = [part for bundle in bundles for part in bundle.fitting()]
    parts += [part for spec in fresh if (part := _part(spec))]
    index: dict[str, Place] = {}
    at = 0
    for name, package, stamp, needs, code in parts:
        index[name] = package, stamp, needs, at, len(code)
        at += len(code)
    table = marshal.dumps(index)
    codes = b"".join(code for *_, code in parts)
    return b"%s%d\n%s%s" % (_mark(), len(table), table, codes)


def _part(spec: ModuleSpec) -> Part | None:
    from gitcp.start import trim

    package = spec.submodule_search_locations is not None
    source = _source(spec.name, package)
    stamp = _stamp(source)
    if stamp is None:
        return None
    needs, code = trim.compile_module(source)
    # Written while it was read: what ran may be older.
    return (spec.name, package, stamp, needs, code) if stamp == _stamp(source) else None
