"""The id of a machine's hardware, as a Mac gives it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.record.session import ps
from tests.support.paths import TOP

_MAC = """
struct timespec;
int gethostuuid(unsigned char *uuid, const struct timespec *wait) {
    for (int n = 0; n < 16; n++) uuid[n] = n + STATUS;
    return STATUS;
}
"""
_ASK = "from gitcp.record.session import ps; print(ps.read_hardware_id())"


@pytest.mark.linux
@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
@pytest.mark.parametrize(
    ("status", "answer"), [(0, bytes(range(16)).hex()), (1, os.uname().nodename)]
)
def test_it_is_the_uuid_of_the_host_unless_the_system_refuses_it(
    status: int, answer: str, tmp_path: Path
) -> None:
    (tmp_path / "mac.c").write_text(_MAC)
    library = str(tmp_path / "mac.so")
    argv = ["cc", f"-DSTATUS={status}", "-shared", "-fPIC", "-o", library]
    subprocess.run([*argv, str(tmp_path / "mac.c")], check=True)
    env = {**os.environ, "LD_PRELOAD": library}
    done = subprocess.run([sys.executable, "-c", _ASK], env=env, cwd=TOP, stdout=subprocess.PIPE)
    assert done.stdout.decode().strip() == answer


@pytest.mark.linux
def test_it_is_the_host_s_name_where_the_system_has_no_such_call() -> None:
    assert ps.read_hardware_id() == os.uname().nodename
