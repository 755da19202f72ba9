"""What holds for tests and benches alike: short and long forms, and no skip in CI."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# LONG=1 is set by `make stress` and `make fuzz`.
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("short", deadline=None, max_examples=25, suppress_health_check=QUIET)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=QUIET)
settings.load_profile("long" if os.environ.get("LONG") else "short")

# Where Linux keeps files in memory, and how much of it the tests may need.
MEMORY, ROOM = "/dev/shm", 4 << 30


def pytest_configure() -> None:
    """Write what tests write to memory, where there is room and nobody named another place: on a
    disk they wait for it half of their time."""
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        tempfile.tempdir = MEMORY


def _has_room(folder: str) -> bool:
    """Whether programs may be written to a folder and run there, and much else fits into it."""
    if not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free >= ROOM


def pytest_collection_finish() -> None:
    """No test is garbage before the end: a sixth of the tests of pure code is to look for some."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: tests wait for locks, pipes, disks and time limits."""
    return (os.cpu_count() or 1) + 2


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that did not run is one that failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
