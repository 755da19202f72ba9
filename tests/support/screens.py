"""What screens say, for tests that compare it."""

from __future__ import annotations

import re
from typing import Any


class _AllWell:
    """Equal to what doctor says where nothing is wrong, however much is recorded; with -v, too."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return False
        return bool(re.fullmatch(r"✓ all is well: [^\n]+\n|nothing is wrong here\n", other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "'✓ all is well: …'"


ALL_WELL: Any = _AllWell()
