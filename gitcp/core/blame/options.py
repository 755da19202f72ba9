"""The arguments of `gitcp blame`: git blame's own, and which of them shape what it prints."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    class Options(TypedDict):
        """given: git's arguments.  flags: by letter or name, those that shape the output.

        names: the arguments that are no options, revisions and the file; behind `--` the file
        alone.  abbrev: digits asked for, 0 for all, None for git's choice.  date: the format.
        """

        given: list[str]
        flags: set[str]
        names: list[str]
        abbrev: int | None
        date: str | None


OURS = ("json", "mark-unknown", "coarse")
_LONG = {"show-name": "f", "show-number": "n", "porcelain": "p", "show-email": "e"}
_NAMED = ("line-porcelain", "score-debug", "color-lines", "color-by-age", "reverse")
_FLAGS = "bfnpctlsew"  # short options without a value; S and L take the rest or the next word
_NEXT = """--ignore-rev --ignore-revs-file --contents --since --after --until --before --date
--encoding --max-count --diff-algorithm""".split()


def parse(argv: Sequence[str]) -> Options:
    """Read argv as git blame would; nothing is refused here: that is git's to do.

    Options of ours are taken out of `given` and put into `flags`, as is --progress, which git
    refuses together with a porcelain format.
    """
    options: Options = {"given": [], "flags": set(), "names": [], "abbrev": None, "date": None}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            options["given"] += [word, *words]
            options["names"] = words
            break
        if word.startswith("--"):
            _parse_long(options, word, words)
        else:
            options["given"].append(word)
            if word.startswith("-") and len(word) > 1:
                _parse_short(options, word[1:], words)
            else:
                options["names"].append(word)
    return options


def choose_format(options: Options) -> str:
    """The format for programs that git is asked for, '' where people read a table."""
    forms = {"incremental": "incremental", "line-porcelain": "line-porcelain", "p": "porcelain"}
    flags = options["flags"]
    return "" if "json" in flags else next((f for flag, f in forms.items() if flag in flags), "")


def can_find_moved_lines(options: Options) -> bool:
    """Whether an option lets git find a line in a commit that has another text for it, because it
    was moved, copied, or changed by a commit that is passed over."""
    words = [word for word in options["given"] if word.startswith("-")]
    short = any(set(word) & {"M", "C"} for word in words if not word.startswith("--"))
    return short or any(word.startswith("--ig") for word in words)


def _parse_long(options: Options, word: str, words: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    wanted = not name.startswith("no-")
    flag = _LONG.get(name.removeprefix("no-"), name.removeprefix("no-"))
    if flag in OURS and not equals:
        options["flags"].add(flag)
        return
    if flag in ("incremental", "progress"):
        (options["flags"].add if wanted else options["flags"].discard)(flag)
        return
    options["given"].append(word)
    if flag in _NAMED or flag in _LONG.values():
        (options["flags"].add if wanted else options["flags"].discard)(flag)
    elif name == "abbrev":
        options["abbrev"] = int(value) if value.isdecimal() else None
    elif name == "no-abbrev":
        options["abbrev"] = 0
    elif name == "date" and equals:
        options["date"] = value
    elif word in _NEXT and words:
        options["date"] = words[0] if name == "date" else options["date"]
        options["given"].append(words.pop(0))


def _parse_short(options: Options, letters: str, words: list[str]) -> None:
    for at, letter in enumerate(letters):
        if letter in _FLAGS:
            options["flags"].add(letter)
            continue
        if letter in "SL" and at + 1 == len(letters) and words:
            options["given"].append(words.pop(0))
        return
