"""What of a line counts when the lines of two contents are compared.

    key      a line without white space
    soft     a sign that formatters add, drop and exchange: a quote, comma, semicolon, round or
             curly bracket, backslash; not `()`, which calls what is named before it
    hard     what is not soft: words, and the other signs
    weight   how many bytes of words it has
    telling  a line whose key is long enough, and has a word, to be known by it

Formats are not known: a text in any language is words, signs and white space.
"""

from __future__ import annotations

from gitcp.text.pairing import list_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

NOTHING = -1  # in the place of an index: the line comes from none
LEAST = 10  # bytes: of a telling line's key, and the weight of tokens that prove an origin
SOFT = b"'\"`,;(){}\\"
CALL = b"\x01"  # stands for `()`

_WORDS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_NOT_WORDS = bytes(byte for byte in range(0x80) if byte not in _WORDS)
_APART = bytes.maketrans(_NOT_WORDS, b" " * len(_NOT_WORDS))


def weigh(text: bytes | bytearray) -> int:
    """How many bytes of words a text has."""
    return len(text.translate(None, _NOT_WORDS))


def is_telling(key: bytes) -> bool:
    """Whether a line can be known by its key."""
    return len(key) >= LEAST and weigh(key) > 0


def has_words_of(old: Iterable[bytes], new: Iterable[bytes]) -> bool:
    """Whether one of the new lines may carry on old ones: it has no other words.  That is known
    without pairing them, and is seldom so of lines of different texts."""
    known = _list_words(b"\n".join(old))
    if not known:
        return False
    for line in new:
        words = _list_words(line)
        telling = {word for word in words if len(word) > 1}  # not the `u` before a string
        if telling:
            words = telling
        if words and words <= known:
            return True
    return False


def _list_words(text: bytes) -> set[bytes]:
    return {*text.translate(_APART).lower().split()}


def join_hard(keys: Sequence[bytes]) -> bytes:
    """The keys without soft signs, with a newline between two."""
    return b"\n".join(keys).replace(b"()", CALL).translate(None, SOFT)


class Text:
    """The lines of a content, without newlines.  Who compares it often keeps it, as its keys are
    computed once."""

    __slots__ = ("_hard_keys", "_keys", "_places", "lines")

    def __init__(self, lines: Sequence[bytes], keys: list[bytes] | None = None) -> None:
        self.lines = lines
        self._keys = keys
        self._hard_keys: list[bytes] | None = None
        self._places: dict[bytes, list[int]] | None = None

    @property
    def keys(self) -> list[bytes]:
        """The key of each line."""
        if self._keys is None:
            self._keys = list_keys(self.lines)
        return self._keys

    @property
    def hard_keys(self) -> list[bytes]:
        """The key of each line without soft signs."""
        if self._hard_keys is None:
            if self.keys:
                self._hard_keys = join_hard(self.keys).split(b"\n")
            else:
                self._hard_keys = []
        return self._hard_keys

    @property
    def places(self) -> dict[bytes, list[int]]:
        """hard key -> the indices of the lines that have it."""
        if self._places is None:
            self._places = {}
            for index, key in enumerate(self.hard_keys):
                self._places.setdefault(key, []).append(index)
        return self._places

    def select_lines(self, keys: Container[bytes]) -> list[bytes]:
        """The lines that have one of these keys."""
        return [line for line, key in zip(self.lines, self.keys, strict=True) if key in keys]
