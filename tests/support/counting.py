"""What the process of a hook uses: the modules that it imports, and the files that it opens, looks
at, and waits for until they are on the disk.

count_hooks() has the hooks of a world run this file in the place of Python.  As their program it
imports nothing, so that only what they need is counted.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    import pytest

    from tests.support.harness import Call, World


def count_hooks(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have each hook append lines `imports`, `opens`, `looks` and `syncs` to the file of
    GITCP_TRACE; return that."""
    import re
    import shlex
    import subprocess
    from pathlib import Path

    from tests.support import harness
    from tests.support.paths import ENTRY

    trace, program = world.home / "trace", world.home / "counting-python"
    world.env["GITCP_TRACE"] = str(trace)
    counting = shlex.join([sys.executable, "-I", "-S", str(Path(__file__).resolve())])
    program.write_text(f'#!/bin/sh\nexec {counting} "$@"\n')
    program.chmod(0o755)
    for hook in (world.path / ".git/hooks").iterdir():
        hook.write_text(re.sub("(?m)^py='[^']*'", f"py='{program}'", hook.read_text()))

    def run_hook(
        _: World, args: list[str], cwd: Path, env: Mapping[str, str], payload: bytes
    ) -> Call:
        argv = [str(program), str(ENTRY), *args]
        done = subprocess.run(argv, cwd=cwd, env=dict(env), input=payload, capture_output=True)
        return harness.Call(done.returncode, done.stdout.decode(), done.stderr.decode())

    monkeypatch.setattr(harness.World, "run_hook", run_hook)
    return trace


def run_entry(entry: str) -> None:
    """Run a hook's program; note what it uses until it ends."""
    trace = os.environ["GITCP_TRACE"]
    notes: dict[str, list[str]] = {"opens": [], "looks": [], "syncs": []}

    def note_open(event: str, args: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and not isinstance(args[0], int):
            path = os.fsdecode(args[0] or ".")
            notes["opens"] += [path] if path != trace else []

    def note_looks(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def look_at(path: Any, *args: Any, **options: Any) -> os.stat_result:
            notes["looks"] += [] if isinstance(path, int) else [os.fsdecode(path)]
            return look(path, *args, **options)

        return look_at

    def note_sync(fd: int) -> None:
        try:
            notes["syncs"].append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            notes["syncs"].append(f"descriptor-{fd}")
        sync(fd)

    def leave(status: int) -> None:
        lines = [f"imports: {' '.join(sorted(sys.modules))}"]
        lines += [f"{subject}: {len(paths)} {' '.join(paths)}" for subject, paths in notes.items()]
        text = "".join(f"0 {os.getpid()} {line}\n" for line in lines)
        fd = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, text.encode("utf-8", "surrogateescape"))
        end(status)

    with open(entry) as f:
        code = compile(f.read(), entry, "exec")
    sync, end = os.fsync, os._exit
    os.stat, os.lstat = note_looks(os.stat), note_looks(os.lstat)
    os.fsync, os._exit = note_sync, leave  # type: ignore[assignment]
    sys.addaudithook(note_open)
    exec(code, {"__name__": "__main__", "__file__": entry})


if __name__ == "__main__":
    while not sys.argv[0].endswith("entry.py"):
        del sys.argv[0]  # the options of Python
    run_entry(sys.argv[0])
