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


def is_binary(data: bytes) -> bool:
    """Tell whether git would call this content binary."""
    return b"\0" in data[:_SNIFFED]


def collect_lines(data: bytes) -> set[bytes]:
    """Return the lines of a text, without their endings."""
    return {*data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")}


def drop_blank_lines(lines: set[bytes]) -> set[bytes]:
    """Return the lines that are not blank: a blank line is no evidence of anything."""
    return {line for line in lines if line.strip()}


def find_added_lines(a: bytes | None, b: bytes | None) -> set[bytes]:
    """Return the non-blank lines of b that a does not have; None is a file that is not there."""
    return drop_blank_lines(collect_lines(b or b"") - collect_lines(a or b""))


def is_meaningful(line: bytes) -> bool:
    """Tell whether a line has a letter or a digit: a brace says nothing about whose it is."""
    return any(byte >= 0x80 or chr(byte).isalnum() for byte in line)


def select_significant(lines: set[bytes], long: Container[bytes] = ()) -> set[bytes]:
    """Return the lines that say something by themselves
    (doc/credit.md "Linking by evidence"), trimmed."""
    trimmed = (line.strip() for line in lines)
    return {
        line
        for line in trimmed
        if line in long or (len(line) >= SIGNIFICANT and is_meaningful(line))
    }


def is_telling(line: bytes) -> bool:
    """Tell whether a line says something by itself."""
    return bool(select_significant({line}))


def is_contained(some: set[bytes], record: set[bytes]) -> bool:
    """Tell whether there are lines that mean anything, and all lines are in the record."""
    return any(map(is_meaningful, some)) and some <= record


def has_enough_in_common(
    mine: set[bytes], recorded: set[bytes], long: Container[bytes] = ()
) -> bool:
    """Tell whether added lines show the hand that added the recorded ones.

    At least two significant lines in common and a tenth of the recorded ones; one where a side
    has fewer than two.  long: lines that are significant however short they are here.
    """
    mine, recorded = select_significant(mine, long), select_significant(recorded, long)
    common = len(mine & recorded)
    if min(len(mine), len(recorded)) < 2:
        return common >= 1
    return common >= 2 and common * 10 >= len(recorded)


def remove_space(data: bytes) -> bytes:
    """Return a text without the white space in its lines: what a formatter leaves alone."""
    return data.translate(None, _SPACE)


def holds_change(content: bytes, base: bytes, tip: bytes) -> bool:
    """Tell whether a text has all lines that a change from base to tip added, and none that it
    took, but for white space in them; never of binary content, or of a change of no line."""
    if any(map(is_binary, (content, base, tip))):
        return False
    now, old, new = (
        drop_blank_lines(collect_lines(remove_space(data))) for data in (content, base, tip)
    )
    return new != old and new - old <= now and now.isdisjoint(old - new)


def is_renamed(mine: set[bytes], recorded: set[bytes]) -> bool:
    """Tell whether a new file is another one moved: half of either's significant lines, as git
    counts, and at least two."""
    mine, recorded = select_significant(mine), select_significant(recorded)
    common = len(mine & recorded)
    return common >= 2 and common * 2 >= max(len(mine), len(recorded))


def is_change_left(
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
    if any(is_binary(data) for data in (base or b"", tip, worktree)):
        return tip == worktree
    sets = collect_lines(base or b""), collect_lines(tip), collect_lines(worktree)
    if mode == "fuzzy":
        verdict = _compare_line_sets(*({b" ".join(s.split()) for s in x} for x in sets))
        if verdict is not None:
            return verdict
    verdict = _compare_line_sets(*sets)  # in fuzzy mode: the agent changed white space only
    return tip == worktree if verdict is None else verdict


def _compare_line_sets(base: set[bytes], tip: set[bytes], worktree: set[bytes]) -> bool | None:
    if new := drop_blank_lines(tip - base):
        return not new.isdisjoint(worktree)
    if gone := drop_blank_lines(base - tip):
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
    if any(map(is_binary, contents)):
        return True
    was, now, parent, commit = map(remove_space, contents)
    gained, lost = find_added_lines(was, now), find_added_lines(now, was)
    if not any(map(is_meaningful, gained | lost)):
        return True
    common = gained & find_added_lines(parent, commit)
    common |= lost & find_added_lines(commit, parent)
    return any(map(is_meaningful, common))
