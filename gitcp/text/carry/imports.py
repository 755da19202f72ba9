"""Lines of import statements that a formatter sorted, split or joined.

A statement is known by its first word and its brackets, in no particular language.  A new line of
one carries on the import line that is gone and has most of its names, if all of its names stood on
such lines and if these lost none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Names = dict[int, list[bytes]]  # of lines, by index

LONGEST = 100  # lines of a statement
_KEYWORDS = frozenset(b"import from export use pub using require include type typeof".split())
_HEADS = b"import", b"from", b"export", b"use", b"using", b"pub use", b"pub(crate) use", b"require"
_STARTS = (*[head + b" " for head in _HEADS], b"import{", b"export{", b"#include", b"@import")
_IN_NAMES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz.*/@-"
_OTHERS = bytes(byte for byte in range(0x80) if byte not in _IN_NAMES and byte != 0x0A)
_TO_NAMES = bytes.maketrans(_OTHERS, b" " * len(_OTHERS))


def pair_imports(
    old: Sequence[bytes],
    new: Sequence[bytes],
    gone: Sequence[int],
    changed: Sequence[int],
    added: Sequence[int],
) -> dict[int, int]:
    """index in new -> index in old of added lines of import statements.

    gone: the lines of old that new has not got as they were.  changed: the lines of new that old
    has not got so.  added: those of them whose origin is not known yet.
    """
    old_names = _list_names(old, gone)
    new_names = _select_within(_list_names(new, added), _join(old_names))
    new_names = _select_imports(new, new_names)
    if not new_names:
        return {}
    old_names = _select_imports(old, _select_sharing(old_names, _join(new_names)))
    kept = _select_sharing(_list_names(new, changed), _join(old_names))
    old_names = _select_within(old_names, _join(_select_imports(new, kept)))
    line_by_name: dict[bytes, int] = {}  # what several lines name is the first one's
    for line, names in old_names.items():
        for name in names:
            line_by_name.setdefault(name, line)
    pairs = {}
    for line, names in new_names.items():
        if line_by_name.keys() >= set(names):
            pairs[line] = _find_owner(names, line_by_name)
    return pairs


def _list_names(lines: Sequence[bytes], chosen: Sequence[int]) -> Names:
    """The names of chosen lines, without those that have none."""
    text = b"\n".join([lines[line] for line in chosen]).translate(_TO_NAMES)
    found = {}
    for line, words in zip(chosen, text.split(b"\n"), strict=False):
        names = [word for word in words.split() if word not in _KEYWORDS]
        if names:
            found[line] = names
    return found


def _join(names: Names) -> set[bytes]:
    joined: set[bytes] = set()
    for some in names.values():
        joined.update(some)
    return joined


def _select_within(names: Names, known: set[bytes]) -> Names:
    """The lines all of whose names are known."""
    return {line: some for line, some in names.items() if known.issuperset(some)}


def _select_sharing(names: Names, known: set[bytes]) -> Names:
    """The lines of which a name is known."""
    return {line: some for line, some in names.items() if not known.isdisjoint(some)}


def _select_imports(lines: Sequence[bytes], names: Names) -> Names:
    """The lines that stand in import statements."""
    return {line: some for line, some in names.items() if _is_import(lines, line)}


def _is_import(lines: Sequence[bytes], index: int) -> bool:
    """Whether a line begins an import statement, or stands in its brackets or after its
    backslash."""
    if lines[index].lstrip().startswith(_STARTS):
        return True
    depth = 0  # brackets opened above and not closed yet
    is_next = True  # all lines between end in a backslash
    for line in range(index - 1, max(-1, index - LONGEST), -1):
        text = lines[line]
        if b"=" in text:
            return False  # no import has one
        depth += text.count(b"(") + text.count(b"{") - text.count(b")") - text.count(b"}")
        is_next = is_next and text.rstrip().endswith(b"\\")
        if depth > 0 or is_next:
            if text.lstrip().startswith(_STARTS):
                return True
            depth = 0
    return False


def _find_owner(names: Iterable[bytes], line_by_name: Mapping[bytes, int]) -> int:
    """The line that has most of the names, by their bytes."""
    shares: dict[int, int] = {}
    for name in names:
        line = line_by_name[name]
        shares[line] = shares.get(line, 0) + len(name)
    return max(shares, key=shares.__getitem__)
