"""The built-in pipelines of hooks, and the parser of configured ones.

Literal argv lists, so that a hook parses nothing.  `git config gitcp.<event>.pipeline`
replaces an entry; the value `default` stands for the one here (gitcp-hook(1)).
"""

from __future__ import annotations

from gitcp import commands
from gitcp.errors import Error

DEFAULT: dict[str, list[list[str]]] = {
    # events of agents
    "session-start": [["update-session"], ["finalize"]],
    "turn-start": [["update-session"], ["check-claim"], ["match-stream"], ["finalize"]],
    "tool-start": [["check-claim"], ["update-session"]],
    "tool-end": [["release-claim"], ["update-session"]],
    "subagent-start": [["update-session"]],
    "subagent-end": [["release-claim"], ["write-checkpoint"], ["update-session"]],
    "todo": [["write-checkpoint"], ["update-session"]],
    "compact": [["write-checkpoint"]],
    "turn-end": [["release-claim"], ["write-checkpoint"], ["update-session"], ["finalize"]],
    "session-end": [["release-claim"], ["update-session"], ["finalize"]],
    # hooks of git
    "prepare-commit-msg": [["match-commit"], ["write-trailer"]],
    "commit-msg": [["check-message"]],
    "post-commit": [["match-commit"], ["condense"], ["carry-forward"]],
    "post-checkout": [["enable", "--worktree"]],
    "post-rewrite": [["relink"]],
    "pre-push": [["push-checkpoints"]],
}
# A record of type 'refuse' at the end of these pipelines is obeyed; all others only watch.
GATES = frozenset({"commit-msg", "turn-start", "tool-start", "tool-end", "pre-commit", "pre-push"})
# Stages that the built-in pipelines leave out where gitcp.guard is off.
GUARD = frozenset({"check-claim", "release-claim"})
# Hooks to which git writes on standard input.
WITH_STDIN = frozenset({"post-rewrite", "pre-push"})
# The status by which a git hook refuses; the hook scripts take any other for a failure of gitcp.
VERDICT = 3
# Hooks during which the person's git locks its index.
COMMITTING = frozenset({"pre-commit", "prepare-commit-msg", "commit-msg"})


def parse_pipeline(text: str) -> list[list[str]]:
    """The stages of a pipeline, each an argv; quotes are read as in a shell, without expansion.

    Raise Error for an invalid word and for an unknown stage.
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
