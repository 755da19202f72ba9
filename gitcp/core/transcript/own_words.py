"""What a command made of a file, as far as its words tell it."""

from __future__ import annotations

import posixpath

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 1000  # lines that are compared
_WORDS = r"\w+|\s+|[^\w\s]"


def take_own(before: str, after: str, command: str) -> str:
    """A content with those changes towards a later one that a command made in words of its own:
    whole lines, or the words in which a line differs from one that it replaced."""
    speech = command + "\n" + command.replace("\\n", "\n")
    old, new = before.split("\n"), after.split("\n")
    head = len(posixpath.commonprefix([old, new]))
    tail = len(posixpath.commonprefix([old[head:][::-1], new[head:][::-1]]))
    result, ends = old[:head], old[len(old) - tail :]
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old), len(new)) > _MOST:
        return before
    matcher = stdlib.difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, at, j, now in matcher.get_opcodes():
        gone, came = old[i:at], new[j:now]
        own = all(_has_words(speech, line) or _has_change(speech, gone, line) for line in came)
        result += came if kind in ("insert", "replace") and own else gone
    return "\n".join([*result, *ends])


def _has_change(speech: str, gone: Iterable[str], line: str) -> bool:
    """Whether a line differs from one that went in words of a command alone, on both sides."""
    words = stdlib.re.findall(_WORDS, line)
    for other in gone:
        before = stdlib.re.findall(_WORDS, other)
        head = len(posixpath.commonprefix([before, words]))
        tail = len(posixpath.commonprefix([before[head:][::-1], words[head:][::-1]]))
        went = "".join(before[head : len(before) - tail]).strip()
        came = "".join(words[head : len(words) - tail]).strip()
        if head + tail and came and _has_words(speech, came) and _has_words(speech, went):
            return True
    return False


def _has_words(speech: str, text: str) -> bool:
    text = text.strip()
    return bool(stdlib.re.search(rf"(?<!\w){stdlib.re.escape(text)}(?!\w)", speech))
