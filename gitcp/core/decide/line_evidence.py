"""Whose lines are these: the evidence that two contents of a file give.

All comparisons are of **sets** of lines: a line that occurs twice is one line, and where it
stands does not count.  So moved lines are not added ones, and staging half of a file is seen as
part of it whatever the order.  A line is its bytes without the line ending ("\\n" or "\\r\\n").
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

_SPACE = b" \t\r\x0b\x0c"  # in a line
SIGNIFICANT = 10  # trimmed bytes from which a line says something by itself
_SNIFFED = 8000  # where git looks for a NUL to call content binary


def binary(data: bytes) -> bool:
    """Tell whether git would call this content binary."""
    return b"\0" in data[:_SNIFFED]


def lines(data: bytes) -> set[bytes]:
    """Return the lines of a text, without their endings."""
    return {*data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")}


def not_blank(lines: set[bytes]) -> set[bytes]:
    """Return the lines that are not blank: a blank line is no evidence of anything."""
    return {line for line in lines if line.strip()}


def added(a: bytes | None, b: bytes | None) -> set[bytes]:
    """Return the non-blank lines of b that a does not have; None is a file that is not there."""
    return not_blank(lines(b or b"") - lines(a or b""))


def meaningful(line: bytes) -> bool:
    """Tell whether a line has a letter or a digit: a brace says nothing about whose it is."""
    return any(byte >= 0x80 or chr(byte).isalnum() for byte in line)


def significant(lines: set[bytes], long: Container[bytes] = ()) -> set[bytes]:
    """Return the lines that say something by themselves
    (doc/credit.md "Linking by evidence"), trimmed."""
    trimmed = (line.strip() for line in lines)
    return {
        line for line in trimmed if line in long or (len(line) >= SIGNIFICANT and meaningful(line))
    }


def is_telling(line: bytes) -> bool:
    """Tell whether a line says something by itself."""
    return bool(significant({line}))


def contained(some: set[bytes], record: set[bytes]) -> bool:
    """Tell whether there are lines that mean anything, and all lines are in the record."""
    return any(map(meaningful, some)) and some <= record


def shared(mine: set[bytes], recorded: set[bytes], long: Container[bytes] = ()) -> bool:
    """Tell whether added lines show the hand that added the recorded ones.

    At least two significant lines in common and a tenth of the recorded ones; one where a side
    has fewer than two.  long: lines that are significant however short they are here.
    """
    mine, recorded = significant(mine, long), significant(recorded, long)
    common = len(mine & recorded)
    if min(len(mine), len(recorded)) < 2:
        return common >= 1
    return common >= 2 and common * 10 >= len(recorded)


def without_space(data: bytes) -> bytes:
    """Return a text without the white space in its lines: what a formatter leaves alone."""
    return data.translate(None, _SPACE)


def includes(content: bytes, base: bytes, tip: bytes) -> bool:
    """Tell whether a text has all lines that a change from base to tip added, and none that it
    took, but for white space in them; never of binary content, or of a change of no line."""
    if any(map(binary, (content, base, tip))):
        return False
    now, old, new = (not_blank(lines(without_space(data))) for data in (content, base, tip))
    return new != old and new - old <= now and now.isdisjoint(old - new)


def renamed(mine: set[bytes], recorded: set[bytes]) -> bool:
    """Tell whether a new file is another one moved: half of either's significant lines, as git
    counts, and at least two."""
    mine, recorded = significant(mine), significant(recorded)
    common = len(mine & recorded)
    return common >= 2 and common * 2 >= max(len(mine), len(recorded))


def survives(
    base: bytes | None, tip: bytes | None, worktree: bytes | None, mode: str = "fuzzy"
) -> bool:
    """Tell whether the agent's change from base to tip is still in the worktree.

    None is a file that is not there.  One surviving non-blank added line is enough; if only lines
    were removed, all of them must still be absent; binary content, and a change that sets of lines
    do not show, must be the same bytes.  `mode` is `exact`, or `fuzzy`: runs of white space are
    one space.
    """
    if tip is None or worktree is None:
        return tip is worktree
    if any(binary(data) for data in (base or b"", tip, worktree)):
        return tip == worktree
    sets = lines(base or b""), lines(tip), lines(worktree)
    if mode == "fuzzy":
        verdict = _survives(*({b" ".join(s.split()) for s in x} for x in sets))
        if verdict is not None:
            return verdict
    verdict = _survives(*sets)  # in fuzzy mode: the agent changed white space only
    return tip == worktree if verdict is None else verdict


def _survives(base: set[bytes], tip: set[bytes], worktree: set[bytes]) -> bool | None:
    if new := not_blank(tip - base):
        return not new.isdisjoint(worktree)
    if gone := not_blank(base - tip):
        return gone.isdisjoint(worktree)
    return None


def holds_line(
    before: bytes | None, after: bytes | None, old: bytes | None, new: bytes | None
) -> bool:
    """Whether a commit that makes new of old has a line that an edit from before to after added, or
    lacks one that it removed, but for white space; None is a file that is not there.

    In doubt, of binary content and of an edit of no line that means anything, it does.
    """
    contents = [content or b"" for content in (before, after, old, new)]
    if any(map(binary, contents)):
        return True
    was, now, parent, commit = map(without_space, contents)
    gained, lost = added(was, now), added(now, was)
    if not any(map(meaningful, gained | lost)):
        return True
    common = gained & added(parent, commit)
    common |= lost & added(commit, parent)
    return any(map(meaningful, common))
