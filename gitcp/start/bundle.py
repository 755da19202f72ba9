"""The bytecode of the modules that a hook imports, in one file for each hook.

To find, open and check the .pyc files of a hundred modules takes 8 ms, as long as to run them.
importlib takes 5 ms more: the imports at the top of a module are in the file as names, which its
loader binds without a statement of Python's.

The file begins with a table, which is read at once.  The table has the code that the hook always
needs, so that marshal makes a name of many modules once.  Other code lies after the table and is
read when it is needed.  So is the code of single functions and methods, half of which no hook
calls: such a function takes its code at its first call, and is the same function after it.  A
function to which no code refers yet is not even made: a module makes it when it is asked for it,
and dir() lists it, but vars() does not.

The file is valid for one build of Python and one version of this source, each of its modules for
one version of the module's source, by its times and size.  The time of change counts too, since
an installer may set any other.  Modules that the file lacks are imported in the usual way, and
added when the hook has done its work.
"""

import marshal
import os
import sys

from gitcp.start import cpython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Stamp = tuple[int, int, int]  # of a module's source: its times in ns, its size
    # Each module that its top imports, and the names from it; without names the module itself.
    Imports = tuple[tuple[str, tuple[str, ...]], ...]
    Place = tuple[int, int]  # of marshalled code: its offset after the table, its size
    # Whether it is a package; stamp; imports; its code, or the place of it; the places of functions
    # whose code is apart, marshalled {name: Place}, or nothing.
    Part = tuple[bool, Stamp, Imports, CodeType | Place, bytes]
    Compiled = tuple[bool, Stamp, Imports, CodeType | bytes, dict[str, bytes]]  # with the code

# git's hooks get arguments that differ from call to call; a client's hook names the event.
GIT_HOOKS = (
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-rewrite",
    "pre-push",
)
_TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FIRST = frozenset(sys.modules)  # imported before the file is open
_DAMAGE = (OSError, ValueError, EOFError, TypeError)
_SIGNS = {ord(sign): None for sign in "-_."}  # allowed in names of hooks, beside letters
_HEAD = 256  # bytes, more than the line before the table has
_MANY = 30  # functions from after the table, from which on they are moved into it
_DEFER = "__deferred__"  # the name in a module of the function that makes a deferred function


class Bundle:
    """Finds and loads the modules in the file; sys.meta_path asks it first."""

    def __init__(self, file: str) -> None:
        """Raises an error of _DAMAGE for a file of another Python or version, or with a damaged
        table."""
        self.parts: dict[str, Part] = {}
        self.loaded = 0  # number of modules
        self.late: list[str] = []  # those of them whose code lies after the table
        self.damaged = False  # whether code after the table cannot be read
        self.called: dict[str, list[str]] = {}  # module -> its functions read from after the table
        self.fd = -1
        if file:
            self.fd = cpython.open_own(file)
            line, _, _ = os.pread(self.fd, _HEAD, 0).partition(b"\n")
            mark = _build_mark()
            if not line.startswith(mark):
                raise ValueError("of another Python, or of another version")
            size = int(line.removeprefix(mark))
            self._codes = len(line) + 1 + size
            self.parts = marshal.loads(os.pread(self.fd, size, len(line) + 1))

    def read_code(self, place: "Place") -> bytes:
        """Marshalled code from after the table; a part of it if the file was cut short."""
        return os.pread(self.fd, place[1], self._codes + place[0])

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "ModuleSpec | None":
        """The spec of a module, as importlib asks for it; None unless the file has its present
        version, or the module is one of Python's in C."""
        if (part := self.parts.get(name)) is None:
            return cpython.find_extension(name)
        package, stamp, _, code, _ = part
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
        kind: Any = type(sys.__spec__)  # importing importlib.machinery costs 0.5 ms
        spec: ModuleSpec = kind(name, self, origin=origin, loader_state=code, is_package=package)
        # Each import of the module asks for it; for one without it Python makes an error.
        spec._initializing = False  # type: ignore[attr-defined]
        if package:
            spec.submodule_search_locations = [os.path.dirname(origin)]
        return spec

    def create_module(self, spec: "ModuleSpec") -> None:
        """The usual kind of module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module's code in it."""
        spec: Any = module.__spec__
        space, part, modules = module.__dict__, self.parts[spec.name], sys.modules
        space["__file__"] = spec.origin
        for name, names in part[2]:
            source = modules[name] if name in modules else self.import_module(name)
            if not names:
                space[name] = source
            for own in names:
                try:
                    space[own] = getattr(source, own)
                except AttributeError:  # a module of this package
                    space[own] = self.import_module(f"{name}.{own}")
        if part[4]:
            self._prepare_functions(spec.name, space)
        exec(spec.loader_state, space)
        spec.loader_state = None

    def import_module(self, name: str) -> "ModuleType":
        """A module that is not imported yet, from the file if it has it."""
        above = name.rpartition(".")[0]
        if above and above not in sys.modules:
            self.import_module(above)
        if name in self.parts and name not in sys.modules:
            self._load(name)
        return sys.modules.get(name) or __import__(name, fromlist=[""])

    def _prepare_functions(self, module: str, space: "dict[str, Any]") -> None:
        """Let a module make its deferred functions; space: its names."""
        kind: Any = type(_take_code)
        places: dict[str, Place] = {}

        def read_places() -> "dict[str, Place]":
            if not places:
                places.update(marshal.loads(self.parts[module][4]))
            return places

        def take_code(function: "Any") -> "Any":
            name = function.__name__
            read = self._read_function(module, name, space)
            for other in _list_names(read.__code__):
                if other not in space and other in read_places():
                    space[other] = make_function(other)
            function.__code__, function.__name__ = read.__code__, read.__name__
            function.__qualname__, function.__defaults__ = name, read.__defaults__
            function.__kwdefaults__ = read.__kwdefaults__
            return function

        def make_function(name: str) -> "Any":
            function = kind(_take_code.__code__, space, name)
            function.__kwdefaults__ = {"deferred": function, "take_code": take_code}
            return function

        def find_function(name: str) -> "Any":
            if name not in read_places():
                raise AttributeError(f"module '{module}' has no attribute '{name}'")
            function = space[name] = make_function(name)
            return function

        space[_DEFER], space["__getattr__"] = make_function, find_function
        space["__dir__"] = lambda: {*space, *read_places()}

    def _read_function(self, module: str, name: str, space: "dict[str, Any]") -> "Any":
        """A function that has the code of a deferred one."""
        try:
            code = marshal.loads(self.read_code(marshal.loads(self.parts[module][4])[name]))
        except _DAMAGE:
            from gitcp.start import trim

            self.damaged = True
            _, _, codes = trim.compile_module(space["__file__"], None, _DEFER)
            code = marshal.loads(codes[name])
        read: dict[str, Any] = {}
        exec(code, space, read)
        self.called.setdefault(module, []).append(name)
        return read[name.rpartition(".")[2]]

    def _load(self, name: str) -> None:
        """Import a module from the file, unless its source has changed."""
        above, _, own = name.rpartition(".")
        spec = self.find_spec(name)
        if spec is None:
            return
        module = type(sys)(name)
        module.__spec__, module.__package__ = spec, spec.parent
        if spec.submodule_search_locations:
            module.__path__ = spec.submodule_search_locations
        sys.modules[name] = module
        try:
            self.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[above], own, module)


def _take_code(
    *args: "Any", deferred: "Any", take_code: "Callable[[Any], Any]", **options: "Any"
) -> "Any":
    """The code of a deferred function: it has the function take its own, and calls it."""
    return take_code(deferred)(*args, **options)


def _list_names(code: "CodeType") -> "Iterator[str]":
    """The names of a module, among others, to which a function refers."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, type(code)):
            yield from _list_names(inner)


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
    """The path of the file for the hook that this process runs; '' for a hook without a name."""
    words = sys.argv[1:3]
    if words and words[0] in GIT_HOOKS:
        del words[1:]
    elif len(words) > 1 and not os.path.isdir(f"{_TOP}/gitcp/agents/{words[0].replace('-', '_')}"):
        words = ["other"]  # an adapter on PATH, of any name
    plain = words and all(word.translate(_SIGNS).isalnum() for word in words)
    return cpython.get_path("-".join(("hooks", *words))) if plain else ""


def use() -> None:
    """Import from the file of this hook from now on, if there is a valid one."""
    try:
        bundle = Bundle(_locate_file())
    except _DAMAGE:
        bundle = Bundle("")
    sys.meta_path.insert(0, bundle)


def get_descriptor() -> int:
    """The descriptor of the file, which is read as long as this process runs; -1 without one."""
    return max((finder.fd for finder in sys.meta_path if isinstance(finder, Bundle)), default=-1)


def complete() -> None:
    """Add the modules that were imported from elsewhere to the file, for the next hook.

    Their code goes after the table, since the first hook in a repository needs much that later ones
    do not.  If a hook took most of its modules from there, or many functions, and none from
    elsewhere, these move into the table.
    """
    (bundle,) = (finder for finder in sys.meta_path if isinstance(finder, Bundle))
    file, fresh = _locate_file(), [*_list_elsewhere()]
    if bundle.damaged:
        _drop_file(file)
    if bundle.damaged or not file or not _is_known():
        return
    if fresh:
        bundle.called.clear()
    often = bundle.late if len(bundle.late) * 2 > bundle.loaded and not fresh else ()
    if fresh or often or sum(map(len, bundle.called.values())) > _MANY:
        cpython.write(file, lambda: _build_content(bundle, fresh, often))
        _drop_old_files(file)


def _is_known() -> bool:
    """Whether the client has a hook of this name; only then a file is written.  The adapters on
    PATH share one file."""
    name, *event = sys.argv[1:3]
    module = sys.modules.get(f"gitcp.agents.{name.replace('-', '_')}")
    return module is None or {*event} <= {*module.CLIENT.EVENTS}


def _drop_old_files(file: str) -> None:
    """Remove the files for this build of Python that another version has left."""
    folder, name = os.path.split(file)
    end, mark = name.rpartition(".")[2], _build_mark()
    try:
        for other in os.listdir(folder):
            if other.startswith("hooks") and other.endswith(end):
                with open(os.path.join(folder, other), "rb") as f:
                    old = f.read(len(mark)) != mark
                if old:
                    _drop_file(f.name)
    except OSError:
        pass  # another hook removed it, or the directory cannot be written


def _drop_file(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass


def _list_elsewhere() -> "Iterator[ModuleSpec]":
    """The spec of each module of gitcp that was not loaded from the file, and could be."""
    for name, module in sys.modules.items():
        if name.startswith("gitcp.") and name not in _FIRST:
            spec = module.__spec__
            if spec and not isinstance(spec.loader, Bundle):
                yield spec


def _build_content(bundle: Bundle, fresh: "list[ModuleSpec]", often: "Container[str]") -> bytes:
    """The content of the file with fresh modules.  often: modules whose code moves into the table,
    as the called functions do."""
    in_table = {name for name, part in bundle.parts.items() if not isinstance(part[3], tuple)}
    parts = {name: _take_part(bundle, name, part) for name, part in bundle.parts.items()}
    for spec in fresh:
        package = spec.submodule_search_locations is not None
        parts[spec.name] = _compile_part(spec.name, package, None)
    table: dict[str, Part] = {}
    codes, size = list[bytes](), 0

    def append_code(code: bytes) -> "Place":
        nonlocal size
        codes.append(code)
        size += len(code)
        return size - len(code), len(code)

    for name, part in parts.items():
        if part is None:
            continue
        package, stamp, imports, code, deferred = part
        entry: CodeType | Place
        if name in in_table or name in often:
            entry = marshal.loads(code) if isinstance(code, bytes) else code
        else:
            entry = append_code(code if isinstance(code, bytes) else marshal.dumps(code))
        places = {function: append_code(data) for function, data in deferred.items()}
        table[name] = package, stamp, imports, entry, marshal.dumps(places) if places else b""
    head = marshal.dumps(table)
    return b"%s%d\n%s%s" % (_build_mark(), len(head), head, b"".join(codes))


def _take_part(bundle: Bundle, name: str, part: "Part") -> "Compiled | None":
    """A module of the file, compiled again if functions of it were called, so that it contains
    them; None if its source has changed."""
    package, stamp, imports, code, packed = part
    places = marshal.loads(packed) if packed else {}
    if name in bundle.called:
        return _compile_part(name, package, {*places}.difference(bundle.called[name]))
    if _read_stamp(_locate_source(name, package)) != stamp:
        return None
    own = bundle.read_code(code) if isinstance(code, tuple) else code
    deferred = {function: bundle.read_code(place) for function, place in places.items()}
    return package, stamp, imports, own, deferred


def _compile_part(name: str, package: bool, defer: "Container[str] | None") -> "Compiled | None":
    """A module compiled from its source; None without one.  defer: as for compile_module()."""

    source = _locate_source(name, package)
    stamp = _read_stamp(source)
    if stamp is None:
        return None
    from gitcp.start import trim

    imports, code, deferred = trim.compile_module(source, defer, _DEFER)
    return package, stamp, imports, code, deferred
