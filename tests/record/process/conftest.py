"""Tests that hide /proc from a process, where this machine lets them (`unshare -rm`).

Elsewhere they are left out rather than skipped: a skip is a failure in CI.
"""

from __future__ import annotations

from tests.support import mac

collect_ignore_glob = ["test_*"] if mac.why_not() else []
