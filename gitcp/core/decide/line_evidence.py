"""Compare contents of a file by their sets of lines, as evidence of who wrote them.

The number and the order of equal lines do not count: a moved line is not an added one, and a
staged half of a file is a part of it in any order.  A line is its bytes without the line ending
("\\n" or "\\r\\n").
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

_SPACE = b" \t\r\x0b\x0c"  # in a line
SIGNIFICANT = 10  # trimmed bytes of a significant line
_SNIFFED = 8000  # bytes in which git looks for a NUL to tell binary content


def is_binary(data: bytes) -> bool:
    """Tell whether git would call this content binary."""
    return b"\0" in data[:_SNIFFED]


def collect_lines(data: bytes) -> set[bytes]:
    """Return the lines of a text, without their endings."""
    return {*data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")}


def drop_blank_lines(lines: set[bytes]) -> set[bytes]:
    """Return the lines that are not blank."""
    return {line for line in lines if line.strip()}


def find_added_lines(a: bytes | None, b: bytes | None) -> set[bytes]:
    """Return the non-blank lines of b that a does not have; None: there is no file."""
    return drop_blank_lines(collect_lines(b or b"") - collect_lines(a or b""))


def find_place(a: bytes, b: bytes, own: Container[bytes] | None = None) -> bytes:
    """Return what a change from a to b removes and adds, with the line before and the line after
    that are not blank; b"" if no added line is meaningful, or own lacks one of them.

    own: the lines that may be added, None for any.
    """
    old, new = a.split(b"\n"), b.split(b"\n")
    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    added = [line for line in new[start : len(new) - end] if line.strip()]
    if not any(map(is_meaningful, added)) or not (own is None or all(x in own for x in added)):
        return b""
    before = [line for line in new[:start] if line.strip()][-1:]
    after = [line for line in new[len(new) - end :] if line.strip()][:1]
    removed = old[start : len(old) - end]
    return b"\n".join([*before, b"\0", *removed, b"\0", *added, b"\0", *after])


def _count_equal(a: list[bytes], b: list[bytes]) -> int:
    """Return how many lines two texts have in common at their start."""
    return next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))  # noqa: B905


def is_meaningful(line: bytes) -> bool:
    """Tell whether a line has a letter or a digit."""
    return any(byte >= 0x80 or chr(byte).isalnum() for byte in line)


def select_significant(lines: set[bytes], long: Container[bytes] = ()) -> set[bytes]:
    """Return the significant lines, trimmed (doc/credit.md "Linking by evidence").

    long: lines that are significant although they are short.
    """
    trimmed = (line.strip() for line in lines)
    return {
        line
        for line in trimmed
        if line in long or (len(line) >= SIGNIFICANT and is_meaningful(line))
    }


def is_significant(line: bytes) -> bool:
    """Tell whether a line is significant."""
    return bool(select_significant({line}))


def is_contained(lines: set[bytes], record: set[bytes]) -> bool:
    """Tell whether all lines are in the record, and one of them is meaningful."""
    return any(map(is_meaningful, lines)) and lines <= record


def has_enough_in_common(
    mine: set[bytes], recorded: set[bytes], long: Container[bytes] = ()
) -> bool:
    """Tell whether two sets of added lines have enough significant lines in common to link them.

    Enough is two lines and a tenth of the recorded ones, or one line if either set has fewer than
    two.  long: as for select_significant().
    """
    mine, recorded = select_significant(mine, long), select_significant(recorded, long)
    common = len(mine & recorded)
    if min(len(mine), len(recorded)) < 2:
        return common >= 1
    return common >= 2 and common * 10 >= len(recorded)


def remove_space(data: bytes) -> bytes:
    """Return a text without the white space in its lines, which a formatter may change."""
    return data.translate(None, _SPACE)


def holds_change(content: bytes, base: bytes, tip: bytes) -> bool:
    """Tell whether a text has all lines that a change from base to tip added, and none that it
    removed, white space aside; False for binary content and for a change of no line."""
    if any(map(is_binary, (content, base, tip))):
        return False
    content_lines, base_lines, tip_lines = (
        drop_blank_lines(collect_lines(remove_space(data))) for data in (content, base, tip)
    )
    return (
        tip_lines != base_lines
        and tip_lines - base_lines <= content_lines
        and content_lines.isdisjoint(base_lines - tip_lines)
    )


def is_renamed(mine: set[bytes], recorded: set[bytes]) -> bool:
    """Tell whether a new file is a moved one: at least two significant lines in common, and, as
    for git, half of either's."""
    mine, recorded = select_significant(mine), select_significant(recorded)
    common = len(mine & recorded)
    return common >= 2 and common * 2 >= max(len(mine), len(recorded))


def is_change_left(
    base: bytes | None, tip: bytes | None, worktree: bytes | None, mode: str = "fuzzy"
) -> bool:
    """Tell whether the agent's change from base to tip is still in the worktree.

    One added line is enough; if the change only removed lines, all of them must be absent.  Binary
    content, and a change that adds and removes no line, must be the same bytes.  None: there is no
    file.  mode: `exact`, or `fuzzy`, where runs of white space count as one space.
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
    """Tell whether a commit's change from old to new adds a line that an edit from before to after
    added, or removes one that it removed, white space aside; None: there is no file.

    True for binary content, and for an edit without a meaningful line.
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
