"""The check before a push: nothing that looks like a secret leaves on gitcp's account.

What gitcp stores is redacted already; this looks at what is new to a remote again, with the
rules of today, and at what another program put onto the branch.
"""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.v1 import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_LINES = ("full.jsonl", "full.log", ".jsonl")
_SHOWN = 3


def refuse(repo: Repo, objects: Objects, tips: Iterable[str], known: Iterable[str]) -> None:
    """Raise Error naming the places of secrets in what tips have and known (oids) have not.

    gitcp.push-check=false switches the check off.
    """
    if not repo.config.flag("gitcp.push-check", True):
        return
    found = []
    for place in places(repo, objects, tips, known):
        found.append(place)
        if len(found) > _SHOWN:
            break
    if found:
        more = " and more" if len(found) > _SHOWN else ""
        told = ", ".join(f"{rule} in '{path}'" for path, rule in found[:_SHOWN])
        raise Error(f"not pushed: what looks like a secret is stored: {told}{more}")


def places(
    repo: Repo, objects: Objects, tips: Iterable[str], known: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """(path on the branch, rule) of each blob with a secret in it; a blob is told of once."""
    there = [oid for oid in known if objects.read(oid)]
    names = "\n".join([*tips, *(f"^{oid}" for oid in there)]).encode() + b"\n"
    redactor = redaction.redactor(repo)
    _, out = repo.git.run("rev-list", "--objects", "--stdin", stdin=names)
    for line in out.splitlines():
        oid, _, name = line.partition(b" ")
        found = objects.read(oid.decode()) if name else None
        if found is None or found[1] != "blob":
            continue
        path = text(name)
        kind = "jsonl" if _is_lines(path) else "document" if path.endswith(".json") else "text"
        hits = redactor.find(found[2], kind=kind)
        if hits:
            yield path, hits[0][0]


def _is_lines(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(_LINES[:2]) or name.endswith(_LINES[2])
