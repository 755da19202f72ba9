"""The moving picture of the README: a terminal in which an agent deletes files and gitcp rewinds.

The session and the commands are those of 'gitcp demo' and run here; only the pace is that of a
reader.  The picture is SVG: its screens lie below one another, and CSS moves the strip.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte

from gitcp.cmd.setup.demo import Scene, make_scene

TO = Path(__file__).resolve().parent / "rewind.svg"
COLUMNS, ROWS = 98, 24
# Pixels: a character's width, a line's height, the font's size, what is left around them.
CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 12
COLOURS = {
    "default": "#d4d4d4", "black": "#767676", "red": "#f48771", "green": "#89d185",
    "brown": "#e2c08d", "blue": "#6cb6ff", "magenta": "#d2a8ff", "cyan": "#76d9e6",
    "white": "#d4d4d4", "brightblack": "#8b949e",
}  # fmt: skip
BACKGROUND = "#1e1e1e"
LONGEST = 20  # seconds for what a command shows
Run = tuple[int, str, str, bool]  # a piece of a line: its column, text, colour, whether it is bold


@dataclass
class Film:
    """A terminal and the screens that it showed, each with the seconds that it stays."""

    frames: list[tuple[list[list[Run]], float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)

    def feed(self, data: bytes) -> None:
        self._stream.feed(data)

    def keep(self, seconds: float) -> None:
        """Show what is on the screen for so long."""
        lines = [list(_list_runs(self.screen, row)) for row in range(ROWS)]
        if self.frames and self.frames[-1][0] == lines:
            self.frames[-1] = (lines, self.frames[-1][1] + seconds)
        else:
            self.frames.append((lines, seconds))


def _list_runs(screen: pyte.Screen, row: int) -> Iterator[Run]:
    """The pieces of a row that look alike, without blanks at their ends."""
    cells = [(n, screen.buffer[row][n]) for n in range(COLUMNS)]
    for (colour, bold), group in groupby(cells, lambda c: (c[1].fg, c[1].bold)):
        piece = list(group)
        text = "".join(cell.data for _, cell in piece)
        if text.strip():
            start = piece[0][0] + len(text) - len(text.lstrip())
            yield start, text.strip(), colour, bold


class Shell:
    """A shell at the terminal of a film, and a person who types."""

    def __init__(self, film: Film) -> None:
        self.film = film
        pid, self._fd = pty.fork()
        if not pid:
            os.environ.update(
                TERM="xterm-256color", PS1="$ ", PS2="> ", HISTFILE="", LC_ALL="C.UTF-8"
            )
            os.environ |= {"LINES": str(ROWS), "COLUMNS": str(COLUMNS)}
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting"])
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)
        self._wait("$ ")

    def type(self, command: str, stay: float) -> None:
        """Type a command, wait for its end, and leave the reader so many seconds."""
        for start in range(0, len(command), 3):
            os.write(self._fd, command[start : start + 3].encode())
            self._wait(command[: start + 3])
            self.film.keep(0.12)
        os.write(self._fd, b"\n")
        self._wait("$ ")
        self.film.keep(stay)

    def _wait(self, shown: str) -> None:
        """Read until nothing more comes and the cursor's line ends with shown, or is a prompt."""
        ends = time.monotonic() + LONGEST
        while time.monotonic() < ends:
            if select.select([self._fd], [], [], 0.4)[0]:
                data = os.read(self._fd, 4096)
                self.film.feed(data)
            elif self._is_shown(shown):
                return
        sys.exit(f"picture: '{shown}' is not shown:\n" + "\n".join(self.film.screen.display))

    def _is_shown(self, text: str) -> bool:
        screen = self.film.screen
        line = screen.display[screen.cursor.y].rstrip()
        return line == "$" if text == "$ " else line.endswith(text.rstrip())


def act(film: Film, scene: Scene) -> None:
    """The story of the picture."""
    shell = Shell(film)
    film.keep(0.8)
    for line in scene.play():
        coloured = f"\x1b[36m{line}\x1b[0m" if line.startswith(">") else line
        film.feed(b"\r" + coloured.replace("\n", "\r\n").encode() + b"\r\n")
        film.keep(1.1)
    film.feed(b"$ ")
    shell.type("git status --short", stay=2)
    shell.type("gitcp rewind --list | head -n 2", stay=2.5)
    (point,) = {line.split()[0] for line in film.screen.display if "`rm -rf" in line}
    shell.type(f"gitcp rewind --to {point}", stay=3)
    shell.type("git status --short", stay=4)


def draw(film: Film) -> str:
    """The film as SVG: the last screen, which has the whole story, comes first and stays alone
    where less motion is asked for."""
    frames = [(film.frames[-1][0], 3.0), *film.frames]
    names: dict[tuple[Run, ...], str] = {}
    screens = []
    for lines, _ in frames:
        used = ""
        for row, runs in enumerate(lines):
            if runs:
                name = names.setdefault(tuple(runs), f"l{len(names)}")
                used += f'<use href="#{name}" y="{row * LINE}"/>'
        screens.append(used)
    width, height = round(COLUMNS * CELL) + 2 * MARGIN, ROWS * LINE + 2 * MARGIN
    strip = "".join(
        f'<g transform="translate(0 {n * height})">{s}</g>' for n, s in enumerate(screens)
    )
    lines_drawn = "".join(f'<g id="{name}">{_draw_line(runs)}</g>' for runs, name in names.items())
    classes = "".join(f".{name}{{fill:{value}}}" for name, value in COLOURS.items())
    title = "An agent deletes files by rm -rf; gitcp rewind brings them back"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{title}"><title>{title}</title><style>'
        f"text{{font:{SIZE}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"white-space:pre}}.b{{font-weight:bold}}{classes}"
        f"@media (prefers-reduced-motion:no-preference){{#film{{{_write_animation(frames, height)}"
        f'</style><defs>{lines_drawn}</defs><rect width="{width}" height="{height}" rx="6"'
        f' fill="{BACKGROUND}"/><svg x="{MARGIN}" y="{MARGIN}" width="{width - MARGIN}"'
        f' height="{height - MARGIN}" overflow="hidden"><g id="film">{strip}</g></svg></svg>\n'
    )


def _draw_line(runs: tuple[Run, ...]) -> str:
    """A line of the terminal; textLength keeps columns where a font is wider."""
    return "".join(
        f'<text x="{column * CELL:g}" y="{SIZE}" textLength="{len(text) * CELL:g}"'
        f' class="{colour if colour in COLOURS else "default"}{" b" if bold else ""}">'
        f"{escape(text)}</text>"
        for column, text, colour, bold in runs
    )


def _write_animation(frames: list[tuple[list[list[Run]], float]], height: int) -> str:
    """The rest of the style: when the strip moves on, for ever."""
    whole = sum(seconds for _, seconds in frames)
    steps, at = "", 0.0
    for number, (_, seconds) in enumerate(frames):
        steps += f"{100 * at / whole:.2f}%{{transform:translateY(-{number * height}px)}}"
        at += seconds
    return f"animation:film {whole:.1f}s step-end infinite}}}}@keyframes film{{{steps}}}"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gitcp-demo-") as name:
        scene = make_scene(os.path.realpath(name))
        os.environ.clear()
        os.environ.update(scene.env)
        os.chdir(scene.repo)
        scene.run("gitcp enable --agent claude-code")
        film = Film()
        act(film, scene)
    TO.write_text(draw(film))
    print(f"{TO}: {len(film.frames)} screens, {TO.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
