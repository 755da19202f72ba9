"""A pipeline as it is configured: stages separated by `|`."""

from __future__ import annotations

from gitcp import commands
from gitcp.errors import Error


def parse(text: str) -> list[list[str]]:
    """The stages of a pipeline, each an argv: quotes are honoured, no shell is.

    Raises Error naming what cannot be read, or is no stage.
    """
    import shlex

    lexer = shlex.shlex(text, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    stages: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word == "|":
                stages.append([])
            else:
                stages[-1].append(word)
    except ValueError as e:
        raise Error(f"cannot parse pipeline '{text}': {e}") from None
    for argv in stages:
        foreign = argv and argv[0].startswith("!") and argv[0] != "!"
        if not argv or not (foreign or argv[0] in commands.STAGES):
            raise Error(f"no such stage: '{' '.join(argv)}'")
    return stages
