"""The bytecode of the modules that a hook imports, in one file for each hook instead of a hundred.

To find, open and check a module's own .pyc costs as much as to run it: 8 ms of a prompt's hook.
What importlib does around each module costs 5 ms more: a module of the file brings those that it
imports at its top itself.  The file begins with a table, which is read at once; in it is the code
that a hook always takes, so that a name which many modules have is made once.  Other code lies
behind the table, and is read where a hook takes it: however much that is, it costs no other hook.
The same holds for the functions of a module: half of them no hook calls.  One whose code lies
behind the table is a function that reads the code when it is called, and is it from then on.
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
    from collections.abc import Callable, Container, Iterator
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Stamp = tuple[int, int, int]  # of a module's source: its times in ns, its bytes
    Needs = tuple[str, ...]  # what its top imports, as far as that are modules
    Place = tuple[int, int]  # of marshalled code: where it begins behind the table, its bytes
    # Is it a package, stamp, what it needs, its code or the place of that, the places of functions
    # that are not in it.
    Part = tuple[bool, Stamp, Needs, CodeType | Place, dict[str, Place]]
    Compiled = tuple[bool, Stamp, Needs, CodeType | bytes, dict[str, bytes]]  # the same, at hand

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
_SIGNS = {ord(sign): None for sign in "-_."}  # in names of hooks, beside letters
_HEAD = 256  # bytes: more than the line before the table
_MANY = 30  # functions from behind the table: the next hook has them in it
_DEFER = "__deferred__"  # in a module: what makes a function of a name


class Bundle:
    """Finds and loads the modules in the file; sys.meta_path asks it first."""

    def __init__(self, file: str) -> None:
        """Raises what _DAMAGE lists for a file that is none of this Python, or laid out otherwise,
        or cut short in its table."""
        self.parts: dict[str, Part] = {}
        self.loaded, self.late = 0, list[str]()  # how many, and which of them from behind the table
        self.damaged = False  # behind its table
        self.called: dict[str, list[str]] = {}  # module -> its functions that came from there
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
        part = self.parts[spec.name]
        for name in part[2]:
            if name not in sys.modules and name in self.parts:
                self._load(name)
        if part[4]:
            module.__dict__[_DEFER] = self._make_deferrer(spec.name, module.__dict__)
        exec(spec.loader_state, module.__dict__)
        spec.loader_state = None

    def _make_deferrer(self, module: str, space: "dict[str, Any]") -> "Callable[[str], Any]":
        """What the code of a module, which runs in space, makes a function of that waits."""

        def make_function(name: str) -> "Any":
            function: Any = None

            def read_first(*args: "Any", **options: "Any") -> "Any":
                nonlocal function
                if function is None:
                    function = self._read_function(module, name, space)
                return function(*args, **options)

            read_first.__name__ = name
            return read_first

        return make_function

    def _read_function(self, module: str, name: str, space: "dict[str, Any]") -> "Any":
        """Put a function that waited into its module."""
        try:
            code = marshal.loads(self.read_code(self.parts[module][4][name]))
        except _DAMAGE:
            from gitcp.start import trim

            self.damaged = True
            _, _, codes = trim.compile_module(space["__file__"], None, _DEFER)
            code = marshal.loads(codes[name])
        exec(code, space)
        self.called.setdefault(module, []).append(name)
        return space[name]

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
    elif len(words) > 1 and not os.path.isdir(f"{_TOP}/gitcp/agents/{words[0].replace('-', '_')}"):
        words = ["other"]  # whatever it is called, an adapter on PATH reads it
    plain = words and all(word.translate(_SIGNS).isalnum() for word in words)
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
    hook that took most of its modules from there, or many functions, has the next ones find these
    in the table.
    """
    (bundle,) = (finder for finder in sys.meta_path if isinstance(finder, Bundle))
    file, fresh = _locate_file(), [*_list_elsewhere()]
    if bundle.damaged:
        _drop_file(file)
    if bundle.damaged or not file or not _is_known():
        return
    often = bundle.late if len(bundle.late) * 2 > bundle.loaded and not fresh else ()
    if fresh or often or sum(map(len, bundle.called.values())) > _MANY:
        cpython.write(file, lambda: _build_content(bundle, fresh, often))
        _drop_old_files(file)


def _is_known() -> bool:
    """Whether the client whose hook this process runs has one of that name: others leave no file.

    The adapters on PATH have one file together.
    """
    name, *event = sys.argv[1:3]
    client = sys.modules.get(f"gitcp.agents.{name.replace('-', '_')}")
    hooks = [hook[0] for hook in getattr(client, "HOOKS", ())]
    return client is None or {*event} <= {*getattr(client, "EVENTS", ()), *hooks}


def _drop_old_files(file: str) -> None:
    """Take away the files of this kind of Python that an older version has left."""
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
        pass  # another hook was quicker, or nothing can be kept there


def _drop_file(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass


def _list_elsewhere() -> "Iterator[ModuleSpec]":
    """Of each module of ours that did not come out of the file, but could."""
    for name, module in sys.modules.items():
        if name.startswith("gitcp.") and name not in _FIRST:
            spec = module.__spec__
            if spec and not isinstance(spec.loader, Bundle):
                yield spec


def _build_content(bundle: Bundle, fresh: "list[ModuleSpec]", often: "Container[str]") -> bytes:
    """The file with fresh modules in it; often: those whose code goes from behind the table into
    it, as the functions do that were called."""
    at_once = {name for name, part in bundle.parts.items() if not isinstance(part[3], tuple)}
    parts = {name: _take_part(bundle, name, part) for name, part in bundle.parts.items()}
    for spec in fresh:
        package = spec.submodule_search_locations is not None
        parts[spec.name] = _compile_part(spec.name, package, None)
    table: dict[str, Part] = {}
    codes, size = list[bytes](), 0

    def put_behind(code: bytes) -> "Place":
        nonlocal size
        codes.append(code)
        size += len(code)
        return size - len(code), len(code)

    for name, part in parts.items():
        if part is None:
            continue
        package, stamp, needs, code, waiting = part
        held: CodeType | Place
        if name in at_once or name in often:
            held = marshal.loads(code) if isinstance(code, bytes) else code
        else:
            held = put_behind(code if isinstance(code, bytes) else marshal.dumps(code))
        places = {one: put_behind(data) for one, data in waiting.items()}
        table[name] = package, stamp, needs, held, places
    head = marshal.dumps(table)
    return b"%s%d\n%s%s" % (_build_mark(), len(head), head, b"".join(codes))


def _take_part(bundle: Bundle, name: str, part: "Part") -> "Compiled | None":
    """A module of the file as it is, with the functions in it that were called; None where its
    source is another."""
    package, stamp, needs, code, places = part
    if name in bundle.called:
        waiting = {*places}.difference(bundle.called[name])
        return _compile_part(name, package, waiting)
    if _read_stamp(_locate_source(name, package)) != stamp:
        return None
    held = bundle.read_code(code) if isinstance(code, tuple) else code
    return package, stamp, needs, held, {one: bundle.read_code(at) for one, at in places.items()}


def _compile_part(name: str, package: bool, waiting: "Container[str] | None") -> "Compiled | None":
    """A module by its source; waiting: the functions that may be left out, None for all."""
    from gitcp.start import trim

    source = _locate_source(name, package)
    stamp = _read_stamp(source)
    if stamp is None:
        return None
    needs, code, deferred = trim.compile_module(source, waiting, _DEFER)
    return (package, stamp, needs, code, deferred)
