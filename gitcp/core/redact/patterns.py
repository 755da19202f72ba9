"""Load regular expressions.  Built-in ones come from stored code, as importing `re` and compiling
them costs 15 ms; one that READY does not have is compiled.
"""

from __future__ import annotations

from gitcp import errors, memory
from gitcp.start import cpython

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from gitcp.start.cpython import Code

READY: dict[bytes, Code] = memory.get_table("patterns")  # source -> code
# What rules.py makes of secrets.json, by its use; stored with READY, as parsing it costs 0.5 ms.
FORMATS: dict[str, Any] = memory.get_table("formats")
COMPILED: dict[bytes, bool] = memory.get_table("compiled")  # by this process, and added


def load_pattern(source: bytes) -> re.Pattern[bytes]:
    """re.compile(source), for a built-in pattern, without named groups."""
    pattern = cpython.build_pattern(source, *READY[source]) if source in READY else None
    if pattern is None:
        import re

        pattern = re.compile(source)
        if code := cpython.compile_pattern(source):
            READY[source] = code
            COMPILED[source] = True
    return pattern


def compile_option(option: str, source: str) -> re.Pattern[bytes]:
    """The compiled pattern of an option; raise InputError, which names both, if it is not valid."""
    import re

    try:
        import re

        return re.compile(source.encode("utf-8", "surrogateescape"), re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise errors.InputError(f"{option} '{source}': {error}") from None
