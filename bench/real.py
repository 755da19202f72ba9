"""What reading costs in histories of people: `python -m bench.real <path>…`, and `make bench`.

Nothing is written to a repository of a person: what is measured is a bare one in a temporary
directory, which has its refs and borrows its objects.  It has no remote: nothing is fetched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import growth
from bench.growth import MB, Cost, cost
from bench.repos import git

MOST = 300 * MB
_COUNT = 50  # first parents of a range
_LISTED = ("-c", "core.quotePath=false", "log", "--format=", "--name-only", "--no-merges", "-300")
_DONE = (0, 1)  # 1: something is missing, or there is nothing
_STORE = """git for-each-ref --format='%(refname)' refs/heads/entire refs/remotes/*/entire \
refs/entire refs/gitcp | git rev-list --objects --no-object-names --missing=print --stdin |
grep -v '^?' | git cat-file --batch --buffer"""


class Row(NamedTuple):
    """What a command took beside git; budget: seconds that it may take; told: how it is made."""

    title: str
    used: Cost
    floor: float
    budget: float
    told: str


def measure(path: Path, shown: int = 20) -> Iterator[Row]:
    """The rows of a bare repository, whose gitcp directory is deleted first; shown: first parents
    on a page."""
    shutil.rmtree(path / "gitcp", ignore_errors=True)
    chosen, patch, blamed = _choose_range(path, _COUNT), _choose_range(path, shown), _choose(path)

    def run(name: str, *args: str) -> Cost:
        return growth.gitcp(name, *args, cwd=path, ok=_DONE)

    def ask(*argv: str) -> float:
        return cost(*argv, cwd=path, ok=(0, 1, 128)).seconds  # 128: git stops at a missing blob

    def compare(title: str, used: Cost, floor: float, times: float, more: float) -> Row:
        told = [f"{times:g} x git"] if times else []
        told += [f"{more:g} s"] if more else []
        return Row(title, used, floor, times * floor + more, " + ".join(told))

    numstat = ask("git", "log", "--numstat", "-M", *chosen)
    yield compare("stats", run("stats", "--json", *chosen), numstat, 3, 0.3)
    yield compare("stats, again", run("stats", "--json", *chosen), numstat, 0.3, 0.3)
    run("search", "the")
    run("recap", "--since=2000-01-01")  # what it counts is kept, as for all that follow
    asked: dict[str, tuple[str, ...]] = {"recap": ("--since=2000-01-01",), "log": ()}
    for name, args in {**asked, "sessions": ("-a",), "search": ("the",)}.items():
        yield compare(name, run(name, *args), 0, 0, 0.5)
    size = len(subprocess.run(["git", "log", "-p", *patch], cwd=path, capture_output=True).stdout)
    page = run("page", "-o", "-", patch[0])
    told = f"2.5 s x {size / MB:.2f} MB + 0.3 s"
    yield Row("page", page, ask("git", "log", "-p", *patch), 2.5 * size / MB + 0.3, told)
    again = run("page", "-o", "-", patch[0])
    yield Row("page, again", again, 0, 0.7 * page.seconds + 0.1, "0.7 x page + 0.1 s")
    if blamed:
        floor = ask("git", "blame", "-w", "-M", "HEAD", "--", blamed)
        yield compare("blame", run("blame", "HEAD", "--", blamed), floor, 2, 0.2)
    stored = ask("sh", "-c", _STORE)
    for name in ("doctor", "fsck") if stored else ():
        yield compare(name, run(name), stored, 3, 0)


def _choose_range(path: Path, count: int) -> tuple[str, ...]:
    """The newest first parents as a range."""
    listing = ("git", "rev-list", "--first-parent", f"--max-count={count + 1}", "HEAD")
    *_, last = subprocess.check_output(listing, cwd=path, text=True).split()
    return (f"{last}..HEAD",)


def _choose(path: Path) -> str:
    """The file that the newest commits changed most often and that is still there; "" for none."""
    listed = subprocess.run(["git", *_LISTED], cwd=path, capture_output=True, text=True).stdout
    listing = ("git", "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "HEAD")
    there = {*subprocess.check_output(listing, cwd=path, text=True).splitlines()}
    ranked = Counter(filter(None, listed.splitlines())).most_common()
    return next((name for name, _ in ranked if name in there), "")


def borrow(source: Path, path: Path) -> None:
    """Make a bare repository at path with the refs of source, and its objects by reference."""

    def ask(*args: str) -> str:
        return subprocess.check_output(["git", *args], cwd=source, text=True).strip()

    shared = (source / ask("rev-parse", "--git-common-dir")).resolve()
    git(path.parent, "init", "-q", "--bare", "--template=", str(path))
    (path / "objects" / "info").mkdir(exist_ok=True)
    (path / "objects" / "info" / "alternates").write_text(f"{shared / 'objects'}\n")
    if (shared / "shallow").exists():
        shutil.copy(shared / "shallow", path / "shallow")
    refs = ask("for-each-ref", "--format=%(objectname) %(refname)")
    (path / "packed-refs").write_text(f"{refs}\n")
    (path / "HEAD").write_text(f"{ask('rev-parse', 'HEAD')}\n")


def main(paths: list[str]) -> int:
    """Print the rows of each repository; status 1 if one is over its budget."""
    over = 0
    for name in paths:
        with tempfile.TemporaryDirectory(prefix="gitcp-bench-") as folder:
            print(f"{name}: reads it, and writes below {folder}, which is deleted at the end")
            copy = Path(folder, "repository.git")
            borrow(Path(name).resolve(), copy)
            for row in measure(copy):
                over += not show(row, print)
    return 1 if over else 0


def show(row: Row, say: Callable[[str], object]) -> bool:
    """Say a row as one of a table; whether it is within its budget."""
    used, peak = row.used.seconds, row.used.peak
    inside = used <= row.budget and peak <= MOST
    floor, told = f"{row.floor:.2f}" if row.floor else "", f"{row.budget:.2f}, {row.told}"
    figures = f"{used:7.2f} | {floor:>6} | {told:30} | {growth.size(peak)}"
    say(f"| {row.title:12} | {figures} | {'' if inside else 'over'} |")
    return inside


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
