"""The soak takes a quarter of an hour: it runs when SOAK is set, as `make soak` does."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("SOAK") else ["test_eight_weeks.py"]
