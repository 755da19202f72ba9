"""Read trailers in the last trailer block of a message.

The result is that of the following command with trailer.* unset, and with a final newline:

    git interpret-trailers --no-divider --where end --if-exists addIfDifferent

`comment` is the prefix of comment lines; b"" if git does not strip comments, so that '#12: fix' is
text.
"""

from __future__ import annotations

from gitcp.text.ids import CHECKPOINT_KEY, is_checkpoint_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEY = CHECKPOINT_KEY
GREP = f"--grep=^{KEY}:"  # of messages that name a checkpoint
_KEY_LOWER = KEY.lower().encode()
_LAST = f"\n\n{KEY}: ".encode()


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


_FENCES = (b"```", b"~~~")


def find_standing(message: bytes) -> list[str]:
    """Return each checkpoint id in a paragraph of its own, or of trailers alone, once; not one that
    is indented, quoted or fenced.

    A forge leaves such paragraphs when it squashes."""
    standing: list[str] = []
    paragraph: list[bytes] = []
    is_fenced = False
    for line in [*split_lines(message), b"\n"]:
        if line.startswith(_FENCES):
            is_fenced = not is_fenced
        elif is_fenced:
            continue
        elif not is_blank(line):
            paragraph.append(line)
            continue
        if all(find_separator(one) >= 1 for one in paragraph):
            standing += [find_id(one) for one in paragraph]
        paragraph = []
    return list(dict.fromkeys(filter(None, standing)))


def find_id(line: bytes) -> str:
    """Return the id in a line 'Entire-Checkpoint: <id>', which may be indented or commented out."""
    key, _, value = line.lstrip(b"# \t;@!$%^&|:").partition(b":")
    text = value.strip(SPACE).decode("ascii", "replace")
    if key.rstrip().lower() == KEY.lower().encode() and is_checkpoint_id(text):
        return text
    return ""


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
    end = find_cut(lines, comment)
    since = -1
    conflicts = False
    for i in range(first + 1, end):
        line = lines[i]
        if line == b"Conflicts:\n":
            conflicts = True
        elif line == b"\n" or is_comment(line, comment):
            pass
        elif conflicts and line.startswith(b"\t"):
            continue
        else:
            since = -1
            conflicts = False
            continue
        if since < 0:
            since = i
    if since < 0:
        return end
    return since


def _find_start(lines: list[bytes], title: int, end: int, comment: bytes) -> int:
    """Return the start of the last paragraph if it is a trailer block, else end.  A quarter of
    trailers is enough if git wrote one of them."""
    numbers = range(end - 1, title - 1, -1)
    texts = (i for i in numbers if not is_blank(lines[i]) and not is_comment(lines[i], comment))
    last = next(texts, title)
    start = next((i + 1 for i in numbers if i < last and is_blank(lines[i])), end)
    generated = False
    in_trailer = False
    trailers = 0
    other_lines = 0
    for line in lines[start : last + 1]:
        if is_comment(line, comment):
            in_trailer = False
            continue
        if line[:1] not in SPACE:
            by_git = line.startswith(_GENERATED)
            generated = generated or by_git
            in_trailer = by_git or find_separator(line) >= 1
            trailers += in_trailer
        other_lines += not in_trailer
    is_block = trailers > 0 and not other_lines
    if generated:
        is_block = trailers * 3 >= other_lines
    if is_block:
        return start
    return end


SPACE = b" \t\n\r"  # git's idea of white space
CUT = b" ------------------------ >8 ------------------------\n"


def split_lines(message: bytes) -> list[bytes]:
    """Return the lines of a message, each with a newline."""
    if message:
        return [line + b"\n" for line in message.removesuffix(b"\n").split(b"\n")]
    return []


def is_blank(line: bytes) -> bool:
    """Tell whether a line is white space."""
    return not line.strip(SPACE)


def is_comment(line: bytes, comment: bytes) -> bool:
    """Tell whether a line is a comment."""
    return bool(comment) and line.startswith(comment)


def find_cut(lines: list[bytes], comment: bytes) -> int:
    """Return the index of the scissors line, which ends a message for git; else the end."""
    mark = comment + CUT
    if comment and mark in lines:
        return lines.index(mark)
    return len(lines)


_SIGNED = b"Signed-off-by: "


def add_trailers(
    message: bytes,
    ids: Iterable[str],
    *,
    comment: bytes = b"#",
    comments: Sequence[str] = (),
    more: Sequence[str] = (),
) -> bytes:
    """Return the message with a trailer for each id, and the lines `key: value` of more, in its
    last trailer block.

    A trailer that the block has is not added again.  An unwritten message gets two empty lines
    before the block, so that a text typed there is not part of it.  comments: lines for the person,
    added only to git's own comments.
    """
    lines = split_lines(message)
    ids = list(ids)
    added = [*_format_lines(ids), *(f"{line}\n".encode() for line in dict.fromkeys(more))]
    if not added:
        return message
    begin = is_unwritten(message, comment=comment)
    if begin:
        lines = _begin_text(lines, added, comment)
    else:
        lines = _extend_block(lines, added, comment)
    return b"".join(add_comments(lines, comment, comments))


def remove_trailers(message: bytes, *, comment: bytes = b"#") -> bytes:
    """Return the message without the checkpoint ids of its last trailer block.

    They are also removed if they are its only text, which git would take for the subject.
    """
    if has_only_trailers(message, comment=comment):
        return collect_trailers(message, comment=comment)[1]
    lines = split_lines(message)
    start, end = find_block(lines, comment, find_text_start(lines, comment))
    removed = {i for i in range(start, end) if _is_own(lines[i])}
    if removed:
        return b"".join(_drop_lines(lines, removed))
    return message


def collect_trailers(message: bytes, *, comment: bytes = b"#") -> tuple[list[str], bytes]:
    """Return the ids above the scissors, and the message without their lines, to be added again.

    In a squashed message most of them are in the text.  Commented lines, such as a fixup's, count
    and stay: git drops them.
    """
    lines = split_lines(message)
    end = find_cut(lines, comment)
    ids = find_anywhere(b"".join(lines[:end]))
    removed = {i for i in range(end) if _is_own(lines[i].lstrip(b" \t"))}
    if removed:
        message = b"".join(_drop_lines(lines, removed))
    return ids, message


def has_only_trailers(
    message: bytes, *, comment: bytes = b"#", template: bytes = b"", disclosing: str = ""
) -> bool:
    """Tell whether the message would be empty for git without gitcp's trailers.

    As for git, sign-offs and an unchanged commit template are not text.  disclosing: the key of
    gitcp's other trailer.
    """
    lines = _list_text(remove_key(message, disclosing), comment)
    if disclosing and not lines:
        return True
    return any(map(_is_own, lines)) and _list_prose(lines) in (
        [],
        _list_prose(_list_text(template, comment)),
    )


def remove_key(message: bytes, key: str) -> bytes:
    """Return the message without the lines of a trailer; unchanged if key is empty."""
    if not key:
        return message
    start = f"{key}:".lower().encode()
    return b"".join(line for line in split_lines(message) if not line.lower().startswith(start))


def is_unwritten(message: bytes, *, comment: bytes = b"#") -> bool:
    """Tell whether a message has no text yet, only sign-offs, comments and checkpoint ids."""
    return all(_is_own(line) or line.startswith(_SIGNED) for line in _list_text(message, comment))


def _list_prose(lines: Iterable[bytes]) -> list[bytes]:
    return [line for line in lines if not _is_own(line) and not line.startswith(_SIGNED)]


def _list_text(message: bytes, comment: bytes) -> list[bytes]:
    lines = split_lines(message)
    above = lines[: find_cut(lines, comment)]
    return [s.rstrip(SPACE) for s in above if not is_blank(s) and not is_comment(s, comment)]


def _is_own(line: bytes) -> bool:
    return bool(find_id(line)) and line[:1].isalpha()


def _drop_lines(lines: list[bytes], removed: set[int]) -> list[bytes]:
    """Drop lines, and an empty line if that leaves two in a row or one at the end."""
    lines_left: list[bytes] = []
    after = False
    for i, line in enumerate(lines):
        if i in removed:
            after = True
        elif not (after and is_blank(line) and (not lines_left or is_blank(lines_left[-1]))):
            lines_left.append(line)
            after = after and is_blank(line)
    while after and lines_left and is_blank(lines_left[-1]):
        lines_left.pop()
    return lines_left


def _format_lines(ids: Iterable[str]) -> list[bytes]:
    return [f"{KEY}: {oid}\n".encode() for oid in dict.fromkeys(ids)]


def _begin_text(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    """Put the trailers into a message that is_unwritten()."""
    end = find_cut(lines, comment)
    texts = [i for i in range(end) if not is_blank(lines[i]) and not is_comment(lines[i], comment)]
    block = [lines[i] for i in texts if not _is_own(lines[i])]
    present = _format_lines(find_anywhere(b"".join(lines[i] for i in texts)))
    block += dict.fromkeys([*present, *added])
    lines = [line for i, line in enumerate(lines) if i not in texts]
    own = find_own_block(lines, comment)
    below = find_cut(lines, comment) if own is None else own
    head = lines[:below]
    while head and is_blank(head[-1]):
        head.pop()
    if head and below == len(lines):
        return [*head, b"\n", *block]  # the person's own comments may be text after all
    written = [*head, b"\n", b"\n", *block]
    if below < len(lines):
        written += [b"\n", *lines[below:]]
    return written


def _extend_block(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    start, end = find_block(lines, comment, find_text_start(lines, comment))
    if start > 1 and all(is_comment(line, comment) for line in (lines[0], lines[start - 2])):
        start = end  # the subject of a message that a rebase squashes, not trailers
    pairs = parse_block(lines[start:end], comment)
    present = {(token.lower(), value) for token, value in pairs}
    parts = ((line, *line.strip().partition(b": ")) for line in added)
    new = [line for line, token, _, value in parts if (token.lower(), value) not in present]
    if start and is_blank(lines[start - 1]):
        gap = []
    else:
        gap = [b"\n"]
    block = [(b"%s: %s\n" % item if item[0] else item[1] + b"\n") for item in pairs]
    return [*lines[:start], *gap, *block, *new, *lines[end:]]


_AUTO = b"#;@!$%^&|:"  # git's choices for core.commentChar=auto


def choose_comment_char(message: bytes, configured: str | None) -> bytes:
    """Return the prefix of comments by core.commentChar; for `auto` by git's own comments."""
    if configured != "auto":
        return (configured or "#").encode(errors="surrogateescape")
    lines = split_lines(message)
    marks = [line[:1] for line in lines if line[1:] == CUT]
    if lines and not marks:
        marks = [lines[-1][:1]]
    if marks and marks[0] and marks[0] in _AUTO:
        return marks[0]
    return b"#"


def find_own_block(lines: list[bytes], comment: bytes) -> int | None:
    """Return the index of git's own comments; None if there are none.

    They are the last run of comment lines after a blank line, up to the scissors or the end.
    """
    end = find_cut(lines, comment)
    start = end
    while start and is_comment(lines[start - 1], comment):
        start -= 1
    if 0 < start < end and is_blank(lines[start - 1]):
        return start
    return None


def find_text_start(lines: list[bytes], comment: bytes) -> int:
    """Return the index of the first line of text, or the end."""
    end = find_cut(lines, comment)
    for i in range(end):
        if not is_blank(lines[i]) and not is_comment(lines[i], comment):
            return i
    return end


def add_comments(lines: list[bytes], comment: bytes, comments: Sequence[str]) -> list[bytes]:
    """Insert comments for the person below the scissors, or before git's own comments.

    Without either, nothing is inserted: git could take the comments for text.
    """
    own = find_own_block(lines, comment)
    words = [f" {c}".rstrip().encode() for c in comments]
    added = [comment + s + b"\n" for s in words]
    if not added:
        return lines
    below = find_cut(lines, comment) + 1
    if below > len(lines):  # above the scissors, comments may be text
        if own is None:
            return lines
        return [*lines[:own], *added, comment + b"\n", *lines[own:]]
    for _ in range(2):  # git's two lines about the scissors
        below += below < len(lines) and is_comment(lines[below], comment)
    return [*lines[:below], comment + b"\n", *added, *lines[below:]]
