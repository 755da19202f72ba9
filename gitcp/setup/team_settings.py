"""The settings of a team: .gitcp.toml, as a revision has it."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.git.repo import Repo

FILE = ".gitcp.toml"


def read_table(repo: Repo, revision: str, name: str) -> tuple[Any, str]:
    """(the value of a key, {} if there is none; the file's name for messages).  Raises Error for
    an unknown revision and for a file that is not TOML."""
    import tomllib

    label = f"'{FILE}' of '{revision}'"
    tree = repo.git.run("rev-parse", "-q", "--verify", f"{revision}^{{tree}}", ok=(0, 1, 128))[1]
    if not tree:
        raise Error(f"no such revision: '{revision}'")
    with Objects(repo):
        file = repo.objects.read(f"{tree.decode().strip()}:{FILE}")
    try:
        return tomllib.loads(file[2].decode() if file else "").get(name, {}), label
    except ValueError as e:
        raise Error(f"{label} is not TOML: {e}") from None
