"""The lines that gitcp adds to git's exclude file, for its files of this clone alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

COMMENT = "# gitcp: files of this clone alone"


def exclude_paths(text: str, paths: Iterable[str]) -> tuple[str, list[str]]:
    """An exclude file with paths (relative to the top, literal) added; the lines added."""
    lines = ["/" + _escape_pattern(path) for path in paths]
    if COMMENT not in text.splitlines():
        lines.insert(0, COMMENT)
    glue = "" if not text or text.endswith("\n") else "\n"
    return text + glue + "".join(f"{line}\n" for line in lines), lines


def remove_lines(text: str, lines: Iterable[str]) -> str:
    """The text without these lines."""
    gone = set(lines)
    return "".join(line for line in text.splitlines(True) if line.rstrip("\n") not in gone)


def _escape_pattern(path: str) -> str:
    escaped = "".join("\\" + c if c in "*?[\\" else c for c in path)
    if escaped.endswith(" "):
        return escaped[:-1] + "\\ "
    return escaped
