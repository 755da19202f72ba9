"""Lines that only changed their form: what a formatter wrapped, joined, quoted or bracketed.

In a gap (`gaps`) the lines of both sides are compared without soft signs (`text`).  If all
that is hard is the same, each new line carries on the old line that most of its bytes come from.
If not, lines are found one by one by their tokens (carry_tokens).  Whoever adds, drops or changes
one hard token of a line has written the line.
"""

from __future__ import annotations

from gitcp.text.carry import gaps, tokens
from gitcp.text.carry.text import NOTHING, join_hard
from gitcp.text.carry.tokens import Owners
from gitcp.text.pairing import list_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.text.carry.text import Text

_MARKS = b"#", b"//", b"*", b"/*"  # of comments, at the start of a line


class _Comments:
    """The lines of one side of a gap as comments.  marks: of each line, b'' for none.  bare: the
    lines without their marks, as a comment that is wrapped gets one more of them."""

    __slots__ = ("bare", "lines", "marks")

    def __init__(self, lines: Sequence[bytes], keys: Sequence[bytes]) -> None:
        self.lines = lines
        self.marks: list[bytes] = []
        self.bare: list[bytes] = []
        for line, key in zip(lines, keys, strict=True):
            mark = _find_mark(line, key)
            self.marks.append(mark)
            self.bare.append(line.lstrip()[len(mark) :] if mark else line)


def _find_mark(line: bytes, key: bytes) -> bytes:
    """The mark of a comment at the start of a line; b'' for none, and for one without words."""
    if not key.startswith(_MARKS):
        return b""
    stripped = line.strip()
    text = stripped.lstrip(b"#" if key.startswith(b"#") else b"/*!")
    mark = stripped[: len(stripped) - len(text)]
    is_apart = text[:1].isspace() or mark.startswith((b"//", b"/*", b"*/"))
    return mark if text and is_apart else b""


class Forms:
    """pairs: index in after -> index in before of lines that changed their form at most.  kept: the
    lines of before of which after has all that is hard."""

    __slots__ = ("kept", "pairs")

    def __init__(self) -> None:
        self.pairs: dict[int, int] = {}
        self.kept: set[int] = set()


def pair_forms(before: Text, after: Text, origins: Sequence[int]) -> Forms:
    """Pair the lines that changed their form.

    origins: by index in after, the index of the equal line of before, or NOTHING.
    """
    forms = Forms()
    for gap in gaps.find_gaps(before, after, origins):
        old_keys = before.keys[gap.old_start : gap.old_end]
        new_keys = after.keys[gap.new_start : gap.new_end]
        found = _carry_equal(old_keys, new_keys)
        if found:
            forms.kept.update(range(gap.old_start, gap.old_end))
        else:
            old = before.lines[gap.old_start : gap.old_end]
            new = after.lines[gap.new_start : gap.new_end]
            found = _carry_edited(old, new, old_keys, new_keys)
        for index, origin in enumerate(found):
            if origin != NOTHING:
                forms.pairs[gap.new_start + index] = gap.old_start + origin
    return forms


def _carry_edited(
    old_lines: Sequence[bytes],
    new_lines: Sequence[bytes],
    old_keys: Sequence[bytes],
    new_keys: Sequence[bytes],
) -> list[int]:
    """By line of the new side, the line of the old side that it carries on, or NOTHING, if the
    sides differ in what is hard."""
    found = tokens.carry_tokens(old_lines, new_lines)
    if NOTHING in found:
        old = _Comments(old_lines, old_keys)
        new = _Comments(new_lines, new_keys)
        if any(old.marks) or any(new.marks):
            _add_comments(old, new, found)
    return found


def _add_comments(old: _Comments, new: _Comments, found: list[int]) -> None:
    """Find more lines without the marks of comments, if what is one remains one."""
    bare = _carry_equal(list_keys(old.bare), list_keys(new.bare))
    if not bare:
        bare = tokens.carry_tokens(old.bare, new.bare)
    for index, origin in enumerate(bare):
        if found[index] == NOTHING and origin != NOTHING and _keeps_mark(old, origin, new, index):
            found[index] = origin


def _carry_equal(old_lines: Sequence[bytes], new_lines: Sequence[bytes]) -> list[int]:
    """Carry lines of two sides whose hard bytes are the same; [] if they are not.

    Lines are without white space.  A line of soft signs, or blank, goes with the line before it.
    """
    old_text = join_hard(old_lines)
    new_text = join_hard(new_lines)
    if old_text.replace(b"\n", b"") != new_text.replace(b"\n", b""):
        return []
    old_keys = old_text.split(b"\n")
    new_keys = new_text.split(b"\n")
    owners = Owners(old_keys)
    found = []
    position = 0
    last = 0
    for key in new_keys:
        if key:
            last = owners.find_owner(position, position + len(key))
            position += len(key)
        found.append(last)
    return found


def _keeps_mark(old: _Comments, origin: int, new: _Comments, index: int) -> bool:
    """Whether a comment stays a comment, and what is none stays none."""
    old_mark = old.marks[origin]
    new_mark = new.marks[index]
    if new_mark and not old_mark:
        return new_mark[:2].rstrip(b"!") in old.lines[origin] or b"/*" in old.lines[origin]
    if old_mark and not new_mark:
        return not old_mark.startswith((b"#", b"//"))
    return True
