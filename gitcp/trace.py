"""GITCP_TRACE=<file>: one line for each decision and for each process, appended."""

from __future__ import annotations

import os
import sys
import time

from gitcp import memory
from gitcp.errors import hide_passwords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FILE = os.environ.get("GITCP_TRACE", "")
_START = time.perf_counter()
_OPENED: dict[int, str] = memory.get_table("opened")  # files and directories, in their order
_LOOKED: dict[int, str] = memory.get_table("looked")  # what os.stat() and os.lstat() were asked for
_SYNCED: dict[int, str] = memory.get_table("synced")  # files written to the disk


def append_note(subject: str, detail: str) -> None:
    """Append `<ms since start> <pid> <subject>: <detail>` to the trace file, if there is one.

    A trace file that cannot be written is ignored.
    """
    if not _FILE:
        return
    head = f"{(time.perf_counter() - _START) * 1e3:8.1f} {os.getpid()} {subject}"
    line = f"{head}: {hide_passwords(detail)}\n"
    try:
        fd = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(fd, line.encode("utf-8", "backslashreplace"))
        os.close(fd)
    except OSError:
        pass


def is_on() -> bool:
    return bool(_FILE)


def note_end() -> None:
    """Note what this process took: the modules it imported; how often it opened a file or a
    directory, there or not, looked at one without opening it, and waited for the disk, and
    which."""
    append_note("imports", " ".join(sorted(sys.modules)))
    for subject, paths in (("opens", _OPENED), ("looks", _LOOKED), ("syncs", _SYNCED)):
        append_note(subject, f"{len(paths)} {' '.join(paths.values())}")


def _count_opens(event: str, args: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and not isinstance(args[0], int):
        path = os.fsdecode(args[0] or ".")
        if path != _FILE:
            _OPENED[len(_OPENED)] = path


def _count_looks(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def count_look(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if not isinstance(path, int):
            _LOOKED[len(_LOOKED)] = os.fsdecode(path)
        return look(path, *args, **options)

    return count_look


def _count_syncs(sync: Callable[..., None]) -> Callable[..., None]:
    def count_sync(fd: int) -> None:
        try:
            _SYNCED[len(_SYNCED)] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            _SYNCED[len(_SYNCED)] = f"descriptor-{fd}"
        sync(fd)

    return count_sync


if is_on():
    sys.addaudithook(_count_opens)
    os.stat, os.lstat = _count_looks(os.stat), _count_looks(os.lstat)
    os.fsync = _count_syncs(os.fsync)
