"""gitcp-tutorial(7) is true: its commands are run, its prompts played, its output compared."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.support.copies import plant
from tests.support.harness import World
from tests.support.paths import TOP

PAGE = TOP / "man" / "gitcp-tutorial.7"
GREET = 'def greet(name):\n    return f"hello, {name}"\n'
FAREWELL = '\n\ndef farewell(name):\n    return f"good bye, {name}"\n'
# What the agent writes when it is asked.
ANSWERS = {
    "Add a function that greets": {"greet.py": GREET},
    "Say good bye too": {"greet.py": GREET + FAREWELL},
    "Shout": {"greet.py": GREET.replace("hello", "HELLO") + FAREWELL + 'print(greet("you"))\n'},
}
# What differs each time: ids, dates, ages.
CHANGING = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{7,40}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?Z?)?| *(?:just now|\b\d+[smhy] ago)"
)


def blocks(text: str) -> list[str]:
    """The literal blocks of a page, without mdoc's escapes."""
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", text, re.M | re.S)
    return [block.replace(r"\e", "\\").replace(r"\&", "") for block in found]


def same(printed: str, shown: str) -> bool:
    """Whether what was printed is what the page shows; `[...]` stands for any lines."""
    want, got = (
        "\n".join(line.rstrip() for line in CHANGING.sub("#", text).strip().splitlines())
        for text in (shown, printed)
    )
    return bool(re.fullmatch(re.escape(want).replace(re.escape("[...]"), ".*"), got, re.S))


def test_the_tutorial_happens_as_it_says(template: Path, tmp_path: Path) -> None:
    world = World(plant(template, tmp_path / "repo"), tmp_path / "home")
    agent = world.agent("8f76b0e8-b8f1-4a87-9186-848bdd83d62e", tools=True)
    search = f"{TOP / 'bin'}:{os.environ['PATH']}"
    wrong, point = [], ""
    for block in blocks(PAGE.read_text()):
        for step in re.split(r"^(?=[$>] )", block, flags=re.M):
            line, _, shown = step.partition("\n")
            if line.startswith("> "):
                agent.turn(line[2:], ANSWERS[line[2:]])
            elif line.startswith("$ "):
                done = subprocess.run(
                    ["sh", "-c", line[2:].replace("<point>", point)],
                    cwd=world.path,
                    env={**os.environ, "PATH": search},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                point = next(
                    iter(re.findall(r"^(\w+) .*before the prompt", done.stdout, re.M)), point
                )
                print(line + "\n" + done.stdout, end="")
                if done.returncode or not same(done.stdout, shown):
                    wrong.append(f"{line}\nstatus {done.returncode}\n{done.stdout}")
    world.close()
    assert not wrong, "\n".join(wrong)
