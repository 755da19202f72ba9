"""The parts of a commit message file: text, git's comments for the person, the cut.

All positions are line numbers: a message is a list of lines with their endings (`split`).
`comment` is what a comment line begins with; b"" says that there are no comments, as in a
message that no editor shows (`commit -m '#12: x'`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SPACE = b" \t\n\r"  # git's idea of white space
_CUT = b" ------------------------ >8 ------------------------\n"
_AUTO = b"#;@!$%^&|:"  # what git chooses from for core.commentChar=auto


def split(message: bytes) -> list[bytes]:
    """Return the lines of a message; the last one gets the newline it may lack."""
    return [line + b"\n" for line in message.removesuffix(b"\n").split(b"\n")] if message else []


def blank(line: bytes) -> bool:
    """Tell whether a line is nothing but white space."""
    return not line.strip(SPACE)


def is_comment(line: bytes, comment: bytes) -> bool:
    """Tell whether a line is a comment."""
    return bool(comment) and line.startswith(comment)


def cut(lines: list[bytes], comment: bytes) -> int:
    """Return where the scissors line stands, below which git takes nothing; or the end."""
    mark = comment + _CUT
    return lines.index(mark) if comment and mark in lines else len(lines)


def comment_char(message: bytes, configured: str | None) -> bytes:
    """Return what comments begin with, given core.commentChar (`auto`: git's own block tells)."""
    if configured != "auto":
        return (configured or "#").encode(errors="surrogateescape")
    lines = split(message)
    marks = [line[:1] for line in lines if line[1:] == _CUT]
    last = lines[-1][:1] if lines else b""
    mark = marks[0] if marks else last
    return mark if mark and mark in _AUTO else b"#"


def own_block(lines: list[bytes], comment: bytes) -> int | None:
    """Return where git's own comments for the person begin; None if there are none.

    They are the last run of comment lines, after a blank line, up to the cut or the end.
    """
    end = cut(lines, comment)
    start = end
    while start and is_comment(lines[start - 1], comment):
        start -= 1
    return start if 0 < start < end and blank(lines[start - 1]) else None


def text_start(lines: list[bytes], comment: bytes) -> int:
    """Return where the first line of text stands, or the end: git drops all before it."""
    end = cut(lines, comment)
    for i in range(end):
        if not blank(lines[i]) and not is_comment(lines[i], comment):
            return i
    return end


def explained(lines: list[bytes], comment: bytes, comments: Sequence[str]) -> list[bytes]:
    """Put lines for the person below the cut, or at the head of git's own comments.

    Where there is neither, nobody would see them, or git would keep them: nothing is put.
    """
    at, words = own_block(lines, comment), [f" {c}".rstrip().encode() for c in comments]
    here = [comment + s + b"\n" for s in words]
    if not here:
        return lines
    below = cut(lines, comment) + 1
    if below > len(lines):  # above a cut, what looks like comments may be text
        return lines if at is None else [*lines[:at], *here, comment + b"\n", *lines[at:]]
    for _ in range(2):  # what git says there about the cut
        below += below < len(lines) and is_comment(lines[below], comment)
    return [*lines[:below], comment + b"\n", *here, *lines[below:]]
