"""Regular expressions from what `re` once made of them: to import it and compile costs 15 ms.

READY is filled by whoever keeps them between processes; what is not there is compiled.
"""

from __future__ import annotations

from gitcp import memory
from gitcp.start import cpython, stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.start.cpython import Code


READY: dict[bytes, Code] = memory.table("patterns")  # source -> code
COMPILED: dict[bytes, bool] = memory.table("compiled")  # by this process, and added


def compiled(source: bytes) -> stdlib.re.Pattern[bytes]:
    """re.compile(source), for a pattern of ours, without named groups."""
    pattern = cpython.pattern_of_code(source, *READY[source]) if source in READY else None
    if pattern is None:
        pattern = stdlib.re.compile(source)
        if code := cpython.code_of_pattern(source):
            READY[source] = code
            COMPILED[source] = True
    return pattern
