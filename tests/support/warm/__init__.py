"""Run our hooks and commands without waiting for their imports again and again.

They run in processes forked from one that has imported gitcp, started once in a run of tests; see
server.py.  What git, clients and scripts run is started so too, where there is a compiler for
start.c, which then stands for Python.  With COLD=1 in the environment each hook starts as it does
for a person.  Tests of how a program starts do not use this.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.support.paths import BIN, ENTRY, TOP
from tests.support.warm.server import HEAD

_COMMAND = BIN / "gitcp"
IS_COLD = "COLD" in os.environ
_FLAGS = {ENTRY: ["-I", "-S"], _COMMAND: []}

Done = subprocess.CompletedProcess[bytes]


class Server:
    """A process of server.py; its command line names the program, for a hook is known by that."""

    def __init__(self, program: Path, locale: str | None, place: Path) -> None:
        # Nothing of a test's environment: a session named in it would be at work in here.
        env = {"PATH": os.environ["PATH"], **({"LC_ALL": locale} if locale is not None else {})}
        self._place, script = str(place), str(Path(__file__).with_name("server.py"))
        life, self._life = os.pipe()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self._place)
            listening.listen(64)
            fds = [listening.fileno(), life]
            words = [*map(str, [*fds, program]), python()]
            self._process = subprocess.Popen(
                [sys.executable, *_FLAGS[program], script, *words],
                cwd=TOP,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=env,
                pass_fds=fds,
            )
        os.close(life)
        atexit.register(self.close)

    def run(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> Done:
        """Run a program to its end; standard output and error are files."""
        umask = os.umask(0)
        os.umask(umask)
        words = [os.getpid(), umask, cwd, len(argv), *argv, *(f"{k}={v}" for k, v in env.items())]
        request = os.fsencode("".join(f"{word}\0" for word in words))
        with (
            socket.socket(socket.AF_UNIX) as channel,
            TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err,
        ):  # fmt: skip
            given.write(stdin)
            given.seek(0)
            files = [file.fileno() for file in (given, out, err)]
            channel.connect(self._place)
            socket.send_fds(channel, [len(request).to_bytes(HEAD, "big")], files)
            channel.sendall(request)
            status = int(channel.recv(16))
            return subprocess.CompletedProcess([*argv], status, _read_all(out), _read_all(err))

    def close(self) -> None:
        os.close(self._life)
        self._process.wait()


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@cache
def _folder() -> Path:
    """Where the sockets of this process are; a path below it is short enough for one."""
    path = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def python() -> str:
    """What stands for Python in installed hooks, in an environment with the same packages; Python
    itself without a compiler."""
    program = _folder() / "bin" / "python"
    program.parent.mkdir()
    for name in ("pyvenv.cfg", "lib"):
        (_folder() / name).symlink_to(Path(sys.prefix, name))
    return str(program) if _compile(program, sys.executable) else sys.executable


def stand_in(program: Path) -> None:
    """Make what stands for the Python of a person: commands on PATH are run by it."""
    real = os.path.realpath(sys.executable)
    if _compile(program, real):
        _server(_COMMAND, "C")
    else:
        program.symlink_to(real)


def _compile(program: Path, real: str) -> bool:
    """Make start.c a program that may become that Python; whether there is a compiler."""
    sockets = {"HOOKS": _folder() / "hooks", "COMMANDS": _folder() / "commands"}
    values = {"PYTHON": real, "ENTRY": ENTRY, "COMMAND": _COMMAND, **sockets}
    defines = [f'-D{name}="{value}"' for name, value in values.items()]
    argv = ["cc", "-O1", *defines, "-o", str(program), str(Path(__file__).with_name("start.c"))]
    try:
        return not subprocess.run(argv, capture_output=True).returncode
    except OSError:
        return False


@cache
def _server(program: Path, locale: str | None) -> Server:
    """The server of a program; the encodings are chosen by the locale when Python starts."""
    if program == _COMMAND:
        _server(ENTRY, "C")  # what a command installs starts hooks
    name = "hooks" if program == ENTRY else "commands"
    return Server(program, locale, _folder() / (name if locale == "C" else f"{name}-{locale}"))


def hook(args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> Done:
    """What an installed hook runs: `python -I -S entry.py <event> …`."""
    return _run(ENTRY, [str(ENTRY), *args], cwd, env, stdin)


def command(
    name: str, args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes = b""
) -> Done:
    """A command as a person runs it, from bin/."""
    # git would put a file in the place of the device.
    assert "--global" not in args or env.get("GIT_CONFIG_GLOBAL") != os.devnull
    return _run(_COMMAND, [str(BIN / f"gitcp-{name}"), *args], cwd, env, stdin)


def run(
    name: str, *args: str, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """A command in the environment of the test; what it printed as text."""
    done = command(name, args, cwd or Path.cwd(), os.environ, stdin)
    out, err = (text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _run(program: Path, argv: list[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> Done:
    # The trace is read by what is imported, and tells of the imports.
    if "GITCP_TRACE" in env or (IS_COLD and program == ENTRY):
        words = [sys.executable, *_FLAGS[program], *argv]
        return subprocess.run(
            words, cwd=cwd, env=dict(env), input=stdin, capture_output=True, start_new_session=True
        )
    return _server(program, env.get("LC_ALL")).run(argv, cwd, env, stdin)
