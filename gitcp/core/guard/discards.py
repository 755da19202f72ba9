"""Derive from the words of a shell command which files it discards, and whether it only reads and
moves between commits.

Plain calls and `cd` are understood; scripts and variables are not.
"""

from __future__ import annotations

import posixpath

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypedDict

    class Discard(TypedDict):
        """reach: any, tracked or untracked files.  paths: relative to the root of the worktree;
        empty: all.  how: only these paths (EXACT), also paths below them (BELOW), or pathspecs of
        git, where `*` also matches a slash (PATHSPEC)."""

        reach: str
        paths: list[str]
        how: str


ANY, TRACKED, UNTRACKED = "any", "tracked", "untracked"
EXACT, BELOW, PATHSPEC = "exact", "below", "pathspec"
_HINTS = ("git ", "rm ", "mv ", "cp ", "sed ", "truncate ", ">")
_VCS = ("git", "jj")
_READS = ("cd", "ls", "cat", "head", "tail", "grep", "wc", "pwd", "echo", "true")
_QUIET = {(">&", "1"), (">&", "2"), (">", "/dev/null"), ("&>", "/dev/null"), ("<", "/dev/null")}
_HIDDEN = ("`", "$", "<(", ">(")  # signs of commands within words
_SIGNS, _SPACES = "();<>|&", " \t\r\n"
_BREAKS = frozenset((";", "&", "|", "&&", "||", "(", ")", ";;"))
_STASHES = ("list", "show", "pop", "apply", "drop", "create", "branch", "clear", "store")


def find_discards(
    command: str, folder: str, root: str, fold: Callable[[str], str] = str
) -> list[Discard]:
    """What a command run in folder may discard in the worktree at root, both absolute.  fold: maps
    all names that the file system takes for one file to one name."""
    if not any(hint in command for hint in _HINTS):
        return []
    discards: list[Discard] = []
    try:
        for call in split_calls(command):
            words, targets = _split_targets(call)
            while words and ("=" in words[0] or words[0] in ("sudo", "env", "command")):
                words = words[1:]
            if words[:1] == ["cd"] and len(words) == 2:
                folder = posixpath.join(folder, words[1])
            call_folder = folder
            while words[:1] == ["git"] and words[1:2] in (["-C"], ["-c"]):
                if words[1] == "-C":
                    call_folder = posixpath.join(call_folder, words[2])
                words = ["git", *words[3:]]
            losses = [*([(ANY, EXACT, targets)] if targets else []), *_find_losses(words)]
            resolved = (_resolve_loss(*loss, call_folder, root, fold) for loss in losses)
            discards += filter(None, resolved)
    except (ValueError, IndexError):
        pass  # an unterminated quotation, or a call that git refuses: the calls before it count
    return discards


def has_only_moves(command: str) -> bool:
    """Whether a shell command has only calls of git, jj, `cd` and commands that read.

    Such a command is never refused: a denial tells people to run one.
    """
    if any(sign in command for sign in _HIDDEN):
        return False
    try:
        calls = [_drop_harmless(call) for call in split_calls(command)]
    except ValueError:
        return False
    return any(calls) and all(not call or call[0] in (*_VCS, *_READS) for call in calls)


def split_calls(command: str) -> Iterator[list[str]]:
    """Yield the words of each call; raise ValueError for an unterminated quotation."""
    call: list[str] = []
    for word in [*_split_words(command), ";"]:
        if word in _BREAKS:
            yield call
            call = []
        else:
            call.append(word)


def _split_words(command: str) -> Iterator[str]:
    """Yield the words of a command without quotation marks; a run of signs is a word."""
    word, signs, quote = "", "", ""
    quoted = False  # whether the word had quotation marks: then it may be empty
    chars = iter(command)
    for char in chars:
        if signs and (quote or char not in _SIGNS):
            yield signs
            signs = ""
        if quote and char != quote and (char != "\\" or quote == "'"):
            word += char
        elif char == "\\":
            after = next(chars, "")
            if not after:
                raise ValueError("no character after a backslash")
            word += "" if after == "\n" else after if not quote or after in '\\"' else char + after
        elif char in "'\"":
            quote, quoted = "" if quote else char, True
        elif char in _SIGNS or char in _SPACES:
            if word or quoted:
                yield word
            word, quoted = "", False
            if char == "\n":
                yield ";"
            elif char in _SIGNS:
                signs += char
        else:
            word += char
    if quote:
        raise ValueError("a quotation does not end")
    yield from filter(None, [signs])
    if word or quoted:
        yield word


def _drop_harmless(call: Sequence[str]) -> list[str]:
    """The words of a call without redirections that write no file; [">"] if it has another one."""
    words, number = list[str](), 0
    while number < len(call):
        if tuple(call[number : number + 2]) in _QUIET:
            del words[len(words) - (words[-1:] in (["1"], ["2"])) :]
            number += 1
        else:
            words.append(call[number])
        number += 1
    return [">"] if any(set(word) <= set("<>&|") for word in words if word) else words


def covers(discard: Discard, path: str, tracked: bool | None = None) -> bool:
    """Whether a command discards a path; tracked: whether it is in HEAD, None if not known."""
    if tracked is not None and discard["reach"] not in (ANY, TRACKED if tracked else UNTRACKED):
        return False
    return not discard["paths"] or any(_fits(p, path, discard["how"]) for p in discard["paths"])


def _fits(pattern: str, path: str, how: str) -> bool:
    is_pattern = any(c in pattern for c in "*?[")
    if is_pattern and how == PATHSPEC:
        return stdlib.fnmatch.fnmatchcase(path, pattern)
    head = "/".join(path.split("/")[: pattern.count("/") + 1])
    fits = stdlib.fnmatch.fnmatchcase(head, pattern) if is_pattern else head == pattern
    return fits and (how != EXACT or head == path)


def _find_losses(words: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (reach, how, paths as written) of the files that a call discards."""
    name, plain = (words[0] if words else ""), [w for w in words[1:] if not w.startswith("-")]
    options = [w for w in words[1:] if w.startswith("-")]
    if name == "rm" and plain:
        yield ANY, BELOW, plain
    elif name in ("mv", "cp") and len(plain) > 1 and "-n" not in options:
        target = plain[-1]
        inside = [posixpath.join(target, posixpath.basename(path)) for path in plain[:-1]]
        yield ANY, EXACT, [target, *inside]
    elif name == "truncate" and plain:
        yield ANY, EXACT, plain
    elif name == "sed" and any(o.startswith(("-i", "--in-place")) for o in options) and plain:
        scripted = any(o.startswith(("-e", "-f", "--expression=", "--file=")) for o in options)
        yield ANY, EXACT, plain if scripted else plain[1:]
    elif name == "git" and plain:
        yield from _find_losses_by_git(plain[0], words[words.index(plain[0]) + 1 :])


def _find_losses_by_git(
    name: str, arguments: Sequence[str]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    separator = arguments.index("--") if "--" in arguments else len(arguments)
    paths = arguments[separator + 1 :]
    options = [w for w in arguments[:separator] if w.startswith("-")]
    words = [w for w in arguments[:separator] if not w.startswith("-")]
    short = "".join(o[1:] for o in options if not o.startswith("--"))
    force = "f" in short or "--force" in options or "--discard-changes" in options
    checked_out = name == "checkout" and (paths or (words and "b" not in short.lower()))
    unstaged = "--staged" in options and "--worktree" not in options
    if name in ("checkout", "switch") and force and not paths:
        yield TRACKED, PATHSPEC, ()
    elif checked_out or (name == "restore" and not unstaged):
        yield TRACKED, PATHSPEC, paths or words
    elif name == "reset" and ("--hard" in options or "--merge" in options):
        yield TRACKED, PATHSPEC, ()
    elif name == "clean" and force:
        yield UNTRACKED, PATHSPEC, paths or words or ["."]
    elif name == "rm" and force and "--cached" not in options:
        yield TRACKED, PATHSPEC, paths or words
    elif name == "stash" and not (words and words[0] in _STASHES):
        untracked = {*"ua"} & {*short} or {"--include-untracked", "--all"} & {*options}
        yield ANY if untracked else TRACKED, PATHSPEC, paths


def _split_targets(call: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the words of a call without redirections, the files that its redirections overwrite)."""
    words, targets, redirects = list[str](), list[str](), ""
    for word in call:
        if redirects:
            targets += [word] if redirects in (">", ">|", "&>") else []
            redirects = ""
        elif word in (">", ">>", ">|", "<", ">&", "&>", "&>>", "<<", "<<<"):
            redirects = word
        else:
            words.append(word)
    return words, targets


def _resolve_loss(
    reach: str,
    how: str,
    paths: Sequence[str],
    folder: str,
    root: str,
    fold: Callable[[str], str],
) -> Discard | None:
    """The discard with paths relative to root; None if they are all outside of it."""
    located = [_locate(posixpath.join(folder, path), root, fold) for path in paths or ["."]]
    inside = [path for path in located if path is not None]
    is_outside = how == PATHSPEC and _relate(folder, root, fold).split("/")[0] == ".."
    if is_outside or not inside:
        return None
    return {"reach": reach, "paths": inside if paths and "." not in inside else [], "how": how}


def _locate(path: str, root: str, fold: Callable[[str], str]) -> str | None:
    """A path relative to root; '.' for root and directories above it; None for other paths."""
    inside = _relate(path, root, fold)
    parts = inside.split("/")
    if parts[0] != "..":
        return inside
    return "." if set(parts) == {".."} else None


def _relate(path: str, root: str, fold: Callable[[str], str]) -> str:
    """A path relative to root, which it may spell otherwise."""
    parts, top = posixpath.normpath(path).split("/"), root.split("/")
    if list(map(fold, parts[: len(top)])) == list(map(fold, top)):
        path = posixpath.join(root, *parts[len(top) :])
    return posixpath.relpath(path, root)
