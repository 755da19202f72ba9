"""What pyproject.toml cannot say: a program for each command of the table; pages and completions
go where man and shells look for them."""

import os
import sys
from glob import glob

from setuptools import setup

TOP = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TOP)
from gitcp import commands  # noqa: E402
from gitcp.cmd import completion  # noqa: E402

PLACES = {
    "bash": "share/bash-completion/completions/gitcp",
    "zsh": "share/zsh/site-functions/_gitcp",
    "fish": "share/fish/vendor_completions.d/gitcp.fish",
}


def data_files() -> list[tuple[str, list[str]]]:
    """(directory below the prefix, files); completions are written to build/ first."""
    files = [(f"share/man/man{n}", sorted(glob(f"man/*.{n}"))) for n in (1, 5, 7)]
    files.append(("share/gitcp/schema", sorted(glob("share/gitcp/schema/*.json"))))
    for shell, place in PLACES.items():
        path = os.path.join("build", "completions", place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(completion.script(shell))
        files.append((os.path.dirname(place), [path]))
    return files


def programs() -> list[str]:
    """gitcp and gitcp-<name> of every command."""
    names = ["gitcp", *(f"gitcp-{name}" for name in commands.NAMES)]
    return [f"{name} = gitcp.__main__:main" for name in names]


os.chdir(TOP)
setup(data_files=data_files(), entry_points={"console_scripts": programs()})
