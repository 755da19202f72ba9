"""Read trailers in the last trailer block of a message.

The result is that of the following command with trailer.* unset, and with a final newline:

    git interpret-trailers --no-divider --where end --if-exists addIfDifferent

`comment` is the prefix of comment lines; b"" if git does not strip comments, so that '#12: fix' is
text.
"""

from __future__ import annotations

from gitcp.text.shapes import is_checkpoint_id

KEY = "Entire-Checkpoint"
_KEY_LOWER, _LAST = KEY.lower().encode(), f"\n\n{KEY}: ".encode()


def read_trailers(message: bytes, key: str = KEY, *, comment: bytes = b"#") -> list[str]:
    """Return the values of a key in a message's last trailer block, in order and unfolded.

    Values of `Entire-Checkpoint` that are not checkpoint ids are left out.
    """
    lines = split_lines(message)
    title = next((i for i, line in enumerate(lines) if not is_blank(line)), len(lines))
    start, end = find_block(lines, comment, title)
    pairs = parse_block(lines[start:end], comment)
    values = [unfold(value) for token, value in pairs if token.lower() == key.lower().encode()]
    texts = [value.decode(errors="surrogateescape") for value in values]
    return [t for t in texts if key.lower() != KEY.lower() or is_checkpoint_id(t)]


def read_simple(message: bytes) -> list[str] | None:
    """Return the ids of a message with the key nowhere, or only in its last line; None for another
    message, which read_trailers() has to parse."""
    if _KEY_LOWER not in message.lower():
        return []
    text, gap, last = message.rpartition(_LAST)
    value = last[:-1].decode("ascii", "replace")
    plain = gap and last[-1:] == b"\n" and is_checkpoint_id(value)
    # a message may end at scissors, and lines above its title are not text
    if not plain or b">8" in text or is_blank(text[:1]) or _KEY_LOWER in text.lower():
        return None
    return [value]


def find_anywhere(message: bytes) -> list[str]:
    """Return each checkpoint id on a line of its own anywhere in the message, once.

    A squashed message may have them in its text, indented or commented out.
    """
    ids = (find_id(line) for line in split_lines(message))
    return list(dict.fromkeys(oid for oid in ids if oid))


def find_id(line: bytes) -> str:
    """Return the id in a line 'Entire-Checkpoint: <id>', which may be indented or commented out."""
    key, _, value = line.lstrip(b"# \t;@!$%^&|:").partition(b":")
    text = value.strip(SPACE).decode("ascii", "replace")
    return text if key.rstrip().lower() == KEY.lower().encode() and is_checkpoint_id(text) else ""


_GENERATED = (b"Signed-off-by: ", b"(cherry picked from commit ")
_TOKEN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def find_separator(line: bytes) -> int:
    """Return the index of a trailer's colon; below 1 the line is not a trailer."""
    colon = line.find(b":")
    name = line[: max(colon, 0)].rstrip(b" \t")
    return colon if name and _TOKEN.issuperset(name) else -1


def find_block(lines: list[bytes], comment: bytes, first: int) -> tuple[int, int]:
    """Return the first line of the last trailer block and the line after it, as git finds them.

    If they are equal there is no block, and a new one goes there.  The paragraph at `first` is the
    title and never a block (git takes it for one below empty lines or comments, as before the
    message is cleaned up).
    """
    end = _find_end(lines, first, comment)
    title = first
    while title < end and not is_blank(lines[title]):
        title += 1
    return _find_start(lines, title, end, comment), end


def parse_block(block: list[bytes], comment: bytes) -> list[tuple[bytes, bytes]]:
    """Return (token, value) of the lines of a trailer block.

    A line that is not a trailer has the token b"".  Comments are dropped; values stay folded.
    """
    joined: list[bytes] = []
    folds = False
    for line in block:
        if folds and line[:1] in SPACE:
            joined[-1] += line
        else:
            joined.append(line)
            folds = find_separator(line) >= 1
    pairs = []
    for line in joined:
        if is_comment(line, comment):
            continue
        colon = find_separator(line)
        token, value = (line[:colon], line[colon + 1 :]) if colon >= 1 else (b"", line)
        pairs.append((token.strip(SPACE), value.strip(SPACE) if token else value[:-1]))
    return pairs


def unfold(value: bytes) -> bytes:
    """Join the lines of a folded value by one space."""
    return b" ".join(part.strip(SPACE) for part in value.split(b"\n"))


def _find_end(lines: list[bytes], first: int, comment: bytes) -> int:
    """Return the end of the text, before trailing comments, empty lines and an old list of
    conflicts."""
    end, since, conflicts = find_cut(lines, comment), -1, False
    for i in range(first + 1, end):
        line = lines[i]
        if is_comment(line, comment) or line == b"\n":
            since = i if since < 0 else since
        elif line == b"Conflicts:\n":
            since, conflicts = i if since < 0 else since, True
        elif not (conflicts and line.startswith(b"\t")):
            since, conflicts = -1, False
    return end if since < 0 else since


def _find_start(lines: list[bytes], title: int, end: int, comment: bytes) -> int:
    """Return the start of the last paragraph if it is a trailer block, else end.  A quarter of
    trailers is enough if git wrote one of them."""
    numbers = range(end - 1, title - 1, -1)
    texts = (i for i in numbers if not is_blank(lines[i]) and not is_comment(lines[i], comment))
    last = next(texts, title)
    start = next((i + 1 for i in numbers if i < last and is_blank(lines[i])), end)
    generated, in_trailer, trailers, other_lines = False, False, 0, 0
    for line in lines[start : last + 1]:
        if is_comment(line, comment):
            in_trailer = False
            continue
        if line[:1] not in SPACE:
            by_git = line.startswith(_GENERATED)
            generated, in_trailer = generated or by_git, by_git or find_separator(line) >= 1
            trailers += in_trailer
        other_lines += not in_trailer
    enough = trailers * 3 >= other_lines if generated else trailers and not other_lines
    return start if enough else end


SPACE = b" \t\n\r"  # git's idea of white space
CUT = b" ------------------------ >8 ------------------------\n"


def split_lines(message: bytes) -> list[bytes]:
    """Return the lines of a message, each with a newline."""
    return [line + b"\n" for line in message.removesuffix(b"\n").split(b"\n")] if message else []


def is_blank(line: bytes) -> bool:
    """Tell whether a line is white space."""
    return not line.strip(SPACE)


def is_comment(line: bytes, comment: bytes) -> bool:
    """Tell whether a line is a comment."""
    return bool(comment) and line.startswith(comment)


def find_cut(lines: list[bytes], comment: bytes) -> int:
    """Return the index of the scissors line, which ends a message for git; else the end."""
    mark = comment + CUT
    return lines.index(mark) if comment and mark in lines else len(lines)
