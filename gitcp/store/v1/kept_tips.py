"""Tips kept in a file from push to push: what a remote has, what was searched for secrets."""

from __future__ import annotations

from gitcp.core.upkeep.shapes import object_name, ref
from gitcp.record import raw, text
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.repo import Repo

    Tips = dict[str, str]  # ref -> oid


def pushed(repo: Repo, remote: str) -> Tips:
    """What a remote had when we pushed last."""
    return _read(_of_remote(repo, remote), "")


def set_pushed(repo: Repo, remote: str, tips: Mapping[str, str]) -> None:
    """Remember what a remote has now."""
    _write(repo, _of_remote(repo, remote), "", tips)


def searched(repo: Repo, rules: str) -> Tips:
    """What was searched by these rules (one word), with all that is reachable from it."""
    return _read(repo.shared("searched"), rules)


def set_searched(repo: Repo, rules: str, tips: Mapping[str, str]) -> None:
    """Remember what was searched by these rules; what was by others is forgotten."""
    _write(repo, repo.shared("searched"), rules, tips)


def _of_remote(repo: Repo, name: str) -> str:
    return repo.shared("pushed", private.file_name(name))


def _read(path: str, head: str) -> Tips:
    lines = text(private.cached_bytes(path)).splitlines()
    if head and lines[:1] != [head]:
        return {}
    pairs = [line.split() for line in lines[bool(head) :]]
    fits = all(len(pair) == 2 and object_name(pair[0]) and ref(pair[1]) for pair in pairs)
    return {pair[1]: pair[0] for pair in pairs} if fits else {}


def _write(repo: Repo, path: str, head: str, tips: Mapping[str, str]) -> None:
    lines = [*([head] if head else []), *(f"{oid} {ref}" for ref, oid in tips.items())]
    private.write(repo, path, raw("".join(f"{line}\n" for line in lines)))
