"""Blocks of lines that were moved or copied: made up, where the truth is exact, and in real commits
beside what `git blame -w -M -C` says of the same lines."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.carry import corpus, people
from bench.carry.people import Change
from gitcp.text.carry.moves import Source
from gitcp.text.carry.origins import Carried, carry
from gitcp.text.carry.text import NOTHING, Text, weigh

LONG = 10  # lines of a block that is counted by itself
COMMITS = 60  # of a repository
_MOST_FILES = 20  # of a commit
_REFACTORS = ("-i", "-E", "--grep=mov(e|ing)|split|extract|refactor|reorgani[sz]|into (its|a|own)")
_ROW = re.compile(rb"^([0-9a-f]{40}) (\d+) (\d+)")


@dataclass(slots=True)
class Blocks:
    """Lines of blocks with words: of the right author, left to the writer, of a wrong author."""

    right: int = 0
    writers: int = 0
    wrong: int = 0

    @property
    def all(self) -> int:
        return self.right + self.writers + self.wrong


@dataclass(slots=True)
class MadeUp:
    """moved, copied: by "1-2", "3-9" and "10-60" lines of a block.  beside: lines of the writer
    around the blocks.  taken: of these, those that are called somebody else's."""

    moved: dict[str, Blocks] = field(default_factory=dict)
    copied: dict[str, Blocks] = field(default_factory=dict)
    beside: int = 0
    taken: int = 0


def make_up(seed: int) -> MadeUp:
    """Take a block of a real file into one with lines of another real file around it."""
    score = MadeUp()
    rng = random.Random(seed)
    for language in corpus.LANGUAGES.values():
        texts = [corpus.read_lines(path) for path in corpus.choose_files(language, seed)]
        for lines in texts:
            if len(lines) >= 80:
                others = [text for text in texts if text != lines]
                _try_block(lines, rng.choice(others), rng, score.moved, score, is_gone=True)
                _try_block(lines, rng.choice(others), rng, score.copied, score, is_gone=False)
    return score


def _try_block(
    lines: list[bytes],
    other: list[bytes],
    rng: random.Random,
    scores: dict[str, Blocks],
    score: MadeUp,
    is_gone: bool,
) -> None:
    count = rng.randint(1, 60)
    start = rng.randrange(len(lines) - count)
    authors = corpus.draw_authors(len(lines), rng)
    place = rng.randrange(max(1, len(other) - 12))
    head, tail = other[place : place + 6], other[place + 6 : place + 12]
    after = Text([*head, *lines[start : start + count], *tail])
    gone = range(start, start + count) if is_gone else range(0)
    carried = carry(Text([]), after, [Source(Text(lines), gone)])
    size = "1-2" if count < 3 else "3-9" if count < LONG else "10-60"
    blocks = scores.setdefault(size, Blocks())
    for line, text in enumerate(after.lines):
        if not weigh(text):
            continue
        found = carried.places.get(line)
        if not len(head) <= line < len(head) + count:
            score.beside += 1
            score.taken += found is not None
        elif found is None:
            blocks.writers += 1
        elif authors[found.line] == authors[start + line - len(head)]:
            blocks.right += 1
        else:
            blocks.wrong += 1


@dataclass(slots=True)
class Compared:
    """Added lines with words of commits that moved something, by what blame and carry() say of
    them.  same: the same file and line, or an equal line of the same file; other: another place;
    only_blame, only_carry: new to the other.  long_*: those of blame's blocks of ten lines and
    more."""

    commits: int = 0
    same: int = 0
    other: int = 0
    only_blame: int = 0
    only_carry: int = 0
    long_same: int = 0
    long_all: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, more: Compared) -> None:
        for name in ("commits", "same", "other", "only_blame", "only_carry"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.long_same += more.long_same
        self.long_all += more.long_all


def compare(clone: Path, seed: int) -> Compared:
    """Compare what carry() and blame say of commits of a clone that call themselves refactorings.

    Blame is asked for lines that stand in another file than before, or elsewhere in theirs.
    """
    score = Compared()
    for commit, _ in people.list_commits(clone, seed, COMMITS, *_REFACTORS):
        changes = list(people.list_changes(clone, commit, "AMD"))
        if 1 <= len(changes) <= _MOST_FILES:
            score.commits += 1
            _compare_commit(clone, commit, changes, score)
    return score


def _compare_commit(clone: Path, commit: str, changes: Sequence[Change], score: Compared) -> None:
    befores = {change.path: Text(people.split_lines(change.before)) for change in changes}
    afters = {change.path: Text(people.split_lines(change.after)) for change in changes}
    own = {path: carry(befores[path], afters[path]) for path in befores}
    for path, after in afters.items():
        if not after.lines:
            continue
        others = [other for other in befores if other != path and befores[other].lines]
        sources = [
            Source(befores[other], _list_gone(befores[other], own[other])) for other in others
        ]
        carried = carry(befores[path], after, sources)
        blamed = _blame(clone, commit, path)
        places = {}
        for line in range(len(after.lines)):
            if carried.origins[line] != NOTHING:
                places[line] = path, carried.origins[line]
            elif line in carried.places:
                place = carried.places[line]
                places[line] = others[place.source], place.line
        _compare_file(path, after, carried, places, blamed, befores, score, commit)


def _list_gone(before: Text, carried: Carried) -> set[int]:
    return set(range(len(before.lines))).difference(carried.origins)


def _blame(clone: Path, commit: str, path: str) -> dict[int, tuple[str, int]]:
    """By line of a path that is not new: the path and the line of the parent."""
    options = ("-w", "-M", "-C", "--porcelain", f"{commit}^..{commit}", "--", path)
    found = {}
    names: dict[bytes, str] = {}
    old, new, oid = 0, 0, b""
    for row in people.ask(clone, "blame", *options).split(b"\n"):
        header = _ROW.match(row)
        if header and not row.startswith(b"\t"):
            oid = header[1]
            old, new = int(header[2]) - 1, int(header[3]) - 1
        elif row.startswith(b"filename "):
            names[oid + b"%d" % new] = row[9:].decode(errors="replace")
            names[oid] = row[9:].decode(errors="replace")
        elif row.startswith(b"\t") and oid.decode() != commit:
            found[new] = names[oid], old
    return found


def _compare_file(
    path: str,
    after: Text,
    carried: Carried,
    places: Mapping[int, tuple[str, int]],
    blamed: Mapping[int, tuple[str, int]],
    befores: Mapping[str, Text],
    score: Compared,
    commit: str,
) -> None:
    for line, text in enumerate(after.lines):
        told = blamed.get(line)
        if told is not None and told[0] not in befores:
            told = None
        if carried.get_how(line) == "same" or not weigh(text):
            continue
        mine = places.get(line)
        how = carried.get_how(line) if line not in carried.places else "elsewhere"
        if told is None and mine is None:
            continue
        is_long = told is not None and _is_in_block(blamed, line)
        score.long_all += is_long
        name = f"{commit[:10]} {path}:{line + 1} {how}: {text[:90]!r} {told} {mine}"
        if told is None:
            score.only_carry += how not in ("formed", "import")
            if how not in ("formed", "import"):
                score.examples.append(f"only carry {name}")
        elif mine is None:
            score.only_blame += 1
            score.examples.append(f"only blame {name}")
        elif _is_same(told, mine, befores):
            score.same += 1
            score.long_same += is_long
        else:
            score.other += 1
            score.examples.append(f"other {name}")


def _is_in_block(blamed: Mapping[int, tuple[str, int]], line: int) -> bool:
    """Whether blame has ten lines in a row of one file around a line."""
    path, old = blamed[line]
    first = line
    while blamed.get(first - 1) == (path, old - (line - first) - 1):
        first -= 1
    last = line
    while blamed.get(last + 1) == (path, old + (last - line) + 1):
        last += 1
    return last - first + 1 >= LONG


def _is_same(told: tuple[str, int], mine: tuple[str, int], befores: Mapping[str, Text]) -> bool:
    if told == mine:
        return True
    text = befores[told[0]]
    return told[0] == mine[0] and text.keys[told[1]] == text.keys[mine[1]]
