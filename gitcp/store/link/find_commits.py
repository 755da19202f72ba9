"""From checkpoint ids to commits: trailers on any branch, and notes."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.message import trailers
from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.git import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

# Histories that nobody's commits are on.
_NOT = ("refs/heads/entire/*", "refs/remotes/*/entire/*", "refs/notes/*", "refs/gitcp/*")


def commits(repo: Repo, objects: Objects, ids: Iterable[str]) -> dict[str, list[str]]:
    """checkpoint id -> the commits that carry it, newest first, then those with a note.

    One `git log --grep` over all branches and tags; only the last trailer block of a message
    counts.  An id without commits has an empty list.
    """
    found: dict[str, list[str]] = {i: [] for i in ids}
    if not found:
        return found
    for oid, message in _grep(repo, found):
        for checkpoint_id in trailers.read(message):
            if checkpoint_id in found:
                found[checkpoint_id].append(oid)
    for oid, checkpoint_id in _noted(objects, found):
        kind = objects.read(oid)
        if kind and kind[1] == "commit" and oid not in found[checkpoint_id]:
            found[checkpoint_id].append(oid)
    return found


def _noted(objects: Objects, ids: Iterable[str]) -> list[tuple[str, str]]:
    try:
        return [(oid, i) for oid, names in notes.every(objects) for i in names if i in ids]
    except Error as e:
        notice.lack(f"'{notes.REF}': {e}")
        return []


def _grep(repo: Repo, ids: Iterable[str]) -> list[tuple[str, bytes]]:
    names = list(ids)
    # Few ids narrow the search; many are looked for in all commits that carry any.
    pattern = "|".join(names) if len(names) <= 100 else "[0-9a-f]{12}"
    args = ["log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%B", "-E"]
    args += [f"--grep=^Entire-Checkpoint:[[:space:]]*({pattern})", "--regexp-ignore-case"]
    args += [*(f"--exclude={glob}" for glob in _NOT), "--all"]
    out = []
    for item in repo.git.lines(*args):
        oid, _, message = item.partition(b"\n")
        out.append((text(oid), message))
    return out


def of_commit(repo: Repo, objects: Objects, commit: str) -> list[str]:
    """The checkpoint ids of one commit (full oid): its last trailer block, then its note."""
    found = objects.read(commit)
    message = found[2].partition(b"\n\n")[2] if found and found[1] == "commit" else b""
    return list(dict.fromkeys([*trailers.read(message), *notes.read(repo, objects, commit)]))
