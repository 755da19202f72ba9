"""The bytecode of the modules that a hook imports, in one file for each hook instead of a hundred.

To find, open and check a module's own .pyc costs as much as to run it: 8 ms of a prompt's hook.
What importlib does around each module costs 5 ms more: a module of the file brings those that it
imports at its top itself.  The file begins with a table, which is read at once; in it is the code
that a hook always takes, so that a name which many modules have is made once.  Other code lies
behind the table, and is read where a hook takes it: however much that is, it costs no other hook.
The file is for one build of Python and for this source, which says how it is laid out; each module
in it for its own source as it stands: by its times and size, that of change too, for an installer
dates files as it likes.  What is not in it is imported as ever, and added when the hook has done
its work.
"""

import marshal
import os
import sys

from gitcp.start import cpython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Stamp = tuple[int, int, int]  # of a module's source: its times in ns, its bytes
    Needs = tuple[str, ...]  # what its top imports, as far as that are modules
    Place = tuple[int, int]  # of marshalled code: where it begins behind the table, its bytes
    # Is it a package, stamp, what it needs, its code, or the place of that.
    Part = tuple[bool, Stamp, Needs, CodeType | Place]

# Git's hooks, whose arguments differ from call to call; those of clients name the event.
GIT_HOOKS = (
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-rewrite",
    "pre-push",
)
_TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FIRST = frozenset(sys.modules)  # what came before us cannot come out of the file
_DAMAGE = (OSError, ValueError, EOFError, TypeError)
_HEAD = 256  # bytes: more than the line before the table


class Bundle:
    """Finds and loads the modules in the file; sys.meta_path asks it first."""

    def __init__(self, file: str) -> None:
        """Raises what _DAMAGE lists for a file that is none of this Python, or laid out otherwise,
        or cut short in its table."""
        self.parts: dict[str, Part] = {}
        self.loaded, self.late = 0, list[str]()  # how many, and which of them from behind the table
        self._cached = cpython.get_path("hooks")
        if file:
            self._fd = cpython.open_own(file)
            line, _, _ = os.pread(self._fd, _HEAD, 0).partition(b"\n")
            mark = _build_mark()
            if not line.startswith(mark):
                raise ValueError("of another Python, or laid out otherwise")
            size = int(line.removeprefix(mark))
            self._codes = len(line) + 1 + size
            self.parts = marshal.loads(os.pread(self._fd, size, len(line) + 1))

    def read_code(self, place: "Place") -> bytes:
        """Marshalled code that lies behind the table, as much of it as is there."""
        return os.pread(self._fd, place[1], self._codes + place[0])

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "ModuleSpec | None":
        """What importlib asks of a finder; None for a module that is not in the file as it is."""
        if (part := self.parts.get(name)) is None:
            return None
        package, stamp, _, code = part
        origin = _locate_source(name, package)
        if _read_stamp(origin) != stamp:
            return None
        if isinstance(code, tuple):
            try:
                code = marshal.loads(self.read_code(code))
            except _DAMAGE:
                return None
            self.late.append(name)
        self.loaded += 1
        loader: Any = self
        kind = type(sys.__spec__)  # importlib.machinery costs half a millisecond
        spec = kind(name, loader, origin=origin, loader_state=code, is_package=package)
        spec.has_location = True
        spec.cached = self._cached
        if package:
            spec.submodule_search_locations = [os.path.dirname(origin)]
        return spec

    def create_module(self, spec: "ModuleSpec") -> None:
        """The usual kind of module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module's code in it."""
        spec: Any = module.__spec__
        for name in self.parts[spec.name][2]:
            if name not in sys.modules and name in self.parts:
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


def _locate_source(name: str, package: bool) -> str:
    return f"{_TOP}/{name.replace('.', '/')}{'/__init__' if package else ''}.py"


def _read_stamp(source: str) -> "Stamp | None":
    try:
        st = os.stat(source)
    except OSError:
        return None
    return st.st_mtime_ns, st.st_ctime_ns, st.st_size


def _build_mark() -> bytes:
    return cpython.MARK + b"%d %d %d " % (_read_stamp(__file__) or (0, 0, 0))


def _locate_file() -> str:
    """Where the file of the hook is that this process runs; '' where it is called by no name."""
    words = sys.argv[1:3]
    if words and words[0] in GIT_HOOKS:
        del words[1:]
    plain = all(word.replace("-", "").replace("_", "").isalnum() for word in words)
    return cpython.get_path("-".join(("hooks", *words))) if plain else ""


def use() -> None:
    """Import from the file from now on, where there is one that fits."""
    try:
        bundle = Bundle(_locate_file())
    except _DAMAGE:
        bundle = Bundle("")
    sys.meta_path.insert(0, bundle)


def complete() -> None:
    """Add what was imported from elsewhere, for the next hook.

    It goes behind the table, for the first hook in a repository takes much that no other does.  A
    hook that took most of its modules from there has the next ones find these in the table.
    """
    (bundle,) = (finder for finder in sys.meta_path if isinstance(finder, Bundle))
    fresh = [*_list_elsewhere()]
    often = bundle.late if len(bundle.late) * 2 > bundle.loaded and not fresh else ()
    if fresh or often:
        cpython.write(_locate_file(), lambda: _build_content(bundle, fresh, often))


def _list_elsewhere() -> "Iterator[ModuleSpec]":
    """Of each module of ours that did not come out of the file, but could."""
    for name, module in sys.modules.items():
        if name.startswith("gitcp.") and name not in _FIRST:
            spec = module.__spec__
            if spec and not isinstance(spec.loader, Bundle):
                yield spec


def _build_content(bundle: Bundle, fresh: "list[ModuleSpec]", often: "Sequence[str]") -> bytes:
    """The file with fresh modules in it; often: those whose code goes from behind the table into
    it."""
    old = bundle.parts
    at_once = {*often, *(name for name, part in old.items() if not isinstance(part[-1], tuple))}
    parts = old | {spec.name: part for spec in fresh if (part := _compile_part(spec))}
    table: dict[str, Part] = {}
    codes, size = list[bytes](), 0
    for name, (package, stamp, needs, code) in parts.items():
        if _read_stamp(_locate_source(name, package)) == stamp:
            data = bundle.read_code(code) if isinstance(code, tuple) else marshal.dumps(code)
            held: CodeType | Place = marshal.loads(data) if name in at_once else (size, len(data))
            if name not in at_once:
                codes.append(data)
                size += len(data)
            table[name] = package, stamp, needs, held
    head = marshal.dumps(table)
    return b"%s%d\n%s%s" % (_build_mark(), len(head), head, b"".join(codes))


def _compile_part(spec: "ModuleSpec") -> "Part | None":
    from gitcp.start import trim

    package = spec.submodule_search_locations is not None
    source = _locate_source(spec.name, package)
    stamp = _read_stamp(source)
    if stamp is None:
        return None
    needs, code = trim.compile_module(source)
    return (package, stamp, needs, code)
