"""The line that links a commit to its checkpoint, in the last trailer block of the message.

What is written is what this would write, without the process (`trailer_block.py` has its rules;
trailer.* unset, final newline ensured):

    git interpret-trailers --no-divider --where end --if-exists addIfDifferent

Everywhere `comment` is what a comment line begins with (`message_file.comment_char`); give b"" when
no editor opens and git will not strip comments, so that '#12: fix' is text.
"""

from __future__ import annotations

from gitcp.core.git.ids import is_checkpoint_id
from gitcp.core.message.message_file import (
    SPACE,
    blank,
    cut,
    explained,
    is_comment,
    own_block,
    split,
    text_start,
)
from gitcp.core.message.trailer_block import items, trailer_block, unfold

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
    title = next((i for i, line in enumerate(lines) if not blank(line)), len(lines))
    start, end = trailer_block(lines, comment, title)
    pairs = items(lines[start:end], comment)
    values = [unfold(value) for token, value in pairs if token.lower() == key.lower().encode()]
    texts = [value.decode(errors="surrogateescape") for value in values]
    return [t for t in texts if key.lower() != KEY.lower() or is_checkpoint_id(t)]


def only(message: bytes) -> list[str] | None:
    """What read() gives where the message shows at a glance that anywhere() gives no more: it
    never speaks of the key, or on its last line alone; None where one has to look."""
    if _KEY_LOWER not in message.lower():
        return []
    text, gap, last = message.rpartition(_LAST)
    value = last[:-1].decode("ascii", "replace")
    plain = gap and last[-1:] == b"\n" and is_checkpoint_id(value)
    # scissors end a message before its end; what is above a title is no text
    if not plain or b">8" in text or blank(text[:1]) or _KEY_LOWER in text.lower():
        return None
    return [value]


def anywhere(message: bytes) -> list[str]:
    """Return each checkpoint id that has a line of its own, wherever it stands, once.

    For tolerant reading: squashed messages bury, indent or comment out the lines.
    """
    ids = (_buried(line) for line in split(message))
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
    added = [*_written(ids), *(f"{line}\n".encode() for line in dict.fromkeys(more))]
    if not added:
        return message
    begin = unwritten(message, comment=comment)
    lines = _begun(lines, added, comment) if begin else _extended(lines, added, comment)
    return b"".join(explained(lines, comment, comments))


def remove(message: bytes, *, comment: bytes = b"#") -> bytes:
    """Return the message without our lines in the last trailer block; the rest is untouched.

    Where they are all there is, they go as well, though git would call them the subject.
    """
    if only_trailers(message, comment=comment):
        return collect(message, comment=comment)[1]
    lines = split(message)
    start, end = trailer_block(lines, comment, text_start(lines, comment))
    gone = {i for i in range(start, end) if _own(lines[i])}
    return b"".join(_without(lines, gone)) if gone else message


def collect(message: bytes, *, comment: bytes = b"#") -> tuple[list[str], bytes]:
    """Return every id above the cut, and the message without their lines; `add` puts them back.

    For squashed messages, where the lines of all but the last are buried in the text.  Commented
    lines, as of a fixup, give their id and stay: git drops them.
    """
    lines = split(message)
    end = cut(lines, comment)
    ids = anywhere(b"".join(lines[:end]))
    gone = {i for i in range(end) if _own(lines[i].lstrip(b" \t"))}
    return ids, b"".join(_without(lines, gone)) if gone else message


def only_trailers(
    message: bytes, *, comment: bytes = b"#", template: bytes = b"", disclosing: str = ""
) -> bool:
    """Tell whether our trailers are all that keeps git from calling the message empty.

    As for git, lines of sign-off are no text, and neither is a commit template left as it was.
    disclosing: the key of another trailer that is ours.
    """
    lines = _text(without(message, disclosing), comment)
    if disclosing and not lines:
        return True
    return any(map(_own, lines)) and _prose(lines) in ([], _prose(_text(template, comment)))


def without(message: bytes, key: str) -> bytes:
    """Return the message without the lines of a trailer; as it is where key is empty."""
    if not key:
        return message
    start = f"{key}:".lower().encode()
    return b"".join(line for line in split(message) if not line.lower().startswith(start))


def unwritten(message: bytes, *, comment: bytes = b"#") -> bool:
    """Tell whether a message has no text yet: only sign-offs, comments and lines of ours."""
    return all(_own(line) or line.startswith(_SIGNED) for line in _text(message, comment))


def _prose(lines: Iterable[bytes]) -> list[bytes]:
    return [line for line in lines if not _own(line) and not line.startswith(_SIGNED)]


def _text(message: bytes, comment: bytes) -> list[bytes]:
    lines = split(message)
    above = lines[: cut(lines, comment)]
    return [s.rstrip(SPACE) for s in above if not blank(s) and not is_comment(s, comment)]


def _own(line: bytes) -> bool:
    return bool(_buried(line)) and line[:1].isalpha()


def _buried(line: bytes) -> str:
    """Return the id of a line 'Entire-Checkpoint: <id>', maybe indented or commented out."""
    key, _, value = line.lstrip(b"# \t;@!$%^&|:").partition(b":")
    text = value.strip(SPACE).decode("ascii", "replace")
    return text if key.rstrip().lower() == KEY.lower().encode() and is_checkpoint_id(text) else ""


def _without(lines: list[bytes], gone: set[int]) -> list[bytes]:
    """Drop lines, and an empty line where that leaves two in a row or one at the end."""
    kept: list[bytes] = []
    after = False
    for i, line in enumerate(lines):
        if i in gone:
            after = True
        elif not (after and blank(line) and (not kept or blank(kept[-1]))):
            kept.append(line)
            after = after and blank(line)
    while after and kept and blank(kept[-1]):
        kept.pop()
    return kept


def _written(ids: Iterable[str]) -> list[bytes]:
    return [f"{KEY}: {oid}\n".encode() for oid in dict.fromkeys(ids)]


def _begun(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    """Begin a message that has no text yet, only sign-offs or what we put there before."""
    end = cut(lines, comment)
    texts = [i for i in range(end) if not blank(lines[i]) and not is_comment(lines[i], comment)]
    block = [lines[i] for i in texts if not _own(lines[i])]
    there = _written(anywhere(b"".join(lines[i] for i in texts)))
    block += dict.fromkeys([*there, *added])
    lines = [line for i, line in enumerate(lines) if i not in texts]
    own = own_block(lines, comment)
    below = cut(lines, comment) if own is None else own
    head = lines[:below]
    while head and blank(head[-1]):
        head.pop()
    if head and below == len(lines):
        return [*head, b"\n", *block]  # comments of the person's own: they may be text after all
    return [*head, b"\n", b"\n", *block, *([b"\n", *lines[below:]] if below < len(lines) else [])]


def _extended(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    start, end = trailer_block(lines, comment, text_start(lines, comment))
    if start > 1 and all(is_comment(line, comment) for line in (lines[0], lines[start - 2])):
        start = end  # the subject of a message that a rebase squashes, not trailers
    pairs = items(lines[start:end], comment)
    has = {(token.lower(), value) for token, value in pairs}
    parts = ((line, *line.strip().partition(b": ")) for line in added)
    new = [line for line, token, _, value in parts if (token.lower(), value) not in has]
    gap = [] if start and blank(lines[start - 1]) else [b"\n"]
    block = [(b"%s: %s\n" % item if item[0] else item[1] + b"\n") for item in pairs]
    return [*lines[:start], *gap, *block, *new, *lines[end:]]
