"""What pyproject.toml cannot say: a program for each command of the table; pages and completions
go where man and shells look for them."""

import os
import shutil
import sys
import tomllib
from glob import glob

from setuptools import setup
from setuptools.command.build_py import build_py

TOP = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TOP)
from gitcp import commands  # noqa: E402
from gitcp.cmd.setup import completion  # noqa: E402

# By the name of a program bash and fish find what completes it, zsh by the first line.
PLACES = {
    "bash": "share/bash-completion/completions/{}",
    "zsh": "share/zsh/site-functions/_{}",
    "fish": "share/fish/vendor_completions.d/{}.fish",
}
PROGRAMS = ["gitcp", *(f"gitcp-{name}" for name in commands.NAMES)]
OF_GIT = [f"git-{name}" for name in commands.OF_GIT]


def data_files() -> list[tuple[str, list[str]]]:
    """(directory below the prefix, files); completions are written to build/ first."""
    files = [(f"share/man/man{n}", sorted(glob(f"man/*.{n}"))) for n in (1, 5, 7)]
    files.append(("share/man/man1", [write_link(name) for name in commands.OF_GIT]))
    files.append(("share/gitcp/schema", sorted(glob("share/gitcp/schema/*.json"))))
    for shell, place in PLACES.items():
        places = [place.format(name) for name in (PROGRAMS[:1] if shell == "zsh" else PROGRAMS)]
        paths = [os.path.join("build", "completions", each) for each in places]
        os.makedirs(os.path.dirname(paths[0]), exist_ok=True)
        for path in paths:
            with open(path, "w", encoding="utf-8") as f:
                f.write(completion.format_script(shell))
        files.append((os.path.dirname(place), paths))
    return files


def write_link(name: str) -> str:
    """The page that `git <name> --help` opens, which is that of gitcp."""
    path = os.path.join("build", "man", f"git-{name}.1")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f".so man1/gitcp-{name}.1\n")
    return path


def list_urls() -> dict[str, str]:
    """Label -> URL of what the metadata names, by the one address in pyproject.toml."""
    with open("pyproject.toml", "rb") as f:
        repository = tomllib.load(f)["tool"]["gitcp"]["repository"]
    if not repository:
        return {}
    below = repository if repository.startswith("https://github.com/") else f"{repository}/-"
    return {
        "Source": repository,
        "Documentation": f"{below}/tree/HEAD/man",
        "Changelog": f"{below}/blob/HEAD/NEWS.md",
        "Issues": f"{below}/issues",
    }


class BuildFromSources(build_py):
    """Build only what the sources have: build/lib keeps the modules of an earlier build, and pip
    installs those as well."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(os.path.join(self.build_lib, "gitcp"), ignore_errors=True)
        super().run()


os.chdir(TOP)
setup(
    cmdclass={"build_py": BuildFromSources},
    data_files=data_files(),
    project_urls=list_urls(),
    entry_points={
        "console_scripts": [f"{name} = gitcp.__main__:main" for name in PROGRAMS + OF_GIT]
    },
)
