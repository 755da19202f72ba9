"""gitcp-tutorial(7) is true: its session is played, its commands are run, their output compared.
So are those of the README, which are some of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gitcp.cmd.setup.demo import Scene, make_scene
from tests.support.paths import TOP

PAGE = TOP / "man" / "gitcp-tutorial.7"
LAST = "> Tidy up: remove the files that nobody uses"
# What differs each time: ids, dates, ages.
CHANGING = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{7,40}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?Z?)?| *(?:just now|\b\d+[smhy] ago)"
    r"|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
)


def blocks(text: str) -> list[str]:
    """The literal blocks of a page, without mdoc's escapes."""
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", text, re.M | re.S)
    return [block.replace(r"\e", "\\").replace(r"\&", "") for block in found]


def read_examples() -> dict[str, str]:
    """Command line of the README -> the output that it shows there, less those without any."""
    text = re.findall(r"^    (.*)\n|^\n", (TOP / "README.md").read_text(), re.M)
    steps = re.split(r"^(?=\$ )", "\n".join(text), flags=re.M)
    examples = {line: shown for line, _, shown in (step.partition("\n") for step in steps)}
    return {line: shown for line, shown in examples.items() if line and shown.strip()}


def same(printed: str, shown: str) -> bool:
    """Whether what was printed is what the page shows; `[...]` stands for any lines."""
    want, got = (
        "\n".join(line.rstrip() for line in CHANGING.sub("#", text).strip().splitlines())
        for text in (shown, printed)
    )
    return bool(re.fullmatch(re.escape(want).replace(re.escape("[...]"), ".*"), got, re.S))


def make(place: Path) -> Scene:
    place.mkdir()
    return make_scene(str(place))


def play_turn(seen: Iterator[str], shown: str) -> str:
    """What the next turn shows, which the page does in as many lines; the client ends after the
    last one."""
    lines = [line for _, line in zip(shown.splitlines(), seen, strict=False)]
    return "\n".join(lines if lines[0] != LAST else [*lines, *seen])


def test_the_tutorial_happens_as_it_says(tmp_path: Path) -> None:
    scene = make(tmp_path / "scene")
    session, wrong, examples = scene.play(), [], read_examples()
    for block in blocks(PAGE.read_text()):
        for step in re.split(r"^(?=\$ )", block, flags=re.M):
            line, _, shown = step.partition("\n")
            if line.startswith("> "):
                status, said, shown = 0, play_turn(session, step), step
            elif line.startswith("$ "):
                status, said = scene.call(line[2:])
            else:
                continue
            told = same(said, shown) and same(said, examples.pop(line, shown))
            if status or not told:
                wrong.append(f"{line}\nstatus {status}\n{said}")
    assert list(session) == [], "the last turn is not in the page"
    assert not wrong, "\n".join(wrong)
    assert not examples, "the README has what the page has not"
