"""Real files of several languages: of Python, and of packages that `make carry` installs."""

from __future__ import annotations

import random
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import TOP

BUILD = TOP / "build" / "carry"
SMALLEST, LARGEST = 1500, 60_000  # bytes of a file


@dataclass(slots=True, frozen=True)
class Language:
    """Where files of a language are.  left_out: parts of paths of files that nobody wrote by hand,
    or that the formatters bring themselves."""

    name: str
    folders: tuple[Path, ...]
    endings: tuple[str, ...]
    count: int
    left_out: tuple[str, ...] = ()


def _list_languages() -> list[Language]:
    paths = sysconfig.get_paths()
    python = (Path(paths["stdlib"]), TOP / ".venv" / "lib")
    tests = ("/test/", "/tests/", "/lib2to3/", "/idlelib/", "/pip/", "/gitcp")
    built = (".min.", "-min.", "/dist/", "/prettier/", "bundle")
    c = (Path("/usr/include"), Path("/usr/lib/gcc"), BUILD / "node", BUILD / "rust")
    return [
        Language("py", python, (".py",), 110, tests),
        Language("js", (BUILD / "node",), (".js", ".mjs", ".cjs"), 100, built),
        Language("rs", (BUILD / "rust",), (".rs",), 80, ("/windows", "/tables", "unicode")),
        Language("c", c, (".c", ".cc", ".cpp", ".h", ".hpp"), 100),
    ]


LANGUAGES = {language.name: language for language in _list_languages()}


def choose_files(language: Language, seed: int) -> list[Path]:
    """Files of a language, the same ones for the same seed."""
    found = []
    for folder in language.folders:
        for path in folder.rglob("*"):
            is_wanted = path.suffix in language.endings and path.is_file()
            if is_wanted and not any(part in str(path) for part in language.left_out):
                found.append(path)
    found.sort()
    random.Random(seed).shuffle(found)
    sized = [path for path in found if SMALLEST < path.stat().st_size < LARGEST]
    return sized[: language.count]


def read_lines(path: Path) -> list[bytes]:
    """The lines of a file, without newlines."""
    return path.read_bytes().removesuffix(b"\n").split(b"\n")


def draw_authors(count: int, rng: random.Random) -> list[str]:
    """An author for each of so many lines, in blocks of 1 to 12 lines."""
    authors: list[str] = []
    while len(authors) < count:
        authors += [rng.choice(["person", "one", "two"])] * rng.randint(1, 12)
    return authors[:count]
