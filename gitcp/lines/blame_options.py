"""The arguments of `gitcp blame`: git's own, and a few of gitcp's."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Options:
    """given: git's arguments.  flags: letters or names of the options that shape the output.

    names: the arguments that are no options, revisions and the file; after `--` only the file.
    abbrev: digits of a commit's name, 0 for all, None for git's choice.  date: the format.
    """

    given: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    abbrev: int | None = None
    date: str | None = None


OURS = ("json", "mark-unknown", "coarse")
_LONG = {"show-name": "f", "show-number": "n", "porcelain": "p", "show-email": "e"}
_NAMED = ("line-porcelain", "score-debug", "color-lines", "color-by-age", "reverse")
_FLAGS = "bfnpctlsew"  # short options without a value; S and L have one
_NEXT = """--ignore-rev --ignore-revs-file --contents --since --after --until --before --date
--encoding --max-count --diff-algorithm""".split()


def parse_arguments(argv: Sequence[str]) -> Options:
    """Parse argv as git blame does, without refusing anything: git refuses what is wrong.

    gitcp's own options are in `flags` and not in `given`.  So are --incremental and
    --line-porcelain, of which choose_format() chooses, and --progress, which git refuses together
    with a porcelain format.
    """
    options = Options()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            options.given += [word, *words]
            options.names = words
            break
        if word.startswith("--"):
            _parse_long(options, word, words)
        else:
            options.given.append(word)
            if word.startswith("-") and len(word) > 1:
                _parse_short(options, word[1:], words)
            else:
                options.names.append(word)
    return options


def ask_file(path: str, revision: str, *words: str) -> Options:
    """The arguments that blame a file in a revision ("": in the worktree), with further options.

    path and revision may come from anywhere.  Raises Error for a revision that git would take as an
    option, and for NUL.
    """
    if revision.startswith("-") or "\0" in revision:
        raise Error(f"bad revision '{revision}'")
    if "\0" in path:
        raise Error(f"no such path '{path}'")
    given = [*words]
    if revision:
        given.append(revision)
    return parse_arguments([*given, "--", path])


def choose_format(options: Options) -> str:
    """The requested format for programs, '' for the table."""
    flags = options.flags
    if "json" in flags:
        return ""
    for form in ("incremental", "line-porcelain"):
        if form in flags:
            return form
    if "p" in flags:
        return "porcelain"
    return ""


def can_find_moved_lines(options: Options) -> bool:
    """Whether an option lets git blame a line on a commit that did not add its text there: a moved
    or copied line, or one of an ignored revision."""
    words = [word for word in options.given if word.startswith("-")]
    short = any(set(word) & {"M", "C"} for word in words if not word.startswith("--"))
    return short or any(word.startswith("--ig") for word in words)


def _parse_long(options: Options, word: str, words: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    wanted = not name.startswith("no-")
    flag = _LONG.get(name.removeprefix("no-"), name.removeprefix("no-"))
    if flag in OURS and not equals:
        options.flags.add(flag)
        return
    if flag in ("incremental", "line-porcelain", "progress"):
        _set_flag(options, flag, wanted)
        return
    options.given.append(word)
    if flag in _NAMED or flag in _LONG.values():
        _set_flag(options, flag, wanted)
    elif name == "abbrev":
        if value.isdecimal():
            options.abbrev = int(value)
        else:
            options.abbrev = None
    elif name == "no-abbrev":
        options.abbrev = 0
    elif name == "date" and equals:
        options.date = value
    elif word in _NEXT and words:
        if name == "date":
            options.date = words[0]
        options.given.append(words.pop(0))


def _set_flag(options: Options, flag: str, wanted: bool) -> None:
    if wanted:
        options.flags.add(flag)
    else:
        options.flags.discard(flag)


def _parse_short(options: Options, letters: str, words: list[str]) -> None:
    for index, letter in enumerate(letters):
        if letter in _FLAGS:
            options.flags.add(letter)
            continue
        if letter in "SL" and index + 1 == len(letters) and words:
            options.given.append(words.pop(0))
        return
