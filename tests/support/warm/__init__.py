"""Run our hooks and commands without waiting for their imports again and again.

Each is a process of its own, forked from one that has imported gitcp, started once in a run of
tests; see server.py.  Hooks that git runs, and tests of how a program starts, are not run
here.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.support.paths import BIN, ENTRY, TOP
from tests.support.warm.server import HEAD

_COMMAND = BIN / "gitcp"
_FLAGS = {ENTRY: ["-I", "-S"], _COMMAND: []}

Done = subprocess.CompletedProcess[bytes]


class Server:
    """One process of server.py, which runs one program at a time; its command line names
    the program, for a hook is known by that."""

    def __init__(self, program: Path, locale: str | None) -> None:
        # Nothing of a test's environment: a session named in it would be at work in here.
        env = {"PATH": os.environ["PATH"], **({"LC_ALL": locale} if locale is not None else {})}
        self._channel, theirs = socket.socketpair()
        script = str(Path(__file__).with_name("server.py"))
        self._process = subprocess.Popen(
            [sys.executable, *_FLAGS[program], script, str(theirs.fileno()), str(program)],
            cwd=TOP,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=env,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        atexit.register(self.close)

    def run(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> Done:
        """Run a program to its end; standard output and error are files."""
        request = json.dumps({"argv": [*argv], "cwd": str(cwd), "env": dict(env)}).encode()
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin)
            given.seek(0)
            files = [file.fileno() for file in (given, out, err)]
            socket.send_fds(self._channel, [len(request).to_bytes(HEAD, "big")], files)
            self._channel.sendall(request)
            status = int(self._channel.recv(16))
            return subprocess.CompletedProcess([*argv], status, _read_all(out), _read_all(err))

    def close(self) -> None:
        self._channel.close()
        self._process.wait()


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


_idle: dict[tuple[Path, str | None], list[Server]] = defaultdict(list)


def hook(args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> Done:
    """What an installed hook runs: `python -I -S entry.py <event> …`."""
    return _run(ENTRY, [str(ENTRY), *args], cwd, env, stdin)


def command(
    name: str, args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes = b""
) -> Done:
    """A command as a person runs it, from bin/."""
    return _run(_COMMAND, [str(BIN / f"gitcp-{name}"), *args], cwd, env, stdin)


def run(
    name: str, *args: str, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """A command in the environment of the test; what it printed as text."""
    done = command(name, args, cwd or Path.cwd(), os.environ, stdin)
    out, err = (text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _run(program: Path, argv: list[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> Done:
    if "GITCP_TRACE" in env:  # read by what is imported, and tells of the imports
        python = [sys.executable, *_FLAGS[program], *argv]
        return subprocess.run(
            python, cwd=cwd, env=dict(env), input=stdin, capture_output=True, start_new_session=True
        )
    locale = env.get("LC_ALL")  # the encodings are chosen by it when Python starts
    idle = _idle[program, locale]
    server = idle.pop() if idle else Server(program, locale)
    done = server.run(argv, cwd, env, stdin)
    idle.append(server)
    return done
