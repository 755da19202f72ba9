"""The files of bytecode that hooks import from: what runs is what the sources say."""

from __future__ import annotations

import marshal
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitcp.core import installation
from gitcp.start.bundle import GIT_HOOKS
from tests.support.paths import TOP

# A bundle has no assert statements.
CHECK = """
def check(holds):
    if not holds:
        raise SystemExit(1)
"""
# Has two other processes call a function, and asks whether they compiled its module to do so.
SPREAD = f"""{CHECK}
import os, sys
from gitcp.core import json
from gitcp.store.reading import spread_batches

class Own:
    def reopen(self): return self
    def __enter__(self): return self
    def __exit__(self, *args): pass

def work(batch): return json.dumps(batch), "gitcp.start.trim" in sys.modules

os.sched_getaffinity = lambda _: {0, 1}
done = [*spread_batches(Own(), [[1], [2]], lambda _: work, 0)]
check(done == [("[1]", False), ("[2]", False)])
"""
# Runs a hook as entry.py does, then says from where its modules came.
CODE = """
import os, sys
sys.path.insert(0, os.getcwd())
sys.argv = ["gitcp-hook", "codex", *sys.argv[1:]]
from gitcp.start import process
status = process.main()
from gitcp.start.bundle import Bundle
ours = [m.__spec__ for n, m in sys.modules.items() if n.startswith("gitcp.") and m.__spec__]
print(status, *sorted(s.name for s in ours if isinstance(s.loader, Bundle)))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package that has run a hook twice."""
    folder = tmp_path_factory.mktemp("installed")
    nothing = shutil.ignore_patterns("hooks*.cpython*")
    shutil.copytree(TOP / "gitcp", folder / "gitcp", ignore=nothing)
    assert hook(folder) == []
    hook(folder)
    return folder


@pytest.fixture
def lib(installed: Path, tmp_path: Path) -> Path:
    """A copy of its own for a test that spoils it."""
    folder = Path(shutil.copytree(installed, tmp_path / "lib"))
    hook(folder)  # the files of a copy are others
    hook(folder)
    return folder


def hook(lib: Path, event: str = "Stop") -> list[str]:
    """Run a hook where nothing is recorded; the modules that came out of the file."""
    argv = [sys.executable, "-I", "-S", "-c", CODE, event]
    done = subprocess.run(
        argv, cwd=lib, check=True, input=b'{"session_id":"a","cwd":"/"}', stdout=subprocess.PIPE
    )
    status, *names = done.stdout.decode().split()
    assert status == "0"
    return names


def bundle(lib: Path) -> Path:
    (path,) = (lib / "gitcp" / "start" / "__pycache__").glob("hooks*")
    return path


def test_a_hook_imports_from_the_file_that_the_first_one_made(installed: Path) -> None:
    names = hook(installed)
    assert {"gitcp.hook", "gitcp.agents.codex", "gitcp.core.json", "gitcp.core"} <= {*names}


def test_the_file_is_not_written_again_while_nothing_changes(installed: Path) -> None:
    before = bundle(installed).stat()
    hook(installed)
    assert bundle(installed).stat() == before


def test_a_module_that_has_changed_runs_as_it_is_now_and_is_taken_in_again(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    source.write_text(source.read_text() + "\nimport os\nos.write(1, b'0 changed ')\n")
    assert hook(lib)[0] == "changed"
    names = hook(lib)
    assert names[0] == "changed"
    assert "gitcp.agents.codex" in names


def test_an_upgrade_that_dates_its_files_alike_runs_the_new_ones(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    st, text = source.stat(), source.read_text()
    source.write_text(text.replace('NAME = "codex"', 'NAME = "xedoc"'))
    os.utime(source, ns=(st.st_atime_ns, st.st_mtime_ns))
    for compiled in source.parent.glob("__pycache__/__init__.*"):
        compiled.unlink()  # as an installer does
    assert source.stat().st_size == st.st_size
    assert "gitcp.agents.codex" not in hook(lib)


def test_an_upgrade_that_lays_the_file_out_otherwise_does_not_read_the_old_one(lib: Path) -> None:
    source = lib / "gitcp" / "start" / "bundle.py"
    text = source.read_text()
    other = re.sub(r"stamp, imports, (code|own|entry)\b", r"imports, stamp, \1", text)
    other = other.replace("package, stamp, _, code, _ = part", "package, _, stamp, code, _ = part")
    other = other.replace("in part[2]:", "in part[1]:")
    assert other != text
    for version in (other, text):
        source.write_text(version)
        assert hook(lib) == [], "the first hook makes the file anew"
        assert "gitcp.hook" in hook(lib)


def test_what_a_hook_always_takes_is_in_the_table_and_what_it_took_once_behind_it(
    lib: Path,
) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    text = source.read_text()
    assert _list_behind(lib) == []
    source.write_text(text + "\nfrom gitcp.core import findings\n")
    hook(lib)
    source.write_text(text)
    hook(lib)
    assert _list_behind(lib) == ["gitcp.core.findings"]
    hook(lib)
    assert _list_behind(lib) == ["gitcp.core.findings"]


def test_code_behind_the_table_that_is_gone_or_damaged_is_imported_as_ever(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    source.write_text(source.read_text() + "\nfrom gitcp.core import findings\n")
    hook(lib)
    behind = "gitcp.core.findings"
    assert behind in _list_behind(lib)
    assert behind in hook(lib)
    data = bundle(lib).read_bytes()
    end = _find_end(data)
    for spoilt in (data[:end], data[:end] + bytes(len(data) - end)):
        bundle(lib).write_bytes(spoilt)
        assert behind not in hook(lib)
        hook(lib)
        assert behind in hook(lib)


def test_the_imports_at_the_top_of_a_module_give_what_its_statements_give(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    head, future, body = source.read_text().partition("from __future__ import annotations\n")
    imports = """import stat
from gitcp.core.redact import rules, redactor as renamed
from gitcp.core.redact import patterns
from gitcp.errors import Error, Late
from stat import S_ISREG
"""
    asked = """
import sys
own = [sys.modules[f"gitcp.core.redact.{name}"] for name in ("rules", "redactor", "patterns")]
check(own == [rules, renamed, patterns])
check(issubclass(Late, Error) and S_ISREG is stat.S_ISREG)
"""
    source.write_text(f"{head}{future}{imports}{body}{CHECK}{asked}")
    hook(lib)
    for _ in range(2):  # behind the table, then in it
        assert "gitcp.agents.codex" in hook(lib)
    bound = dict(_read_table(lib)["gitcp.agents.codex"][2])
    assert bound["stat"] == ("S_ISREG",)
    assert bound["gitcp.core.redact"] == ("patterns",), "an import that renames stays a statement"


def test_a_function_that_no_hook_called_is_read_when_one_does(lib: Path) -> None:
    source = lib / "gitcp" / "start" / "bundle.py"
    source.write_text(source.read_text().replace("_MANY = 30", "_MANY = 0"))
    hook(lib)
    asked = {"loads", "dumps"}
    assert asked <= {*_list_waiting(lib, "gitcp.core.json")}, "what a first hook calls waits"
    hook(lib)
    assert asked & {*_list_waiting(lib, "gitcp.core.json")} == {"dumps"}
    assert "GitError.shorten" in _list_waiting(lib, "gitcp.errors")
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    source.write_text(f"""{source.read_text()}
from gitcp.core import json
from gitcp.errors import GitError
if [json.dumps({{"a": 1}}), json.dumps({{"a": 1}})] != ['{{"a": 1}}'] * 2:
    raise SystemExit(1)
for status in (1, 2):
    GitError(("git", "log"), status, b"fatal: no").shorten()
""")
    hook(lib)
    assert "gitcp.agents.codex" in hook(lib)
    assert "dumps" not in _list_waiting(lib, "gitcp.core.json")
    assert "GitError.shorten" not in _list_waiting(lib, "gitcp.errors")


def test_a_function_that_waits_is_the_same_one_before_and_after_its_first_call(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    first = "from gitcp.core import json\nfirst = json.dumps"
    asked = "check(first([1, 2], separators=(',', ':')) == '[1,2]' and json.dumps is first)"
    assert "dumps" in _list_waiting(lib, "gitcp.core.json")
    source.write_text(f"{source.read_text()}\n{CHECK}{first}\n{asked}\n")
    hook(lib)
    assert "gitcp.agents.codex" in hook(lib)


def test_a_function_is_made_when_something_refers_to_it(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    asked = """from gitcp.core import json
check(not {"dumps", "_format_indented"} & json.__dict__.keys())
check(json.dumps({"a": 1}, indent=1) == '{\\n "a": 1\\n}')
check("_format_indented" in json.__dict__)  # what was called refers to it
check("dumps" in dir(json) and not hasattr(json, "unheard"))
"""
    assert {"dumps", "_format_indented"} <= {*_list_waiting(lib, "gitcp.core.json")}
    source.write_text(f"{source.read_text()}\n{CHECK}{asked}\n")
    hook(lib)
    assert "gitcp.agents.codex" in hook(lib)


def test_a_function_that_waits_is_read_by_the_processes_that_share_work(lib: Path) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    source.write_text(source.read_text() + SPREAD)
    hook(lib)
    assert "dumps" in _list_waiting(lib, "gitcp.core.json")
    assert "gitcp.agents.codex" in hook(lib)


def test_a_function_whose_code_is_damaged_is_made_from_its_source(
    lib: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = lib / "gitcp" / "agents" / "codex" / "__init__.py"
    asked = "from gitcp.core import json\nimport os\nif os.environ.get('ASK'): json.dumps({'a': 1})"
    source.write_text(f"{source.read_text()}\n{asked}\n")
    hook(lib)
    assert "gitcp.agents.codex" in hook(lib)
    data = bundle(lib).read_bytes()
    assert "dumps" in _list_waiting(lib, "gitcp.core.json")
    bundle(lib).write_bytes(data[: _find_end(data)])
    monkeypatch.setenv("ASK", "1")
    assert "gitcp.agents.codex" in hook(lib)
    assert hook(lib) == [], "it was taken away"


def _list_behind(lib: Path) -> list[str]:
    """The modules whose code lies behind the table."""
    return sorted(name for name, part in _read_table(lib).items() if isinstance(part[3], tuple))


def _list_waiting(lib: Path, module: str) -> list[str]:
    """The functions of a module whose code lies there."""
    return sorted(marshal.loads(_read_table(lib)[module][4] or marshal.dumps({})))


def _read_table(lib: Path) -> dict[str, Any]:
    data = bundle(lib).read_bytes()
    table: dict[str, Any] = marshal.loads(data[: _find_end(data)].partition(b"\n")[2])
    return table


def _find_end(data: bytes) -> int:
    """Where the table of a file ends."""
    line = data.partition(b"\n")[0]
    return len(line) + 1 + int(line.split()[-1])


def test_a_hook_that_no_client_has_leaves_no_file_behind(lib: Path) -> None:
    for _ in range(2):
        assert hook(lib, "Nothing") == []
    assert bundle(lib).name.startswith("hooks-codex-Stop.")


def test_an_upgrade_takes_away_the_files_of_the_version_before(lib: Path) -> None:
    folder, name = bundle(lib).parent, bundle(lib).name
    own = bundle(lib).read_bytes()
    older = name.replace("-codex-Stop", "")
    (folder / older).write_bytes(b"gitcp of another layout\n")
    (folder / name.replace("Stop", "PreToolUse")).write_bytes(own)
    (folder / "hooks-codex-Stop.cpython-39").write_bytes(b"gitcp of another Python\n")
    source = lib / "gitcp" / "start" / "bundle.py"
    source.write_text(source.read_text() + "\n")
    hook(lib)
    assert sorted(path.name for path in folder.glob("hooks*")) == [
        name,
        "hooks-codex-Stop.cpython-39",
    ]


def test_hooks_of_git_have_a_file_each_whatever_git_tells_them() -> None:
    assert GIT_HOOKS == installation.HOOKS


def test_a_module_that_is_gone_is_gone(lib: Path) -> None:
    (lib / "gitcp" / "agents" / "codex" / "__init__.py").unlink()
    assert "gitcp.agents.codex" not in hook(lib)


def _cut_short(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: _find_end(data) - 100])


def _without_its_index(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:900])


def _without_what_is_needed(path: Path) -> None:
    mark = path.read_bytes().partition(b"\n")[0].rpartition(b" ")[0]
    table = marshal.dumps({})
    path.write_bytes(b"%s %d\n%s" % (mark, len(table), table))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _of_another_python(path: Path) -> None:
    mark, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(mark.replace(f"{sys.hexversion:x}".encode(), b"30900f0") + b"\n" + rest)


def _writable_for_others(path: Path) -> None:
    path.chmod(0o666)


def _a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


SPOILT = (
    _cut_short,
    _without_its_index,
    _without_what_is_needed,
    _empty,
    _of_another_python,
    _writable_for_others,
    _a_link,
)


@pytest.mark.parametrize("spoil", SPOILT)
def test_what_cannot_be_relied_on_is_made_again(lib: Path, spoil: Callable[[Path], None]) -> None:
    whole = hook(lib)
    spoil(bundle(lib))
    assert hook(lib) == []
    assert hook(lib) == whole


def test_where_nothing_can_be_written_hooks_run_from_their_own_files(lib: Path) -> None:
    folder = lib / "gitcp" / "start" / "__pycache__"
    shutil.rmtree(folder)
    folder.touch()  # root, too, is refused a file below it
    assert hook(lib) == hook(lib) == []


def test_a_file_left_half_written_by_a_kill_is_never_read(lib: Path) -> None:
    whole = hook(lib)
    half = bundle(lib).with_name(f"{bundle(lib).name}.12345")
    half.write_bytes(bundle(lib).read_bytes()[:1000])
    assert hook(lib) == whole
