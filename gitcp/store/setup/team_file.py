"""The file in which a team writes what it agrees on, as a revision has it."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.repo import Repo

FILE = ".gitcp.toml"


def read_table(repo: Repo, revision: str, name: str) -> tuple[Any, str]:
    """(what a key of the file at the top of a revision holds, the file in words): {} where there
    is none.  Raises Error for no revision, and for what is no TOML."""
    import tomllib

    place = f"'{FILE}' of '{revision}'"
    tree = repo.git.run("rev-parse", "-q", "--verify", f"{revision}^{{tree}}", ok=(0, 1, 128))[1]
    if not tree:
        raise Error(f"no such revision: '{revision}'")
    with Objects(repo) as objects:
        file = objects.read(f"{tree.decode().strip()}:{FILE}")
    try:
        return tomllib.loads(file[2].decode() if file else "").get(name, {}), place
    except ValueError as e:
        raise Error(f"{place} is no TOML: {e}") from None
