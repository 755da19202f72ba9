"""The patterns of a person's options: of characters, where the built-in ones are of bytes."""

from __future__ import annotations

import re

from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Find = Callable[[bytes], Iterator[tuple[int, int]]]


def compile_option(option: str, source: str) -> Find:
    """A function that yields where an option's pattern, which is of characters, matches in a UTF-8
    text: the [start, end) in bytes of each match or of its first group, (-1, -1) of one without
    that group.  Raise InputError, which names option and pattern, if the pattern is not valid."""
    try:
        pattern = re.compile(source, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"{option} '{source}': {error}") from None
    group = min(1, pattern.groups)

    def find(data: bytes) -> Iterator[tuple[int, int]]:
        text = data.decode("utf-8", "surrogateescape")
        done = size = 0  # characters, and their bytes
        for match in pattern.finditer(text):
            start, end = match.span(group)
            if start < 0 or len(text) == len(data):
                yield start, end
                continue
            if start < done:  # the group before was found by looking ahead
                done = size = 0
            size += len(text[done:start].encode("utf-8", "surrogateescape"))
            done = start
            yield size, size + len(text[start:end].encode("utf-8", "surrogateescape"))

    return find
