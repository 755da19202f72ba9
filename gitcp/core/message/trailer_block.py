"""The last trailer block of a commit message, found and read as git's own code does it.

A message is a list of lines with their endings, a position a line number, and `comment` what
comment lines begin with, all as in `message_file.py`.
"""

from __future__ import annotations

from gitcp.core.message.message_file import SPACE, blank, cut, is_comment

_GENERATED = (b"Signed-off-by: ", b"(cherry picked from commit ")
_TOKEN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def separator(line: bytes) -> int:
    """Return where the colon of a trailer stands; below 1 the line is no trailer."""
    colon = line.find(b":")
    name = line[: max(colon, 0)].rstrip(b" \t")
    return colon if name and _TOKEN.issuperset(name) else -1


def trailer_block(lines: list[bytes], comment: bytes, first: int) -> tuple[int, int]:
    """Return the first line of the last trailer block and the line after it, as git finds them.

    Equal numbers: there is no block, and that is where one goes.  The paragraph that begins at
    `first` is the title and never a block (git takes the title for one if it is below empty
    lines or comments, as it is before the message has been cleaned up).
    """
    end = _end(lines, first, comment)
    title = first
    while title < end and not blank(lines[title]):
        title += 1
    return _start(lines, title, end, comment), end


def items(block: list[bytes], comment: bytes) -> list[tuple[bytes, bytes]]:
    """Parse a trailer block into (token, value), as git writes them: `token: value`.

    A line that is no trailer has the token b""; comments are dropped; folded values stay folded.
    """
    joined: list[bytes] = []
    folds = False
    for line in block:
        if folds and line[:1] in SPACE:
            joined[-1] += line
        else:
            joined.append(line)
            folds = separator(line) >= 1
    pairs = []
    for line in joined:
        if is_comment(line, comment):
            continue
        colon = separator(line)
        token, value = (line[:colon], line[colon + 1 :]) if colon >= 1 else (b"", line)
        pairs.append((token.strip(SPACE), value.strip(SPACE) if token else value[:-1]))
    return pairs


def unfold(value: bytes) -> bytes:
    """Join the lines of a folded value by one space."""
    return b" ".join(part.strip(SPACE) for part in value.split(b"\n"))


def _end(lines: list[bytes], first: int, comment: bytes) -> int:
    """Leave out comments, empty lines and an old list of conflicts below the title."""
    end, since, conflicts = cut(lines, comment), -1, False
    for i in range(first + 1, end):
        line = lines[i]
        if is_comment(line, comment) or line == b"\n":
            since = i if since < 0 else since
        elif line == b"Conflicts:\n":
            since, conflicts = i if since < 0 else since, True
        elif not (conflicts and line.startswith(b"\t")):
            since, conflicts = -1, False
    return end if since < 0 else since


def _start(lines: list[bytes], title: int, end: int, comment: bytes) -> int:
    """Look from the end for a paragraph of trailers; a quarter is enough if git made one."""
    generated, trailers, other_lines, folded, seen = False, 0, 0, 0, False
    for i in range(end - 1, title - 1, -1):
        line = lines[i]
        if is_comment(line, comment):
            other_lines, folded = other_lines + folded, 0
        elif blank(line):
            if not seen:
                continue
            other_lines += folded
            enough = trailers * 3 >= other_lines if generated else trailers and not other_lines
            return i + 1 if enough else end
        else:
            seen = True
            if line.startswith(_GENERATED):
                generated, trailers, folded = True, trailers + 1, 0
            elif line[:1] in SPACE:
                folded += 1
            elif separator(line) >= 1:
                trailers, folded = trailers + 1, 0
            else:
                other_lines, folded = other_lines + 1 + folded, 0
    return end
