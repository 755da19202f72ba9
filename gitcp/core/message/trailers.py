"""The line that links a commit to its checkpoint, in the last trailer block of the message.

What is written is what this would write, without the process (`trailer_block.py` has its rules;
trailer.* unset, final newline ensured):

    git interpret-trailers --no-divider --where end --if-exists addIfDifferent

Everywhere `comment` is what a comment line begins with (`message_file.comment_char`); give b"" when
no editor opens and git will not strip comments, so that '#12: fix' is text.
"""

from __future__ import annotations

from gitcp.core.git.ids import is_checkpoint_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


KEY = "Entire-Checkpoint"
_KEY_LOWER, _LAST = KEY.lower().encode(), f"\n\n{KEY}: ".encode()
_SIGNED = b"Signed-off-by: "


def read(message: bytes, key: str = KEY, *, comment: bytes = b"#") -> list[str]:
    """Return the values of a key in a commit's last trailer block, in order, folds joined.

    Values of `Entire-Checkpoint` that are no checkpoint ids are left out.
    """
    lines = split(message)
    title = next((i for i, line in enumerate(lines) if not is_blank(line)), len(lines))
    start, end = find_block(lines, comment, title)
    pairs = parse_block(lines[start:end], comment)
    values = [unfold(value) for token, value in pairs if token.lower() == key.lower().encode()]
    texts = [value.decode(errors="surrogateescape") for value in values]
    return [t for t in texts if key.lower() != KEY.lower() or is_checkpoint_id(t)]


def read_simple(message: bytes) -> list[str] | None:
    """What read() gives where the message shows at a glance that find_anywhere() gives no more: it
    never speaks of the key, or on its last line alone; None where one has to look."""
    if _KEY_LOWER not in message.lower():
        return []
    text, gap, last = message.rpartition(_LAST)
    value = last[:-1].decode("ascii", "replace")
    plain = gap and last[-1:] == b"\n" and is_checkpoint_id(value)
    # scissors end a message before its end; what is above a title is no text
    if not plain or b">8" in text or is_blank(text[:1]) or _KEY_LOWER in text.lower():
        return None
    return [value]


def find_anywhere(message: bytes) -> list[str]:
    """Return each checkpoint id that has a line of its own, wherever it stands, once.

    For tolerant reading: squashed messages bury, indent or comment out the lines.
    """
    ids = (_find_id(line) for line in split(message))
    return list(dict.fromkeys(oid for oid in ids if oid))


def add(
    message: bytes,
    ids: Iterable[str],
    *,
    comment: bytes = b"#",
    comments: Sequence[str] = (),
    more: Sequence[str] = (),
) -> bytes:
    """Return the message with a line for each id in its last trailer block, then with more,
    lines `key: value`.

    What the block has already is not added again.  A message still to be written gets two
    empty lines first, so that what is typed there is not glued to the trailer.  `comments` are
    lines for the person; they appear only where git's own comments are.
    """
    lines, ids = split(message), list(ids)
    added = [*_format_lines(ids), *(f"{line}\n".encode() for line in dict.fromkeys(more))]
    if not added:
        return message
    begin = is_unwritten(message, comment=comment)
    lines = _begin_text(lines, added, comment) if begin else _extend_block(lines, added, comment)
    return b"".join(add_comments(lines, comment, comments))


def remove(message: bytes, *, comment: bytes = b"#") -> bytes:
    """Return the message without our lines in the last trailer block; the rest is untouched.

    Where they are all there is, they go as well, though git would call them the subject.
    """
    if has_only_trailers(message, comment=comment):
        return collect(message, comment=comment)[1]
    lines = split(message)
    start, end = find_block(lines, comment, find_text_start(lines, comment))
    gone = {i for i in range(start, end) if _is_own(lines[i])}
    return b"".join(_drop_lines(lines, gone)) if gone else message


def collect(message: bytes, *, comment: bytes = b"#") -> tuple[list[str], bytes]:
    """Return every id above the cut, and the message without their lines; `add` puts them back.

    For squashed messages, where the lines of all but the last are buried in the text.  Commented
    lines, as of a fixup, give their id and stay: git drops them.
    """
    lines = split(message)
    end = find_cut(lines, comment)
    ids = find_anywhere(b"".join(lines[:end]))
    gone = {i for i in range(end) if _is_own(lines[i].lstrip(b" \t"))}
    return ids, b"".join(_drop_lines(lines, gone)) if gone else message


def has_only_trailers(
    message: bytes, *, comment: bytes = b"#", template: bytes = b"", disclosing: str = ""
) -> bool:
    """Tell whether our trailers are all that keeps git from calling the message empty.

    As for git, lines of sign-off are no text, and neither is a commit template left as it was.
    disclosing: the key of another trailer that is ours.
    """
    lines = _list_text(remove_key(message, disclosing), comment)
    if disclosing and not lines:
        return True
    return any(map(_is_own, lines)) and _list_prose(lines) in (
        [],
        _list_prose(_list_text(template, comment)),
    )


def remove_key(message: bytes, key: str) -> bytes:
    """Return the message without the lines of a trailer; as it is where key is empty."""
    if not key:
        return message
    start = f"{key}:".lower().encode()
    return b"".join(line for line in split(message) if not line.lower().startswith(start))


def is_unwritten(message: bytes, *, comment: bytes = b"#") -> bool:
    """Tell whether a message has no text yet: only sign-offs, comments and lines of ours."""
    return all(_is_own(line) or line.startswith(_SIGNED) for line in _list_text(message, comment))


def _list_prose(lines: Iterable[bytes]) -> list[bytes]:
    return [line for line in lines if not _is_own(line) and not line.startswith(_SIGNED)]


def _list_text(message: bytes, comment: bytes) -> list[bytes]:
    lines = split(message)
    above = lines[: find_cut(lines, comment)]
    return [s.rstrip(SPACE) for s in above if not is_blank(s) and not is_comment(s, comment)]


def _is_own(line: bytes) -> bool:
    return bool(_find_id(line)) and line[:1].isalpha()


def _find_id(line: bytes) -> str:
    """Return the id of a line 'Entire-Checkpoint: <id>', maybe indented or commented out."""
    key, _, value = line.lstrip(b"# \t;@!$%^&|:").partition(b":")
    text = value.strip(SPACE).decode("ascii", "replace")
    return text if key.rstrip().lower() == KEY.lower().encode() and is_checkpoint_id(text) else ""


def _drop_lines(lines: list[bytes], gone: set[int]) -> list[bytes]:
    """Drop lines, and an empty line where that leaves two in a row or one at the end."""
    kept: list[bytes] = []
    after = False
    for i, line in enumerate(lines):
        if i in gone:
            after = True
        elif not (after and is_blank(line) and (not kept or is_blank(kept[-1]))):
            kept.append(line)
            after = after and is_blank(line)
    while after and kept and is_blank(kept[-1]):
        kept.pop()
    return kept


def _format_lines(ids: Iterable[str]) -> list[bytes]:
    return [f"{KEY}: {oid}\n".encode() for oid in dict.fromkeys(ids)]


def _begin_text(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    """Begin a message that has no text yet, only sign-offs or what we put there before."""
    end = find_cut(lines, comment)
    texts = [i for i in range(end) if not is_blank(lines[i]) and not is_comment(lines[i], comment)]
    block = [lines[i] for i in texts if not _is_own(lines[i])]
    there = _format_lines(find_anywhere(b"".join(lines[i] for i in texts)))
    block += dict.fromkeys([*there, *added])
    lines = [line for i, line in enumerate(lines) if i not in texts]
    own = find_own_block(lines, comment)
    below = find_cut(lines, comment) if own is None else own
    head = lines[:below]
    while head and is_blank(head[-1]):
        head.pop()
    if head and below == len(lines):
        return [*head, b"\n", *block]  # comments of the person's own: they may be text after all
    return [*head, b"\n", b"\n", *block, *([b"\n", *lines[below:]] if below < len(lines) else [])]


def _extend_block(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    start, end = find_block(lines, comment, find_text_start(lines, comment))
    if start > 1 and all(is_comment(line, comment) for line in (lines[0], lines[start - 2])):
        start = end  # the subject of a message that a rebase squashes, not trailers
    pairs = parse_block(lines[start:end], comment)
    has = {(token.lower(), value) for token, value in pairs}
    parts = ((line, *line.strip().partition(b": ")) for line in added)
    new = [line for line, token, _, value in parts if (token.lower(), value) not in has]
    gap = [] if start and is_blank(lines[start - 1]) else [b"\n"]
    block = [(b"%s: %s\n" % item if item[0] else item[1] + b"\n") for item in pairs]
    return [*lines[:start], *gap, *block, *new, *lines[end:]]


_GENERATED = (b"Signed-off-by: ", b"(cherry picked from commit ")
_TOKEN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def find_separator(line: bytes) -> int:
    """Return where the colon of a trailer stands; below 1 the line is no trailer."""
    colon = line.find(b":")
    name = line[: max(colon, 0)].rstrip(b" \t")
    return colon if name and _TOKEN.issuperset(name) else -1


def find_block(lines: list[bytes], comment: bytes, first: int) -> tuple[int, int]:
    """Return the first line of the last trailer block and the line after it, as git finds them.

    Equal numbers: there is no block, and that is where one goes.  The paragraph that begins at
    `first` is the title and never a block (git takes the title for one if it is below empty
    lines or comments, as it is before the message has been cleaned up).
    """
    end = _find_end(lines, first, comment)
    title = first
    while title < end and not is_blank(lines[title]):
        title += 1
    return _find_start(lines, title, end, comment), end


def parse_block(block: list[bytes], comment: bytes) -> list[tuple[bytes, bytes]]:
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
    """Leave out comments, empty lines and an old list of conflicts below the title."""
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
    """Look from the end for a paragraph of trailers; a quarter is enough if git made one."""
    generated, trailers, other_lines, folded, seen = False, 0, 0, 0, False
    for i in range(end - 1, title - 1, -1):
        line = lines[i]
        if is_comment(line, comment):
            other_lines, folded = other_lines + folded, 0
        elif is_blank(line):
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
            elif find_separator(line) >= 1:
                trailers, folded = trailers + 1, 0
            else:
                other_lines, folded = other_lines + 1 + folded, 0
    return end


SPACE = b" \t\n\r"  # git's idea of white space
_CUT = b" ------------------------ >8 ------------------------\n"
_AUTO = b"#;@!$%^&|:"  # what git chooses from for core.commentChar=auto


def split(message: bytes) -> list[bytes]:
    """Return the lines of a message; the last one gets the newline it may lack."""
    return [line + b"\n" for line in message.removesuffix(b"\n").split(b"\n")] if message else []


def is_blank(line: bytes) -> bool:
    """Tell whether a line is nothing but white space."""
    return not line.strip(SPACE)


def is_comment(line: bytes, comment: bytes) -> bool:
    """Tell whether a line is a comment."""
    return bool(comment) and line.startswith(comment)


def find_cut(lines: list[bytes], comment: bytes) -> int:
    """Return where the scissors line stands, below which git takes nothing; or the end."""
    mark = comment + _CUT
    return lines.index(mark) if comment and mark in lines else len(lines)


def choose_comment_char(message: bytes, configured: str | None) -> bytes:
    """Return what comments begin with, given core.commentChar (`auto`: git's own block tells)."""
    if configured != "auto":
        return (configured or "#").encode(errors="surrogateescape")
    lines = split(message)
    marks = [line[:1] for line in lines if line[1:] == _CUT]
    last = lines[-1][:1] if lines else b""
    mark = marks[0] if marks else last
    return mark if mark and mark in _AUTO else b"#"


def find_own_block(lines: list[bytes], comment: bytes) -> int | None:
    """Return where git's own comments for the person begin; None if there are none.

    They are the last run of comment lines, after a blank line, up to the cut or the end.
    """
    end = find_cut(lines, comment)
    start = end
    while start and is_comment(lines[start - 1], comment):
        start -= 1
    return start if 0 < start < end and is_blank(lines[start - 1]) else None


def find_text_start(lines: list[bytes], comment: bytes) -> int:
    """Return where the first line of text stands, or the end: git drops all before it."""
    end = find_cut(lines, comment)
    for i in range(end):
        if not is_blank(lines[i]) and not is_comment(lines[i], comment):
            return i
    return end


def add_comments(lines: list[bytes], comment: bytes, comments: Sequence[str]) -> list[bytes]:
    """Put lines for the person below the cut, or at the head of git's own comments.

    Where there is neither, nobody would see them, or git would keep them: nothing is put.
    """
    at, words = find_own_block(lines, comment), [f" {c}".rstrip().encode() for c in comments]
    here = [comment + s + b"\n" for s in words]
    if not here:
        return lines
    below = find_cut(lines, comment) + 1
    if below > len(lines):  # above a cut, what looks like comments may be text
        return lines if at is None else [*lines[:at], *here, comment + b"\n", *lines[at:]]
    for _ in range(2):  # what git says there about the cut
        below += below < len(lines) and is_comment(lines[below], comment)
    return [*lines[:below], comment + b"\n", *here, *lines[below:]]
