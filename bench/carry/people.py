"""Commits of people on what an agent wrote: how much of what they add is still called the agent's.

All of the parent is the agent's.  Some of what stays the agent's is right: people format, too.
What has a word that the old place had not is wrong.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.carry import truth
from gitcp.text.carry.origins import COPIED, FORMED, IMPORT, MOVED, NEW, SAME, carry
from gitcp.text.carry.text import Text, weigh

ENDINGS = (".py", ".js", ".go", ".ts", ".rs", ".c", ".h")
COMMITS = 150  # of a repository
MOST = 6000  # lines of a file
_NEAR = 3  # lines around an old place that a reader looks at
_FORMATS = re.compile(
    r"black|format|lint|isort|pyupgrade|prettier|gofmt|style|quotes|pre-commit|whitespace|indent"
    r"|reorder|typing|annotation",
    re.I,
)


@dataclass(slots=True)
class Kept:
    """New lines with words of commits of people, and what of them is called the agent's, by how;
    with_new_words: formed or import lines with a word of their own."""

    new: int = 0
    hows: dict[str, int] = field(default_factory=dict)
    with_new_words: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def formed(self) -> int:
        return self.hows.get(FORMED, 0) + self.hows.get(IMPORT, 0)

    @property
    def moved(self) -> int:
        return self.hows.get(MOVED, 0) + self.hows.get(COPIED, 0)

    def add(self, other: Kept) -> None:
        self.new += other.new
        self.with_new_words += other.with_new_words
        for how, count in other.hows.items():
            self.hows[how] = self.hows.get(how, 0) + count


@dataclass(slots=True, frozen=True)
class Change:
    """A file of a commit: its path, and its content before and after; b'' for none."""

    path: str
    before: bytes
    after: bytes


def ask(clone: Path, *args: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *args], capture_output=True, check=True).stdout


def list_commits(clone: Path, seed: int, count: int, *options: str) -> list[tuple[str, str]]:
    """(oid, subject) of some commits that change code, without merges."""
    patterns = [f"*{ending}" for ending in ENDINGS]
    log = ask(clone, "log", "--no-merges", "--format=%H %s", *options, "HEAD", "--", *patterns)
    lines = log.decode(errors="replace").splitlines()
    random.Random(seed).shuffle(lines)
    return [(line[:40], line[41:]) for line in lines[:count]]


def list_changes(clone: Path, commit: str, letters: str) -> Iterator[Change]:
    """The files of code that a commit changes, of git's letters A, D and M."""
    options = ("-r", "--no-commit-id", "--no-renames", "--abbrev=40", f"--diff-filter={letters}")
    for row in ask(clone, "diff-tree", *options, "--raw", "-z", commit).split(b"\0:"):
        meta, _, path = row.strip(b"\0").partition(b"\0")
        words = meta.split()
        if path.decode(errors="replace").endswith(ENDINGS):
            before, after = (_read_blob(clone, word.decode()) for word in words[2:4])
            if max(before.count(b"\n"), after.count(b"\n")) <= MOST:
                yield Change(path.decode(errors="replace"), before, after)


def _read_blob(clone: Path, oid: str) -> bytes:
    return b"" if set(oid) == {"0"} else ask(clone, "cat-file", "blob", oid)


def split_lines(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []


def measure(clone: Path, seed: int, of_formats: bool = False) -> Kept:
    """What is kept in commits of a clone; of_formats: in those that are called a formatter's, else
    in the others."""
    kept = Kept()
    for commit, subject in list_commits(clone, seed, COMMITS, "--diff-filter=M"):
        if bool(_FORMATS.search(subject)) == of_formats:
            for change in list_changes(clone, commit, "M"):
                _count(change, kept, f"{commit[:10]} {change.path}")
    return kept


def _count(change: Change, kept: Kept, name: str) -> None:
    before, after = Text(split_lines(change.before)), Text(split_lines(change.after))
    carried = carry(before, after)
    same = {old for new, old in enumerate(carried.origins) if carried.get_how(new) == SAME}
    for line, text in enumerate(after.lines):
        how = carried.get_how(line)
        if how == SAME or not weigh(text):
            continue
        kept.new += 1
        if how == NEW:
            continue
        kept.hows[how] = kept.hows.get(how, 0) + 1
        origin = carried.origins[line]
        kept.examples.append(f"{how} {name}:{line + 1}: {before.lines[origin]!r} -> {text!r}")
        near = before.lines[max(0, origin - _NEAR) : origin + _NEAR + 1]
        if how == IMPORT:
            near = [old for index, old in enumerate(before.lines) if index not in same]
        if how in (FORMED, IMPORT) and _has_new_word(text, near):
            kept.with_new_words += 1
            kept.examples[-1] = f"NEW WORD {kept.examples[-1]}"


def _has_new_word(text: bytes, near: Sequence[bytes]) -> bool:
    known = {word.text for word in truth.list_words(near)}
    return any(word.text not in known for word in truth.list_words([text]))
