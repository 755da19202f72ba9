"""Modules that run when they are used: by several threads at once, and from below."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import TOP

AT_ONCE = """
import threading
import datetime, difflib, hashlib
sys.setswitchinterval(1e-5)
wrong = []
barrier = threading.Barrier(4)
def use():
    barrier.wait()
    for module, name in (datetime, "datetime"), (difflib, "SequenceMatcher"), (hashlib, "sha512"):
        try:
            getattr(module, name)
        except Exception as e:
            wrong.append(e)
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
"""
FROM_BELOW = """
import json
from json.decoder import JSONDecodeError
assert json.loads("[]") == []
"""


@pytest.mark.parametrize("script", [AT_ONCE, FROM_BELOW])
def test_a_lazy_module_is_as_any_other(script: str) -> None:
    begin = f"import sys; sys.path.insert(0, {str(TOP)!r})\n"
    begin += "from gitcp import lazy_modules; lazy_modules.use()\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
