"""What a shell command does to the files it finds, told by its words, pure: what it throws away,
and whether it only moves between commits and reads.

Plain calls are understood, also behind `cd`; what a script does or a variable names is not seen.
"""

from __future__ import annotations

import posixpath
import shlex

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypedDict

    class Discard(TypedDict):
        """reach: any, tracked or untracked files.  paths: where, from the root of the worktree;
        none: everywhere.  loses: their content goes; else only a part of it may."""

        reach: str
        paths: list[str]
        loses: bool


ANY, TRACKED, UNTRACKED = "any", "tracked", "untracked"
_HINTS = ("git ", "rm ", "mv ", "sed ", "truncate ", ">")
_VCS = ("git", "jj")
_READS = ("cd", "ls", "cat", "head", "tail", "grep", "wc", "pwd", "echo", "true")
_QUIET = {(">&", "1"), (">&", "2"), (">", "/dev/null"), ("&>", "/dev/null"), ("<", "/dev/null")}
_HIDDEN = ("`", "$", "<(", ">(")  # commands within words
_BREAKS = frozenset((";", "&", "|", "&&", "||", "(", ")", ";;"))
_STASHES = ("list", "show", "pop", "apply", "drop", "create", "branch", "clear", "store")


def find_discards(command: str, folder: str = "") -> list[Discard]:
    """What a command run in folder, named from the root of the worktree, may throw away."""
    if not any(hint in command for hint in _HINTS):
        return []
    discards: list[Discard] = []
    try:
        for call in _calls(command):
            if call[:1] == ["cd"] and len(call) == 2:
                folder = posixpath.join(folder, call[1])
            discards += _of_call(call, folder)
    except ValueError:
        pass  # a quotation that does not end: what came before it counts
    return discards


def only_moves(command: str) -> bool:
    """Whether a shell command is made of calls of git and jj, of `cd`, and of what only reads.

    So the way back that a denial names is taken: it is never refused.
    """
    if any(sign in command for sign in _HIDDEN):
        return False
    try:
        calls = [_without_harmless(call) for call in _calls(command)]
    except ValueError:
        return False
    return any(calls) and all(not call or call[0] in (*_VCS, *_READS) for call in calls)


def _calls(command: str) -> Iterator[list[str]]:
    """The words of each call.  Raises ValueError where a quotation does not end."""
    lexer = shlex.shlex(command.replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    call: list[str] = []
    for word in [*lexer, ";"]:
        if word in _BREAKS:
            yield call
            call = []
        else:
            call.append(word)


def _without_harmless(call: Sequence[str]) -> list[str]:
    """The words of a call without redirections that write no file; `>` for a call with another."""
    words, at = list[str](), 0
    while at < len(call):
        if tuple(call[at : at + 2]) in _QUIET:
            del words[len(words) - (words[-1:] in (["1"], ["2"])) :]
            at += 1
        else:
            words.append(call[at])
        at += 1
    return [">"] if any(set(word) <= set("<>&|") for word in words if word) else words


def covers(discard: Discard, path: str, tracked: bool) -> bool:
    """Whether a path, tracked in HEAD or not, is among what a command throws away."""
    if discard["reach"] not in (ANY, TRACKED if tracked else UNTRACKED):
        return False
    return not discard["paths"] or any(_fits(place, path) for place in discard["paths"])


def _fits(place: str, path: str) -> bool:
    if any(c in place for c in "*?["):
        return stdlib.fnmatch.fnmatchcase(path, place)
    return place in (".", path) or path.startswith(place + "/")


def _of_call(call: Sequence[str], folder: str) -> Iterator[Discard]:
    words, targets = _without_targets(call)
    if targets:
        yield _discard(ANY, targets, folder)
    while words and ("=" in words[0] or words[0] in ("sudo", "env", "command")):
        words = words[1:]
    name, plain = (words[0] if words else ""), [w for w in words[1:] if not w.startswith("-")]
    options = [w for w in words[1:] if w.startswith("-")]
    if name == "rm" and plain:
        yield _discard(ANY, plain, folder)
    elif name == "mv" and len(plain) > 1:
        yield _discard(ANY, plain[-1:], folder)
    elif name == "truncate" and plain:
        yield _discard(ANY, plain, folder)
    elif name == "sed" and any(o.startswith(("-i", "--in-place")) for o in options) and plain:
        yield {**_discard(ANY, plain[1:] or plain, folder), "loses": False}
    elif name == "git" and plain:
        yield from _of_git(plain[0], words[words.index(plain[0]) + 1 :], folder)


def _of_git(name: str, rest: Sequence[str], folder: str) -> Iterator[Discard]:
    at = rest.index("--") if "--" in rest else len(rest)
    options = [w for w in rest[:at] if w.startswith("-")]
    words, paths = [w for w in rest[:at] if not w.startswith("-")], list(rest[at + 1 :])
    short = "".join(o[1:] for o in options if not o.startswith("--"))
    force = "f" in short or "--force" in options or "--discard-changes" in options
    checked_out = name == "checkout" and (paths or (words and "b" not in short.lower()))
    unstaged = "--staged" in options and "--worktree" not in options
    if name in ("checkout", "switch") and force and not paths:
        yield _discard(TRACKED, (), folder)
    elif checked_out or (name == "restore" and not unstaged):
        yield _discard(TRACKED, paths or words, folder)
    elif name == "reset" and ("--hard" in options or "--merge" in options):
        yield _discard(TRACKED, (), folder)
    elif name == "clean" and force:
        yield _discard(UNTRACKED, paths or words or ["."], folder)
    elif name == "stash" and not (words and words[0] in _STASHES):
        many = "u" in short or "a" in short or {"--include-untracked", "--all"} & set(options)
        yield _discard(ANY if many else TRACKED, paths, folder)


def _without_targets(call: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the words of a call, the files into which it writes anew)."""
    words, targets, redirects = list[str](), list[str](), ""
    for word in call:
        if redirects:
            targets += [word] if redirects == ">" and not word.startswith("/dev/") else []
            redirects = ""
        elif word in (">", ">>", ">|", "<", ">&", "<<", "<<<"):
            redirects = ">" if word == ">|" else word
        else:
            words.append(word)
    return words, targets


def _discard(reach: str, paths: Sequence[str], folder: str) -> Discard:
    places = [posixpath.normpath(posixpath.join(folder, path)) for path in paths]
    return {"reach": reach, "paths": [] if "." in places else places, "loses": True}
