"""Derive which changes of a file a command made by its own words."""

from __future__ import annotations

import posixpath

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 1000  # lines that are compared
_WORDS = r"\w+|\s+|[^\w\s]"


def take_own(before: str, after: str, command: str) -> str:
    """before, with the changes towards after that consist of the command's own words: whole lines,
    or the words in which a line differs from one that it replaces."""
    speech = command + "\n" + command.replace("\\n", "\n")
    old, new = before.split("\n"), after.split("\n")
    head = len(posixpath.commonprefix([old, new]))
    tail = len(posixpath.commonprefix([old[head:][::-1], new[head:][::-1]]))
    result, ends = old[:head], old[len(old) - tail :]
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old), len(new)) > _MOST:
        return before
    matcher = stdlib.difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, old_end, j, new_end in matcher.get_opcodes():
        removed, added = old[i:old_end], new[j:new_end]
        own = all(_has_words(speech, line) or _has_change(speech, removed, line) for line in added)
        result += added if kind in ("insert", "replace") and own else removed
    return "\n".join([*result, *ends])


def _has_change(speech: str, removed_lines: Iterable[str], line: str) -> bool:
    """Whether a line and a removed one differ only in words of the command."""
    words = stdlib.re.findall(_WORDS, line)
    for other in removed_lines:
        before = stdlib.re.findall(_WORDS, other)
        head = len(posixpath.commonprefix([before, words]))
        tail = len(posixpath.commonprefix([before[head:][::-1], words[head:][::-1]]))
        removed = "".join(before[head : len(before) - tail]).strip()
        added = "".join(words[head : len(words) - tail]).strip()
        if head + tail and added and _has_words(speech, added) and _has_words(speech, removed):
            return True
    return False


def _has_words(speech: str, text: str) -> bool:
    text = text.strip()
    return bool(stdlib.re.search(rf"(?<!\w){stdlib.re.escape(text)}(?!\w)", speech))
