"""Contents of files that are not the repository's, kept so that a step can be taken back.

They lie under <common>/gitcp/kept by the name of their bytes, readable for the person alone,
and never in an object database: a live transcript is not redacted.
"""

from __future__ import annotations

import os
import sys

from gitcp.errors import Error
from gitcp.process.regular_file import Damaged, read_file
from gitcp.store.git import private
from gitcp.store.git.files import digest
from gitcp.store.git.files import read as content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def keep(repo: Repo, data: bytes | None) -> str | None:
    """The name of these bytes, which are kept; None for none."""
    if data is None:
        return None
    name = digest(data)
    path = repo.shared("kept", name)
    if _read(path) == data:
        os.utime(path)  # it is needed anew: clean leaves it alone
    else:
        private.write(repo, path, data, durable=True)
    return name


def give(repo: Repo, name: str | None) -> bytes | None:
    """The bytes kept under a name; raise Error when they are gone."""
    if name is None:
        return None
    data = _read(repo.shared("kept", name))
    if data is None or digest(data) != name:
        raise Error(f"what '{name[:12]}' held is not kept any more")
    return data


def now(path: str) -> str | None:
    """The name of what a file holds now; None when there is none."""
    data = content(path)
    return None if data is None else digest(data)


def _read(path: str) -> bytes | None:
    """The bytes of a kept file, however many; None where it cannot be read."""
    try:
        return read_file(path, most=sys.maxsize)
    except Damaged:
        return None
