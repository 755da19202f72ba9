"""Branches of the person's that are named like streams: known, so that other names are taken.

<common>/gitcp/foreign, a full ref a line.
"""

from __future__ import annotations

from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_KNOWN: dict[str, frozenset[str]] = {}


def read(repo: Repo) -> frozenset[str]:
    """The names to leave alone in this repository."""
    if repo.common not in _KNOWN:
        try:
            with open(repo.shared("foreign"), encoding="ascii", errors="replace") as f:
                _KNOWN[repo.common] = frozenset(f.read().split())
        except OSError:
            _KNOWN[repo.common] = frozenset()
    return _KNOWN[repo.common]


def add(repo: Repo, ref: str) -> None:
    """Leave this name alone from now on."""
    _KNOWN[repo.common] = read(repo) | {ref}
    lines = "".join(f"{one}\n" for one in sorted(_KNOWN[repo.common]))
    states.write_file(repo, repo.shared("foreign"), lines.encode())
