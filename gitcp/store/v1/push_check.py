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

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_DOCUMENT = 4 << 20  # bytes: a larger one is no program's, and is not taken apart
_LINES = ("full.jsonl", "full.log", ".jsonl")
_EXAMPLES = 3
# Whole worktrees, with files that were never committed; what else of ours is for this machine.
_NO = ("false", "no", "off", "0")
_PRIVATE = ("refs/heads/entire/", "refs/gitcp/")
_SHARED = frozenset({"refs/heads/entire/checkpoints/v1", "refs/heads/entire/sessions"})


def refuse(repo: Repo, objects: Objects, tips: Iterable[str], known: Iterable[str]) -> None:
    """Raise Error naming the places of secrets in what tips have and known (oids) have not.

    gitcp.push-check=false switches the check off.
    """
    if not _strict(repo) and not repo.config.flag("gitcp.push-check", True):
        return
    secrets = []
    for place in places(repo, objects, tips, known):
        secrets.append(place)
        if len(secrets) > _EXAMPLES:
            break
    if secrets:
        more = " and more" if len(secrets) > _EXAMPLES else ""
        listed = ", ".join(f"{rule} in '{path}'" for path, rule in secrets[:_EXAMPLES])
        raise Error(f"not pushed: what looks like a secret is stored: {listed}{more}")


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
        obj = objects.read(oid.decode()) if name else None
        if obj is None or obj[1] != "blob":
            continue
        path = text(name)
        document = path.endswith(".json") and len(obj[2]) < _DOCUMENT
        kind = "jsonl" if _is_lines(path) else "document" if document else "text"
        hits = redactor.find(obj[2], kind=kind)
        if hits:
            yield path, hits[0][0]


def _is_lines(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(_LINES[:2]) or name.endswith(_LINES[2])


def updates(lines: Iterable[str]) -> list[tuple[str, str, str]]:
    """(local ref, its oid, remote ref) of what git tells a pre-push hook; no deletions."""
    words = (line.split(" ") for line in lines)
    return [(w[0], w[1], w[2]) for w in words if len(w) == 4 and w[1].strip("0")]


def private(repo: Repo, sent: Iterable[tuple[str, str, str]]) -> Record | None:
    """What to say of a push that would send shadow branches or refs of ours for this machine:
    a record of type say, or refuse with gitcp.push-check=refuse; None where it sends none."""
    names = [ref for ref, _, _ in sent if ref.startswith(_PRIVATE) and ref not in _SHARED]
    if not names or repo.config.get("gitcp.push-check").lower() in _NO:
        return None
    more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    what = f"{', '.join(name.removeprefix('refs/heads/') for name in names[:_EXAMPLES])}{more}"
    message = f"this push sends whole worktrees, files never committed among them: {what}"
    if _strict(repo):
        return {"type": "refuse", "message": f"fatal: {message} (gitcp.push-check=refuse)"}
    advice = "push branches by name, or set gitcp.push-check=refuse"
    return {"type": "say", "message": f"warning: {message}; {advice}"}


def _strict(repo: Repo) -> bool:
    return repo.config.get("gitcp.push-check").lower() == "refuse"
