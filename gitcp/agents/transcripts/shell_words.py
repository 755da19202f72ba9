"""Derive from the words of a shell command which files it discards, and whether it only reads and
moves between commits.

Plain calls, `cd` and `sh -c` are understood; scripts and variables are not.
"""

from __future__ import annotations

import fnmatch
import posixpath

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


ANY = "any"
TRACKED = "tracked"
UNTRACKED = "untracked"
EXACT = "exact"
BELOW = "below"
PATHSPEC = "pathspec"
_HINTS = ("git ", "rm ", "mv ", "cp ", "sed ", "tee ", "truncate ", "unlink ", "shred ", ">")
_SHELLS = ("sh", "bash", "dash", "zsh")
# Words before a command in a call, beside assignments, options and numbers.
_PREFIXES = frozenset(
    "sudo env command exec time nice nohup timeout if then elif else while until do ! {".split()
)
_VCS = ("git", "jj")
_READS = ("cd", "ls", "cat", "head", "tail", "grep", "wc", "pwd", "echo", "true")
_LOOKS = (*_READS, "test", "[", "source", ".", "stat", "file", "du", "diff", "cmp", "less")
_QUIET = {(">&", "1"), (">&", "2"), (">", "/dev/null"), ("&>", "/dev/null"), ("<", "/dev/null")}
_OVERWRITES = (">", ">|", "&>")
_WRITES = (*_OVERWRITES, ">>", "&>>")
_HOMES = ("~", "$HOME", "${HOME}")
_HIDDEN = ("`", "$", "<(", ">(")  # signs of commands within words
_SIGNS = "();<>|&"
_SPACES = " \t\r\n"
_BREAKS = frozenset((";", "&", "|", "&&", "||", "|&", "(", ")", ";;"))
_STASHES = ("list", "show", "pop", "apply", "drop", "create", "branch", "clear", "store")


def find_discards(
    command: str,
    folder: str,
    root: str,
    fold: Callable[[str], str] = str,
    taking: bool = False,
) -> list[Discard]:
    """What a command run in folder may discard in the worktree at root, both absolute.  fold: maps
    all names that the file system takes for one file to one name.  taking: list instead what the
    command takes into the index or a commit without naming the files."""
    if not any(hint in command for hint in _HINTS):
        return []
    discards: list[Discard] = []
    try:
        for call in split_calls(command):
            plain = _PlainCall(call)
            targets = [file for sign, file in plain.redirections if sign in _OVERWRITES and file]
            words = _skip_prefixes(plain.words)
            if words[:1] and words[0] in _SHELLS and "-c" in words:
                script = words[words.index("-c") + 1]
                discards += find_discards(script, folder, root, fold, taking)
            if words[:1] == ["cd"] and len(words) == 2:
                folder = posixpath.join(folder, words[1])
            call_folder = folder
            while words[:1] == ["git"] and words[1:2] in (["-C"], ["-c"]):
                if words[1] == "-C":
                    call_folder = posixpath.join(call_folder, words[2])
                words = ["git", *words[3:]]
            losses = [*([(ANY, EXACT, targets)] if targets else []), *_find_losses(words)]
            if taking:
                losses = list(_find_takings(words))
            resolved = (_resolve_loss(*loss, call_folder, root, fold) for loss in losses)
            discards += filter(None, resolved)
    except (ValueError, IndexError):
        pass  # an unterminated quotation, or a call that git refuses: the calls before it count
    return discards


def find_taken_entries(command: str, entries: Sequence[str]) -> list[str]:
    """The entries of `git stash` that a command takes off the list, without those that it has put
    there itself.  entries: all of them, newest first."""
    if "stash" not in command:
        return []
    left: list[str] = [*entries]
    taken: list[str] = []
    try:
        for call in split_calls(command):
            words = _skip_prefixes(_PlainCall(call).words)
            if words[:1] and words[0] in _SHELLS and "-c" in words:
                return find_taken_entries(words[words.index("-c") + 1], entries)
            while words[:1] == ["git"] and words[1:2] in (["-C"], ["-c"]):
                words = ["git", *words[3:]]
            if words[:2] == ["git", "stash"]:
                taken += _take_entries(words[2:], left)
    except (ValueError, IndexError):
        pass  # as in find_discards()
    return [oid for oid in taken if oid]


class NamedPaths:
    """The absolute paths that a command names.

    all: the words of calls that do not only read.  lost: those that its words overwrite, move or
    remove.  cleaned: the directories below which `git clean` takes what git ignores."""

    __slots__ = ("all", "cleaned", "lost")

    def __init__(self) -> None:
        self.all: list[str] = []
        self.lost: list[str] = []
        self.cleaned: list[str] = []


def find_named(command: str, folder: str) -> NamedPaths:
    """What a command run in folder, an absolute path, names."""
    named = NamedPaths()
    try:
        _add_named(named, command, folder)
    except (ValueError, IndexError):
        pass  # as in find_discards()
    return named


def _add_named(named: NamedPaths, command: str, folder: str) -> None:
    for call in split_calls(command):
        plain = _PlainCall(call)
        for sign, target in plain.redirections:
            if sign in _WRITES and target:
                path = _locate_named(folder, target)
                named.all.append(path)
                named.lost.append(path)
        words = _skip_prefixes(plain.words)
        if words[:1] and words[0] in _SHELLS and "-c" in words:
            _add_named(named, words[words.index("-c") + 1], folder)
            continue
        if words[:1] == ["cd"] and len(words) == 2:
            folder = _locate_named(folder, words[1])
        if words[:1] == ["git"]:
            _add_cleaned(named, words, folder)
        elif words and words[0] not in _LOOKS:
            _add_arguments(named, words, folder)


def _add_cleaned(named: NamedPaths, words: Sequence[str], folder: str) -> None:
    """Add the directories below which a call of git takes what git ignores."""
    while words[1:2] in (["-C"], ["-c"]):
        if words[1] == "-C":
            folder = _locate_named(folder, words[2])
        words = ["git", *words[3:]]
    if words[1:2] != ["clean"]:
        return
    arguments = _drop_excludes(words[2:])
    options = [word for word in arguments if word.startswith("-")]
    paths = [word for word in arguments if not word.startswith("-")]
    letters = {letter for word in options if not word.startswith("--") for letter in word[1:]}
    is_dry = "n" in letters or "--dry-run" in options
    if letters & {"x", "X"} and not is_dry:
        named.cleaned += [_locate_named(folder, path) for path in paths or ["."]]


def _drop_excludes(arguments: Sequence[str]) -> list[str]:
    """The arguments of `git clean` without -e and --exclude, and their patterns."""
    left: list[str] = []
    given = iter(arguments)
    for word in given:
        if word == "--":
            return [*left, word, *given]
        letters, has_pattern, glued = word.partition("e")
        if word.startswith("--") or not word.startswith("-"):
            letters = word
            has_pattern = ""
        if word == "--exclude" or (has_pattern and not glued):
            next(given, "")
        if word != "--exclude":
            left.append(letters)
    return left


def _add_arguments(named: NamedPaths, words: Sequence[str], folder: str) -> None:
    """Add what the arguments of a call name; words: its command, and these."""
    for word in words[1:]:
        _, sign, value = word.partition("=")
        if sign:
            named.all.append(_locate_named(folder, value))
        if not word.startswith("-"):
            named.all.append(_locate_named(folder, word))
    for _, _, paths in _find_losses(words):
        named.lost += [_locate_named(folder, path) for path in paths]
    if words[0] == "mv":
        moved = [word for word in words[1:] if not word.startswith("-")][:-1]
        named.lost += [_locate_named(folder, path) for path in moved]


def _locate_named(folder: str, word: str) -> str:
    """The absolute path that a word means in a directory."""
    for home in _HOMES:
        if word == home or word.startswith(f"{home}/"):
            word = posixpath.expanduser("~") + word[len(home) :]
    return posixpath.normpath(posixpath.join(folder, word))


def _take_entries(words: Sequence[str], entries: list[str]) -> list[str]:
    """Change a list of entries as a call of `git stash` does; return those that it takes off."""
    verb = words[0] if words else "push"
    plain = [word for word in words[1:] if not word.startswith("-")]
    if verb == "clear":
        taken = [*entries]
        entries[:] = []
        return taken
    if verb in ("pop", "drop", "branch"):
        name = (plain[1:] if verb == "branch" else plain)[:1] or ["0"]
        number = name[0].removeprefix("refs/").removeprefix("stash@{").removesuffix("}")
        if number == "stash":
            number = "0"
        if number.isdecimal():
            return [entries.pop(int(number))]
        return []
    if verb not in _STASHES:
        entries.insert(0, "")
    return []


def _skip_prefixes(words: Sequence[str]) -> list[str]:
    """The words of a call from its command on; the command's own directory is left out."""
    for n, word in enumerate(words):
        if not (word in _PREFIXES or "=" in word or word[:1] == "-" or word[:1].isdigit()):
            return [posixpath.basename(word), *words[n + 1 :]]
    return []


def has_only_moves(command: str) -> bool:
    """Whether a shell command has only calls of git, jj, `cd` and commands that read.

    Such a command is never refused: a denial tells people to run one.
    """
    if any(sign in command for sign in _HIDDEN):
        return False
    try:
        calls = [_PlainCall(call) for call in split_calls(command)]
    except ValueError:
        return False
    names = {call.words[0] for call in calls if call.words}
    is_quiet = all(_QUIET.issuperset(call.redirections) for call in calls)
    return bool(names) and is_quiet and names <= {*_VCS, *_READS}


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
    """Yield the words of a command without quotation marks; a run of signs is a word, and the end
    of a line is `;`."""
    word: str | None = None  # None between words: a quotation may be empty
    at = 0
    while at < len(command):
        if command.startswith("\\\n", at):
            at += 2
        elif command[at] in _SPACES or command[at] in _SIGNS:
            if word is not None:
                yield word
            word = None
            start = at
            while at < len(command) and command[at] in _SIGNS:
                at += 1
            if at > start:
                yield command[start:at]
            else:
                at += 1
                if command[start] == "\n":
                    yield from ";"
        else:
            part, at = _read_part(command, at)
            word = (word or "") + part
    if word is not None:
        yield word


def _read_part(command: str, start: int) -> tuple[str, int]:
    """(the part of a word that begins at start: a quotation, or one character, which may be
    escaped; where it ends)."""
    quote = command[start]
    at = start + 1
    if quote == "\\":
        if at == len(command):
            raise ValueError("no character after a backslash")
        return command[at], at + 1
    if quote not in "'\"":
        return quote, at
    text = ""
    while command[at : at + 1] != quote:
        if quote == '"' and command[at : at + 1] == "\\":
            escaped = command[at : at + 2]
            text += {"\\\n": "", '\\"': '"', "\\\\": "\\"}.get(escaped, escaped)
            at += 2
        else:
            text += command[at : at + 1]
            at += 1
        if at >= len(command):
            raise ValueError("a quotation does not end")
    return text, at + 1


class _PlainCall:
    """The words of a call without its redirections; (sign, target) of these."""

    def __init__(self, call: Sequence[str]) -> None:
        self.words: list[str] = []
        self.redirections: list[tuple[str, str]] = []
        rest_of_call = iter(call)
        for word in rest_of_call:
            if word and set(word) <= set("<>&|"):
                self.redirections.append((word, next(rest_of_call, "")))
            else:
                self.words.append(word)


def covers(discard: Discard, path: str, tracked: bool | None = None) -> bool:
    """Whether a command discards a path; tracked: whether git's index has it, None for either."""
    if tracked is not None and discard["reach"] not in (ANY, TRACKED if tracked else UNTRACKED):
        return False
    return not discard["paths"] or any(_fits(p, path, discard["how"]) for p in discard["paths"])


def _fits(pattern: str, path: str, how: str) -> bool:
    is_pattern = any(c in pattern for c in "*?[")
    if is_pattern and how == PATHSPEC:
        return fnmatch.fnmatchcase(path, pattern)
    head = "/".join(path.split("/")[: pattern.count("/") + 1])
    if is_pattern:
        fits = fnmatch.fnmatchcase(head, pattern)
    else:
        fits = head == pattern
    return fits and (how != EXACT or head == path)


def _find_losses(words: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (reach, how, paths as written) of the files that a call discards."""
    name = words[0] if words else ""
    plain = [w for w in words[1:] if not w.startswith("-")]
    options = [w for w in words[1:] if w.startswith("-")]
    if name == "rm" and plain:
        yield ANY, BELOW, plain
    elif name in ("mv", "cp") and len(plain) > 1 and "-n" not in options:
        target = plain[-1]
        inside = [posixpath.join(target, posixpath.basename(path)) for path in plain[:-1]]
        yield ANY, EXACT, [target, *inside]
    elif plain and (name in ("truncate", "unlink", "shred") or [name, *options] == ["tee"]):
        yield ANY, EXACT, plain
    elif name == "sed" and any(o.startswith(("-i", "--in-place")) for o in options) and plain:
        scripted = any(o.startswith(("-e", "-f", "--expression=", "--file=")) for o in options)
        yield ANY, EXACT, plain if scripted else plain[1:]
    elif name == "git" and plain:
        yield from _find_losses_by_git(plain[0], words[words.index(plain[0]) + 1 :])


def _find_losses_by_git(
    name: str, arguments: Sequence[str]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    if name == "clean":
        arguments = _drop_excludes(arguments)
    if "--" in arguments:
        separator = arguments.index("--")
    else:
        separator = len(arguments)
    paths = arguments[separator + 1 :]
    options = {w for w in arguments[:separator] if w.startswith("-")}
    words = [w for w in arguments[:separator] if not w.startswith("-")]
    letters: set[str] = set()
    for o in options:
        if not o.startswith("--"):
            letters.update(o[1:])
    is_forced = "f" in letters or options & {"--force", "--discard-changes"}
    named = paths or words
    match name:
        case "checkout" | "switch" if is_forced and not paths:
            yield TRACKED, PATHSPEC, ()
        case "checkout" if paths or (words and not letters & {"b", "B"}):
            yield TRACKED, PATHSPEC, named
        case "restore" if "--worktree" in options or "--staged" not in options:
            yield TRACKED, PATHSPEC, named
        case "reset" if options & {"--hard", "--merge"}:
            yield TRACKED, PATHSPEC, ()
        case "clean" if is_forced and "X" not in letters:  # gitcp keeps no ignored file
            yield UNTRACKED, PATHSPEC, named or ["."]
        case "rm" if is_forced and "--cached" not in options:
            yield TRACKED, PATHSPEC, named
        case "stash" if not {*words[:1]} & {*_STASHES}:
            is_all = letters & {"u", "a"} or options & {"--include-untracked", "--all"}
            yield ANY if is_all else TRACKED, PATHSPEC, paths


def _find_takings(words: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (reach, how, paths as written) of the files that a call adds to the index or commits
    without naming each."""
    name = words[1:2]
    arguments = words[2:]
    options = {word for word in arguments if word.startswith("-")}
    letters: set[str] = set()
    for o in options:
        if not o.startswith("--"):
            letters.update(o[1:])
    folders = [w for w in arguments if w in (".", "..", "*", ":/") or w.endswith("/")]
    if words[:1] != ["git"] or options & {"-n", "--dry-run"}:
        return
    if name == ["add"] and ("u" in letters or "--update" in options):
        yield TRACKED, PATHSPEC, [w for w in arguments if not w.startswith("-")]
    elif name == ["add"] and ("A" in letters or options & {"--all", "--no-ignore-removal"}):
        yield ANY, PATHSPEC, [w for w in arguments if not w.startswith("-")]
    elif name == ["add"] and folders:
        yield ANY, PATHSPEC, [] if ":/" in folders else folders
    elif name == ["commit"] and ("--all" in options or _has_all(arguments)):
        yield TRACKED, PATHSPEC, ()


def _has_all(arguments: Sequence[str]) -> bool:
    """Whether the short options of a `git commit` have -a.  Letters behind an option that takes a
    value are that value."""
    for word in arguments:
        letters = ""
        if word.startswith("-") and not word.startswith("--"):
            letters = word[1:]
        before = next((n for n, letter in enumerate(letters) if letter in "mFCctS"), len(letters))
        if "a" in letters[:before]:
            return True
    return False


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
    parts = posixpath.normpath(path).split("/")
    top = root.split("/")
    if list(map(fold, parts[: len(top)])) == list(map(fold, top)):
        path = posixpath.join(root, *parts[len(top) :])
    return posixpath.relpath(path, root)
