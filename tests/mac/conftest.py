"""Tests that need a Mac's file system; `make test-mac` makes one where there is none."""

from __future__ import annotations

import os
import sys

collect_ignore_glob = [] if os.environ.get("MAC_DISK") or sys.platform == "darwin" else ["*"]
