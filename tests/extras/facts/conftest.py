"""A cluster of Spark is for the long forms, and for who has it."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

_HERE = os.environ.get("LONG") and find_spec("pyspark") and shutil.which("java")
collect_ignore = [] if _HERE else ["test_spark.py"]
