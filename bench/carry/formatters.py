"""Real formatters on real files: how many of the lines that they change keep their author.

A changed line is one whose bytes without white space the file did not have.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.carry import corpus, truth
from bench.carry.corpus import BUILD
from gitcp.text.carry.origins import carry
from gitcp.text.carry.text import NOTHING, Text

_PYTHON = str(BUILD / "python" / "bin")
_BLACK = (f"{_PYTHON}/black", "-q")
_RUFF = (f"{_PYTHON}/ruff", "format", "-q", "--no-cache", "--isolated")
_ISORT = (f"{_PYTHON}/isort", "-q", "--profile", "black")
_PEP8 = (f"{_PYTHON}/autopep8", "-i")
_YAPF = (f"{_PYTHON}/yapf", "-i")
_CLANG = (f"{_PYTHON}/clang-format", "-i")
_PRETTIER = (
    *(str(BUILD / "node" / "node_modules" / ".bin" / "prettier"), "--log-level", "silent"),
    *("--no-config", "--ignore-path", "/dev/null", "-w"),
)
_TERSE = (
    *(*_PRETTIER, "--no-semi", "--single-quote", "--print-width", "60"),
    *("--trailing-comma", "none", "--arrow-parens", "avoid", "--no-bracket-spacing"),
)
_RUST = ("rustfmt", "-q", "--edition", "2021", "--config")
_TIMEOUT = 300
_FILES = 40  # that one process is given


@dataclass(slots=True, frozen=True)
class Trial:
    """A formatter.  first: commands that bring the files into the form they have before it.
    least: the part of the changed lines that keeps its author at least, in percent; worst: the part
    that gets a wrong one at most."""

    name: str
    language: str
    commands: tuple[tuple[str, ...], ...]
    first: tuple[tuple[str, ...], ...] = ()
    least: float = 98.5
    worst: float = 0.2


_BLACK_60 = (*_BLACK, "-l60", "-S", "-C")
_PRETTIER_100 = (*_PRETTIER, "--print-width", "100")
_RUST_60 = (*_RUST, "max_width=60")
_RUST_100 = (*_RUST, "max_width=100")
_GNU = (*_CLANG, "--style=GNU")
_GOOGLE = (*_CLANG, "--style=Google")

TRIALS = [
    Trial("black", "py", (_BLACK,)),
    Trial("black, 60 columns to 100", "py", ((*_BLACK, "-l100", "-C"),), (_BLACK_60,)),
    Trial("ruff format", "py", (_RUFF,)),
    Trial("isort", "py", (_ISORT,), least=85, worst=1),
    Trial("isort, then black", "py", (_ISORT, _BLACK)),
    Trial("autopep8", "py", (_PEP8,), least=96),
    Trial("yapf", "py", (_YAPF,)),
    Trial("prettier", "js", (_PRETTIER,)),
    Trial("prettier, 60 columns to 100", "js", (_PRETTIER_100,), (_TERSE,)),
    Trial("rustfmt, 60 columns", "rs", (_RUST_60,)),
    Trial("rustfmt, 60 columns to 100", "rs", (_RUST_100,), (_RUST_60,)),
    Trial("clang-format LLVM", "c", ((*_CLANG, "--style=LLVM"),)),
    Trial("clang-format GNU to Google", "c", (_GOOGLE,), (_GNU,)),
]


@dataclass(slots=True)
class Score:
    """Changed lines: right, left to the formatter, of a wrong author, not judged; and all lines."""

    right: int = 0
    writers: int = 0
    wrong: int = 0
    unjudged: int = 0
    all: int = 0
    all_right: int = 0
    misses: list[str] = field(default_factory=list)

    @property
    def changed(self) -> int:
        return self.right + self.writers + self.wrong

    def add(self, other: Score) -> None:
        for name in ("right", "writers", "wrong", "unjudged", "all", "all_right"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def measure(seed: int, names: Sequence[str] = ()) -> Iterator[tuple[Trial, Score]]:
    """The score of each formatter that is installed."""
    for trial in TRIALS:
        if names and not any(name in trial.name for name in names):
            continue
        if shutil.which(trial.commands[0][0]) is None:
            print(f"{trial.name}: not installed, left out")
            continue
        yield trial, run_trial(trial, seed)


def run_trial(trial: Trial, seed: int) -> Score:
    """Format files of a language, and judge what carry() says of their lines."""
    folder = _locate(trial)
    before, after = folder / "before", folder / "after"
    shutil.rmtree(folder, ignore_errors=True)
    before.mkdir(parents=True)
    for number, path in enumerate(corpus.choose_files(corpus.LANGUAGES[trial.language], seed)):
        shutil.copyfile(path, before / f"{number:03d}_{path.name}")
    _format(before, trial.first)
    shutil.copytree(before, after)
    _format(after, trial.commands)
    score = Score()
    rng = random.Random(seed)
    for path in sorted(before.iterdir()):
        old, new = corpus.read_lines(path), corpus.read_lines(after / path.name)
        if old != new:
            judge(old, new, rng, score, path.name)
    return score


def _locate(trial: Trial) -> Path:
    return BUILD / "trials" / trial.name.replace(",", "").replace(" ", "-")


def list_formatted(trial: Trial) -> list[tuple[list[bytes], list[bytes]]]:
    """The files of a trial that was run, before and after; without those that did not change."""
    folder = _locate(trial)
    pairs = []
    for path in sorted((folder / "before").iterdir()) if folder.is_dir() else ():
        old, new = corpus.read_lines(path), corpus.read_lines(folder / "after" / path.name)
        if old != new:
            pairs.append((old, new))
    return pairs


def _format(folder: Path, commands: Sequence[Sequence[str]]) -> None:
    """Run formatters on the files of a folder; a file that one cannot read stays as it is."""
    files = sorted(str(path) for path in folder.iterdir())
    size = 1 if commands and commands[0][0] == "rustfmt" else _FILES
    for command in commands:
        for start in range(0, len(files), size):
            argv = [*command, *files[start : start + size]]
            env = {**os.environ, "HOME": str(BUILD)}
            env["CARGO_HOME"] = os.path.expanduser("~/.cargo")
            env["RUSTUP_HOME"] = os.path.expanduser("~/.rustup")
            subprocess.run(argv, capture_output=True, timeout=_TIMEOUT, cwd=folder, env=env)


def judge(old: list[bytes], new: list[bytes], rng: random.Random, score: Score, name: str) -> None:
    """Add the lines of a formatted file to a score."""
    authors = corpus.draw_authors(len(old), rng)
    before, after = Text(old), Text(new)
    origins = carry(before, after).origins
    known = set(before.keys)
    for line, expected in enumerate(truth.find_origins(old, new)):
        is_changed = after.keys[line] not in known
        if expected is None:
            score.unjudged += is_changed
        elif expected:
            possible = {authors[origin] for origin in expected}
            author = "" if origins[line] == NOTHING else authors[origins[line]]
            score.all += 1
            score.all_right += author in possible
            if is_changed:
                score.right += author in possible
                score.writers += not author
                score.wrong += bool(author) and author not in possible
                if author not in possible:
                    score.misses.append(
                        f"{name}:{line + 1}: {author or 'new'}: {new[line][:100]!r}"
                    )
