"""The process of an agent's client, without the agent: what it runs is below it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

# Runs on, and shows its environment: on a Mac `sleep` does not.
_SLEEP = "import time; print(flush=True); time.sleep(600)"
_RUN = """
import json, subprocess, sys
for line in sys.stdin:
    call = json.loads(line)
    done = subprocess.run(**call, capture_output=True, text=True, start_new_session=True)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""


def start_sleeper(cwd: Path | str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process that does nothing, started so far that its environment can be seen."""
    argv = [sys.executable, "-I", "-S", "-c", _SLEEP]
    process = subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout as told:
        told.readline()
    return process


class Client:
    """A process that runs command lines for a test, each in a session of its own."""

    def __init__(self) -> None:
        argv = [sys.executable, "-I", "-S", "-c", _RUN]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self, argv: list[str], cwd: Path | str, env: Mapping[str, str], stdin: str = ""
    ) -> tuple[int, str, str]:
        """Run a command to its end; its status, standard output and standard error."""
        asks, tells = self._process.stdin, self._process.stdout
        assert asks and tells
        call = {"args": argv, "cwd": str(cwd), "env": dict(env), "input": stdin}
        asks.write(json.dumps(call) + "\n")
        asks.flush()
        status, stdout, stderr = json.loads(tells.readline())
        return status, stdout, stderr
