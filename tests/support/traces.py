"""Read back what gitcp-export-traces writes."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote


def parse_lines(record: dict[str, Any]) -> dict[str, dict[int, str]]:
    """path -> line -> `<checkpoint>/<session>` in a record of exports.build_record()."""
    authors: dict[str, dict[int, str]] = {}
    for file in record["files"]:
        row = authors.setdefault(file["path"], {})
        for talk in file["conversations"]:
            name = unquote(talk["url"].removeprefix("gitcp:"))
            for span in talk["ranges"]:
                row |= dict.fromkeys(range(span["start_line"], span["end_line"] + 1), name)
    return authors
