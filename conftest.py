"""What holds for tests and benches alike: short and long forms, and no skip in CI."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gitcp.git import is_alone

# LONG=1 is set by `make stress` and `make fuzz`.
LONG = bool(os.environ.get("LONG"))
# With --quick one of so many cases is tried, and of so many tests of a file, if each runs git.
CASES, TESTS = 16, 5
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("short", deadline=None, max_examples=25, suppress_health_check=QUIET)
settings.register_profile("quick", deadline=None, max_examples=10, suppress_health_check=QUIET)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=QUIET)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that choose tests."""
    parser.addoption(
        "--quick", action="store_true", help="leave out what is long, and much of what runs git"
    )
    parser.addoption(
        "--every", type=int, default=1, help="of tests that run git: one of so many cases"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples Hypothesis makes up."""
    if LONG:
        settings.load_profile("long")
    elif config.getoption("quick"):
        settings.load_profile("quick")
    else:
        settings.load_profile("short")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: tests wait for locks, pipes, disks and time limits."""
    return (os.cpu_count() or 1) + 2


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that did not run is one that failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs Linux where this is none, or looks like none, what needs gitcp's own
    formats where git has them alone, and what the options say."""
    away: set[pytest.Item] = set()
    if is_alone(os.environ):
        away.update(item for item in items if item.get_closest_marker("own_formats"))
    if not os.path.exists("/proc/self/stat"):
        away.update(item for item in items if item.get_closest_marker("linux"))
    if config.getoption("quick"):
        away.update(item for item in items if item.get_closest_marker("thorough"))
        away.update(_choose_cases_to_leave_out(items, CASES))
        away.update(_choose_tests_to_leave_out(item for item in items if item not in away))
    away.update(_choose_cases_to_leave_out(items, config.getoption("every")))
    config.hook.pytest_deselected(items=[item for item in items if item in away])
    items[:] = [item for item in items if item not in away]


def _choose_cases_to_leave_out(items: list[pytest.Item], every: int) -> Iterator[pytest.Item]:
    """All but every so many-th case of each test that runs git in each of them."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and _has_repository(item):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        # Diagonally: where there are so many ways of each form, not the same way of each.
        yield from (case for n, case in enumerate(cases) if (n + n // every) % every)


def _choose_tests_to_leave_out(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """All but every so many-th of the tests of a file that run git."""
    tests: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and _has_repository(item):
            tests.setdefault(item.path, []).append(item)
    for of_file in tests.values():
        yield from (item for n, item in enumerate(of_file) if n % TESTS)


def _has_repository(item: pytest.Function) -> bool:
    """Whether a test copies a repository, or makes one where it may write."""
    asked = signature(item.function).parameters
    return "template" in item.fixturenames or not {"played", "tmp_path"}.isdisjoint(asked)


def pytest_collection(session: pytest.Session) -> None:
    """Have each worker import the tests from another place on: what pytest makes of a file is
    written down by the first who imports it, and takes longer than all else before a run."""
    worker = getattr(session.config, "workerinput", None)
    is_whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if worker is None or not is_whole:
        return
    names = [".".join(path.parts) for path in _modules(session.config.rootpath)]
    begin = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in names[begin:] + names[:begin]:
        with suppress(Exception, pytest.skip.Exception):  # told when it is collected
            import_module(name)


def _modules(top: Path) -> list[Path]:
    return sorted(path.relative_to(top).with_suffix("") for path in top.glob("tests/**/test_*.py"))
