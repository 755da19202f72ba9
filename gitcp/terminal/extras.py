"""Say how to install packages that are not here, in the way in which this gitcp was installed."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec

import gitcp
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DISTRIBUTION = "gitcp-toolkit"  # the name in package indexes, where "gitcp" is another program


def make_missing(purpose: str, extra: str = "") -> Error:
    """The error of a command whose packages are not installed.

    purpose: what they do, as the beginning of a sentence; extra: as in describe_install().
    """
    return Error(f"{purpose}: {describe_install(extra)}")


def describe_install(extra: str = "") -> str:
    """The command that installs the packages of an extra, "" for those of every installation.

    It names a checkout, else the packages themselves: no index has to know gitcp.
    """
    top = os.path.dirname(os.path.dirname(os.path.abspath(gitcp.__file__)))
    python = sys.executable
    prefix = sys.prefix
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        words = ["pipx", "inject", os.path.basename(prefix), *_list_packages(extra)]
    elif os.path.exists(receipt := os.path.join(prefix, "uv-receipt.toml")):
        words = ["uv", "tool", "install", *_read_receipt(receipt, _list_packages(extra))]
    elif os.path.exists(os.path.join(top, "pyproject.toml")):
        editable = ["-m", "pip", "install", "-e", f"{top}[{extra}]"]
        if extra:
            words = [python, *editable]
        else:
            words = ["make", "-C", top, "setup"]
    elif os.path.isdir(apart := os.path.join(top, "instead")):  # the modules of a zipapp
        words = [python, "-m", "pip", "install", "--target", apart, *_list_packages(extra)]
    elif find_spec("pip") or prefix == sys.base_prefix:
        words = [python, "-m", "pip", "install", *_list_packages(extra)]
    else:
        words = ["uv", "pip", "install", "--python", python, *_list_packages(extra)]
    return shlex.join(words)


def list_names() -> list[str]:
    """The names of all packages that gitcp or one of its extras uses, by the metadata of the
    installation."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    used = [line for line in lines if 'extra == "dev"' not in line]
    return sorted({re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in used})


def _list_packages(extra: str) -> list[str]:
    """The requirements of an extra, by the metadata of the installation."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return [f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION]
    found = []
    for line in lines:
        package, _, marker = line.partition(";")
        if marker.strip() == (f'extra == "{extra}"' if extra else ""):
            found.append(package.strip())
    return found


def _read_receipt(path: str, packages: list[str]) -> list[str]:
    """The arguments by which uv installs again what its receipt has, with more packages: what a
    later installation does not name is taken away."""
    with open(path, "rb") as f:
        entries = tomllib.load(f)["tool"]["requirements"]
    others = [_write_requirement(entry) for entry in entries if entry["name"] != DISTRIBUTION]
    ours: dict[str, Any] = next((entry for entry in entries if entry["name"] == DISTRIBUTION), {})
    source = _write_requirement(ours)
    if "editable" in ours:
        source = f"--editable={ours['editable']}"
    return [*(f"--with={one}" for one in (*others, *packages)), source]


def _write_requirement(entry: dict[str, Any]) -> str:
    """A requirement of a receipt as a command line has it."""
    name = entry.get("name", DISTRIBUTION)
    extras = ",".join(entry.get("extras", ()))
    if extras:
        name += f"[{extras}]"
    place = entry.get("directory") or entry.get("path") or entry.get("editable")
    if place:
        url = f"file://{place}"
    else:
        url = entry.get("url", "")
    if "git" in entry:
        address, _, query = entry["git"].partition("?")
        url = f"git+{address}" + (f"@{query.partition('=')[2]}" if query else "")
    return f"{name} @ {url}" if url else name + entry.get("specifier", "")
