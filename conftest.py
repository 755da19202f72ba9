"""What holds for tests and benches alike: short and long forms, and no skip in CI."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# LONG=1 is set by `make stress` and `make fuzz`.
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("short", deadline=None, max_examples=25, suppress_health_check=QUIET)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=QUIET)
settings.load_profile("long" if os.environ.get("LONG") else "short")


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: tests wait for locks, pipes, disks and time limits."""
    return (os.cpu_count() or 1) + 2


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that did not run is one that failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
